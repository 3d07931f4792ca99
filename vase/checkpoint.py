"""Checkpoint folders: tensors in safetensors, the rest in one JSON manifest; atomic, checksummed, no pickle.

A state is a nested dictionary with string keys whose leaves are tensors or JSON-ready values: what every `state_dict()`
of this package returns. All tensors under one top-level key go into one file. Tensor files are named after their
content and never rewritten. Replacing the manifest is one rename, so a reader finds either the old state or the new
one, whatever happens in between.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor

from vase.files import Guard, HeldFolder, hold_folder, json_bytes, read_json, unguarded

VERSION = 5
MANIFEST = "state.json"
LEARNER = "vase learner"
"""Kind of a checkpoint that holds a learner under the key "learner", whether saved alone or with its run."""
State = dict[str, Any]
"""A nested dictionary of tensors and JSON-ready values."""
OWN = re.compile(r"\w+-[0-9a-f]{16}\.safetensors")
"""Names of the tensor files that `write` makes."""


class CheckpointError(ValueError):
    """A folder that cannot be read as the state it should hold."""


def write(folder: str | Path, kind: str, state: Mapping[str, Any], guard: Guard = unguarded) -> None:
    """Save a state, replacing what an earlier call saved there; what `guard` raises leaves the old one."""
    folder = Path(folder)
    if folder.exists() and not folder.is_dir():
        raise CheckpointError(f"{folder}: is a file; name a folder.")
    with hold_folder(folder, guard) as held:
        _refuse_strangers(folder, kind)
        named = {}
        values, groups = split_tensors(state)
        for group, tensors in groups.items():
            data = safetensors.torch.save(
                {k: v.detach().cpu().clone(memory_format=torch.contiguous_format) for k, v in tensors.items()}
            )
            digest = hashlib.sha256(data).hexdigest()
            named[group] = {"file": f"{group}-{digest[:16]}.safetensors", "sha256": digest}
            if not held.holds(named[group]["file"], data):
                held.write(named[group]["file"], data)
        body = {"kind": kind, "version": VERSION, "files": named, "values": as_json(values)}
        guard()
        held.write(MANIFEST, json_bytes({**body, "sha256": manifest_digest(body)}))
        _remove_unnamed(held, {entry["file"] for entry in named.values()})


def _remove_unnamed(held: HeldFolder, wanted: set[str]) -> None:
    """Delete tensor files of `write` that the manifest does not name."""
    for name in held.names():
        if name not in wanted and OWN.fullmatch(name):
            held.remove(name)


def remove(folder: Path, guard: Guard = unguarded) -> None:
    """Delete a saved state, manifest first, so that half of it is never taken for a whole; foreign files stay."""
    with hold_folder(folder.parent, guard) as parent, hold_folder(folder, guard) as held:
        held.remove(MANIFEST)
        _remove_unnamed(held, set())
        held.remove_parts()
        if not held.names():
            parent.remove_folder(folder.name)


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


def as_json(values: State) -> State:
    """Values as they come back from a file; TypeError names the first one that a file cannot hold.

    >>> as_json({"steps": 3, "shape": (1, 32, 32)})
    {'steps': 3, 'shape': [1, 32, 32]}
    """
    found = next(_misfits(values, ""), None)
    if found is not None:
        raise TypeError(
            f"the state has {found}: a checkpoint holds dictionaries of tensors, and of numbers, text, None and lists "
            "of these; turn arrays into tensors and NumPy's numbers into Python's, and take objects apart."
        )
    return json.loads(json.dumps(values))


def _misfits(value: Any, path: str) -> Iterator[str]:
    """Where a state has what JSON cannot hold, and of which type it is."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if isinstance(key, str):
                yield from _misfits(inner, f"{path}.{key}" if path else key)
            else:
                yield f"the key {key!r} in {path or 'its top level'}, which is no text"
    elif isinstance(value, list | tuple):
        for i, inner in enumerate(value):
            yield from _misfits(inner, f"{path}[{i}]")
    elif not isinstance(value, str | int | float | None):
        yield f"{path} of type {type(value).__name__}"


def manifest_digest(body: dict[str, Any]) -> str:
    """The checksum of a manifest's content."""
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
