"""Lock files: which hashes are taken, and that the committed ones hold the pinned versions."""

from __future__ import annotations

import hashlib
import importlib.util
import re
from pathlib import Path

import pytest
from pip._internal.models.link import Link

FILES = ("torch.txt", "core.txt", "dev.txt")
ROOT = Path(__file__).parents[2]
spec = importlib.util.spec_from_file_location("lock", ROOT / "tools" / "lock.py")
assert spec is not None
assert spec.loader is not None
lock = importlib.util.module_from_spec(spec)
spec.loader.exec_module(lock)

ONE, TWO = "0" * 64, "f" * 64
PLACE = "https://example.invalid/files"


def test_wheels_of_a_version_on_all_platforms_and_of_local_builds(tmp_path: Path) -> None:
    local = tmp_path / "torch-2.13.0+cpu-cp311-cp311-linux_x86_64.whl"
    local.write_bytes(b"a wheel")
    links = [
        Link(f"{PLACE}/torch-2.13.0-cp311-cp311-manylinux_2_28_x86_64.whl#sha256={TWO}"),
        Link(f"{PLACE}/torch-2.13.0-cp312-none-macosx_11_0_arm64.whl#sha256={ONE}"),
        Link(f"{PLACE}/torch-2.12.0-cp311-cp311-manylinux_2_28_x86_64.whl#sha256={'a' * 64}"),
        Link(f"{PLACE}/torch-2.13.0.tar.gz#sha256={'b' * 64}"),
        Link(f"{PLACE}/torch-2.13.0-cp313-cp313-win_amd64.whl"),  # without a hash
        Link(local.as_uri()),
    ]
    own = hashlib.sha256(b"a wheel").hexdigest()
    assert lock.wheel_hashes(links, "torch", "2.13.0+cpu") == sorted([ONE, TWO, own])


def test_an_entry() -> None:
    text = f"torch==2.13.0 \\\n    --hash=sha256:{ONE} \\\n    --hash=sha256:{TWO}\n"
    assert lock.entry("torch", "2.13.0+cpu", [ONE, TWO]) == text


def test_the_closure_of_an_installed_package() -> None:
    found = lock.closure("vase-lifelong", [])
    assert {"torch", "numpy", "joblib"} <= found.keys()
    assert "vase-lifelong" not in found
    assert "pytest" not in found
    assert "pytest" in lock.closure("vase-lifelong", ["dev"])


def pins(text: str) -> dict[str, str]:
    return {lock.canonicalize_name(name): version for name, version in re.findall(r"^([\w.-]+)==([^\s;]+)", text, re.M)}


@pytest.mark.parametrize("title", ["core", "dev"])
def test_committed_locks_hold_the_pinned_versions(title: str) -> None:
    text = (ROOT / "locks" / f"{title}.txt").read_text()
    pinned = pins((ROOT / "constraints.txt").read_text())
    locked = pins(text)
    assert {name: version for name, version in locked.items() if pinned.get(name, version) != version} == {}
    assert {"torch", "setuptools"} <= locked.keys()
    for block in re.split(r"(?m)^(?=\w)", text)[1:]:
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", block), block
    assert "://" not in text


def test_torch_alone_is_locked_as_with_all_others() -> None:
    blocks = [re.findall(r"(?m)^torch==.*\n(?: .*\n)*", (ROOT / "locks" / name).read_text()) for name in FILES]
    assert len(blocks[0]) == 1
    assert blocks[0] == blocks[1] == blocks[2]
