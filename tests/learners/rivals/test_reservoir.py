"""The reservoir is a uniform sample of the stream, and its images count as much as the batch."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tiny import bars, tiny

from vase.learners.rivals.reservoir import Reservoir, ReservoirReplay, reservoir_slots


def test_slots_by_hand() -> None:
    # Images 5, 6 and 7 of a stream, room for 3: ⌊0.5·5⌋ = 2, ⌊0.5·6⌋ = 3 (not kept), ⌊0.1·7⌋ = 0.
    assert reservoir_slots(torch.tensor([0.5, 0.5, 0.1]), seen=4, capacity=3).tolist() == [2, -1, 0]
    # The first ones fill it, whatever chance says.
    assert reservoir_slots(torch.tensor([0.9, 0.0]), seen=1, capacity=3).tolist() == [1, 2]


def test_every_image_of_the_stream_stays_with_the_same_probability() -> None:
    generator = torch.Generator().manual_seed(0)
    kept = np.zeros(12)
    for _ in range(600):
        reservoir = Reservoir(3)
        for batch in torch.arange(12).split(4):  # each image is its own number
            reservoir.add(batch.view(4, 1, 1, 1) / 255, generator)
        kept[reservoir.images.flatten().numpy()] += 1
    # 3 of 12 stay: 150 times each, with a standard deviation of √(600·¼·¾) ≈ 11.
    assert kept.sum() == 1800
    assert np.abs(kept - 150).max() < 45


def test_bytes_are_bytes() -> None:
    reservoir = Reservoir(100)
    reservoir.add(torch.from_numpy(bars(30, 0)) / 255, torch.Generator().manual_seed(0))
    assert (len(reservoir), reservoir.images.nbytes) == (30, 30 * 256)
    reservoir.add(torch.from_numpy(bars(300, 1)) / 255, torch.Generator().manual_seed(1))
    assert (len(reservoir), reservoir.seen, reservoir.images.nbytes) == (100, 330, 100 * 256)
    drawn = reservoir.sample(7, torch.Generator().manual_seed(2), torch.device("cpu"))
    assert set(drawn.unique().tolist()) == {0.0, 1.0}


def test_batch_and_replay_have_one_mean_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    learner = ReservoirReplay(tiny(), device="cpu", images=8)
    sizes: list[int] = []
    whole = learner.loss
    monkeypatch.setattr(learner, "loss", lambda x: sizes.append(len(x)) or whole(x))
    for number in range(3):
        learner.partial_fit(bars(16, number))
    assert sizes == [16, 32, 32]  # nothing to replay at first; a batch is stored after it was learnt
    assert learner.reservoir.seen == 48
