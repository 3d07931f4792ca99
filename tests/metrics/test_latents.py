"""Used, masked, shared and recruited latents, by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from vase.metrics.latents import State, learner_states, recruited_latents, row_states, shared_latents, used_flags

KNOWN: Any = [
    {"index": 0, "used": [True, True, False, False, False], "mask": [True, True, True, True, False]},
    {"index": 1, "used": [False, True, True, False, False], "mask": [False, True, False, True, False]},
]
STATES = [
    [State.USED, State.USED, State.UNUSED, State.UNUSED, State.UNUSED],  # z2 is another's, but not masked here
    [State.MASKED, State.USED, State.USED, State.UNUSED, State.UNUSED],  # z4 is masked, but nobody uses it
]


def test_states_of_a_row_by_hand() -> None:
    assert row_states(KNOWN).tolist() == STATES
    assert row_states([]).shape == (0, 0)


def test_states_of_a_learner_are_those_of_its_row() -> None:
    learner: Any = SimpleNamespace(n_latents=5, environment=0, infer_environment=lambda images: None)
    learner.environments = [
        SimpleNamespace(used=np.array(known["used"]), mask=np.array(known["mask"])) for known in KNOWN
    ]
    assert learner_states(learner).tolist() == STATES
    learner.environments = ()
    assert learner_states(learner).shape == (0, 5)


def test_a_learner_without_environments_uses_every_latent() -> None:
    learner: Any = SimpleNamespace(n_latents=3)
    assert learner_states(learner).tolist() == [[State.USED] * 3]


def test_shared_and_recruited_by_hand() -> None:
    used = used_flags(KNOWN)
    assert shared_latents(used) == [1]
    assert recruited_latents(used) == [[0, 1], [2]]
    assert recruited_latents(used_flags([])) == shared_latents(used_flags([])) == []
