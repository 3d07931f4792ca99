"""Quadratic penalties by hand, and gradients of single images."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from vase.learners.rivals.penalty import QuadraticPenalty, mean_of_gradients


def weight(*values: float) -> nn.Module:
    module = nn.Linear(len(values), 1, bias=False)
    module.weight.data = torch.tensor([values])
    return module


def test_value_and_gradient_of_two_parabolas() -> None:
    module = weight(1.0, 0.0)
    penalty = QuadraticPenalty(module, strength=2.0)
    assert penalty.value() == 0.0
    penalty.add([torch.tensor([[3.0, 0.0]])])  # 3·(θ − 1)²
    module.weight.data = torch.tensor([[5.0, 7.0]])
    assert penalty.value() == pytest.approx(0.5 * 2 * 3 * 16)
    penalty.add([torch.tensor([[1.0, 2.0]])])  # + 1·(θ − 5)², + 2·(θ' − 7)²
    module.weight.data = torch.tensor([[4.0, 6.0]])
    module.weight.grad = torch.ones(1, 2)
    penalty.add_gradient()
    # λ·Σ Ω (θ − θ*) = 2·(3·3 + 1·(−1)) = 16 and 2·2·(−1) = −4, beside what was there
    torch.testing.assert_close(module.weight.grad, torch.tensor([[17.0, -3.0]]))


def test_replacing_moves_the_anchor_of_everything() -> None:
    module = weight(1.0)
    penalty = QuadraticPenalty(module, strength=1.0)
    penalty.replace([torch.tensor([[4.0]])])
    module.weight.data += 3
    assert penalty.value() == pytest.approx(0.5 * 4 * 9)
    penalty.replace([torch.tensor([[5.0]])])
    assert penalty.value() == 0.0


def test_squares_of_single_gradients_not_the_square_of_their_mean() -> None:
    module, x = weight(2.0), torch.tensor([1.0, -3.0]).view(2, 1, 1, 1)

    def output(one: torch.Tensor) -> torch.Tensor:
        return (module.weight * one.flatten()).sum()  # gradients 1 and −3

    weights = list(module.parameters())
    assert float(mean_of_gradients(output, x, weights, torch.square)[0]) == 5.0  # (1 + 9)/2; of the mean: 1
    assert float(mean_of_gradients(output, x, weights, torch.abs)[0]) == 2.0  # (1 + 3)/2; of the mean: 1


def test_a_penalty_survives_saving() -> None:
    module = weight(1.0, 2.0)
    penalty = QuadraticPenalty(module, strength=1.0)
    penalty.add([torch.tensor([[3.0, 1.0]])])
    again = QuadraticPenalty(module, strength=1.0)
    again.load_state_dict(penalty.state_dict())
    module.weight.data += 1
    assert again.value() == penalty.value() == pytest.approx(2.0)
