"""fit(callbacks=...): which hooks are called, when, and with what."""

from __future__ import annotations

from typing import Any

import numpy as np
from dark_and_light import CONFIG, images

from vase import VASE, Step
from vase.training import Callback
from vase.worlds import Batch


class Recorder(Callback):
    """Writes down every hook; inverts the images."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def on_start(self, run: Any) -> None:
        self.seen.append(("start", run.step, run.environments, run.parameters["config"]["batch_size"]))

    def on_batch(self, run: Any, batch: Batch) -> Batch:
        return Batch(1 - batch.images, batch.factors)

    def on_step(self, run: Any, step: Step) -> None:
        self.seen.append((run.step, step.step, run.environments))

    def on_end(self, run: Any) -> None:
        self.seen.append(("end", run.step))


def test_callbacks_see_every_batch_and_can_change_it() -> None:
    told, changed, plain = Recorder(), VASE(CONFIG, device="cpu"), VASE(CONFIG, device="cpu")
    stream = [images(8, light=False, seed=i) for i in range(3)]
    changed.fit(iter(stream), callbacks=[told])
    assert told.seen == [("start", 0, 0, 8), (1, 1, 1), (2, 2, 1), (3, 3, 1), ("end", 3)]
    plain.fit(1 - batch for batch in stream)
    np.testing.assert_array_equal(changed.transform(stream[0]), plain.transform(stream[0]))
    changed.fit(iter(stream[:1]), callbacks=[told])
    assert told.seen[-3:] == [("start", 3, 1, 8), (4, 4, 1), ("end", 4)]
