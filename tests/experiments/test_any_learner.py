"""A condition with another learner: its rows appear in every table, with "–" for what it cannot do."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vase.config import VASEConfig
from vase.experiments import Condition, Experiment, Result, Results, export, jobs_of, load_experiment
from vase.experiments.ambiguity.analysis import context, perception
from vase.experiments.common.conditions import OURS, TABLES
from vase.experiments.experiment import resolve
from vase.experiments.tables import FORMATS, words
from vase.learners.records import Step
from vase.training import train


class Projection:
    """z = (x − ½) W with a fixed random W: no environments, no decoder, no dreams, nothing learnt."""

    def __init__(self, config: VASEConfig, *, seed: int = 0, device: str = "auto", size: int = 3) -> None:
        self.n_latents, self.steps = int(size), 0
        self._weights = np.random.default_rng(seed).standard_normal((int(np.prod(config.image_shape)), self.n_latents))

    def partial_fit(self, images: Any) -> Step:
        self.steps += 1
        return Step(self.steps)

    def posterior(self, images: Any) -> tuple[np.ndarray, np.ndarray]:
        flat = np.asarray(images, np.float32).reshape(len(images), -1) / 255 - 0.5
        mean = (flat @ self._weights / 32).astype(np.float32)
        return mean, np.full_like(mean, 0.1)

    def state_dict(self) -> dict[str, Any]:
        return {"steps": self.steps}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.steps = state["steps"]


CONDITIONS = (
    Condition(OURS, seeds=(0,), shown=True),
    Condition("projection", seeds=(0,), shown=True, learner=f"{__name__}:Projection", learner_options={"size": 4}),
)
STUDY = Experiment(
    name="study",
    title="VASE and a random projection",
    stream="moving-digits*14,digits*12,moving-glyphs*12",
    steps={},
    conditions=CONDITIONS,
    tables=TABLES,
    options={"probe_every": 6, "batch_size": 16, "device": "cpu"},
)
NAMES = {"moving-digits": "moving-fashion", "digits": "mnist", "moving-glyphs": "moving-mnist"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of both conditions, whose worlds are called as in the ablation."""
    place = tmp_path_factory.mktemp("study")
    for job in jobs_of(STUDY, "smoke", place / "results", place / "runs"):
        train(job.path, job.settings)
        export(job)
        text = job.target.read_text()
        for name, called in NAMES.items():
            text = text.replace(f'"{name}"', f'"{called}"')
        job.target.write_text(text)
    return place / "results/study/smoke"


def test_the_learner_of_a_condition_reaches_its_runs(folder: Path) -> None:
    settings = Result(folder / "projection-0.json").settings
    assert (settings.learner, settings.learner_options) == (f"{__name__}:Projection", {"size": 4})
    ours = Result(folder / f"{OURS}-0.json").content["settings"]
    assert not {"learner", "learner_options"} & ours.keys(), "results of VASE are written as ever"


def test_no_figure_data_without_a_decoder(folder: Path) -> None:
    assert (folder / f"{OURS}-0.npz").exists()
    assert not (folder / "projection-0.npz").exists()


@pytest.mark.parametrize(
    "name", ["ablation", "longer", "three-stage", "five-datasets", "sensitivity", "returns", "imagination"]
)
def test_its_rows_appear_in_every_table(folder: Path, name: str) -> None:
    whole = load_experiment(name)
    experiment = dataclasses.replace(whole, conditions=(*whole.conditions, CONDITIONS[1]))
    for table, reference in experiment.tables.items():
        found = resolve(reference)(Results(experiment, "smoke", folder))
        assert all("nan" not in found.render(form) for form in FORMATS)
        about_others = (name, table) in (("five-datasets", "plasticity"), ("five-datasets", "latents"))  # VASE's worlds
        if (
            table not in ("twins", "twins-frozen", "orderings", "reuse") and not about_others
        ):  # pairs of the halves of the ablation
            texts = [*found.columns, *(words(entry) for row in found.rows for entry in row)]
            assert any("projection" in text for text in texts), table


def test_what_it_cannot_do_is_a_dash(folder: Path) -> None:
    results = Results(STUDY, "smoke", folder)

    def row(table: str) -> dict[str, str]:
        found = resolve(TABLES[table])(results)
        mine = next(row for row in found.rows if row[0] == "projection")
        return dict(zip(found.columns, map(words, mine), strict=True))

    detected = row("detection")
    assert [detected[name] for name in ("seeds", "worlds")] == ["1", "3"]
    assert {detected[name] for name in ("environments", "exact", "delay (batches)", "false alarms", "returns")} == {"–"}
    drawn = row("quality")
    assert {drawn[name] for name in ("recognised", "reconstruction", "dreams", "floor")} == {"–"}
    assert row("disentanglement")["MIG"] != "–"
    assert row("forgetting")["ID max (%)"] != "–"


def test_mixtures_need_environments(folder: Path) -> None:
    experiment = dataclasses.replace(load_experiment("ambiguity"), conditions=CONDITIONS[1:])
    results = Results(experiment, "smoke", folder)
    assert [set(map(words, row[1:])) for row in (*perception(results).rows, *context(results).rows)] == [{"–"}] * 2
