"""What happened, in sentences that hold for any run."""

from __future__ import annotations

from typing import Any

import pytest

from vase.report.sentences import count, three_sentences


def summary(**changed: Any) -> dict[str, Any]:
    found: dict[str, Any] = {
        "stream": ["moving-fashion", "mnist"],
        "steps": 1200,
        "complete": True,
        "environments": 2,
        "delays": [4],
        "false_alarms": 0,
        "missed": [],
        "latents": 24,
        "environment_latents": [{"used": [0, 1, 2]}, {"used": [2, 5]}],
        "shared": [2],
        "frozen": {"identity": {"mean": {"change": -0.012}}},
    }
    return found | changed


def test_three_sentences() -> None:
    assert three_sentences(summary(), 64) == [
        "The learner saw 1,200 batches of 64 images: moving Fashion, then MNIST, and was never told when the world "
        "changed.",
        "It noticed the change, four batches later, raised no false alarms, and knows two environments now.",
        "It uses 4 of its 24 latents, 1 of them in several environments, and the classes of earlier worlds can be read "
        "from its codes 1.2 points worse than when they were learnt.",
    ]


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        (
            {"delays": [4, 9], "missed": [900]},
            "It noticed 2 of three changes, 4 to nine batches later, raised no false alarms, "
            "and knows two environments now.",
        ),
        (
            {"delays": [], "missed": [600]},
            "It missed the change, raised no false alarms, and knows two environments now.",
        ),
        ({"delays": [], "false_alarms": 1}, "It raised one false alarm, and knows two environments now."),
        ({"environments": 0, "delays": []}, "It does not infer environments."),
    ],
)
def test_what_it_noticed(changed: dict[str, Any], sentence: str) -> None:
    assert three_sentences(summary(**changed), 64)[1] == sentence


def test_a_run_of_one_world_that_goes_on() -> None:
    found = summary(stream=["mnist"], steps=7, complete=False, latents=None)
    found["frozen"]["identity"]["mean"]["change"] = None
    assert three_sentences(found, 8) == [
        "The learner saw seven batches of 8 images so far of one world, MNIST.",
        "It noticed the change, four batches later, raised no false alarms, and knows two environments now.",
    ]


def test_of_many_worlds_only_the_number_is_told() -> None:
    found = summary(stream=["mnist", "fashion", "mnist", "digits", "glyphs"])
    assert three_sentences(found, 64)[0] == (
        "The learner saw 1,200 batches of 64 images of four worlds in turn, and was never told when the world changed."
    )


@pytest.mark.parametrize(
    ("used", "shared", "words"),
    [
        ([[0, 1], [0, 1]], [0, 1], "2 of its 24 latents, all of them"),
        ([[0], [0]], [0], "1 of its 24 latents, 1 of them"),
    ],
)
def test_latents_that_are_all_shared(used: list[list[int]], shared: list[int], words: str) -> None:
    found = summary(environment_latents=[{"used": one} for one in used], shared=shared)
    assert three_sentences(found, 64)[2].startswith(f"It uses {words} in several environments, and")


def test_counts() -> None:
    assert [count(1, "batch"), count(2, "batch"), count(13, "world")] == ["one batch", "two batches", "13 worlds"]
