"""Folders that the settings of a run name: absolute paths, and which worlds need them."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from vase.training.settings import RunSettings
from vase.worlds.spec import StreamSpec, WorldSpec


def whole_path(folder: str) -> str:
    """The absolute path of a folder, for processes with another working directory or home."""
    return os.path.abspath(Path(folder).expanduser())


def absolute(settings: RunSettings) -> RunSettings:
    """The same run with absolute paths.

    >>> absolute(RunSettings(stream="mnist, folder:/cats/../dogs*500", faces="/faces/")).stream
    'mnist,folder:/dogs*500'
    """

    def whole(name: str) -> str:
        return str(WorldSpec.parse(name).with_absolute_folder())

    folders: dict[str, Any] = {
        name: whole_path(folder) for name in ("data", "faces", "frames") if (folder := getattr(settings, name))
    }
    return replace(
        settings,
        stream=str(StreamSpec.parse(settings.stream, settings.steps).with_absolute_folders()),
        imagination=",".join(map(whole, settings.imagined)),
        anticipation=",".join(f"{whole(met)}>{whole(unmet)}" for met, unmet in settings.anticipated),
        **folders,
    )


def pictured(stream: str) -> set[str]:
    """Which of the folders, faces and frames, the worlds of a stream may come from; none without a stream.

    >>> sorted(pictured("faces,soft-inverse-fashion:32")), sorted(pictured("outdoors*500,soft-inverse-faces"))
    (['faces'], ['faces', 'frames'])
    """
    return StreamSpec.parse(stream).picture_folders if stream else set()
