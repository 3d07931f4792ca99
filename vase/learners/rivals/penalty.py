"""Quadratic penalties on the weights, shared by EWC, SI and MAS: ½·λ·Σ Ω (θ − θ*)²."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from vase.nn.likelihood import Images

Tensors = list[Tensor]


class QuadraticPenalty:
    """Importances Ω and anchors θ* of all weights of a module. Its gradient λ·Ω·(θ − θ*) is added to theirs."""

    def __init__(self, module: nn.Module, strength: float) -> None:
        self.strength = strength
        self.names = [name for name, _ in module.named_parameters()]
        self.weights: Tensors = list(module.parameters())
        self.importance: Tensors = [torch.zeros_like(weight) for weight in self.weights]
        self.anchor: Tensors = self.copy_weights()
        self.count = 0
        """How often something was added."""

    def copy_weights(self) -> Tensors:
        """The weights as they are now."""
        return [weight.detach().clone() for weight in self.weights]

    @torch.no_grad()
    def value(self) -> float:
        """½·λ·Σ Ω (θ − θ*)²."""
        if not self.count:
            return 0.0
        parts = zip(self.importance, self.weights, self.anchor, strict=True)
        return 0.5 * self.strength * float(sum((i * (w - a).square()).sum() for i, w, a in parts))

    @torch.no_grad()
    def add_gradient(self) -> None:
        """Add λ·Ω·(θ − θ*) to the gradients of the weights."""
        if self.count:
            for importance, weight, anchor in zip(self.importance, self.weights, self.anchor, strict=True):
                if weight.grad is not None:
                    weight.grad.addcmul_(importance, weight - anchor, value=self.strength)

    @torch.no_grad()
    def add(self, importance: Sequence[Tensor]) -> None:
        """One more penalty, with the present weights as its anchors; earlier ones keep theirs.

        A sum of parabolas is a parabola: Ω = Ω₁ + Ω₂ around (Ω₁θ₁ + Ω₂θ₂)/Ω, up to a constant.
        """
        for i, (new, weight) in enumerate(zip(importance, self.weights, strict=True)):
            total = self.importance[i] + new
            share = torch.where(total > 0, new / total, 1.0)
            self.anchor[i] = torch.lerp(self.anchor[i], weight.detach(), share)
            self.importance[i] = total
        self.count += 1

    @torch.no_grad()
    def replace(self, importance: Sequence[Tensor]) -> None:
        """New importances of all weights, with the present ones as the only anchors."""
        self.importance, self.anchor = [new.clone() for new in importance], self.copy_weights()
        self.count += 1

    def state_dict(self) -> dict[str, Any]:
        """Importances and anchors, by the names of the weights."""
        columns = {"importance": self.importance, "anchor": self.anchor}
        return {"count": self.count, **{key: named(self.names, values) for key, values in columns.items()}}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict()`."""
        self.count = state["count"]
        self.importance = unnamed(self.names, state["importance"], self.weights)
        self.anchor = unnamed(self.names, state["anchor"], self.weights)


def named(names: Sequence[str], values: Sequence[Tensor]) -> dict[str, Tensor]:
    """Tensors by the names of the weights that they belong to."""
    return dict(zip(names, values, strict=True))


def unnamed(names: Sequence[str], state: Mapping[str, Tensor], weights: Sequence[Tensor]) -> Tensors:
    """The inverse of `named`, each in the memory layout and on the device of its weight."""
    return [torch.empty_like(w).detach().copy_(state[name]) for name, w in zip(names, weights, strict=True)]


def mean_of_gradients(
    output: Callable[[Images], Tensor], x: Images, weights: Sequence[Tensor], form: Callable[[Tensor], Tensor]
) -> Tensors:
    """The mean over images of `form` of the gradient of one image's output: squares, or absolute values.

    The images pass one by one: the square of a batch's gradient would be another thing.
    """
    totals = [torch.zeros_like(weight) for weight in weights]
    for one in x.split(1):
        gradients = torch.autograd.grad(output(one), list(weights), allow_unused=True)
        for total, gradient in zip(totals, gradients, strict=True):
            if gradient is not None:
                total += form(gradient) / len(x)
    return totals
