"""Folders that the settings of a run name: absolute paths, and which worlds need them."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from vase.training.settings import RunSettings
from vase.worlds.rooms import WORLDS

_ENDS = {"stream": ",*", "imagination": ",", "anticipation": ",>"}
"""The settings that name worlds, and what ends a name in them."""


def whole_path(folder: str) -> str:
    """The absolute path of a folder, for processes with another working directory or home."""
    return os.path.abspath(Path(folder).expanduser())


def absolute(settings: RunSettings) -> RunSettings:
    """The same run with absolute paths.

    >>> absolute(RunSettings(stream="mnist, folder:/cats/../dogs*500", faces="/faces/")).stream
    'mnist, folder:/dogs*500'
    """
    folders = {name: whole_path(folder) for name in ("data", "faces", "frames") if (folder := getattr(settings, name))}
    named: dict[str, Any] = {
        name: re.sub(
            rf"(?<![^{ends}])(\s*folder:)([^{ends}]+)",
            lambda found: found[1] + whole_path(found[2].strip()),
            getattr(settings, name),
        )
        for name, ends in _ENDS.items()
    }
    return replace(settings, **{**named, **folders})


def pictured(stream: str) -> set[str]:
    """Which of the folders, faces and frames, the worlds of a stream may come from.

    >>> sorted(pictured("faces,soft-inverse-fashion:32")), sorted(pictured("outdoors*500,soft-inverse-faces"))
    (['faces'], ['faces', 'frames'])
    """
    worlds = [entry.partition("*")[0].strip() for entry in stream.split(",")]
    found = {"faces" for world in worlds if re.fullmatch("(soft-)?(inverse-)?faces", world)}
    return found | {"frames" for world in worlds if world in WORLDS}
