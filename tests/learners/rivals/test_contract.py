"""Every rival keeps the contract of a learner, at boundaries too, and takes options as text."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch
from tiny import bars, tiny

from vase.learners.checks import learner_checks
from vase.learners.protocol import Decodes, Dreams, InfersEnvironments, WantsBoundaries
from vase.learners.registry import LEARNERS, load_learner_class, make_learner

RIVALS: list[tuple[str, dict[str, Any]]] = [
    ("fine-tuning", {}),
    ("reservoir", {"images": "40"}),
    ("generative-replay", {"boundaries": "3"}),
    ("generative-replay", {"boundaries": "detected"}),
    ("lifelong-generative", {"boundaries": "3", "weight": "0.5"}),
    ("ewc", {"boundaries": "3", "strength": "10", "images": "2"}),
    ("si", {"boundaries": "3", "strength": "0.1", "damping": "0.01"}),
    ("mas", {"boundaries": "3", "strength": "1e-2", "images": "2"}),
    ("curl", {"threshold": "300", "components": "3"}),
]
CASES = [
    pytest.param(name, options, check, id=f"{name}-{options.get('boundaries', '')}-{check}")
    for name, options in RIVALS
    for check, _ in learner_checks(load_learner_class("vase"))
    if options.get("boundaries") != "detected" or check in ("save_and_load", "bad_input")
]


def test_all_of_them_are_here() -> None:
    assert {"vase", *(name for name, _ in RIVALS)} == set(LEARNERS)


@pytest.mark.parametrize(("name", "options", "check"), CASES)
def test_the_contract(name: str, options: dict[str, Any], check: str) -> None:
    with torch.random.fork_rng(), warnings.catch_warnings():
        dict(learner_checks(load_learner_class(name), tiny(objective="elbo"), **options))[check]()


@pytest.mark.parametrize(("name", "options"), RIVALS)
def test_what_they_can_do(name: str, options: dict[str, Any]) -> None:
    learner = make_learner(name, tiny(), device="cpu", options=options)
    learner.partial_fit(bars(8, 0))
    assert isinstance(learner, Decodes)
    assert isinstance(learner, Dreams)
    assert isinstance(learner, InfersEnvironments) == (name == "curl")
    assert isinstance(learner, WantsBoundaries) == ("boundaries" in options)
    assert learner.reconstruct(bars(3, 1)).shape == learner.dream(3).shape == (3, 1, 16, 16)
    assert (learner.dream(2, seed=5) == learner.dream(2, seed=5)).all()
    with pytest.raises(ValueError, match="one column per latent"):
        learner.decode([[1.0, 2.0]])


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("reservoir", {"images": "some"}, "images='some': must be a whole number of at least 1"),
        ("reservoir", {"images": 2.5}, "images=2.5: must be a whole number"),
        ("ewc", {"strength": -1}, "strength=-1: must be a number of at least 0"),
        ("ewc", {"strength": "inf"}, "strength='inf': must be a number"),
        ("curl", {"components": True}, "components=True: must be a whole number"),
        ("si", {"boundaries": "tolled"}, "boundaries='tolled': must be 'told', 'detected' or a number of batches"),
    ],
)
def test_a_wrong_option_is_named(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_learner(name, tiny(), options=options)


def test_a_state_of_another_configuration_is_refused() -> None:
    state = make_learner("fine-tuning", tiny(), device="cpu").state_dict()
    with pytest.raises(ValueError, match="another configuration or seed"):
        make_learner("fine-tuning", tiny(objective="elbo"), device="cpu").load_state_dict(state)
