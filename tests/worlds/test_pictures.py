"""Pictures as cameras, scanners and drawing programs save them: read as people see them, or refused with a sentence."""

from __future__ import annotations

import os
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from vase.worlds import from_array, from_folder
from vase.worlds.pictures import MAX_PIXELS, read_picture
from vase.worlds.spec import StreamSpec, WorldSpec

WHITE, BLACK, CLEAR = (255, 255, 255, 255), (0, 0, 0, 255), (0, 0, 0, 0)


def tiff(path: Path, order: str, value: int = 0x1234) -> Path:
    """An uncompressed grey TIFF of 2×2 pixels with 16 bits, little- ("<") or big-endian (">")."""
    tags = [(256, 3, 1, 2), (257, 3, 1, 2), (258, 3, 1, 16), (259, 3, 1, 1), (262, 3, 1, 1), (273, 4, 1, 122)]
    tags += [(277, 3, 1, 1), (278, 3, 1, 2), (279, 4, 1, 8)]
    data = (b"II" if order == "<" else b"MM") + struct.pack(f"{order}HI", 42, 8) + struct.pack(f"{order}H", len(tags))
    for tag, kind, count, content in tags:
        data += struct.pack(f"{order}HHI", tag, kind, count)
        data += struct.pack(f"{order}HH", content, 0) if kind == 3 else struct.pack(f"{order}I", content)
    path.write_bytes((data + bytes(4)).ljust(122, b"\0") + struct.pack(f"{order}4H", *[value] * 4))
    return path


@pytest.mark.parametrize("order", ["<", ">"])
def test_sixteen_bits_are_refused_in_either_order_of_bytes(tmp_path: Path, order: str) -> None:
    with pytest.raises(ValueError, match=r"deep\.tif.*8 bits per channel"):
        read_picture(tiff(tmp_path / "deep.tif", order))


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P"])
def test_what_is_transparent_is_white(tmp_path: Path, mode: str) -> None:
    picture = Image.new("RGBA", (2, 1), CLEAR)
    picture.putpixel((0, 0), BLACK)
    if mode == "P":
        picture = Image.fromarray(np.array([[0, 1]], np.uint8), "P")
        picture.putpalette([0, 0, 0, 7, 7, 7])
        picture.save(tmp_path / "ink.png", transparency=1)
    else:
        picture.convert(mode).save(tmp_path / "ink.png")
    found = np.asarray(read_picture(tmp_path / "ink.png", "L"))
    assert found.tolist() == [[0, 255]]
    assert read_picture(tmp_path / "ink.png").mode == ("L" if mode == "LA" else "RGB")


def test_half_transparent_ink_and_an_opaque_picture(tmp_path: Path) -> None:
    Image.new("RGBA", (1, 1), (0, 0, 0, 51)).save(tmp_path / "faint.png")
    assert np.asarray(read_picture(tmp_path / "faint.png", "L")).tolist() == [[204]]  # 255 · (1 − 51/255)
    Image.new("RGBA", (1, 1), (10, 20, 30, 255)).save(tmp_path / "full.png")
    assert np.asarray(read_picture(tmp_path / "full.png")).tolist() == [[[10, 20, 30]]]
    Image.new("RGBA", (1, 1), WHITE).save(tmp_path / "paper.png")
    assert np.asarray(read_picture(tmp_path / "paper.png", "L")).tolist() == [[255]]


def test_white_on_transparent_would_be_lost_and_is_refused(tmp_path: Path) -> None:
    picture = Image.new("RGBA", (2, 1), CLEAR)
    picture.putpixel((0, 0), WHITE)
    picture.save(tmp_path / "chalk.png")
    with pytest.raises(ValueError, match=r"chalk\.png.*white on transparent, save it on a dark background"):
        read_picture(tmp_path / "chalk.png")


def test_a_photograph_is_turned_as_its_camera_says(tmp_path: Path) -> None:
    picture = Image.fromarray(np.array([[0, 255], [0, 255], [0, 255]], np.uint8))
    exif = Image.Exif()
    exif[0x0112] = 6  # turn by 90° clockwise
    picture.save(tmp_path / "turned.png", exif=exif)
    assert np.asarray(read_picture(tmp_path / "turned.png")).tolist() == [[0, 0, 0], [255, 255, 255]]


def bomb(path: Path, width: int, height: int) -> Path:
    """A grey PNG of any size in a few kilobytes, of which only the beginning is there."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(bytes(10_000))))
    return path


@pytest.mark.parametrize("side", [8_001, 13_300, 40_000])
def test_huge_pictures_are_refused_before_they_are_decoded(tmp_path: Path, side: int) -> None:
    """64, 177 and 1,600 megapixels: above our limit, above PIL's warning, and above PIL's own limit."""
    assert side * side > MAX_PIXELS
    with pytest.raises(ValueError, match=r"bomb\.png' cannot be read \(.*pixels.*\); repair or remove it"):
        read_picture(bomb(tmp_path / "bomb.png", side, side))


# -------------------------------------------------------------------------------------------------- folders and labels


def paint(path: Path, value: int = 7) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("L", (4, 4), value).save(path)


def test_linked_class_folders_are_read(tmp_path: Path) -> None:
    paint(tmp_path / "elsewhere" / "a.png", 1)
    paint(tmp_path / "pictures" / "cats" / "b.png", 2)
    (tmp_path / "pictures" / "dogs").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "pictures" / "cats" / "loop").symlink_to(tmp_path / "pictures")
    world = from_folder(tmp_path / "pictures", size=4)
    assert (world.classes, world.images[:, 0, 0, 0].tolist()) == (("cats", "dogs"), [2, 1])


def test_a_loose_picture_does_not_take_the_labels_away(tmp_path: Path) -> None:
    paint(tmp_path / "cats" / "a.png")
    paint(tmp_path / "loose.png")
    with pytest.raises(ValueError, match=r"loose.png lies beside the subfolders, which name classes; move it"):
        from_folder(tmp_path)


@pytest.mark.parametrize("name", ["folder:", "folder: ", "folder:*3"])
def test_a_folder_needs_a_path(name: str) -> None:
    with pytest.raises(ValueError, match=r"write folder:PATH"):
        StreamSpec.parse(name)
    with pytest.raises(FileNotFoundError, match="image folder '' does not exist"):
        from_folder("")


def test_names_that_are_not_utf_8_are_refused(tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9")
    with pytest.raises(ValueError, match=r"the name .*caf\\xe9 is not UTF-8; rename the folder"):
        WorldSpec.parse(f"folder:{tmp_path}/{name}")
    paint(tmp_path / "good" / "a.png")
    paint(tmp_path / name / "a.png")
    with pytest.raises(ValueError, match=r"the name caf\\xe9 is not UTF-8"):
        from_folder(tmp_path)


def test_the_home_of_nobody_is_a_folder_that_does_not_exist() -> None:
    with pytest.raises(FileNotFoundError, match="'~nobody-here/x' does not exist"):
        from_folder("~nobody-here/x")


@pytest.mark.parametrize("labels", [[-1, 0], [0, 10**12], np.array([0, 2**63], np.uint64)])
def test_labels_count_classes(labels: list[int]) -> None:
    with pytest.raises(ValueError, match=r"labels lie between .*: they must count classes from 0, at most 100000"):
        from_array(np.zeros((2, 4, 4), np.uint8), labels)
