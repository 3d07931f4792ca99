"""Emoji in the styles of Google and Twitter: the same signs twice, read out of npm packages and kept as idx files.

Both packages have the same list of signs. A sign is kept if both styles have a picture of it, in the order of its code
points, so that pictures at the same place are twins.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import UInt8
from PIL import Image

from vase.worlds.datasets import TEST_COLOUR, TEST_COLOUR_LABELS, TRAIN_COLOUR, TRAIN_LABELS, Rejected, to_idx
from vase.worlds.spec import COLOUR

STYLES = ("google", "twitter")
LIST, LARGEST_LIST = "emoji.json", 4_000_000  # file with all signs, and more bytes than it has
SIDE, LARGEST = 64, 20_000  # of one picture in pixels, and more bytes than any has
EVERY = 5  # one motif in five is held out for the test split
_GENDER = {"1f468": "1f9d1", "1f469": "1f9d1", "2640": "", "2642": "", "200d": "", "fe0f": ""}  # man, woman -> person


class Sign(NamedTuple):
    """One picture of a sign: the name of its file, the number of its category, whether it is a test picture."""

    image: str
    label: int
    held_out: bool


def motif(image: str) -> str:
    """What a sign shows, whatever the gender: the code points of its file, with a person for a man or a woman.

    >>> motif("1f469-200d-1f692.png"), motif("1f3c3-200d-2642-fe0f.png"), motif("2642-fe0f.png")
    ('1f9d1-1f692', '1f3c3', '2642-fe0f')
    """
    name = image.removesuffix(".png")
    points = [_GENDER.get(point, point) for point in name.split("-")]
    return "-".join(point for point in points if point) or name


def common_signs(data: bytes, where: str) -> list[Sign]:
    """Read the list of signs; all skin tones and genders of a motif are in the same split."""
    try:
        listed = [
            (version["image"], entry["category"], motif(entry["image"]))
            for entry in json.loads(data)
            for version in (entry, *entry.get("skin_variations", {}).values())
            if _in_both_styles(version)
        ]
        motifs = sorted({shown for _, _, shown in listed})
        held_out = set(motifs[EVERY - 1 :: EVERY])
        categories = COLOUR["emoji-google"]
        signs = sorted(Sign(image, categories.index(category), shown in held_out) for image, category, shown in listed)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Rejected(f"{where} is not a list of signs ({type(error).__name__}: {error})") from error
    return signs


def _in_both_styles(version: Mapping[str, Any]) -> bool:
    named = re.fullmatch(r"[0-9a-f-]+\.png", version["image"])
    return named is not None and all(version[f"has_img_{style}"] for style in STYLES)


def parse_picture(data: bytes, where: str) -> UInt8[np.ndarray, "64 64 3"]:
    """Read a 64×64 picture and put it on white: (α·colour + (255 − α)·255) / 255, rounded."""
    try:
        with Image.open(io.BytesIO(data), formats=("PNG",)) as opened:
            if opened.size != (SIDE, SIDE):
                raise Rejected(f"{where} is altered: {opened.width}×{opened.height}, not {SIDE}×{SIDE}")
            pixels = np.asarray(opened.convert("RGBA")).astype(np.uint32)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise Rejected(f"{where} is truncated or damaged ({error})") from error
    colour, alpha = pixels[..., :3], pixels[..., 3:]
    return ((alpha * colour + (255 - alpha) * 255 + 127) // 255).astype(np.uint8)


def idx_files(signs: Sequence[Sign], found: Mapping[str, tuple[bytes, str]]) -> dict[str, bytes]:
    """Convert the pictures of one style."""
    images = np.stack([parse_picture(*found[sign.image]) for sign in signs])
    labels = np.array([sign.label for sign in signs], np.uint8)
    test = np.array([sign.held_out for sign in signs])
    train = {TRAIN_COLOUR: images[~test], TRAIN_LABELS: labels[~test]}
    return {
        file: to_idx(values)
        for file, values in (train | {TEST_COLOUR: images[test], TEST_COLOUR_LABELS: labels[test]}).items()
    }
