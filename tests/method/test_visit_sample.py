"""Images from a whole visit: evenly spread, few, and exact after a resume."""

from __future__ import annotations

import pytest
import torch

from vase.method.visit_sample import GROUPS, VisitSample


def visited(batches: int) -> VisitSample:
    """Of batches of 8 images, each filled with its batch's number."""
    sample = VisitSample()
    for number in range(batches):
        sample.add(torch.full((8, 1, 2, 2), float(number)))
    return sample


def numbers(sample: VisitSample) -> list[int]:
    return [int(group[0, 0, 0, 0]) for group in sample.groups]


@pytest.mark.parametrize(
    ("batches", "kept"),
    [
        (3, [0, 1, 2]),
        (16, list(range(16))),
        (17, list(range(0, 17, 2))),  # 17 > 16: every second goes, and so does every second to come
        (32, list(range(0, 32, 2))),
        (33, list(range(0, 33, 4))),
        (1000, list(range(0, 1000, 64))),
    ],
)
def test_a_visit_of_any_length_is_covered_evenly(batches: int, kept: list[int]) -> None:
    assert numbers(visited(batches)) == kept
    assert len(kept) <= GROUPS


def test_a_quarter_of_a_batch_is_kept_and_no_less_than_one_image() -> None:
    sample = visited(1)
    assert sample.groups[0].shape == (2, 1, 2, 2)
    sample.add(torch.zeros(1, 1, 2, 2))
    assert sample.groups[1].shape == (1, 1, 2, 2)


def test_images_are_copies() -> None:
    sample, x = VisitSample(), torch.zeros(4, 1, 2, 2)
    sample.add(x)
    x += 1
    assert sample.groups[0].sum() == 0


def test_a_resumed_sample_goes_on_as_one_that_never_stopped() -> None:
    whole, begun, resumed = visited(100), visited(45), VisitSample()
    resumed.load_state_dict(begun.state_dict())
    for number in range(45, 100):
        resumed.add(torch.full((8, 1, 2, 2), float(number)))
    assert numbers(resumed) == numbers(whole)


def test_a_new_visit_begins_with_nothing() -> None:
    sample = visited(40)
    sample.clear()
    assert sample.state_dict() == {"stride": 1, "batches": 0, "images": {}}
