"""A source that is too short for any change to be reported is not taken for one without a change."""

from __future__ import annotations

import logging

import numpy as np
import pytest
from films import DAY, NIGHT, noise

import vase
from vase.config import EnvironmentConfig
from vase.watching.observer import Observer
from vase.watching.shortage import too_few_frames


@pytest.mark.parametrize(
    ("batch_size", "frames", "advice"),
    [
        (64, 896, None),  # 10 untested and 4 for the verdict
        (64, 895, "batch size 32"),  # the last batch has 63 frames, of which five would be needed
        (64, 833, "batch size 32"),
        (64, 832, "batch size 32"),  # 832 frames: half are 416, 32 needs 320 of the first scene and 256 of the next
        (64, 588, "batch size 16"),  # half are 294, and 32 would need 320
        (16, 400, "batch size 4"),  # half are 200, and 8 would need 256 for a verdict
        (2, 82, "more frames"),  # 10 and 32, the most that a verdict takes
        (64, 0, None),  # nothing was watched
    ],
)
def test_the_batch_size_that_would_do(batch_size: int, frames: int, advice: str | None) -> None:
    said = too_few_frames(EnvironmentConfig(), batch_size, frames)
    assert said is None if advice is None else said is not None and advice in said


def test_a_short_folder_says_so(caplog: pytest.LogCaptureFixture) -> None:
    frames = [*noise(DAY, 96), *noise(NIGHT, 96)]
    with caplog.at_level(logging.WARNING, "vase.watching"):
        list(vase.watch(iter(frames), learner="monitor", size=16, batch_size=16))
        assert "192 frames in batches of 16 are too few to report any change" in caplog.text
        assert "batch size 2." in caplog.text
        caplog.clear()
        steps = list(vase.watch(iter(frames), learner="monitor", size=16, batch_size=2))  # as advised
    assert not caplog.text
    assert any(step.change for step in steps)


def test_an_observer_is_told_instead_of_the_log(caplog: pytest.LogCaptureFixture) -> None:
    said: list[str] = []

    class Listener(Observer):
        def on_note(self, text: str) -> None:
            said.append(text)

    frames = [*noise(DAY, 96), *noise(NIGHT, 96)]
    list(vase.watch(iter(frames), learner="monitor", size=16, batch_size=16, observers=[Listener()]))
    assert [text.partition(":")[0] for text in said] == ["192 frames in batches of 16 are too few to report any change"]
    assert not caplog.text
    with caplog.at_level(logging.WARNING, "vase.watching"):
        list(
            vase.watch(iter(frames), learner="monitor", size=16, batch_size=16, observers=[Observer()])
        )  # listens to none
    assert "are too few to report any change" in caplog.text


def test_an_option_that_does_not_exist_is_named() -> None:
    with pytest.raises(TypeError, match=r"no option 'set'; did you mean 'overrides'\?.*environments\.patience"):
        vase.watch(iter([np.zeros((16, 16, 3), np.uint8)]), set={"environments.patience": 4})
