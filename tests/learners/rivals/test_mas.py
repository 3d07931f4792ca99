"""Memory-aware synapses: sensitivities of single images, averaged over boundaries."""

from __future__ import annotations

import torch
from tiny import bars, tiny

from vase.learners.rivals.mas import MAS


def sensitivities(learner: MAS, x: torch.Tensor) -> list[torch.Tensor]:
    """mean |∂‖E[x|z]‖²/∂θ|, image by image."""
    weights = list(learner.networks.parameters())
    totals = [torch.zeros_like(weight) for weight in weights]
    for image in x:
        gradients = torch.autograd.grad(learner.squared_norm(image[None]), weights, allow_unused=True)
        for total, gradient in zip(totals, gradients, strict=True):
            total += 0 if gradient is None else gradient.abs() / len(x)
    return totals


def test_importances_are_averaged_over_boundaries() -> None:
    learner = MAS(tiny(objective="elbo"), device="cpu", boundaries="told", images=3)
    found = []
    for number in range(2):
        learner.partial_fit(bars(8, number))
        state = learner.generator.get_state()
        found.append(sensitivities(learner, torch.from_numpy(bars(8, number)[-3:]) / 255))
        learner.generator.set_state(state)
        learner.cross_boundary()
    for first, second, importance in zip(*found, learner.penalty.importance, strict=True):
        torch.testing.assert_close(importance, (first + second) / 2)
    assert learner.penalty.value() == 0.0  # the anchor is where the weights are


def test_the_norm_is_that_of_the_reconstruction() -> None:
    learner = MAS(tiny(), device="cpu")
    with torch.no_grad():
        for weight in learner.networks.decoder.parameters():
            weight.zero_()
    # logits of zero: E[x|z] = ½ at 16·16 pixels of two images
    assert float(learner.squared_norm(torch.zeros(2, 1, 16, 16)).detach()) == 2 * 256 * 0.25
