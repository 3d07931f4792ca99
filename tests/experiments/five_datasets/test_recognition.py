"""Recognition at the end of a stream, of pictures that nobody chose."""

import numpy as np

from vase.experiments.five_datasets import recognition
from vase.experiments.five_datasets.recognition import evaluate, first_of_each_class
from vase.metrics.recognition import StrangerSettings, train_stranger
from vase.plots.run import open_run
from vase.training import RunDirectory, RunSettings, train
from vase.worlds import Batch


def test_the_first_of_each_class() -> None:
    batch = Batch(np.zeros((6, 1, 2, 2), np.uint8), {"label": np.array([2, 0, 2, 0, 5, 2])})
    assert first_of_each_class(batch) == [1, 0, 4]


def test_real_images_and_reconstructions_of_a_run(tmp_path, monkeypatch) -> None:
    quick = StrangerSettings(filters=4, hidden=16, updates=20, batch=16)
    monkeypatch.setattr(recognition, "train_stranger", lambda batch, seed: train_stranger(batch, quick, seed=seed))
    monkeypatch.setattr(recognition, "TRAIN_IMAGES", 100)
    monkeypatch.setattr(recognition, "TEST_IMAGES", 200)
    train(tmp_path / "run", RunSettings.of("smoke", stream="digits*4,inverse-digits*4", probes="none", device="cpu"))
    found = evaluate(*open_run(RunDirectory(tmp_path / "run")))
    assert found.numbers["recognition"].keys() == {"digits", "inverse-digits"}
    for world, shares in found.numbers["recognition"].items():
        assert all(0 <= share <= 1 for share in shares.values())
        shown = found.pictures[f"recognition-{world}"]
        assert (shown.shape[:2], shown.dtype) == ((2, 10), np.uint8)
        assert shown[0].std() > shown[1].std()  # the learner knows next to nothing yet
    assert evaluate(object(), None, None).numbers == {}
