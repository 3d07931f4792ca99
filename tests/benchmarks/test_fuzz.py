"""Untrusted bytes are read or refused with a ValueError: inputs that once did neither, and mutations of good ones."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from benchmarks.fuzz import KIND, TARGETS
from vase import VASE, VASEConfig, checkpoint
from vase.training.settings import RunSettings

CORPUS = Path(__file__).parent / "corpus"
FORMATS = {"PNG": {}, "GIF": {}, "TIFF": {"compression": "tiff_lzw"}, "JPEG": {}, "BMP": {}, "WEBP": {}, "PPM": {}}
BUDGET = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def pictures() -> Iterator[bytes]:
    pixels = np.arange(12 * 9 * 3, dtype=np.uint8).reshape(12, 9, 3)
    exif = Image.Exif()
    exif[0x0112] = 6
    for name, options in FORMATS.items():
        file = io.BytesIO()
        extra = {} if name in ("GIF", "BMP", "PPM") else {"exif": exif}
        Image.fromarray(pixels).save(file, name, **options, **extra)
        yield file.getvalue()
    for mode in ("1", "P", "LA", "RGBA", "I;16"):
        file = io.BytesIO()
        Image.fromarray(pixels).convert("L" if mode == "I;16" else mode).save(file, "PNG")
        yield file.getvalue()


def damaged(data: st.DataObject, good: bytes) -> bytes:
    """A good input with some bytes replaced, and possibly cut."""
    changed = bytearray(good)
    for place in data.draw(st.lists(st.integers(0, len(good) - 1), max_size=6)):
        changed[place] = data.draw(st.integers(0, 255))
    return bytes(changed[: data.draw(st.integers(0, len(good)) | st.just(len(good)))])


def replaced(data: st.DataObject, value: object) -> object:
    """A JSON value in which one part, at any depth, is another value."""
    inside = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    if not inside or data.draw(st.integers(0, 3)) == 0:
        return data.draw(json_values)
    key = data.draw(st.sampled_from(list(inside)))
    copy = dict(value) if isinstance(value, dict) else list(value)  # type: ignore[call-overload]
    copy[key] = replaced(data, copy[key])
    return copy


@pytest.mark.parametrize("path", sorted(CORPUS.rglob("*.bin")), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_inputs_that_once_found_a_defect(path: Path, tmp_path: Path) -> None:
    TARGETS[path.parent.name](path.read_bytes(), tmp_path)


def test_corpora_are_of_targets_that_exist() -> None:
    assert {path.parent.name for path in CORPUS.rglob("*.bin")} <= set(TARGETS)


GOOD = list(pictures())


@BUDGET
@given(st.data())
def test_damaged_pictures(tmp_path: Path, data: st.DataObject) -> None:
    TARGETS["picture"](damaged(data, data.draw(st.sampled_from(GOOD))), tmp_path)


@pytest.mark.parametrize("name", TARGETS)
@BUDGET
@given(st.binary(max_size=300) | json_values.map(lambda value: json.dumps(value).encode()) | st.text().map(str.encode))
def test_anything(tmp_path: Path, name: str, content: bytes) -> None:
    TARGETS[name](content, tmp_path)


@pytest.fixture(scope="module")
def manifest(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The manifest of a small learner."""
    folder = tmp_path_factory.mktemp("learner")
    small = {"network.latents": 4, "network.hidden": 16, "network.channels": (4, 4), "dreaming.pool": 8}
    model = VASE(VASEConfig.smoke((1, 16, 16)).with_values(small), device="cpu")
    model.partial_fit(np.zeros((4, 16, 16), np.uint8))
    model.save(folder)
    return (folder / checkpoint.MANIFEST).read_bytes()


@BUDGET
@given(st.data())
def test_damaged_manifests(tmp_path: Path, manifest: bytes, data: st.DataObject) -> None:
    TARGETS["manifest"](damaged(data, manifest), tmp_path)
    values = replaced(data, json.loads(manifest)["values"])
    TARGETS["signed"](json.dumps(values).encode(), tmp_path)


CONFIG = {
    "format": 2,
    "settings": RunSettings().to_dict(),
    "stages": [["mnist", 5], ["folder:a", 7]],
    "sources": {},
    "config": VASEConfig().to_dict(),
    "versions": {},
}


@BUDGET
@given(st.data())
def test_damaged_configurations(tmp_path: Path, data: st.DataObject) -> None:
    TARGETS["config"](json.dumps(replaced(data, CONFIG)).encode(), tmp_path)


ROW = {"kind": "probe", "step": 3, "world": "mnist", "probe": "identity", "mode": "frozen", "accuracy": 0.5}


@BUDGET
@given(st.data())
def test_damaged_rows(tmp_path: Path, data: st.DataObject) -> None:
    line = json.dumps(replaced(data, ROW)).encode()
    TARGETS["rows"](damaged(data, line + b"\n" + line + b"\n"), tmp_path)


PREFIXES, DATASETS = ("moving-", "soft-", "inverse-"), ("mnist", "digits", "faces", "cifar10", "indoors", "folder:")
SIGNS = (":", ",", "*", "+", "-", " ", "12", "0-4", "classes=", "a", "~x/", "٣", "9" * 5000, "\ud800")
grammar = st.lists(st.sampled_from([*PREFIXES, *DATASETS, *SIGNS]), max_size=8).map("".join)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(grammar)
def test_words_of_the_grammar_in_any_order(tmp_path: Path, text: str) -> None:
    TARGETS["stream"](text.encode("utf-8", "surrogatepass"), tmp_path)


def test_a_target_finds_a_defect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(path: Path) -> None:
        raise KeyError(path.name)

    monkeypatch.setattr("benchmarks.fuzz.read_rows", broken)
    with pytest.raises(KeyError):
        TARGETS["rows"](b"", tmp_path)


def test_the_kind_is_that_of_saved_learners(manifest: bytes) -> None:
    assert json.loads(manifest)["kind"] == KIND
