"""A run as a folder to share: its learner, and a model card with stream, switches, probes and figures."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from vase.learners.card import markdown_table, model_card
from vase.learners.sharing import Shareable
from vase.metrics.record import Record
from vase.plots.run import IMAGES, held_out, open_run, write_figures
from vase.report.facts import commands
from vase.report.sentences import three_sentences
from vase.report.tables import tables
from vase.training.directory import RunDirectory
from vase.training.summary import summary
from vase.worlds.spec import title

FIGURES = {"overview": "The run", "traversals": "Latents", "reconstructions": "Reconstructions"}
"""Figures of a card, with what they show."""


def share_run(
    run_dir: str | os.PathLike[str], out: str | os.PathLike[str], *, name: str | None = None, data: str | None = None
) -> Path:
    """Write the learner of a run for others, with a card and figures; returns the folder, which is called `name`."""
    directory, folder = RunDirectory(run_dir), Path(out)
    learner, plan, record = open_run(directory, data)
    if not isinstance(learner, Shareable):
        raise TypeError(f"{directory.path} has a learner of class {type(learner).__name__}: only VASE can be shared.")
    images = {s: held_out(plan, world, s, IMAGES) for s, world in record.world_of.items()}
    with tempfile.TemporaryDirectory() as drawing:
        drawn = [path for path in write_figures(Path(drawing), learner, record, images) if path.stem in FIGURES]
        card = model_card(learner, name or folder.resolve().name, _sections(directory, record, drawn))
        learner.save_pretrained(folder, card=card)
        for path in drawn:
            shutil.copy(path, folder)
    return folder


def _sections(directory: RunDirectory, record: Record, figures: list[Path]) -> dict[str, str]:
    """What a run adds to the card of its learner."""
    found, config, settings = summary(directory.path), directory.read_config(), directory.settings()
    training = " ".join(three_sentences(found, settings.batch_size))
    sources = markdown_table(("world", "images"), [(title(w), source) for w, source in config["sources"].items()])
    command = commands(settings)[0]
    made = f"Preset {settings.preset}, seed {settings.seed}; trained with\n\n```sh\n{command}\n```"
    sections = {"Training": f"{training}\n\n{sources}\n\n{made}"}
    for table in tables(record, found):
        sections[table["title"]] = f"{table['note']}\n\n{_markdown(table)}"
    shown = [f"{FIGURES[path.stem]}:\n\n![{FIGURES[path.stem]}]({path.name})" for path in figures]
    return sections | ({"Figures": "\n\n".join(shown)} if shown else {})


def _markdown(table: dict[str, Any]) -> str:
    return markdown_table(table["columns"], [[text for text, _ in row] for row in table["rows"]])
