"""Fine-tuning is VASE without S, D and A: the same weights, losses and measurements, row by row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from tiny import bars, tiny

from vase import VASE
from vase.experiments.ablation.settings import ABLATION
from vase.learners.checks import states_equal
from vase.learners.rivals.vae import VAE
from vase.rows import Row
from vase.training import RunDirectory, RunSettings, train

STREAM = "moving-digits:12*14,glyphs:12*10"


def rows_of(path: Path, condition: str, **given: Any) -> tuple[list[Row], dict[str, Any]]:
    """Rows and last state of the learner of a short run with the overrides of a condition of the ablation."""
    overrides = dict(ABLATION.condition(condition).overrides)
    if given:
        overrides = {name: value for name, value in overrides.items() if name == "capacity.objective"}
    settings = RunSettings.of("smoke", stream=STREAM, overrides=overrides, canvas=16, batch_size=16, device="cpu",
                              probe_every=12, frozen_every=0, rows_every=1, **given)  # fmt: skip
    train(path, settings)
    return list(RunDirectory(path).rows()), RunDirectory(path).load()["learner"]


@pytest.mark.parametrize("half", ["disentangled", "entangled"])
def test_it_equals_the_ablations_row_without_s_d_and_a(half: str, tmp_path: Path) -> None:
    theirs, before = rows_of(tmp_path / "vase", f"{half}-none")
    mine, after = rows_of(tmp_path / "vae", f"{half}-none", learner="fine-tuning")
    for name in ("networks", "optimiser", "generator"):
        assert states_equal(before[name], after[name]), name

    def comparable(rows: list[Row]) -> list[Row]:
        """Everything but what is said of environments."""
        silent = ("environment", "candidate", "environments", "mask", "used")
        chosen = [row for row in rows if row["kind"] != "switch"]
        return [{k: v for k, v in row.items() if k not in silent or row["kind"] == "step"} for row in chosen]

    assert comparable(theirs) == comparable(mine)
    kinds = [row["kind"] for row in mine]
    assert kinds.count("step") == 24
    assert {"probe", "stage", "end"} <= set(kinds)


def test_the_loss_is_the_elbo_of_the_configuration() -> None:
    learner = VAE(tiny(objective="elbo"), seed=1, device="cpu")
    step = learner.partial_fit(bars(16, 0))
    assert step.loss == pytest.approx(step.reconstruction + step.kl)  # balance 'sum': both count once
    assert step.mask.all()
    assert step.environment == 0


def test_vase_is_another_learner_than_its_base() -> None:
    vase, vae = VASE(tiny(), seed=0, device="cpu"), VAE(tiny(), seed=0, device="cpu")
    for number in range(40):
        images = bars(16, number, upright=number < 20)
        vase.partial_fit(images)
        vae.partial_fit(images)
    weights = [learner.state_dict()["networks"]["decoder.from_latents.weight"] for learner in (vase, vae)]
    assert not torch.equal(*weights)
