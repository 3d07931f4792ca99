"""EWC: the Fisher information of single images, scaled by the sizes of worlds."""

from __future__ import annotations

import pytest
import torch
from tiny import bars, tiny

from vase.learners.rivals.ewc import EWC, Scale
from vase.learners.rivals.penalised import RecentImages


def test_worlds_weigh_by_their_images() -> None:
    scale = Scale()
    # F/N after a world of 100 images with mean squares 6, and one of 50 with 1: (100·6 + 50·1)/50 = 13
    relative = 0.0
    for size, squares in ((100, 6.0), (50, 1.0)):
        relative = relative * scale.next(size) + squares
    assert relative == 13.0


def test_fisher_information_of_the_elbo() -> None:
    learner = EWC(tiny(objective="elbo"), device="cpu", strength=3.0, images=4)
    learner.partial_fit(bars(8, 0))
    x = torch.from_numpy(bars(8, 0)[-4:]) / 255
    state = learner.generator.get_state()
    weights = list(learner.networks.parameters())
    squares = [torch.zeros_like(weight) for weight in weights]
    for image in x:  # one after the other, with the noise that EWC will draw
        loss = learner.negative_elbo(image[None])
        for total, gradient in zip(squares, torch.autograd.grad(loss, weights, allow_unused=True), strict=True):
            total += 0 if gradient is None else gradient**2 / 4
    learner.generator.set_state(state)
    learner.cross_boundary()
    for expected, found in zip(squares, learner.penalty.importance, strict=True):
        torch.testing.assert_close(found, expected)
    assert learner.recent.seen == 0
    assert learner.fisher.size == 8


def test_the_elbo_is_weighted_like_the_loss() -> None:
    learner = EWC(tiny(objective="elbo", balance="paper"), device="cpu")
    x = torch.from_numpy(bars(8, 0)) / 255
    state = learner.generator.get_state()
    expected = float(learner.loss(x)[0].detach())  # 64·64/16·16 = 16 times the reconstruction, plus the KL
    learner.generator.set_state(state)
    assert float(learner.negative_elbo(x).detach()) == pytest.approx(expected, rel=1e-6)


def test_strength_holds_the_weights() -> None:
    moved = []
    for strength in (0, 1e6):
        learner = EWC(tiny(objective="elbo"), device="cpu", strength=strength, images=8)
        for number in range(10):
            learner.partial_fit(bars(16, number))
        learner.begin_world()
        for number in range(10):
            step = learner.partial_fit(bars(16, number, upright=False))
        important = learner.penalty.importance[0] > learner.penalty.importance[0].mean()
        moved.append(float((learner.penalty.weights[0].detach() - learner.penalty.anchor[0]).abs()[important].mean()))
        assert (step.loss > step.reconstruction + step.kl + 1e-3) == (strength > 0)  # the penalty is in the report
    assert moved[1] < 0.5 * moved[0]


def test_the_last_images_are_kept() -> None:
    recent = RecentImages(5)
    for number in (1, 2, 3):
        recent.add(torch.full((2, 1, 1, 1), number / 255))
    assert recent.images.flatten().tolist() == [1, 2, 2, 3, 3]
    assert recent.seen == 6
