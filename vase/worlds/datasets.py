"""The idx files of the datasets: their names, what they must contain, how they are read and written."""

from __future__ import annotations

import gzip
import hashlib
import io
import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Int64, UInt8

from vase.spelling import did_you_mean


class Rejected(Exception):
    """A file whose content is not the published one; the message names the file and what is wrong with it."""


@dataclass(frozen=True, eq=False)
class Labelled:
    """Images with class labels, both read-only, and a line about where they came from.

    Grey images are (N, H, W): 28×28, faces 112×92. Colour images are (N, H, W, 3): 32×32, emoji 64×64.
    """

    images: UInt8[np.ndarray, "N H W *rgb"]
    labels: Int64[np.ndarray, " N"]
    source: str

    def __post_init__(self) -> None:
        self.images.setflags(write=False)
        self.labels.setflags(write=False)

    def __len__(self) -> int:
        return len(self.images)


@dataclass(frozen=True)
class Dataset:
    """One published dataset: the sha256 of each decompressed idx file, and the names other people give its folder.

    ``files`` says which files a split is read from, ``sizes`` how many bytes each has when decompressed, ``licence``
    what its authors ask of those who use it.
    """

    name: str
    title: str
    sha256: dict[str, str]
    folders: tuple[str, ...]
    files: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: FILES)
    sizes: Mapping[str, int] = field(default_factory=lambda: BYTES)
    licence: str = ""


TRAIN_IMAGES, TRAIN_LABELS = "train-images-idx3-ubyte", "train-labels-idx1-ubyte"
TEST_IMAGES, TEST_LABELS = "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"
ORL_FACES = "orl-faces-idx3-ubyte"
TRAIN_COLOUR, TEST_COLOUR, TEST_COLOUR_LABELS = (
    "train-images-idx4-ubyte",
    "test-images-idx4-ubyte",
    "test-labels-idx1-ubyte",
)

FILES: dict[str, tuple[str, ...]] = {"train": (TRAIN_IMAGES, TRAIN_LABELS), "test": (TEST_IMAGES, TEST_LABELS)}
BYTES: dict[str, int] = {
    TRAIN_IMAGES: 16 + 60_000 * 784,
    TRAIN_LABELS: 8 + 60_000,
    TEST_IMAGES: 16 + 10_000 * 784,
    TEST_LABELS: 8 + 10_000,
}
COLOUR_FILES = {"train": (TRAIN_COLOUR, TRAIN_LABELS), "test": (TEST_COLOUR, TEST_COLOUR_LABELS)}


def _colour_bytes(train: int, test: int, side: int) -> dict[str, int]:
    """Sizes of the files of a dataset in colour, from the number of its images and their side."""
    images = {TRAIN_COLOUR: 20 + train * side * side * 3, TEST_COLOUR: 20 + test * side * side * 3}
    return images | {TRAIN_LABELS: 8 + train, TEST_COLOUR_LABELS: 8 + test}


DATASETS: dict[str, Dataset] = {
    "mnist": Dataset(
        name="mnist",
        title="MNIST",
        sha256={
            TRAIN_IMAGES: "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
            TRAIN_LABELS: "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
            TEST_IMAGES: "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
            TEST_LABELS: "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
        },
        folders=("mnist", "MNIST", "MNIST/raw"),
    ),
    "fashion": Dataset(
        name="fashion",
        title="Fashion-MNIST",
        sha256={
            TRAIN_IMAGES: "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
            TRAIN_LABELS: "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
            TEST_IMAGES: "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
            TEST_LABELS: "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
        },
        folders=("fashion", "fashion-mnist", "FashionMNIST", "FashionMNIST/raw"),
    ),
    "faces": Dataset(
        name="faces",
        title="ORL faces",
        sha256={ORL_FACES: "08af3cf33ca2a557f6b7b3385d98ed4d59d7dd9afc34f893cceb4888ba999776"},
        folders=("faces",),
        files={"train": (ORL_FACES,), "test": (ORL_FACES,)},
        sizes={ORL_FACES: 16 + 400 * 112 * 92},
    ),
    "cifar10": Dataset(
        name="cifar10",
        title="CIFAR-10",
        sha256={
            TRAIN_COLOUR: "51c15db370c309e9aa60cf71f835f2ba0f430ea3653f7512d833c9a8e90e0d65",
            TRAIN_LABELS: "1a4c5fb4e1cab2caa8eee134c093de84d620899e907756e71736fb7b0d4ab554",
            TEST_COLOUR: "fc19aa23c64482c6def2138377986c67b6b3a50f8e8c4c6a759b296dc751fa64",
            TEST_COLOUR_LABELS: "987e01129ceec0098f1e9d9404cff9fa82ad3d15383a61e8ec60ff20ffe6db40",
        },
        folders=("cifar10",),
        files=COLOUR_FILES,
        sizes=_colour_bytes(50_000, 10_000, 32),
        licence="no licence stated; cite A. Krizhevsky, Learning multiple layers of features from tiny images, 2009",
    ),
    "emoji-google": Dataset(
        name="emoji-google",
        title="Google's emoji",
        sha256={
            TRAIN_COLOUR: "2ac7b55c6678b49e5fea8d2f8163efa897fca5234f65ebc9fbabbb4460fb7d70",
            TRAIN_LABELS: "d4aed68a4cac0142b3c2eeb4fee99d06015e76fdbba28303da085d600d8eda2f",
            TEST_COLOUR: "c229799089f18c9000873be58cec5a8828fb95e23fcb5297a09843c07f48b454",
            TEST_COLOUR_LABELS: "f4f528529099c7877736012309b8797702b40ba19171249fdb1b374038e1ee13",
        },
        folders=("emoji-google",),
        files=COLOUR_FILES,
        sizes=_colour_bytes(3_042, 744, 64),
        licence="Noto Emoji by Google, Apache-2.0",
    ),
    "emoji-twitter": Dataset(
        name="emoji-twitter",
        title="Twitter's emoji",
        sha256={
            TRAIN_COLOUR: "38a0ad5a1bc2da0a151f81a871fec81bc5527a2210a40848be20f3b72cd84c34",
            TRAIN_LABELS: "d4aed68a4cac0142b3c2eeb4fee99d06015e76fdbba28303da085d600d8eda2f",
            TEST_COLOUR: "faf125c4ce06654d71444cf4d9b59450524fa459e5654d8df81d9b4500e57a45",
            TEST_COLOUR_LABELS: "f4f528529099c7877736012309b8797702b40ba19171249fdb1b374038e1ee13",
        },
        folders=("emoji-twitter",),
        files=COLOUR_FILES,
        sizes=_colour_bytes(3_042, 744, 64),
        licence="Twemoji by Twitter, Inc. and contributors, CC-BY 4.0",
    ),
}


def check_split(split: str) -> None:
    """Refuse a split that does not exist."""
    if split not in FILES:
        raise ValueError(f"split = {split!r}: must be 'train' or 'test'{did_you_mean(split, FILES)}")


def unpack(data: bytes, file: str, where: str, sizes: Mapping[str, int] = BYTES) -> bytes:
    """Return the idx bytes of ``file``, gunzipped if need be, never more than the file may hold."""
    if data[:2] != b"\x1f\x8b":
        return data
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
            return stream.read(sizes[file] + 1)
    except (EOFError, OSError, zlib.error) as error:
        raise Rejected(f"{where} is truncated or damaged ({error})") from error


def verify(dataset: Dataset, file: str, data: bytes, where: str) -> bytes:
    """Return the idx bytes of ``file`` if their sha256 is the published one, else raise ``Rejected``."""
    data, size = unpack(data, file, where, dataset.sizes), dataset.sizes[file]
    if len(data) != size:
        short = "truncated" if len(data) < size else "altered"
        held = f"{len(data)}" if len(data) <= size else f"more than {size}"
        raise Rejected(f"{where} is {short}: {held} bytes, {dataset.title} has {size}")
    found = hashlib.sha256(data).hexdigest()
    if found != dataset.sha256[file]:
        raise Rejected(f"{where} is altered: sha256 {found[:12]}…, {dataset.title} has {dataset.sha256[file][:12]}…")
    return data


def parse_idx(data: bytes, where: str) -> UInt8[np.ndarray, "*shape"]:
    """Read an idx file of unsigned bytes: two zeros, type 8, the number of axes, big-endian sizes, then the values."""
    if len(data) < 4 or data[:3] != b"\x00\x00\x08":
        raise Rejected(f"{where} is not an idx file of unsigned bytes: it begins with {data[:4].hex(' ') or 'nothing'}")
    start = 4 + 4 * data[3]
    if len(data) < start:
        raise Rejected(f"{where} is truncated: its header says {data[3]} axes, which need {start} bytes")
    shape = tuple(int.from_bytes(data[i : i + 4], "big") for i in range(4, start, 4))
    size = math.prod(shape)
    if len(data) - start != size:
        raise Rejected(f"{where} is truncated or altered: header says {size} values, file has {len(data) - start}")
    return np.frombuffer(data, np.uint8, offset=start).reshape(shape)


def to_idx(values: UInt8[np.ndarray, "*shape"]) -> bytes:
    """Write unsigned bytes as an idx file; the inverse of ``parse_idx``."""
    sizes = b"".join(size.to_bytes(4, "big") for size in values.shape)
    return b"\x00\x00\x08" + bytes([values.ndim]) + sizes + values.tobytes()
