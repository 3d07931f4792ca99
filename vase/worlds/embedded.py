"""The embedded default: images made from what the dependencies ship, so that everything runs with no network at all."""

from __future__ import annotations

from functools import cache
from itertools import product
from pathlib import Path

import matplotlib
import numpy as np
from PIL import Image, ImageDraw, ImageFont
from sklearn.datasets import load_digits

from vase.resize import resize
from vase.spelling import did_you_mean
from vase.worlds.datasets import Labelled, check_split

LETTERS = "ABCDEFGHIJ"
FONTS = (
    *("DejaVuSans.ttf", "DejaVuSans-Bold.ttf", "DejaVuSansMono.ttf", "DejaVuSansMono-Bold.ttf"),
    *("DejaVuSerif.ttf", "DejaVuSerif-Bold.ttf"),
    *("STIXGeneral.ttf", "STIXGeneralBol.ttf", "STIXGeneralItalic.ttf"),
    *("cmr10.ttf", "cmb10.ttf", "cmss10.ttf", "cmtt10.ttf"),
)
HEIGHTS = (18, 20, 22, 24)
SLANTS = (-0.3, -0.2, -0.1, 0.0, 0.1, 0.2, 0.3)
WIDTHS = (0.8, 1.0)
EVERY = 5  # one image in five is a test image


def embedded(name: str, split: str = "train") -> Labelled:
    """Return ``"digits"`` or ``"glyphs"``; deterministic, needs no network and no file outside the dependencies."""
    check_split(split)
    if name not in ("digits", "glyphs"):
        raise ValueError(f"embedded dataset {name!r} is unknown{did_you_mean(name, ('digits', 'glyphs'))}")
    images, labels = digits() if name == "digits" else glyphs()
    held_out = np.arange(len(images)) % EVERY == EVERY - 1
    chosen = held_out if split == "test" else ~held_out
    made_of = "scikit-learn's handwritten digits" if name == "digits" else "letters A–J drawn from matplotlib's fonts"
    return Labelled(images[chosen], labels[chosen].astype(np.int64), f"{name} (embedded: {made_of})")


@cache
def digits() -> tuple[np.ndarray, np.ndarray]:
    """Enlarge scikit-learn's 1,797 handwritten 8×8 digits (17 grey levels) smoothly to 28×28, with a dark margin."""
    data = load_digits()
    small = (data.images * (255 / 16)).astype(np.float32)
    return resize(np.pad(small, ((0, 0), (1, 1), (1, 1))), 28), data.target


@cache
def glyphs() -> tuple[np.ndarray, np.ndarray]:
    """Draw ten letters in several fonts, heights, slants and widths, in a fixed shuffled order."""
    folder = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    fonts = [folder / font for font in FONTS if (folder / font).is_file()]
    forms = list(product(HEIGHTS, WIDTHS, SLANTS))
    letters = [_letter(font, letter) for font, letter in product(fonts, LETTERS)]
    images = np.stack([_place(letter, *form) for letter, form in product(letters, forms)])
    labels = np.tile(np.repeat(np.arange(len(LETTERS)), len(forms)), len(fonts))
    order = np.random.default_rng(0).permutation(len(images))
    return images[order], labels[order]


def _letter(font: Path, letter: str) -> Image.Image:
    """Draw one letter large and white on black, with its bounding box cut out."""
    canvas = Image.new("L", (256, 256))
    ImageDraw.Draw(canvas).text((64, 32), letter, fill=255, font=ImageFont.truetype(str(font), 128))
    return canvas.crop(canvas.getbbox())


def _place(drawn: Image.Image, height: int, width: float, slant: float) -> np.ndarray:
    """Scale a letter, shear it about its middle and put it in the centre of 28×28, never cut off."""
    wide = round(drawn.width * height / drawn.height * width)
    room = 28 - int(np.ceil(abs(slant) * height))
    small = drawn.resize((max(1, min(wide, room)), height), Image.Resampling.LANCZOS)
    canvas = Image.new("L", (28, 28))
    canvas.paste(small, ((28 - small.width) // 2, (28 - height) // 2))
    sheared = canvas.transform(
        (28, 28), Image.Transform.AFFINE, (1, slant, -slant * 14, 0, 1, 0), Image.Resampling.BILINEAR
    )
    return np.asarray(sheared, np.uint8)
