"""The grid of a sweep: every seed with every combination of varied values; and a table of the outcomes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

from vase.config import preset
from vase.sweeps.runner import Cell, Outcome
from vase.training.settings import RunSettings
from vase.training.summary import NONE, aligned, identity_change, position_change


def grid(
    out: Path, settings: RunSettings, seeds: Sequence[int], vary: Mapping[str, Sequence[str]] | None = None
) -> list[Cell]:
    """All combinations, one directory each under `out`, named after the varied values.

    A field that does not exist, or a value that it cannot have, is an error before anything is listed or trained.

    >>> [cell.name for cell in grid(Path("runs"), RunSettings(), [0, 1], {"capacity.gamma": ["5"]})]
    ['capacity.gamma=5-seed0', 'capacity.gamma=5-seed1']
    """
    vary = vary or {}
    for name in vary:
        if name in settings.overrides or name.removeprefix("learner.") in settings.learner_options:
            raise ValueError(f"{name} is both set and varied: keep --set {name} or --vary {name}.")
    cells = []
    for values in product(*vary.values()):
        varied = dict(zip(vary, values, strict=True))
        chosen = replace(settings, overrides={**settings.overrides, **varied})
        preset(chosen.preset, (1, chosen.canvas, chosen.canvas)).with_values(dict(chosen.overrides))
        label = re.sub(r"[^\w.+=-]+", "_", "".join(f"{name}={value}-" for name, value in varied.items()))
        for seed in seeds:
            cells.append(Cell(out / f"{label}seed{seed}", replace(chosen, seed=seed)))
    return cells


def read_seeds(text: str) -> list[int]:
    """Parse a list of seeds.

    >>> read_seeds("0-2,7")
    [0, 1, 2, 7]
    """
    seeds: list[int] = []
    for part in text.split(","):
        if not (match := re.fullmatch(r"\s*(\d+)(?:-(\d+))?\s*", part)):
            raise ValueError(f"--seeds {text}: write whole numbers and ranges, e.g. --seeds 0-4 or --seeds 0,1,7.")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise ValueError(f"--seeds {text}: {part.strip()} is reversed; write {last}-{first}.")
        seeds += range(first, last + 1)
    _refuse_twice(seeds, f"--seeds {text}")
    return seeds


def read_vary(texts: Sequence[str]) -> dict[str, list[str]]:
    """Parse varied fields. Semicolons separate values that contain commas, and end a single one.

    >>> read_vary(["capacity.gamma=5,7", "network.channels=32,32;64,64"])
    {'capacity.gamma': ['5', '7'], 'network.channels': ['32,32', '64,64']}
    >>> read_vary(["network.channels=8,16,32,64;"])
    {'network.channels': ['8,16,32,64']}
    """
    found: dict[str, list[str]] = {}
    for text in texts:
        name, _, listed = (part.strip() for part in text.partition("="))
        separator = ";" if ";" in listed else ","
        values = [value.strip() for value in listed.removesuffix(";").split(separator)]
        if not name or not all(values):
            raise ValueError(
                f"--vary {text}: write field=value,value,..., e.g. --vary capacity.gamma=5,7; values that contain "
                "commas are separated by semicolons, e.g. --vary 'network.channels=8,8;16,16'."
            )
        if name in found:
            raise ValueError(f"--vary {text}: {name} is varied twice; write all its values in one --vary.")
        _refuse_twice(values, f"--vary {text}")
        found[name] = values
    return found


def _refuse_twice(values: Sequence[object], where: str) -> None:
    if twice := [value for value in values if values.count(value) > 1]:
        raise ValueError(f"{where}: {twice[0]} appears twice; write it once.")


def table(outcomes: Sequence[Outcome]) -> str:
    """One line per run: environments found, and forgetting as measured by the probes."""
    lines = [("run", "environments", "identity change", "position change")]
    for outcome in outcomes:
        name, found = outcome.cell.name, outcome.summary
        if found is None:
            lines.append((name, outcome.state, "", ""))
            continue
        environments = f"{found['environments']} of {found['worlds']}" if found["environments"] else NONE
        changes = identity_change(found["identity"]["mean"]), position_change(found["position"]["mse"]["mean"])
        lines.append((name, environments, *changes))
    return "\n".join(aligned(lines))
