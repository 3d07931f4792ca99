"""Generative replay: the weights of old and new, and a teacher that stays as it is between boundaries."""

from __future__ import annotations

import pytest
import torch
from tiny import bars, tiny

from vase.learners.checks import states_equal
from vase.learners.rivals.generative_replay import GenerativeReplay, weighted_loss


def test_every_world_counts_the_same() -> None:
    new, replayed = torch.tensor(12.0), torch.tensor(6.0)
    assert float(weighted_loss(new, replayed, 1)) == 12.0
    assert float(weighted_loss(new, replayed, 2)) == 9.0
    assert float(weighted_loss(new, replayed, 3)) == pytest.approx(8.0)  # 12/3 + 6·2/3


def test_the_loss_of_the_second_world() -> None:
    learner = GenerativeReplay(tiny(objective="elbo"), device="cpu")
    learner.partial_fit(bars(16, 0))
    learner.begin_world()
    parts: list[float] = []
    whole = learner.loss

    def noted(x: torch.Tensor, *, independence: bool = True):  # type: ignore[no-untyped-def]
        found = whole(x, independence=independence)
        parts.append(float(found[0].detach()))
        return found

    learner.loss = noted  # type: ignore[method-assign]
    step = learner.partial_fit(bars(16, 1, upright=False))
    assert len(parts) == 2
    assert step.loss == pytest.approx(sum(parts) / 2, rel=1e-5)
    assert step.reconstruction + step.kl == pytest.approx(parts[0], rel=1e-5)  # the report is of the real batch


def test_the_teacher_follows_at_boundaries_only() -> None:
    learner = GenerativeReplay(tiny(), device="cpu", boundaries=2)
    seen = []
    for number in range(6):
        learner.partial_fit(bars(16, number))
        teacher = learner.teacher.state_dict()
        seen.append(
            (teacher["past"], teacher["networks"] and teacher["networks"]["decoder.from_latents.weight"].clone())
        )
    assert [past for past, _ in seen] == [0, 0, 1, 1, 2, 2]
    assert seen[0][1] is None
    assert states_equal({"w": seen[2][1]}, {"w": seen[3][1]})
    assert not torch.equal(seen[3][1], seen[4][1])
