"""A run's text and its figures say the same about its latents."""

from __future__ import annotations

import re

import numpy as np
import pytest
from drawn import words

from vase.metrics.latents import learner_states
from vase.plots.latents import latent_use
from vase.plots.page import axis_labels, overview
from vase.plots.pictures import traversals
from vase.plots.run import open_run
from vase.training import RunDirectory, RunSettings, train
from vase.training.summary import describe, summary

SETTINGS = RunSettings.of(
    "smoke",
    stream="moving-glyphs*60,inverse-digits*40,moving-glyphs*40",
    seed=3,
    batch_size=24,
    probes="none",
    overrides={
        "environments.burn_in": 20,
        "network.latents": 6,
        "network.hidden": 32,
        "dreaming.gate_tolerance": 0.0,
    },
    device="cpu",
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    path = tmp_path_factory.mktemp("runs") / "run"
    train(path, SETTINGS)
    return RunDirectory(path)


@pytest.fixture(scope="module")
def text(run: RunDirectory) -> str:
    return describe(summary(run.path))


def end_of_run(text: str) -> str:
    """The part of the text about the end of the run."""
    return text[text.index("Latents at the end of the run") : text.index("Latents at the end of each stage")]


def test_used_and_shared_latents_agree(run: RunDirectory, text: str) -> None:
    learner, _, record = open_run(run)
    shown = words(latent_use(learner_states(learner), {}, moment=record.moment(learner.steps)))
    told = [int(count) for count in re.findall(r"environment \d+: (\d+) used", end_of_run(text))]
    assert len(told) > 1
    assert told == [int(count) for count in re.findall(r"(\d+) used, \d+ masked", shown)]
    shared = re.search(r": (\d+) of \d+ shared by several environments", end_of_run(text))
    assert shared is not None
    assert f"Latent use at the end of the run: {shared[1]} shared" in shown


def test_what_was_used_when_a_stage_ended_is_said_to_be_of_that_moment(run: RunDirectory, text: str) -> None:
    """The same environment may use other latents at the end of its stage and at the end of the run."""
    (stage,) = (row for row in run.rows() if row["kind"] == "stage" and row["stage"] == 0)
    used = [n for n, flag in enumerate(stage["used"]) if flag]
    line = f"moving-glyphs = environment 0: uses {', '.join(map(str, used))};"
    assert text.index("Latents at the end of each stage") < text.index(line)
    (end,) = (row for row in run.rows() if row["kind"] == "end")
    assert end["environments"][0]["used"] != stage["used"]  # else this run shows nothing
    assert f"environment 0: {sum(end['environments'][0]['used'])} used" in end_of_run(text)


def test_position_latents_agree(run: RunDirectory, text: str) -> None:
    learner, plan, record = open_run(run)
    told = {int(latent): axis for axis, latent in re.findall(r"([xy]) is latent (\d+)", end_of_run(text))}
    assert told
    assert axis_labels(record) == told
    image = plan.worlds["moving-glyphs"][1].sample(1, np.random.default_rng(0)).images
    names = axis_labels(record)
    for page in (overview(learner, record, {0: image}), traversals(learner, {0: image}, spare=99, names=names)):
        shown = dict(re.findall(r"^([xy]+)  z(\d+)$", words(page), re.MULTILINE))
        assert {int(latent): axis for axis, latent in shown.items()} == told
