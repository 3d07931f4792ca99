"""Lifelong generative modelling: the share of the teacher, and the divergence between two posteriors."""

from __future__ import annotations

import math

import pytest
import torch
from tiny import bars, tiny

from vase.learners.rivals.lifelong_generative import LifelongGenerative, kl_between, teacher_share


def test_the_share_of_the_teacher() -> None:
    assert [teacher_share(64, past) for past in range(5)] == [0, 32, 43, 48, 51]
    assert teacher_share(4, 100) == 2  # the world is never without a voice


def test_the_divergence_by_hand() -> None:
    one = torch.ones(1, 1)
    # KL(N(1, 1) ‖ N(0, 4)) = ½(1/4 + 1/4 − 1 + log 4)
    found = kl_between(one, 0 * one, 0 * one, math.log(4) * one)
    assert float(found) == pytest.approx(0.5 * (-0.5 + math.log(4)), abs=1e-6)
    # with the log-variance taken for a standard deviation it would be KL(N(1, 0) ‖ N(0, 1.92)): infinite
    assert float(kl_between(one, 0 * one, one, 0 * one)) == 0.0
    two = torch.tensor([[1.0, 2.0]])
    zero = torch.zeros(1, 2)
    assert float(kl_between(two, zero, zero, zero)) == pytest.approx(0.5 * (1 + 4))  # latents add up


def test_a_batch_is_a_mixture(monkeypatch: pytest.MonkeyPatch) -> None:
    learner = LifelongGenerative(tiny(objective="elbo"), device="cpu", boundaries=2, weight=2.0)
    seen: list[torch.Tensor] = []
    whole = learner.loss
    monkeypatch.setattr(learner, "loss", lambda x: seen.append(x) or whole(x))
    steps = [learner.partial_fit(bars(12, number)) for number in range(5)]
    assert [len(x) for x in seen] == [12] * 5  # as many as ever
    real = [torch.from_numpy(bars(12, number)) / 255 for number in range(5)]
    assert torch.equal(seen[1], real[1])
    assert torch.equal(seen[2][:6], real[2][:6])  # 12·1/2 of the teacher
    assert torch.equal(seen[4][:4], real[4][:4])  # 12·2/3
    assert not torch.equal(seen[4][4:], real[4][4:])
    beyond = [step.loss - step.reconstruction - step.kl for step in steps]
    assert beyond[2] == pytest.approx(0, abs=1e-2)  # student and teacher are still the same
    assert beyond[3] > 0.01  # the divergence from the teacher
