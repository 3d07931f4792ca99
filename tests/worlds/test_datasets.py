import gzip
import hashlib

import numpy as np
import pytest

from vase.worlds import datasets
from vase.worlds.datasets import DATASETS, Rejected, parse_idx, unpack, verify

HAND_MADE = bytes.fromhex("00000802 00000002 00000003") + bytes([1, 2, 3, 4, 5, 255])


def test_idx_by_hand():
    np.testing.assert_array_equal(parse_idx(HAND_MADE, "f"), np.array([[1, 2, 3], [4, 5, 255]], np.uint8))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "begins with nothing"),
        (b"PK\x03\x04 not idx", "begins with 50 4b 03 04"),
        (bytes.fromhex("00000d01 00000001") + b"abcd", "not an idx file of unsigned bytes"),  # floats
        (bytes.fromhex("00000803 00000002"), "truncated: its header says 3 axes"),
        (HAND_MADE[:-1], "header says 6 values, file has 5"),
        (HAND_MADE + b"!", "header says 6 values, file has 7"),
        (bytes.fromhex("00000802 ffffffff ffffffff") + b"x", "18446744065119617025 values"),
    ],
)
def test_idx_that_is_not_is_rejected_and_named(data, words):
    with pytest.raises(Rejected, match=words) as caught:
        parse_idx(data, "/some/file")
    assert "/some/file" in str(caught.value)


@pytest.fixture
def dataset(monkeypatch):
    monkeypatch.setitem(datasets.BYTES, "hand-made", len(HAND_MADE))
    return datasets.Dataset("mnist", "MNIST", {"hand-made": hashlib.sha256(HAND_MADE).hexdigest()}, ("mnist",))


def test_verify_accepts_plain_and_gzipped(dataset):
    assert verify(dataset, "hand-made", HAND_MADE, "f") == HAND_MADE
    assert verify(dataset, "hand-made", gzip.compress(HAND_MADE, mtime=7), "f") == HAND_MADE


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (HAND_MADE[:-1], "truncated"),
        (HAND_MADE + b"x", "altered"),
        (HAND_MADE[:-1] + b"\x00", "altered: sha256"),
        (gzip.compress(HAND_MADE, mtime=7)[:-4], "truncated or damaged"),
        (gzip.compress(HAND_MADE, mtime=7)[:10] + b"\xff" * 20, "truncated or damaged"),
        (b"", "truncated: 0 bytes"),
    ],
)
def test_one_wrong_byte_is_rejected_and_the_file_named(dataset, data, word):
    with pytest.raises(Rejected, match=word) as caught:
        verify(dataset, "hand-made", data, "/cache/mnist/hand-made")
    assert "/cache/mnist/hand-made" in str(caught.value)


def test_a_gzip_bomb_is_not_unpacked_whole(dataset):
    bomb = gzip.compress(bytes(50_000_000))
    assert len(unpack(bomb, "hand-made", "f")) == len(HAND_MADE) + 1
    with pytest.raises(Rejected, match="altered: more than"):
        verify(dataset, "hand-made", bomb, "f")


def test_table_is_complete():
    assert set(DATASETS["mnist"].sha256) == set(DATASETS["fashion"].sha256) == set(datasets.BYTES) - {"hand-made"}
    for dataset in DATASETS.values():
        assert set(dataset.sha256) <= set(dataset.sizes)
        assert all(len(bytes.fromhex(value)) == 32 for value in dataset.sha256.values())
    assert not set(DATASETS["mnist"].sha256.values()) & set(DATASETS["fashion"].sha256.values())
