"""Reports of several runs as a folder that a static page can host: a file per run, and an index with their cards."""

from __future__ import annotations

import html
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vase.files import write_bytes
from vase.images import as_floats
from vase.learners.protocol import Decodes, Learner
from vase.metrics.latents import learner_states
from vase.report.build import open_report, page_of, write_page
from vase.report.bundle import data_of, source
from vase.report.pictures import data_uri

INDEX = "index.html"
LARGEST = 3_000_000  # bytes of a report
IMAGES = 4  # of each environment on a card
WIDTH = 640  # screen pixels of a card's picture at least, so that its pixels stay sharp
GAP = 1  # pixels between two images; twice as many between images and what the learner decodes of them


@dataclass(frozen=True)
class Card:
    """A run in the index."""

    file: str
    """The report, beside the index."""
    name: str
    title: str
    subtitle: str
    sentence: str
    picture: str
    """A data: address."""
    size: int
    """Bytes of the report."""


def write_gallery(
    runs: Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    *,
    data: str | None = None,
    keep: bool = False,
) -> list[Path]:
    """Write the reports of some runs and an index of them into a folder; returns the files, the index first.

    With `keep`, reports that the folder's index has already stay in it.
    """
    folder = Path(out)
    files = file_names(runs)
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"{folder} is a file; name a folder for the gallery.")
    folder.mkdir(parents=True, exist_ok=True)
    index = folder / INDEX
    cards = known_cards(index) if keep and index.exists() else {}
    cards |= {file: card_html(_write_run(run, folder / file, data)) for file, run in files.items()}
    write_bytes(index, index_page(list(cards.values())).encode())
    return [index, *(folder / file for file in files)]


def renewed(folder: Path) -> dict[Path, str]:
    """File -> the same page by the present style sheets and scripts; neither runs nor cards are made again."""
    index = folder / INDEX
    if not index.exists():
        raise FileNotFoundError(f"{index} does not exist; name the folder of a gallery.")
    cards = known_cards(index)
    pages = {index: index_page(list(cards.values()))}
    for file in cards:
        try:
            pages[folder / file] = page_of(data_of((folder / file).read_text(encoding="utf-8")))
        except ValueError as error:  # malformed JSON is one, too
            raise ValueError(f"{folder / file}: cannot be renewed ({error}); write it again from its run.") from error
    return pages


def renew_gallery(out: str | os.PathLike[str]) -> list[Path]:
    """Write the pages of a gallery again, after style sheets or scripts have changed; returns the files."""
    pages = renewed(Path(out))
    for path, text in pages.items():
        write_bytes(path, text.encode())
    return list(pages)


def known_cards(index: Path) -> dict[str, str]:
    """Report -> its card in an index, as HTML; without those whose report is gone."""
    text = index.read_text(encoding="utf-8")
    cards = re.finditer(r'<li class="run">.*?<a href="\./([^"]+)">.*?</li>', text, re.DOTALL)
    return {card[1]: card[0] for card in cards if (index.parent / card[1]).exists()}


def file_names(runs: Sequence[str | os.PathLike[str]]) -> dict[str, str | os.PathLike[str]]:
    """The runs by the file of their report, which has the name of the run's folder.

    >>> file_names(["runs/three-worlds", "my runs/five worlds/"])
    {'three-worlds.html': 'runs/three-worlds', 'five-worlds.html': 'my runs/five worlds/'}
    """
    found: dict[str, str | os.PathLike[str]] = {}
    for run in runs:
        name = re.sub(r"[^\w.-]+", "-", Path(run).resolve().name).strip("-.") or "run"
        file = f"{name}.html"
        if file == INDEX or file in found:
            taken = "the index" if file == INDEX else str(found[file])
            raise ValueError(f"{run}: its report would be {file}, as {taken} is; rename the folder of the run.")
        found[file] = run
    if not found:
        raise ValueError("no run: name at least one run directory.")
    return found


def index_page(cards: Sequence[str]) -> str:
    """The index as HTML, without scripts; nothing is fetched."""
    parts = {"STYLE": source("base.css") + source("gallery.css"), "CARDS": "\n".join(cards)}
    text = source("gallery.html")
    for name, part in parts.items():
        text = text.replace(f"<!--{name}-->", part)
    return text


def collage(learner: Learner, images_by_environment: Mapping[int, np.ndarray]) -> np.ndarray:
    """One row per environment: held-out images, and the same decoded if the learner can; (C, H, W) in [0, 1]."""
    known = {s: x[:IMAGES] for s, x in sorted(images_by_environment.items()) if len(x) >= IMAGES}
    rows = []
    for s, images in known.items():
        row = _side_by_side(as_floats(images))
        if isinstance(learner, Decodes) and s < len(learner_states(learner)):
            decoded = _side_by_side(np.asarray(learner.reconstruct(images, environment=s)))
            row = np.concatenate([row, np.ones((*row.shape[:2], 2 * GAP), row.dtype), decoded], axis=2)
        rows.append(np.pad(row, ((0, 0), (0, GAP), (0, 0)), constant_values=1.0))
    if not rows:
        raise ValueError("no held-out image of any environment: the run has learnt nothing that a card could show.")
    widest = max(row.shape[2] for row in rows)
    rows = [np.pad(row, ((0, 0), (0, 0), (0, widest - row.shape[2])), constant_values=1.0) for row in rows]
    sheet = np.concatenate(rows, axis=1)[:, :-GAP]
    zoom = -(-WIDTH // widest)
    return np.clip(sheet.repeat(zoom, axis=1).repeat(zoom, axis=2), 0, 1)


def _write_run(run: str | os.PathLike[str], path: Path, data: str | None) -> Card:
    """Write the report of a run; returns its card."""
    shown, learner, images = open_report(run, data=data)
    size = write_page(path, shown).stat().st_size
    if size > LARGEST:
        path.unlink()
        raise ValueError(
            f"{run}: its report has {size / 1e6:.1f} MB, and a gallery takes {LARGEST / 1e6:g} MB at most; "
            "choose a run with smaller networks or fewer latents."
        )
    sentences = shown["sentences"]
    return Card(
        file=path.name,
        name=re.sub(r"[-_]+", " ", path.stem),
        title=shown["title"],
        subtitle=shown["subtitle"],
        sentence=sentences[min(1, len(sentences) - 1)],  # what the learner noticed
        picture=data_uri(collage(learner, images)),
        size=size,
    )


def _side_by_side(images: np.ndarray) -> np.ndarray:
    """(n, C, H, W) as (C, H, n·W), with white gaps."""
    padded = np.pad(images, ((0, 0), (0, 0), (0, 0), (0, GAP)), constant_values=1.0)
    return np.concatenate(list(padded), axis=2)[:, :, :-GAP]


def card_html(card: Card) -> str:
    """A run in the index."""
    words = {name: html.escape(str(value)) for name, value in vars(card).items()}
    size = f"{card.size / 1e6:.1f}\u00a0MB" if card.size >= 1e5 else f"{card.size / 1e3:.0f}\u00a0kB"
    return (
        '<li class="run">'
        f'<img src="{words["picture"]}" alt="Held-out images of each environment, and the same decoded.">'
        f'<div><p class="note">{words["name"]}</p>'
        f'<h2><a href="./{words["file"]}">{words["title"]}</a></h2>'
        f"<p>{words['sentence']}</p>"
        f'<p class="note">{words["subtitle"]} · {size}</p></div></li>'
    )
