"""Rotations of latents in the learner: the current world's own, and nothing of the past."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
import torch

from vase import VASE, VASEConfig
from vase.checkpoint import split_tensors
from vase.worlds import Schedule

WORLDS = "digits:28*80,glyphs:16*60"


@pytest.fixture(scope="module")
def learner() -> VASE:
    values = {"independence.rotate_every": 1000, "dreaming.gate_tolerance": 0.02}
    model = VASE(VASEConfig.smoke().with_values(values), seed=0)
    for batch in Schedule.parse(WORLDS, batch_size=32, seed=0):
        model.partial_fit(batch.images)
    assert len(model.environments) == 2
    return model


def show_rotated(model: VASE, latents: list[int], degrees: float) -> None:
    """Pretend that two latents of the current environment are rotated against independent factors."""
    cos, sin = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    factors = torch.cartesian_prod(*[torch.linspace(-1.5, 1.5, 50)] * 2)
    means = torch.zeros(len(factors), model.n_latents)
    means[:, latents] = factors @ torch.tensor([[cos, -sin], [sin, cos]])
    record = model.memory_.record
    model.rotator_.begin(record.index)
    for part in means.chunk(2):
        model.rotator_.observe(part, torch.full_like(part, -6.0))
    record.age = 1000


def test_the_past_and_the_reconstructions_of_means_stay(learner):
    images = next(iter(Schedule.parse(WORLDS, batch_size=32, seed=1))).images
    own = learner.memory_.own().nonzero().flatten().tolist()[:2]
    past, now = learner.reconstruct(images, environment=0), learner.reconstruct(images, environment=1)
    codes = learner.posterior(images)[0]
    show_rotated(learner, own, 30)
    learner.rotate_latents()
    assert np.array_equal(learner.reconstruct(images, environment=0), past)
    np.testing.assert_allclose(learner.reconstruct(images, environment=1), now, atol=1e-5)
    after = learner.posterior(images)[0]
    others = [n for n in range(learner.n_latents) if n not in own]
    assert np.array_equal(after[:, others], codes[:, others])
    assert np.abs(after[:, own] - codes[:, own]).max() > 0.01
    assert not learner.rotator_.means


def test_latents_of_other_environments_are_not_rotated(learner):
    used = learner.memory_.used_by_others(1).nonzero().flatten().tolist()[:2]
    show_rotated(learner, used, 30)
    before = {name: value.clone() for name, value in learner.networks_.state_dict().items()}
    learner.rotate_latents()
    assert all(torch.equal(before[name], value) for name, value in learner.networks_.state_dict().items())


def test_a_copy_in_the_middle_of_observing_is_rotated_alike(learner):
    """A rotation really takes place in both, from what had been observed before the copy."""
    show_rotated(learner, learner.memory_.own().nonzero().flatten().tolist()[:2], 30)
    again, before = copy.deepcopy(learner), learner.networks_.encoder.posterior.weight.clone()
    assert len(again.rotator_.means) == 2
    for model in (learner, again):
        model.rotate_latents()
    assert not torch.equal(learner.networks_.encoder.posterior.weight, before)
    mine, theirs = (split_tensors(model.state_dict())[1] for model in (learner, again))
    for group, tensors in mine.items():
        assert all(torch.equal(tensor, theirs[group][name]) for name, tensor in tensors.items()), group


@pytest.mark.parametrize(
    "off", [{"environments.enabled": False}, {"independence.enabled": False}, {"capacity.objective": "elbo"}]
)
def test_without_s_or_independence_nothing_is_rotated(off):
    model = VASE(VASEConfig.smoke().with_values(off), seed=0)
    model.partial_fit(np.zeros((8, 32, 32), np.uint8))
    assert not any(model.rotator_.wants(0, age) for age in range(1, 200))
