"""Contracts that every learner keeps, in the manner of scikit-learn's and river's estimator checks.

>>> from vase import VASE
>>> report = check_learner(VASE)
>>> report.memory_grows
False
"""

from __future__ import annotations

import copy
import json
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from jaxtyping import UInt8
from torch import Tensor

from vase.checkpoint import as_json, join_tensors, split_tensors
from vase.config import VASEConfig
from vase.learners.protocol import Learner
from vase.learners.records import Step

LearnerClass = Callable[..., Learner]
Make = Callable[[int], Learner]
"""Seed → a new learner."""
Shape = tuple[int, int, int]
BATCH = 16


@dataclass(frozen=True)
class LearnerReport:
    """What `check_learner` measured."""

    state_bytes: tuple[int, ...]
    """Size of the state after 4, 8, 12, ... batches of one world."""

    @property
    def memory_grows(self) -> bool:
        """Whether the state grows with the length of the stream."""
        return self.state_bytes[-1] > self.state_bytes[0]


def check_learner(
    learner_class: Callable[..., Learner], config: VASEConfig | None = None, **options: Any
) -> LearnerReport:
    """Raise AssertionError with the name of the first contract that a learner breaks.

    A learner is built as `learner_class(config, seed=..., device="cpu", **options)`. Growing memory is no error: it is
    reported, and a warning says so.
    """
    for _, check in learner_checks(learner_class, config, **options):
        check()
    make, shape = _maker(learner_class, config, options)
    learner = make(0)
    sizes = []
    for number in range(24):
        learner.partial_fit(_batch(shape, 6 * number))
        if number % 4 == 3:
            sizes.append(state_bytes(learner.state_dict()))
    report = LearnerReport(tuple(sizes))
    if report.memory_grows:
        warnings.warn(f"the state of {learner_class} grows with the stream: {sizes} bytes", stacklevel=2)
    return report


def learner_checks(
    learner_class: LearnerClass, config: VASEConfig | None = None, **options: Any
) -> list[tuple[str, Callable[[], None]]]:
    """(name, check) pairs, for `pytest.mark.parametrize`."""
    make, shape = _maker(learner_class, config, options)
    return [(check.__name__.removeprefix("check_"), partial(check, make, shape)) for check in CHECKS]


def _maker(
    learner_class: Callable[..., Learner], config: VASEConfig | None, options: Mapping[str, Any]
) -> tuple[Make, Shape]:
    chosen = config or VASEConfig.smoke()
    return lambda seed: learner_class(chosen, seed=seed, device="cpu", **options), chosen.image_shape


def check_protocol(make: Make, shape: Shape) -> None:
    """It has the members of `Learner`, counts its batches, and gives codes of N finite numbers for each image."""
    learner = make(0)
    missing = [name for name in dir(Learner) if not name.startswith("_") and not hasattr(learner, name)]
    assert isinstance(learner, Learner), f"{type(learner).__name__} lacks members of Learner: {', '.join(missing)}"
    for number in range(3):
        step = learner.partial_fit(_batch(shape, number))
        assert isinstance(step, Step), f"partial_fit returned {type(step).__name__}, not a Step"
        assert step.step == learner.steps == number + 1, "steps does not count the batches"
    mean, std = learner.posterior(_batch(shape, 0, images=5))
    assert mean.shape == std.shape == (5, learner.n_latents), f"posterior of shapes {mean.shape}, {std.shape}"
    assert np.isfinite(mean).all(), "posterior: means are not finite"
    assert (std >= 0).all(), "posterior: standard deviations are negative or not finite"
    _saved_values(learner.state_dict())


def _saved_values(state: dict[str, Any]) -> dict[str, Any]:
    """What of a state is no tensor, as it comes back from a file."""
    try:
        return as_json(split_tensors(state)[0])
    except TypeError as error:
        raise AssertionError(f"state_dict cannot be saved: {error}") from None


def check_determinism(make: Make, shape: Shape) -> None:
    """The seed decides everything; the global random state does not matter."""
    first = _trained(make(3), shape)
    with torch.random.fork_rng():
        torch.manual_seed(99)
        second = _trained(make(3), shape)
    _assert_same_state(first, second, "two learners of the same seed and stream differ")


def check_save_and_load(make: Make, shape: Shape) -> None:
    """A state survives the way through a file, and the learner that loads it continues exactly."""
    learner = _trained(make(1), shape)
    state = learner.state_dict()
    values, (_, groups) = _saved_values(state), split_tensors(state)
    saved = {top: {name: tensor.clone() for name, tensor in tensors.items()} for top, tensors in groups.items()}
    loaded = make(1)
    loaded.load_state_dict(join_tensors(values, saved))
    _assert_same_state(learner, loaded, "load_state_dict does not restore the state")
    _assert_continues_alike(learner, loaded, shape, "a loaded learner continues differently")


def check_copies(make: Make, shape: Shape) -> None:
    """A deep copy continues exactly, and independently."""
    learner = _trained(make(1), shape)
    _assert_continues_alike(copy.deepcopy(learner), copy.deepcopy(learner), shape, "copies continue differently")
    _assert_same_state(learner, _trained(make(1), shape), "training a copy changes the original")


def check_asking_learns_nothing(make: Make, shape: Shape) -> None:
    """Questions leave the state as it is."""
    learner = _trained(make(2), shape)
    before = copy.deepcopy(learner.state_dict())
    for question in ("posterior", "encode", "transform", "reconstruct", "infer_environment"):
        if hasattr(learner, question):
            getattr(learner, question)(_batch(shape, 50))
    assert states_equal(before, learner.state_dict()), "asking changes the state"


def check_bad_input(make: Make, shape: Shape) -> None:
    """Bad input raises ValueError or TypeError, and the state stays as it was."""
    learner = _trained(make(2), shape)
    before = copy.deepcopy(learner.state_dict())
    good = _batch(shape, 0).astype(np.float32) / 255
    bad = {
        "NaN": np.where(np.arange(good.size).reshape(good.shape) == 7, np.nan, good),
        "values above 1": good + 2,
        "other channels": np.concatenate([good, good], 1),
        "no images": good[:0],
        "text": "images",
        "None": None,
    }
    for what, images in bad.items():
        try:
            learner.partial_fit(images)
        except (ValueError, TypeError):
            assert states_equal(before, learner.state_dict()), f"a batch with {what} was refused but changed the state"
        else:
            raise AssertionError(
                f"a batch with {what} was accepted; vase.images.as_images(images, config.image_shape, minimum=2) "
                "checks a batch and makes a float tensor of it"
            )


def check_input_is_not_modified(make: Make, shape: Shape) -> None:
    """Learning leaves the caller's array alone, and does not depend on it afterwards."""
    learner, twin = make(4), make(4)
    for number in range(6):
        images = _batch(shape, number).astype(np.float32) / 255
        kept = images.copy()
        learner.partial_fit(images)
        assert np.array_equal(images, kept), "partial_fit changed its input"
        images[:] = 0
        twin.partial_fit(kept)
    _assert_same_state(learner, twin, "the state depends on the caller's array after partial_fit")


CHECKS: tuple[Callable[[Make, Shape], None], ...] = (
    check_protocol,
    check_determinism,
    check_save_and_load,
    check_copies,
    check_asking_learns_nothing,
    check_bad_input,
    check_input_is_not_modified,
)


# ---------------------------------------------------------------- pieces


def _batch(shape: Shape, number: int, images: int = BATCH) -> UInt8[np.ndarray, "B C H W"]:
    """Smooth random blobs: something that can be learnt. Batches 3, 4, 5 of every six are negatives: another world."""
    rng = np.random.default_rng([number, 20_180_820])
    c, h, w = shape
    y, x = np.mgrid[:h, :w]
    centres = rng.uniform(0.2, 0.8, (images, 2, 1, 1)) * np.array([h, w])[:, None, None]
    size = 2 * (min(h, w) / 8) ** 2
    blobs = np.exp(-((y - centres[:, 0]) ** 2 + (x - centres[:, 1]) ** 2) / size)
    drawn = np.repeat((255 * blobs).astype(np.uint8)[:, None], c, 1)
    return 255 - drawn if number % 6 > 2 else drawn


def _trained(learner: Learner, shape: Shape) -> Learner:
    for number in range(6):
        learner.partial_fit(_batch(shape, number))
    return learner


def _assert_continues_alike(first: Learner, second: Learner, shape: Shape, message: str) -> None:
    for number in range(100, 104):
        for learner in (first, second):
            learner.partial_fit(_batch(shape, number))
    _assert_same_state(first, second, message)


def _assert_same_state(first: Learner, second: Learner, message: str) -> None:
    assert states_equal(first.state_dict(), second.state_dict()), message


def states_equal(a: Any, b: Any) -> bool:
    """Whether two states are equal to the last bit; NaN equals NaN."""
    if isinstance(a, Mapping):
        return isinstance(b, Mapping) and a.keys() == b.keys() and all(states_equal(a[key], b[key]) for key in a)
    if isinstance(a, Tensor):
        return isinstance(b, Tensor) and a.dtype == b.dtype and a.shape == b.shape and bool(_equal(a, b).all())
    return json.dumps(a) == json.dumps(b)


def _equal(a: Tensor, b: Tensor) -> Tensor:
    return (a == b) | (a.isnan() & b.isnan()) if a.dtype.is_floating_point else a == b


def state_bytes(state: Any) -> int:
    """Bytes of a state: of its tensors, of its texts, and 8 for every number."""
    if isinstance(state, Mapping):
        return sum(map(state_bytes, state.values()))
    if isinstance(state, list | tuple):
        return sum(map(state_bytes, state))
    if isinstance(state, Tensor):
        return state.nbytes
    return len(state) if isinstance(state, str) else 8
