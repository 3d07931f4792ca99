"""The grammar of worlds and streams: its only parser and printer. Imports nothing heavy.

A world is ``[moving-][soft-][inverse-]DATASET[:SPRITE]``, ``[soft-][inverse-]faces``, ``outdoors``, ``indoors``,
``folder:PATH``, or in colour ``[soft-][inverse-]DATASET[:classes=LIST]`` with a list such as ``0-4+7``; the prefixes
come in this order. A stream is a list of worlds separated by commas, in which ``*N`` sets the length of one stage in
steps: ``moving-fashion,mnist*500,moving-mnist``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

from vase.spelling import did_you_mean
from vase.worlds.checks import require_int, require_text
from vase.worlds.rooms import WORLDS
from vase.worlds.timeline import Timeline

SPRITES = ("mnist", "fashion", "digits", "glyphs")  # the datasets that are shown as sprites on a canvas
_EMOJI = (
    *("Activities", "Animals & Nature", "Component", "Flags", "Food & Drink", "Objects", "People & Body"),
    *("Smileys & Emotion", "Symbols", "Travel & Places"),
)
COLOUR: dict[str, tuple[str, ...]] = {
    "cifar10": ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"),
    "emoji-google": _EMOJI,
    "emoji-twitter": _EMOJI,
}
"""Datasets in colour, whose images fill the canvas -> the names of their classes."""
NAMES = ("mnist", "fashion", "faces", *COLOUR, "digits", "glyphs")  # all datasets
FACES_VARIABLE = "VASE_FACES"  # environment variable with a folder of face pictures; without it, the ORL faces
# The contrast about mid-grey that ``soft-`` keeps: black becomes 26, white 230. The paper's appendix: "slightly
# reducing the contrast" of inverse Fashion, "in order to make the two datasets more similar".
CONTRAST = 0.8
STEPS = 3_000  # steps of a stage whose length is not given
_COLOUR_FORM = f"[soft-][inverse-]DATASET[:classes=0-4+7] with DATASET one of {', '.join(COLOUR)}"
_SPRITE_FORM = f"[moving-][soft-][inverse-]DATASET[:SPRITE] with DATASET one of {', '.join(SPRITES)}"
_FORMS: dict[str, tuple[tuple[str, ...], str]] = {
    **dict.fromkeys(SPRITES, (("moving", "soft", "inverse", "sprite"), f"write {_SPRITE_FORM}")),
    "faces": (("soft", "inverse"), "a face fills the canvas and stands still; write [soft-][inverse-]faces"),
    **dict.fromkeys(
        COLOUR,
        (("soft", "inverse", "classes"), f"an image in colour fills the canvas and stands still; write {_COLOUR_FORM}"),
    ),
    **{world: ((), f"a 3D world has no prefix and no size; write {world}") for world in WORLDS},
    "folder": (("folder",), "write folder:PATH, e.g. folder:pictures/cats"),
}
"""Dataset -> the fields that its worlds can have, and the rule to name in an error."""
GRAMMAR = f"A world is {_SPRITE_FORM}; [soft-][inverse-]faces; {_COLOUR_FORM}; {'; '.join(WORLDS)}; or folder:PATH"
_CLASSES = r"\d{1,3}(?:-\d{1,3})?(?:\+\d{1,3}(?:-\d{1,3})?)*"
_WORLD = re.compile(rf"(moving-)?(soft-)?(inverse-)?([^:]*)(?::(?:(\d+)|classes=({_CLASSES})))?")
_PROPER_NAMES = {
    "mnist": "MNIST",
    "fashion": "Fashion",
    "cifar10": "CIFAR-10",
    "emoji-google": "Google emoji",
    "emoji-twitter": "Twitter emoji",
}


@dataclass(frozen=True)
class WorldSpec:
    """A world as its name describes it: moving sprites or still ones, reduced contrast (soft), negatives (inverse).

    ``dataset`` is one of ``NAMES`` or of the rendered ``WORLDS``, or "folder" with the path in ``folder``. ``sprite``
    is the side of a sprite in pixels; None leaves it to ``WorldOptions``. ``classes`` are those that a world in colour
    shows, None for all; they keep their numbers.

    >>> world = WorldSpec.parse("moving-inverse-fashion:12")
    >>> world.dataset, world.moving, world.soft, world.inverse, world.sprite, world.title
    ('fashion', True, False, True, 12, 'moving inverse Fashion 12 px')
    """

    dataset: str
    moving: bool = False
    soft: bool = False
    inverse: bool = False
    sprite: int | None = None
    folder: str | None = None
    classes: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if self.dataset not in _FORMS:
            raise ValueError(_unknown(str(self)))
        allowed, rule = _FORMS[self.dataset]
        given = {field.name for field in fields(self)[1:] if getattr(self, field.name) not in (None, False)}
        no_path = self.dataset == "folder" and (not self.folder or self.folder != self.folder.strip())
        if no_path or not given <= set(allowed):
            raise ValueError(f"world {str(self)!r}: {rule}")
        if self.folder is not None:
            require_text(self.folder)
        if self.sprite is not None:
            require_int("sprite", self.sprite, 1)
        if self.classes is not None:
            chosen = tuple(sorted({require_int("class", value, 0) for value in self.classes}))
            if not chosen or chosen[-1] >= len(COLOUR[self.dataset]):
                rule = f"{self.dataset} has classes 0 to {len(COLOUR[self.dataset]) - 1}"
                raise ValueError(f"classes = {self.classes!r}: {rule}; name at least one of them")
            object.__setattr__(self, "classes", chosen)

    @classmethod
    def parse(cls, text: str) -> WorldSpec:
        """Read the name of a world; spaces around it are ignored."""
        if not isinstance(text, str):
            raise TypeError(f"world {text!r}: expected a name, e.g. 'moving-mnist'")
        name = text.strip()
        if name.startswith("folder:"):
            return cls("folder", folder=name.removeprefix("folder:").strip())
        match = _WORLD.fullmatch(name)
        if match is None or match[4] not in (*NAMES, *WORLDS):  # "folder" needs its colon
            raise ValueError(_unknown(name))
        moving, soft, inverse = (prefix is not None for prefix in match.group(1, 2, 3))
        sprite, classes = (None if match[5] is None else int(match[5])), _parse_classes(match[6])
        return cls(match[4], moving, soft, inverse, sprite, classes=classes)

    def __str__(self) -> str:
        chosen = None if self.classes is None else f"classes={_print_classes(self.classes)}"
        ends = [f":{end}" for end in (self.folder, self.sprite, chosen) if end is not None]
        return "-".join((*self._prefixes, self.dataset)) + "".join(ends)

    @property
    def _prefixes(self) -> list[str]:
        return [prefix for prefix in ("moving", "soft", "inverse") if getattr(self, prefix)]

    @property
    def title(self) -> str:
        """The name for readers."""
        if self.folder is not None:
            return Path(self.folder).name or str(self)
        words = (*self._prefixes, _PROPER_NAMES.get(self.dataset, self.dataset))
        if self.classes is not None:
            words = (*words, "classes", _print_classes(self.classes))
        return " ".join(words) + ("" if self.sprite is None else f" {self.sprite} px")

    @property
    def background(self) -> float:
        """The grey level around the sprites, in [0, 1]: black, white in a negative, and less contrast if soft.

        >>> WorldSpec.parse("moving-mnist").background, WorldSpec.parse("inverse-fashion:12").background
        (0.0, 1.0)
        """
        level = 255.0 if self.inverse else 0.0
        return (round(127.5 + CONTRAST * (level - 127.5)) if self.soft else level) / 255

    @property
    def picture_folder(self) -> Literal["faces", "frames"] | None:
        """The option that names a folder with images of this world, if there is one."""
        return "faces" if self.dataset == "faces" else "frames" if self.dataset in WORLDS else None

    def with_absolute_folder(self) -> WorldSpec:
        """The same world with its folder as a process with another working directory or home finds it."""
        return replace(self, folder=self.folder and os.path.abspath(os.path.expanduser(self.folder)))


@dataclass(frozen=True)
class StreamSpec:
    """A stream taken apart: the world of each stage and its length.

    >>> stream = StreamSpec.parse("mnist, soft-fashion*500", steps=100)
    >>> str(stream), stream.timeline
    ('mnist,soft-fashion*500', Timeline(stages=(('mnist', 100), ('soft-fashion', 500))))
    """

    entries: tuple[tuple[WorldSpec, int | None], ...]  # world and length of each stage; None for `steps`
    steps: int = STEPS  # length of the stages that give none

    def __post_init__(self) -> None:
        require_int("steps", self.steps, 1)
        if not self.entries:
            raise ValueError("entries = (): a stream needs at least one stage; pass (WorldSpec(...), steps)")
        for world, steps in self.entries:
            if steps is not None:
                require_int("steps", steps, 1)
            if re.search("[,*]", world.folder or ""):
                raise ValueError(f"world {str(world)!r}: in a stream a path must not contain , or *; rename the folder")

    @classmethod
    def parse(cls, text: str, steps: int = STEPS) -> StreamSpec:
        """Read a stream; spaces around names and lengths are ignored."""
        entries: list[tuple[WorldSpec, int | None]] = []
        for position, entry in enumerate(text.split(","), start=1):
            if not entry.strip():
                raise ValueError(f"stream {text!r}: entry {position} is empty; write names with single commas between")
            name, star, length = entry.partition("*")
            if star and not (re.fullmatch(r"\s*\d+\s*", length) and int(length)):
                rule = "after * comes a number of steps >= 1, e.g. mnist*500"
                raise ValueError(f"stream entry {entry.strip()!r}: {rule}")
            entries.append((WorldSpec.parse(name), int(length) if star else None))
        return cls(tuple(entries), steps)

    @classmethod
    def of(cls, stages: Iterable[tuple[str, int]]) -> StreamSpec:
        """From (world, steps) of every stage."""
        return cls(tuple((WorldSpec.parse(world), steps) for world, steps in stages))

    def __str__(self) -> str:
        return ",".join(f"{world}" if steps is None else f"{world}*{steps}" for world, steps in self.entries)

    @cached_property
    def stages(self) -> tuple[tuple[WorldSpec, int], ...]:
        """World and length of every stage."""
        return tuple((world, self.steps if steps is None else steps) for world, steps in self.entries)

    @cached_property
    def timeline(self) -> Timeline:
        """The stages on the axis of training steps."""
        return Timeline.of(self.stages)

    @property
    def picture_folders(self) -> set[str]:
        """The options that name folders with images of these worlds."""
        return {world.picture_folder for world, _ in self.entries if world.picture_folder}

    @property
    def slug(self) -> str:
        """The stream as a part of a file name: worlds joined by +, other signs replaced."""
        return re.sub(r"[^\w.+-]+", "_", str(self).replace(",", "+")).strip("_")

    def with_absolute_folders(self) -> StreamSpec:
        """The same stream with its folders as a process with another working directory or home finds them."""
        return replace(self, entries=tuple((world.with_absolute_folder(), steps) for world, steps in self.entries))


def world_names() -> tuple[str, ...]:
    """Every name without a size or a path."""
    tones = [f"{soft}{inverse}" for soft in ("", "soft-") for inverse in ("", "inverse-")]
    sprites = [f"{moving}{tone}{name}" for name in SPRITES for moving in ("", "moving-") for tone in tones]
    return (*sprites, *(f"{tone}{name}" for name in ("faces", *COLOUR) for tone in tones), *WORLDS)


def canonical(name: str) -> str:
    """A world's name in canonical form; a name outside the grammar stays as it is."""
    try:
        return str(WorldSpec.parse(name))
    except ValueError:
        return name.strip()


def title(name: str) -> str:
    """A world's name for readers, from its name in rows; a name outside the grammar stays as it is."""
    try:
        return WorldSpec.parse(name).title
    except ValueError:
        return name


def _parse_classes(text: str | None) -> tuple[int, ...] | None:
    """Read a list of classes and ranges of them, e.g. ``0-4+7``."""
    if text is None:
        return None
    ranges = [part.partition("-") for part in text.split("+")]
    return tuple(n for first, _, last in ranges for n in range(int(first), int(last or first) + 1))


def _print_classes(classes: Iterable[int]) -> str:
    """The shortest list of classes and ranges of them, in ascending order."""
    runs: list[list[int]] = []
    for n in classes:
        if runs and runs[-1][1] == n - 1:
            runs[-1][1] = n
        else:
            runs.append([n, n])
    return "+".join(f"{first}" if first == last else f"{first}-{last}" for first, last in runs)


def _unknown(name: str) -> str:
    if os.path.isdir(os.path.expanduser(name)):
        return f"world {name!r} is unknown, but there is a folder of this name; write folder:{name} to use its pictures"
    return f"world {name!r} is unknown{did_you_mean(name.partition(':')[0], world_names())} {GRAMMAR}."
