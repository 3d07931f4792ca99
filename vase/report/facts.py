"""What a run cost, what it was configured with, and the commands that repeat it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from vase.report.sentences import count
from vase.report.tables import rows_of
from vase.training.directory import RunDirectory
from vase.training.settings import FOLDERS, PRESET_DEFAULTS, RunSettings

Lines = list[tuple[str, str]]
_ELSEWHERE = ("data", "device", "threads", "overrides", "learner_options", "preset")
"""Settings that a command for another machine does not repeat, or that are written in another way."""


def cost(directory: RunDirectory, found: Mapping[str, Any], batch_size: int) -> Lines:
    """Time, batches and space."""
    segments, rate = directory.timing(), found["steps_per_second"]
    saved = sum(path.stat().st_size for path in directory.checkpoints.folder.glob("*/*"))
    return [
        ("wall time", _duration(found["seconds"]) if segments else "not recorded"),
        ("speed", f"{rate:,.1f} batches a second, probes included" if rate else "not recorded"),
        ("started", "once" if len(segments) == 1 else count(len(segments), "time")),
        ("batches", f"{found['steps']:,} of {found['total']:,}"),
        ("images", f"{found['steps'] * batch_size:,}"),
        ("held for a verdict", count(found["held"], "batch")),
        ("dropped", count(found["dropped"], "batch")),
        ("checkpoints", f"{saved / 1e6:,.1f} MB"),
    ]


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def configuration(config: Mapping[str, Any]) -> dict[str, Lines]:
    """config.json in lines: settings, configuration, where the images came from, and versions."""
    settings = {name: value for name, value in config["settings"].items() if name not in FOLDERS}
    return {
        "Versions": list(rows_of(config["versions"])),
        "Images": list(rows_of(config["sources"])),
        "Settings": list(rows_of(settings)),
        "Configuration": list(rows_of(config["config"])),
    }


def commands(settings: RunSettings) -> list[str]:
    """How to train the same run again and write this page of it."""
    words = ["vase", "train", "--preset", settings.preset]
    for field in fields(RunSettings):
        value = getattr(settings, field.name)
        usual = PRESET_DEFAULTS[settings.preset].get(field.name, field.default)
        if field.name not in _ELSEWHERE and value != usual:
            shown = "DIR" if field.name in FOLDERS else str(value)
            words += [f"--{field.name.replace('_', '-')}", *([] if value is True else [shown])]
    for name, value in settings.overrides.items():
        words += ["--set", f"{name}={value}"]
    for name, value in settings.learner_options.items():
        words += ["--set", f"learner.{name}={value}"]
    return [shlex.join([*words, "--out", "runs/again"]), "vase report runs/again"]
