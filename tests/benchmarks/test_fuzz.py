"""Untrusted bytes are read or refused with a ValueError: inputs that once did neither, and mutations of good ones."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks import fuzz
from benchmarks.fuzz_targets import CONFIG, KIND, ROW, TARGETS, good_inputs, good_manifest
from vase.worlds.spec import StreamSpec

CORPUS = Path(__file__).parent / "corpus"
BUDGET = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


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


GOOD = good_inputs("picture")


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
def manifest() -> bytes:
    """The manifest of a small learner."""
    return good_manifest()


@BUDGET
@given(st.data())
def test_damaged_manifests(tmp_path: Path, manifest: bytes, data: st.DataObject) -> None:
    TARGETS["manifest"](damaged(data, manifest), tmp_path)
    values = replaced(data, json.loads(manifest)["values"])
    TARGETS["signed"](json.dumps(values).encode(), tmp_path)


@BUDGET
@given(st.data())
def test_damaged_configurations(tmp_path: Path, data: st.DataObject) -> None:
    TARGETS["config"](json.dumps(replaced(data, CONFIG)).encode(), tmp_path)


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

    monkeypatch.setattr("benchmarks.fuzz_targets.read_rows", broken)
    with pytest.raises(KeyError):
        TARGETS["rows"](b"", tmp_path)


def test_the_kind_is_that_of_saved_learners(manifest: bytes) -> None:
    assert json.loads(manifest)["kind"] == KIND


def test_the_fuzzer_knows_all_targets() -> None:
    assert tuple(TARGETS) == fuzz.NAMES


@pytest.mark.parametrize("name", TARGETS)
def test_inputs_to_start_from_pass_uncut(tmp_path: Path, name: str) -> None:
    for good in good_inputs(name):
        assert len(good) <= fuzz.MAX_BYTES
        TARGETS[name](good, tmp_path)


def test_streams_to_start_from_are_accepted() -> None:
    assert [str(StreamSpec.parse(good.decode())) for good in good_inputs("stream")] == [
        "mnist",
        "moving-digits:12*500,folder:a b*20",
        "soft-faces,inverse-cifar10:classes=0-4+7",
    ]


def test_one_input_is_kept_for_each_place_of_a_defect(tmp_path: Path) -> None:
    def fail(kind: type[Exception]) -> None:
        try:
            raise kind
        except kind as error:
            fuzz.keep(kind.__name__.encode(), error, "rows", tmp_path)

    for kind in (KeyError, TypeError, KeyError):
        fail(kind)
    found = {path.name.split("-")[1]: path.read_bytes() for path in tmp_path.iterdir()}
    assert found == {"KeyError": b"KeyError", "TypeError": b"TypeError"}
    assert all(path.name.startswith("rows-") for path in tmp_path.iterdir())


def test_the_table_adds_runs_up(tmp_path: Path) -> None:
    path = tmp_path / "new" / "campaign.json"
    assert fuzz.results_table(path).startswith("No results")
    fuzz.record([{"target": "rows", "executions": 1000, "seconds": 20, "defects": ["a"]}], path)
    fuzz.record([{"target": "rows", "executions": 500, "seconds": 10, "defects": ["a", "b"]}], path)
    fuzz.record([{"target": "stream", "executions": 7, "seconds": 1, "defects": []}], path)
    lines = fuzz.results_table(path).splitlines()
    assert "| rows | 1,500 | 30 | 2 |" in lines
    assert "| picture | 0 | 0 | 0 |" in lines
    assert lines[-1] == "| **all** | 1,507 | 31 | 2 |"


def test_a_process_that_fuzzes_nothing_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", shutil.which("true"))
    with pytest.raises(SystemExit, match="rows was not fuzzed"):
        fuzz.fuzz("rows", 1, tmp_path)
