"""Checkpoint folders: tensors in safetensors, the rest in one JSON manifest; atomic, checksummed, no pickle.

A state is a nested dictionary with string keys whose leaves are tensors or JSON-ready values: what every `state_dict()`
of this package returns. All tensors under one top-level key go into one file. Tensor files are named after their
content and never rewritten. Replacing the manifest is one rename, so a reader finds either the old state or the new
one, whatever happens in between.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor

VERSION = 3
MANIFEST = "state.json"
LEARNER = "vase learner"
"""Kind of a checkpoint that holds a learner under the key "learner", whether saved alone or with its run."""
State = dict[str, Any]
"""A nested dictionary of tensors and JSON-ready values."""
OWN = re.compile(r"\w+-[0-9a-f]{16}\.safetensors")
"""Names of the tensor files that `write` makes."""
PART = ".vase-part"
"""Ending of files that are being written; nobody else's files end like this."""


class CheckpointError(ValueError):
    """A folder that cannot be read as the state it should hold."""


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file that takes the place of `path` once all of it is written: a crash leaves the old content or the new."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=PART, dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fchmod(file.fileno(), 0o644)  # mkstemp makes files that only their owner can read
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def remove_parts(folder: Path) -> None:
    """Delete the half-written files that a killed process left in a folder."""
    for path in folder.glob(f".*{PART}"):
        if path.is_file():
            path.unlink(missing_ok=True)


def write_bytes_atomic(path: Path, data: bytes) -> None:
    """Write a file so that a crash leaves the old content or the new, never a part."""
    with replacing(path) as file:
        file.write(data)


def write_arrays_atomic(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """`write_bytes_atomic` for named arrays, as one compressed file that `numpy.load` reads."""
    with replacing(path) as file:
        np.savez_compressed(file, **arrays)  # type: ignore[arg-type]  # its stub mistakes names for options


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """What `write_arrays_atomic` wrote; a damaged file is a ValueError."""
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except (ValueError, TypeError, EOFError, zipfile.BadZipFile, zlib.error, RuntimeError) as error:
        raise ValueError(f"{path} is damaged ({error}); restore it from a copy, or run it again.") from error


def write_json_atomic(path: Path, value: Any) -> None:
    """`write_bytes_atomic` for a JSON value, indented for people."""
    write_bytes_atomic(path, (json.dumps(value, indent=1) + "\n").encode())


def read_json(path: Path) -> Any:
    """The JSON value of a file; what is no JSON, or nested too deeply, is a ValueError."""
    try:
        return json.loads(path.read_bytes())
    except RecursionError:
        raise ValueError("nested too deeply") from None


def write(
    folder: str | Path, kind: str, state: Mapping[str, Any], before_commit: Callable[[], None] = lambda: None
) -> None:
    """Save a state, replacing what an earlier call saved there; what `before_commit` raises leaves the old one."""
    folder = Path(folder)
    if folder.exists() and not folder.is_dir():
        raise CheckpointError(f"{folder}: is a file; name a folder.")
    folder.mkdir(parents=True, exist_ok=True)
    _refuse_strangers(folder, kind)
    files = {}
    values, groups = split_tensors(state)
    for group, tensors in groups.items():
        data = safetensors.torch.save(
            {k: v.detach().cpu().clone(memory_format=torch.contiguous_format) for k, v in tensors.items()}
        )
        digest = hashlib.sha256(data).hexdigest()
        files[group] = {"file": f"{group}-{digest[:16]}.safetensors", "sha256": digest}
        path = folder / files[group]["file"]
        if not path.exists() or path.read_bytes() != data:
            write_bytes_atomic(path, data)
    body = json.loads(json.dumps({"kind": kind, "version": VERSION, "files": files, "values": values}))
    before_commit()
    write_json_atomic(folder / MANIFEST, {**body, "sha256": manifest_digest(body)})
    _remove_unnamed(folder, {entry["file"] for entry in files.values()})


def _remove_unnamed(folder: Path, wanted: set[str]) -> None:
    """Delete tensor files of `write` that the manifest does not name."""
    for path in folder.glob("*.safetensors"):
        if path.name not in wanted and OWN.fullmatch(path.name):
            path.unlink(missing_ok=True)


def remove(folder: Path) -> None:
    """Delete a saved state, manifest first, so that half of it is never taken for a whole; foreign files stay."""
    (folder / MANIFEST).unlink(missing_ok=True)
    _remove_unnamed(folder, set())
    remove_parts(folder)
    if not any(folder.iterdir()):
        folder.rmdir()


def _refuse_strangers(folder: Path, kind: str) -> None:
    """Write only into an empty folder, over what a crash left, or over an earlier state of the same kind."""
    if not (folder / MANIFEST).exists():
        strangers = sorted(p.name for p in folder.glob("[!.]*") if not OWN.fullmatch(p.name))
        if strangers:
            raise CheckpointError(f"{folder}: holds other files ({strangers[0]}); name an empty folder.")
        return
    try:
        found = read_json(folder / MANIFEST)["kind"]
    except (ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"{folder}: its {MANIFEST} is damaged or foreign; name an empty folder.") from error
    if found != kind:
        raise CheckpointError(f"{folder}: holds a {found}, not a {kind}; name an empty folder.")


def read(folder: str | Path, kind: str) -> State:
    """The state that `write` saved, after every check."""
    folder = Path(folder)
    body = _manifest(folder, kind)
    groups = {}
    for group, entry in body["files"].items():
        file = folder / Path(entry["file"]).name
        if not file.exists():
            raise CheckpointError(f"{file}: missing; the saved {kind} is incomplete, use another copy.")
        data = file.read_bytes()
        if hashlib.sha256(data).hexdigest() != entry["sha256"]:
            raise CheckpointError(f"{file}: damaged (checksum differs); use another copy.")
        try:
            groups[group] = safetensors.torch.load(data)
        except (SafetensorError, ValueError, KeyError) as error:
            raise CheckpointError(f"{file}: holds no tensors ({error}); use another copy.") from error
    try:
        return join_tensors(body["values"], groups)
    except (AttributeError, TypeError) as error:
        raise CheckpointError(f"{folder / MANIFEST}: has no place for its tensors; use another copy.") from error


def read_values(folder: str | Path, kind: str) -> State:
    """The state that `write` saved without its tensors; only the manifest is read and checked."""
    return dict(_manifest(Path(folder), kind)["values"])


def _manifest(folder: Path, kind: str) -> State:
    """The checked content of a manifest."""
    path = folder / MANIFEST
    if not path.exists():
        raise CheckpointError(f"{folder}: no {MANIFEST} in it; name a folder that was saved as a {kind}.")
    try:
        manifest = read_json(path)
        body = {key: manifest[key] for key in ("kind", "version", "files", "values")}
    except (ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"{path}: damaged or not a saved {kind} ({error}); use another copy.") from error
    if body["kind"] != kind:
        raise CheckpointError(f"{folder}: holds a {body['kind']}, not a {kind}; name the right folder.")
    if body["version"] != VERSION:
        raise CheckpointError(
            f"{folder}: format version {body['version']}, this program reads version {VERSION}; "
            "open it with the release that wrote it."
        )
    if manifest.get("sha256") != manifest_digest(body):
        raise CheckpointError(f"{path}: damaged (checksum differs); use another copy.")
    if not isinstance(body["values"], dict) or not _names_files(body["files"]):
        raise CheckpointError(f"{path}: its files or values are no objects of named entries; use another copy.")
    return body


def _names_files(files: Any) -> bool:
    """Whether the manifest names a file and a checksum for each group of tensors."""
    return isinstance(files, dict) and all(
        isinstance(entry, dict) and isinstance(entry.get("file"), str) and isinstance(entry.get("sha256"), str)
        for entry in files.values()
    )


def split_tensors(state: Mapping[str, Any]) -> tuple[State, dict[str, dict[str, Tensor]]]:
    """(the state without its tensors, top-level key -> path -> tensor); a path joins escaped keys by "/".

    >>> split_tensors({"run": {"step": 3}, "nets": {"a/b": {"w": torch.ones(1)}}})
    ({'run': {'step': 3}, 'nets': {'a/b': {}}}, {'nets': {'a%2Fb/w': tensor([1.])}})
    """
    groups: dict[str, dict[str, Tensor]] = {}

    def rest(value: Any, path: tuple[str, ...]) -> Any:
        return {
            key: rest(inner, (*path, key)) if isinstance(inner, Mapping) else inner
            for key, inner in value.items()
            if not (isinstance(inner, Tensor) and _collect(groups, (*path, key), inner))
        }

    return rest(state, ()), groups


def _collect(groups: dict[str, dict[str, Tensor]], path: tuple[str, ...], tensor: Tensor) -> bool:
    top, *inner = path
    name = "/".join(key.replace("%", "%25").replace("/", "%2F") for key in inner)
    groups.setdefault(top, {})[name] = tensor
    return True


def join_tensors(values: State, groups: Mapping[str, Mapping[str, Tensor]]) -> State:
    """The state that `split_tensors` split."""
    for top, tensors in groups.items():
        for name, tensor in tensors.items():
            path = [key.replace("%2F", "/").replace("%25", "%") for key in name.split("/")] if name else []
            *parents, last = top, *path
            node = values
            for key in parents:
                node = node.setdefault(key, {})
            node[last] = tensor
    return values


def manifest_digest(body: dict[str, Any]) -> str:
    """The checksum of a manifest's content."""
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
