"""Fuzz what reads untrusted bytes: pictures, manifests, configurations, rows and the names of streams.

    python -m benchmarks.fuzz TARGET [--seconds 60] [--corpus FOLDER]    needs: pip install atheris

A target takes any bytes. It may refuse them with a ValueError; anything else is a defect. Inputs that found one belong
into tests/benchmarks/corpus/TARGET, where tests/benchmarks/test_fuzz.py runs them again, beside inputs of hypothesis.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from vase import checkpoint
from vase.files import write_json
from vase.learners.saved_state import require_fitting_weights, saved_config
from vase.training import RunDirectory
from vase.training.row_file import read_rows
from vase.worlds.pictures import read_picture
from vase.worlds.spec import StreamSpec

MAX_BYTES = 4096
KIND = "vase learner"


def picture(data: bytes, folder: Path) -> None:
    """Decode a picture; its endings do not matter, its content decides."""
    file = folder / "picture"
    file.write_bytes(data)
    with suppress(ValueError):
        found = read_picture(file, least=(8, 8))
        assert min(found.size) >= 1
        assert found.mode in ("L", "RGB")


def manifest(data: bytes, folder: Path) -> None:
    """Read a checkpoint with these bytes as its manifest."""
    (folder / checkpoint.MANIFEST).write_bytes(data)
    with suppress(checkpoint.CheckpointError):
        checkpoint.read(folder, KIND)


def signed(data: bytes, folder: Path) -> None:
    """Read a checkpoint whose manifest is correctly signed, and whose values are these bytes as JSON."""
    try:
        values = json.loads(data)
    except (ValueError, RecursionError):
        return
    body = {"kind": KIND, "version": checkpoint.VERSION, "files": {}, "values": values}
    write_json(folder / checkpoint.MANIFEST, {**body, "sha256": checkpoint.manifest_digest(body)})
    with suppress(ValueError):
        learner = checkpoint.read(folder, KIND).get("learner")
        if isinstance(learner, dict):
            require_fitting_weights(learner, saved_config(learner), own_encoder=False)


def config(data: bytes, folder: Path) -> None:
    """Open a run directory with these bytes as its configuration."""
    (folder / "config.json").write_bytes(data)
    directory = RunDirectory(folder)
    for read in (directory.read_config, directory.settings, directory.timeline):
        with suppress(ValueError):
            read()


def rows(data: bytes, folder: Path) -> None:
    """Read rows."""
    file = folder / "rows.jsonl"
    file.write_bytes(data)
    with suppress(ValueError):
        read_rows(file)


def stream(data: bytes, folder: Path) -> None:
    """Parse the names of a stream; what is accepted must mean the same once it is printed."""
    with suppress(ValueError):
        found = StreamSpec.parse(data.decode("utf-8", "surrogateescape"))
        assert StreamSpec.parse(str(found)) == found
        assert found.timeline.total >= 1


Target = Callable[[bytes, Path], None]
TARGETS: dict[str, Target] = {one.__name__: one for one in (picture, manifest, signed, config, rows, stream)}
"""What is fuzzed, by name: bytes, and a folder to put them in."""


def main() -> None:
    """Fuzz one target with atheris, which ends the process at a defect and leaves the input in a file crash-*."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", choices=tuple(TARGETS))
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--corpus", help="folder of inputs to start from; new ones that reach new code are added")
    given = parser.parse_args()
    atheris = importlib.import_module("atheris")
    with tempfile.TemporaryDirectory(prefix="vase-fuzz-") as name:
        target, folder = TARGETS[given.target], Path(name)
        atheris.instrument_all()
        words = [sys.argv[0], f"-max_total_time={given.seconds}", f"-max_len={MAX_BYTES}", "-rss_limit_mb=4096"]
        atheris.Setup([*words, *([given.corpus] if given.corpus else [])], lambda data: target(data, folder))
        atheris.Fuzz()


if __name__ == "__main__":
    main()
