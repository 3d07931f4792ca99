"""Copies of a learner learn on exactly, and saved states of the wrong form are refused before anything is built."""

from __future__ import annotations

import copy
import pickle
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone

from vase import VASE, VASEConfig, checkpoint
from vase.checkpoint import CheckpointError
from vase.learners.saved_state import weight_shapes
from vase.nn.networks import Networks

CONFIG = VASEConfig.smoke((1, 16, 16)).with_values({"network.latents": 4, "network.hidden": 16, "dreaming.pool": 64})
Copy = Callable[[VASE], VASE]


def batches(n: int) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    dark, light = (rng.uniform(low, high, (n, 8, 16, 16)) for low, high in ((0, 0.3), (0.6, 1)))
    return [*dark, *light]


def pickled(model: VASE) -> VASE:
    return pickle.loads(pickle.dumps(model))


@pytest.mark.parametrize("make", [copy.deepcopy, pickled, copy.copy])
@pytest.mark.parametrize("moment", [0, 14, 36])
def test_a_copy_learns_on_like_the_original(make: Copy, moment: int) -> None:
    """Before anything is learnt, in the first environment, and in the second with dreams."""
    stream = batches(22)
    model = VASE(CONFIG, seed=3, device="cpu")
    for images in stream[:moment]:
        model.partial_fit(images)
    twin = make(model)
    losses = [[learner.partial_fit(images).loss for images in stream[moment : moment + 4]] for learner in (model, twin)]
    np.testing.assert_array_equal(losses[0], losses[1])
    theirs = twin.state_dict()["networks"]
    model.partial_fit(stream[-1])
    assert all(torch.equal(theirs[name], value) for name, value in twin.state_dict()["networks"].items()), (
        "two learners"
    )


def test_a_clone_has_learnt_nothing() -> None:
    model = VASE(CONFIG, device="cpu").fit(iter(batches(2)))
    assert clone(model).steps == 0


# ----------------------------------------------------------------------------------------------- states of wrong form


@pytest.fixture(scope="module")
def state() -> dict[str, Any]:
    return VASE(CONFIG, device="cpu").fit(iter(batches(2))).state_dict()


def test_shapes_are_those_of_the_networks() -> None:
    for config in (CONFIG, VASEConfig.laptop(), VASEConfig.paper((3, 64, 64))):
        made = Networks(config, torch.Generator()).state_dict()
        assert all(made[name].shape == shape for name, shape in weight_shapes(config).items())


def saved(folder: Path, state: dict[str, Any], **changes: Any) -> Path:
    """A checkpoint with a valid signature and other content."""
    checkpoint.write(folder, checkpoint.LEARNER, {"learner": {**state, **changes}})
    return folder


ALLOWED = {"optimiser": [{}], "custom": [{}], "recent": [{}, []], "ema": [None]}
"""Values that a learner has which was just built, or was saved for others."""
WRONG = [
    (name, value)
    for name in ("config", "seed", "custom", "networks", "optimiser", "memory", "ema", "recent", "visit", "last")
    for value in (None, [], {}, "text")
    if value not in ALLOWED.get(name, [])
]


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_a_signed_state_of_the_wrong_form_is_refused(
    tmp_path: Path, state: dict[str, Any], name: str, value: Any
) -> None:
    with pytest.raises((CheckpointError, ValueError, TypeError)) as error:
        VASE.load(saved(tmp_path, state, **{name: value}), device="cpu")
    assert str(error.value), "a sentence"


@pytest.mark.parametrize("name", ["config", "networks", "environments", "detector"])
def test_a_missing_part_is_named(tmp_path: Path, state: dict[str, Any], name: str) -> None:
    checkpoint.write(tmp_path, checkpoint.LEARNER, {"learner": {key: state[key] for key in state if key != name}})
    with pytest.raises(CheckpointError, match=f"the saved learner has no '{name}'"):
        VASE.load(tmp_path)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"network.hidden": 60_000}, r"decoder.from_latents.weight has shape \(16, 4\) instead of \(60000, 4\)"),
        ({"network.channels": (4096,) * 4}, r"convs.0.weight has shape .* instead of \(4096, 1, 4, 4\)"),
        ({"image_shape": (1, 4096, 4096)}, "features.linear.weight has shape"),
    ],
)
def test_shapes_are_compared_before_anything_is_built(
    tmp_path: Path, state: dict[str, Any], changes: dict[str, Any], words: str
) -> None:
    """The learner that the manifest describes would take gigabytes."""
    folder = saved(tmp_path, state, config=CONFIG.with_values(changes).to_dict())
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(CheckpointError, match=words):
        VASE.load(folder, device="cpu")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 * 1024  # in kB


@pytest.mark.parametrize("count", [10**9, -1, None, 1.5])
def test_the_number_of_environments_must_have_weights(tmp_path: Path, state: dict[str, Any], count: Any) -> None:
    with pytest.raises(CheckpointError, match=rf"has {count!r} environments and weights for 8"):
        VASE.load(saved(tmp_path, state, environments=count), device="cpu")
