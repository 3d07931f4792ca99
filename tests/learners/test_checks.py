"""`check_learner` passes what keeps the contracts, and names the contract that is broken."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from vase import VASE, Step, VASEConfig
from vase.images import as_images
from vase.learners.checks import check_learner, learner_checks, state_bytes


class Projection:
    """A random projection of the image, and a running mean of its codes: the smallest honest learner."""

    def __init__(self, config: VASEConfig, *, seed: int = 0, device: str = "cpu", latents: int = 4) -> None:
        self.shape, self.latents = config.image_shape, latents
        generator = torch.Generator().manual_seed(seed)
        self.weights = torch.randn(int(np.prod(self.shape)), latents, generator=generator)
        self.mean = torch.zeros(latents)
        self.count = 0

    @property
    def n_latents(self) -> int:
        return self.latents

    @property
    def steps(self) -> int:
        return self.count

    def codes(self, images: Any, minimum: int = 1) -> torch.Tensor:
        return as_images(images, self.shape, minimum=minimum).flatten(1) @ self.weights

    def partial_fit(self, images: Any) -> Step:
        codes = self.codes(images, minimum=2)
        self.count += 1
        self.mean = self.mean + (codes.mean(0) - self.mean) / self.count
        return Step(step=self.count)

    def posterior(self, images: Any) -> tuple[np.ndarray, np.ndarray]:
        mean = (self.codes(images) - self.mean).numpy()
        return mean, np.ones_like(mean)

    def state_dict(self) -> dict[str, Any]:
        return {"count": self.count, "tensors": {"weights": self.weights, "mean": self.mean}}

    def load_state_dict(self, state: Any) -> None:
        self.count = state["count"]
        self.weights, self.mean = state["tensors"]["weights"], state["tensors"]["mean"]


class GlobalSeed(Projection):
    def __init__(self, config: VASEConfig, **options: Any) -> None:
        super().__init__(config, **options)
        self.weights = torch.randn(self.weights.shape)


class LearnsFromQuestions(Projection):
    def posterior(self, images: Any) -> tuple[np.ndarray, np.ndarray]:
        self.mean = self.mean + 1
        return super().posterior(images)


class CountsBadBatches(Projection):
    def partial_fit(self, images: Any) -> Step:
        self.count += 1
        codes = self.codes(images, minimum=2)
        self.mean = self.mean + (codes.mean(0) - self.mean) / self.count
        return Step(step=self.count)


class AcceptsAnything(Projection):
    def codes(self, images: Any, minimum: int = 1) -> torch.Tensor:
        try:
            return super().codes(images, minimum)
        except (TypeError, ValueError):
            return torch.zeros(2, self.latents)


class SharesItsMean(Projection):
    def __deepcopy__(self, memo: Any) -> SharesItsMean:
        return self


class ChangesItsInput(Projection):
    def partial_fit(self, images: Any) -> Step:
        step = super().partial_fit(images)
        images[:] = 0
        return step


class NoState(Projection):
    state_dict = None  # type: ignore[assignment]


class Hoards(Projection):
    """Keeps the mean of every batch."""

    def __init__(self, config: VASEConfig, **options: Any) -> None:
        super().__init__(config, **options)
        self.kept: list[float] = []

    def partial_fit(self, images: Any) -> Step:
        self.kept.append(float(self.codes(images, minimum=2).mean()))
        return super().partial_fit(images)

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "kept": list(self.kept)}

    def load_state_dict(self, state: Any) -> None:
        super().load_state_dict(state)
        self.kept = list(state["kept"])


@pytest.mark.parametrize(("name", "check"), learner_checks(VASE))
def test_vase_keeps_the_contract(name: str, check: Any) -> None:
    check()


SWITCHING = VASEConfig.smoke().with_values({"environments.burn_in": 2, "environments.patience": 2})


@pytest.mark.parametrize(("name", "check"), learner_checks(VASE, SWITCHING))
def test_vase_keeps_the_contract_across_a_switch(name: str, check: Any) -> None:
    check()


def batch_norm_encoder() -> nn.Module:
    """A network with a running state that behaves differently in training and evaluation."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return nn.Sequential(nn.Flatten(), nn.Linear(1024, 32), nn.BatchNorm1d(32), nn.ReLU())


@pytest.mark.parametrize(("name", "check"), learner_checks(VASE, SWITCHING, encoder=batch_norm_encoder()))
def test_an_encoder_with_batch_normalisation_keeps_the_contract(name: str, check: Any) -> None:
    check()


def test_questions_do_not_depend_on_the_other_images_or_on_dropout() -> None:
    encoder = nn.Sequential(batch_norm_encoder(), nn.Dropout(0.5))
    model = VASE(VASEConfig.smoke(), seed=0, encoder=encoder)
    images = np.random.default_rng(0).random((8, 1, 32, 32))
    with torch.random.fork_rng():
        model.partial_fit(images)
        mean, _ = model.posterior(images)
        assert np.allclose(model.posterior(images[:1])[0], mean[:1], atol=1e-6)
        assert np.array_equal(model.posterior(images)[0], mean)


@pytest.mark.parametrize(("name", "check"), learner_checks(Projection, latents=3))
def test_a_small_learner_keeps_the_contract(name: str, check: Any) -> None:
    check()


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (NoState, "not callable|lacks members"),
        (GlobalSeed, "same seed and stream differ"),
        (LearnsFromQuestions, "asking changes the state"),
        (CountsBadBatches, "refused but changed the state"),
        (AcceptsAnything, "was accepted"),
        (SharesItsMean, "training a copy changes the original|continue differently"),
        (ChangesItsInput, "changed its input"),
    ],
)
def test_a_broken_contract_is_named(broken: Any, message: str) -> None:
    with pytest.raises((AssertionError, TypeError, AttributeError), match=message):
        check_learner(broken)


def test_a_state_that_is_not_restored_is_found() -> None:
    class Forgetful(Projection):
        def load_state_dict(self, state: Any) -> None:
            self.count = state["count"]
            self.weights = state["tensors"]["weights"]

    with pytest.raises(AssertionError, match="load_state_dict does not restore the state"):
        check_learner(Forgetful)


def test_constant_memory_is_reported() -> None:
    report = check_learner(Projection)
    assert not report.memory_grows
    assert len(set(report.state_bytes)) == 1


def test_growing_memory_is_reported() -> None:
    with pytest.warns(UserWarning, match="grows with the stream"):
        report = check_learner(Hoards)
    assert report.memory_grows
    assert np.diff(report.state_bytes).tolist() == [32] * 5  # four batches of one number each


def test_bytes_of_a_state() -> None:
    assert state_bytes({"a": torch.zeros(3), "b": {"c": [1, 2.5], "d": "text", "e": None}}) == 12 + 16 + 4 + 8


def test_a_state_that_no_file_can_hold_is_named() -> None:
    class Whole(Projection):
        def state_dict(self) -> dict[str, Any]:
            return {"count": self.count, "parts": {"mean": self.mean.numpy()}}

    with pytest.raises(AssertionError, match=r"state_dict cannot be saved: .*parts\.mean of type ndarray"):
        check_learner(Whole)
