"""Synaptic intelligence: the path integral by hand."""

from __future__ import annotations

import pytest
import torch
from tiny import bars, tiny
from torch import nn

from vase.learners.rivals.penalty import QuadraticPenalty
from vase.learners.rivals.si import SI, PathIntegral


def test_the_path_integral_by_hand() -> None:
    module = nn.Linear(2, 1, bias=False)
    module.weight.data = torch.tensor([[1.0, 1.0]])
    path = PathIntegral(QuadraticPenalty(module, 1.0))
    for gradient, end in (((2.0, 1.0), (0.75, 1.5)), ((4.0, 1.0), (0.5, 2.0))):
        before = [module.weight.detach().clone()]
        module.weight.data = torch.tensor([end])
        path.advance([torch.tensor([gradient])], before)
    # W = −(2·(−0.25) + 4·(−0.25)) = 1.5; the other one climbed: −(1·0.5 + 1·0.5) = −1
    torch.testing.assert_close(path.contribution[0], torch.tensor([[1.5, -1.0]]))
    # Ω = 1.5/(0.5² + 0.5) = 2; what climbed has no importance
    torch.testing.assert_close(path.importance(damping=0.5)[0], torch.tensor([[2.0, 0.0]]))
    path.restart()
    assert float(path.contribution[0].abs().sum()) == 0.0


def test_importances_add_up_and_the_penalty_is_c_times_the_sum() -> None:
    learner = SI(tiny(objective="elbo"), device="cpu", boundaries=2, strength=5.0)
    totals = []
    for number in range(5):
        learner.partial_fit(bars(16, number))
        totals.append(float(sum(i.sum() for i in learner.penalty.importance)))
    assert totals[0] == totals[1] == 0.0
    assert 0 < totals[2] == totals[3] < totals[4]
    expected = sum(
        (i * (w.detach() - a).square()).sum()
        for i, w, a in zip(learner.penalty.importance, learner.penalty.weights, learner.penalty.anchor, strict=True)
    )
    assert learner.penalty.value() == pytest.approx(5.0 * float(expected), rel=1e-5)


def test_the_gradient_of_the_path_has_no_penalty_in_it() -> None:
    twins = [SI(tiny(objective="elbo"), device="cpu", strength=strength) for strength in (0.0, 1e3)]
    for learner in twins:
        learner.partial_fit(bars(16, 0))
        learner.cross_boundary()
        with torch.no_grad():  # away from the anchor, so that the penalty pulls
            learner.penalty.weights[0] += 0.1
        learner.path.restart()
    gradients = []
    for learner in twins:
        learner.optimiser.zero_grad()
        learner.loss(torch.from_numpy(bars(16, 1)) / 255)[0].backward()
        gradients.append(learner.path.gradients()[0])
        learner.penalty.add_gradient()
    torch.testing.assert_close(*gradients)
    assert not torch.equal(*(learner.penalty.weights[0].grad for learner in twins))
