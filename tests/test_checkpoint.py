"""Saved folders: exact, atomic, checked, refused with a sentence when damaged or foreign, and never a pickle."""

import ast
import importlib.util
import json
import math
import os
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from vase import checkpoint
from vase.checkpoint import MANIFEST, CheckpointError
from vase.files import write_bytes, write_json

KIND = "vase test"
META = {"step": 7, "name": "Möbius", "rate": 0.1, "nested": {"list": [1, 2.5, None, True]}}


def write(folder: str | Path, kind: str, meta: dict, tensors: dict) -> None:
    checkpoint.write(folder, kind, {"meta": meta, **tensors})


def read(folder: str | Path, kind: str) -> tuple[dict, dict]:
    state = checkpoint.read(folder, kind)
    return state.pop("meta"), state


def groups(value: float = 1.0) -> dict[str, dict[str, torch.Tensor]]:
    return {
        "weights": {"a": torch.full((2, 3), value), "b": torch.arange(4)},
        "memory": {"mask": torch.tensor([True, False]), "loss": torch.tensor([math.pi * value], dtype=torch.float64)},
    }


def same(a: dict[str, dict[str, torch.Tensor]], b: dict[str, dict[str, torch.Tensor]]) -> bool:
    return a.keys() == b.keys() and all(
        a[g].keys() == b[g].keys()
        and all(torch.equal(a[g][k], b[g][k]) and a[g][k].dtype == b[g][k].dtype for k in a[g])
        for g in a
    )


def holds(folder: Path, meta: dict, value: float) -> bool:
    got_meta, got = read(folder, KIND)
    return got_meta == meta and same(got, groups(value))


def contents(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in folder.iterdir() if p.is_file()}


@pytest.fixture
def saved(tmp_path) -> Path:
    folder = tmp_path / "model"
    write(folder, KIND, META, groups())
    return folder


def tensors(folder: Path, group: str = "weights") -> Path:
    (path,) = folder.glob(f"{group}-*.safetensors")
    return path


class TestRoundTrip:
    def test_exact(self, saved):
        assert holds(saved, META, 1.0)

    @pytest.mark.parametrize(
        "dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int64, torch.uint8, torch.bool]
    )
    def test_dtypes_and_odd_shapes(self, tmp_path, dtype):
        state = {
            "t": {
                "scalar": torch.tensor(1).to(dtype),
                "empty": torch.zeros(0, 3).to(dtype),
                "strided": torch.arange(12).reshape(3, 4).T.to(dtype),
            }
        }
        write(tmp_path, KIND, {}, state)
        assert same(read(tmp_path, KIND)[1], state)

    def test_special_floats_bit_by_bit(self, tmp_path):
        values = torch.tensor([math.nan, math.inf, -0.0, 5e-324, 1 + 2**-52], dtype=torch.float64)
        write(tmp_path, KIND, {}, {"t": {"v": values}})
        assert torch.equal(read(tmp_path, KIND)[1]["t"]["v"].view(torch.int64), values.view(torch.int64))

    def test_no_groups_and_empty_groups(self, tmp_path):
        write(tmp_path / "a", KIND, META, {})
        assert read(tmp_path / "a", KIND) == (META, {})
        write(tmp_path / "b", KIND, META, {"optimiser": {}})
        assert read(tmp_path / "b", KIND) == (META, {"optimiser": {}})

    def test_tensors_with_gradients_and_shared_parents(self, tmp_path):
        parent = torch.arange(6.0, requires_grad=True)
        write(tmp_path, KIND, {}, {"t": {"part": parent[2:4], "whole": parent}})
        assert read(tmp_path, KIND)[1]["t"]["part"].tolist() == [2.0, 3.0]

    def test_replaced_by_the_next_save_and_nothing_left_behind(self, saved):
        write(saved, KIND, {"step": 8}, groups(2.0))
        assert holds(saved, {"step": 8}, 2.0)
        assert len(list(saved.iterdir())) == 3  # two groups, one manifest

    def test_folders_are_made(self, tmp_path):
        write(tmp_path / "a" / "b", KIND, META, groups())
        assert holds(tmp_path / "a" / "b", META, 1.0)

    def test_path_as_text(self, tmp_path):
        write(str(tmp_path / "m"), KIND, META, groups())
        assert read(str(tmp_path / "m"), KIND)[0] == META

    @settings(max_examples=25)
    @given(
        st.dictionaries(
            st.text(max_size=8),
            st.recursive(
                st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
                lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
                max_leaves=6,
            ),
            max_size=4,
        )
    )
    def test_any_json_value(self, tmp_path_factory, meta):
        folder = tmp_path_factory.mktemp("meta")
        write(folder, KIND, meta, {})
        assert read(folder, KIND)[0] == meta


class TestNestedState:
    STATE = {  # noqa: RUF012
        "run": {"step": 3, "rows": {"bytes": 7}},
        "nets": {"a/b": {"w%2F": torch.ones(2)}, "none": None, "empty": {}},
        "alone": torch.arange(3),
    }

    def test_tensors_are_split_off_by_their_path(self):
        values, tensors = checkpoint.split_tensors(self.STATE)
        assert values == {"run": self.STATE["run"], "nets": {"a/b": {}, "none": None, "empty": {}}}
        assert {group: list(found) for group, found in tensors.items()} == {"nets": ["a%2Fb/w%252F"], "alone": [""]}

    def test_what_a_file_cannot_hold_is_named(self, tmp_path):
        with pytest.raises(TypeError, match=r"has learner\.pca of type object: .*take objects apart"):
            checkpoint.write(tmp_path, KIND, {"learner": {"steps": 3, "pca": object()}})

    @pytest.mark.parametrize(
        ("value", "told"),
        [
            ([1, torch.zeros(1)], r"a\[1\] of type Tensor"),
            ({"b": ({"c": np.float32(1)},)}, r"a\.b\[0\]\.c of type float32: .*NumPy's numbers into Python's"),
            ({(1, 2): 3}, r"the key \(1, 2\) in a, which is no text"),
        ],
    )
    def test_also_in_lists_and_as_a_key(self, tmp_path, value, told):
        with pytest.raises(TypeError, match=told):
            checkpoint.write(tmp_path, KIND, {"a": value})

    def test_any_depth_and_any_key_comes_back(self, tmp_path):
        checkpoint.write(tmp_path, KIND, self.STATE)
        found = checkpoint.read(tmp_path, KIND)
        assert found.keys() == self.STATE.keys()
        assert found["run"] == self.STATE["run"]
        assert found["nets"]["a/b"]["w%2F"].tolist() == [1, 1]
        assert found["nets"]["none"] is None
        assert found["nets"]["empty"] == {}
        assert found["alone"].tolist() == [0, 1, 2]


class TestRefusedToRead:
    def test_missing_folder(self, tmp_path):
        with pytest.raises(CheckpointError, match=r"nowhere: no state.json in it; name a folder that was saved"):
            read(tmp_path / "nowhere", KIND)

    def test_a_file_instead_of_a_folder(self, tmp_path):
        (tmp_path / "file").write_text("x")
        with pytest.raises(CheckpointError, match=r"file: no state.json in it"):
            read(tmp_path / "file", KIND)

    @pytest.mark.parametrize("group", ["weights", "memory"])
    def test_missing_tensors(self, saved, group):
        path = tensors(saved, group)
        path.unlink()
        with pytest.raises(CheckpointError, match=rf"{path.name}: missing; the saved {KIND} is incomplete"):
            read(saved, KIND)

    @pytest.mark.parametrize("length", [0, 1, 50, -1])
    def test_truncated_tensors(self, saved, length):
        path = tensors(saved)
        path.write_bytes(path.read_bytes()[:length])
        with pytest.raises(CheckpointError, match=rf"{path.name}: damaged \(checksum differs\); use another copy"):
            read(saved, KIND)

    @pytest.mark.parametrize("position", [0, 20, -1])
    def test_altered_tensors(self, saved, position):
        path = tensors(saved)
        data = bytearray(path.read_bytes())
        data[position] ^= 1
        path.write_bytes(data)
        with pytest.raises(CheckpointError, match=rf"{path.name}: damaged"):
            read(saved, KIND)

    def test_truncated_manifest(self, saved):
        path = saved / MANIFEST
        data = path.read_bytes()
        for length in range(0, len(data) - 2, 7):
            path.write_bytes(data[:length])
            with pytest.raises(CheckpointError, match=r"state.json: damaged"):
                read(saved, KIND)

    def test_altered_manifest(self, saved):
        path = saved / MANIFEST
        manifest = json.loads(path.read_text())
        manifest["values"]["meta"]["step"] = 8
        path.write_text(json.dumps(manifest))
        with pytest.raises(CheckpointError, match=r"state.json: damaged \(checksum differs\); use another copy"):
            read(saved, KIND)

    @pytest.mark.parametrize(
        "text", ["", "{}", "[]", "null", "7", '"vase"', "\x80\xff", '{"kind": "vase test"}', '{"epoch": 3, "lr": 0.1}']
    )
    def test_foreign_manifest(self, tmp_path, text):
        (tmp_path / MANIFEST).write_bytes(text.encode("latin-1"))
        with pytest.raises(CheckpointError, match=rf"state.json: damaged or not a saved {KIND}.*use another copy"):
            read(tmp_path, KIND)

    def test_other_version(self, saved, monkeypatch):
        monkeypatch.setattr(checkpoint, "VERSION", 6)
        with pytest.raises(
            CheckpointError,
            match=r"format version 5, this program reads version 6; open it with the release that wrote it",
        ):
            read(saved, KIND)

    def test_other_kind(self, saved):
        with pytest.raises(CheckpointError, match=rf"holds a {KIND}, not a vase run; name the right folder"):
            read(saved, "vase run")

    def test_a_manifest_cannot_point_outside_its_folder(self, saved, tmp_path):
        secret = tmp_path / "secret.safetensors"
        tensors(saved).rename(secret)
        manifest = json.loads((saved / MANIFEST).read_text())
        manifest["files"]["weights"]["file"] = "../secret.safetensors"
        body = {k: manifest[k] for k in ("kind", "version", "files", "values")}
        write_json(saved / MANIFEST, {**body, "sha256": checkpoint.manifest_digest(body)})
        with pytest.raises(CheckpointError, match="missing"):
            read(saved, KIND)

    def test_reading_changes_nothing(self, saved):
        before = contents(saved)
        read(saved, KIND)
        assert contents(saved) == before


class TestRefusedToWrite:
    @pytest.mark.parametrize("name", ["thesis.tex", "photos.npz", "config.json"])
    def test_into_a_folder_of_strangers(self, tmp_path, name):
        (tmp_path / name).write_text("mine")
        with pytest.raises(CheckpointError, match=rf"holds other files \({name}\); name an empty folder"):
            write(tmp_path, KIND, META, groups())
        assert contents(tmp_path) == {name: b"mine"}

    def test_beside_the_tensors_of_another_program(self, tmp_path):
        (tmp_path / "model.safetensors").write_bytes(b"mine")
        with pytest.raises(CheckpointError, match=r"holds other files \(model.safetensors\); name an empty folder"):
            write(tmp_path, KIND, META, groups())
        assert contents(tmp_path) == {"model.safetensors": b"mine"}

    def test_over_the_manifest_of_another_program(self, tmp_path):
        (tmp_path / MANIFEST).write_text('{"epoch": 3}')
        (tmp_path / "model.safetensors").write_bytes(b"mine")
        before = contents(tmp_path)
        with pytest.raises(CheckpointError, match=r"name an empty folder"):
            write(tmp_path, KIND, META, groups())
        assert contents(tmp_path) == before

    def test_over_something_of_another_kind(self, saved):
        with pytest.raises(CheckpointError, match=rf"holds a {KIND}"):
            write(saved, "vase run", {}, {})
        assert holds(saved, META, 1.0)

    def test_files_that_joined_later_survive(self, saved):
        # A saved folder may be copied together with other things: they are left alone.
        (saved / "notes.txt").write_text("mine")
        (saved / "model.safetensors").write_bytes(b"mine")
        write(saved, KIND, {"step": 8}, groups(2.0))
        assert holds(saved, {"step": 8}, 2.0)
        assert (saved / "notes.txt").read_text() == "mine"
        assert (saved / "model.safetensors").read_bytes() == b"mine"

    def test_onto_a_file(self, tmp_path):
        (tmp_path / "file").write_text("mine")
        with pytest.raises(CheckpointError, match=r"file: is a file; name a folder"):
            write(tmp_path / "file", KIND, META, groups())
        assert (tmp_path / "file").read_text() == "mine"

    def test_what_is_no_json_leaves_the_old_state(self, saved):
        with pytest.raises(TypeError):
            write(saved, KIND, {"what": object()}, groups(2.0))
        assert holds(saved, META, 1.0)

    def test_hidden_files_do_not_matter(self, tmp_path):
        (tmp_path / ".DS_Store").write_text("x")
        write(tmp_path, KIND, META, groups())
        assert holds(tmp_path, META, 1.0)


class Crash(BaseException):
    """The process dies here."""


class TestAtomic:
    """A save renames one file per new group, then the manifest: three renames here."""

    @pytest.mark.parametrize("survived", [0, 1, 2])
    def test_a_crash_before_a_rename_leaves_the_old_state(self, saved, monkeypatch, survived):
        replace, calls = os.replace, []

        def dying(source, target, **folders):
            if len(calls) == survived:
                raise Crash
            calls.append(target)
            replace(source, target, **folders)

        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", dying)
            with pytest.raises(Crash):
                write(saved, KIND, {"step": 8}, groups(2.0))
        assert holds(saved, META, 1.0)
        write(saved, KIND, {"step": 9}, groups(3.0))
        assert holds(saved, {"step": 9}, 3.0)
        assert len(list(saved.iterdir())) == 3

    @pytest.mark.parametrize("survived", [0, 1, 2])
    def test_a_crash_in_the_first_save_leaves_a_folder_that_can_be_used(self, tmp_path, monkeypatch, survived):
        replace, calls = os.replace, []

        def dying(source, target, **folders):
            if len(calls) == survived:
                raise Crash
            calls.append(target)
            replace(source, target, **folders)

        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", dying)
            with pytest.raises(Crash):
                write(tmp_path, KIND, META, groups())
        with pytest.raises(CheckpointError, match=r"no state.json"):
            read(tmp_path, KIND)
        write(tmp_path, KIND, META, groups())
        assert holds(tmp_path, META, 1.0)

    def test_a_crash_in_the_clean_up_leaves_the_new_state(self, saved, monkeypatch):
        def dying(*_, **__):
            raise Crash

        with monkeypatch.context() as patch:
            patch.setattr(os, "unlink", dying)
            with pytest.raises(Crash):
                write(saved, KIND, {"step": 8}, groups(2.0))
        assert holds(saved, {"step": 8}, 2.0)
        write(saved, KIND, {"step": 9}, groups(3.0))
        assert len(list(saved.iterdir())) == 3

    def test_a_full_disk_leaves_the_old_state(self, saved, monkeypatch):
        def full(_):
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full)
            with pytest.raises(OSError, match="No space left"):
                write(saved, KIND, {"step": 8}, groups(2.0))
        assert holds(saved, META, 1.0)
        assert len(list(saved.iterdir())) == 3

    def test_the_manifest_comes_last(self, tmp_path, monkeypatch):
        replace, order = os.replace, []

        def noting(source, target, **folders):
            order.append(Path(target).name)
            replace(source, target, **folders)

        monkeypatch.setattr(os, "replace", noting)
        write(tmp_path, KIND, META, groups())
        assert [name.split("-")[0] for name in order] == ["weights", "memory", MANIFEST]

    def test_saving_again_repairs_damaged_tensors(self, saved):
        path = tensors(saved)
        path.write_bytes(path.read_bytes()[:-1])
        write(saved, KIND, META, groups())
        assert holds(saved, META, 1.0)

    def test_single_files(self, tmp_path, monkeypatch):
        path = tmp_path / "deep" / "rows.json"
        write_json(path, {"a": [1, 2]})
        assert json.loads(path.read_text()) == {"a": [1, 2]}

        def dying(*_, **__):
            raise Crash

        monkeypatch.setattr(os, "replace", dying)
        with pytest.raises(Crash):
            write_bytes(path, b"new")
        assert json.loads(path.read_text()) == {"a": [1, 2]}
        assert [p.name for p in path.parent.iterdir()] == ["rows.json"]


class TestNoPickle:
    def test_neither_written_nor_read(self, tmp_path, monkeypatch):
        def never(*_, **__):
            raise AssertionError("pickle was used")

        for module, names in (
            (pickle, ("dump", "dumps", "load", "loads", "Pickler", "Unpickler")),
            (torch, ("save", "load")),
        ):
            for name in names:
                monkeypatch.setattr(module, name, never)
        write(tmp_path, KIND, META, groups())
        assert holds(tmp_path, META, 1.0)

    def test_no_module_of_the_package_can(self):
        spec = importlib.util.find_spec("vase")
        assert spec is not None
        assert spec.origin is not None
        sources = sorted(Path(spec.origin).parent.rglob("*.py"))
        assert len(sources) > 10
        for path in sources:
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Import | ast.ImportFrom):
                    names = [getattr(node, "module", None) or "", *(alias.name for alias in node.names)]
                    assert not {n.split(".")[0] for n in names} & {"pickle", "dill", "cloudpickle", "shelve"}, path
                if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "torch":
                    assert node.attr not in ("save", "load"), path
                if isinstance(node, ast.keyword) and node.arg == "allow_pickle":
                    assert isinstance(node.value, ast.Constant), path
                    assert node.value.value is False, path
