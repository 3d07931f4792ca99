"""What is fuzzed, and inputs to start from.

A target takes any bytes, and a folder to put them in. It may refuse them with a ValueError; anything else is a defect.
"""

from __future__ import annotations

import io
import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
from PIL import Image

from vase import VASE, VASEConfig, checkpoint
from vase.files import write_json
from vase.learners.saved_state import require_fitting_weights, saved_config
from vase.training import RunDirectory
from vase.training.row_file import read_rows
from vase.training.settings import RunSettings
from vase.worlds.pictures import read_picture
from vase.worlds.spec import StreamSpec

KIND = "vase learner"
Target = Callable[[bytes, Path], None]


def picture(data: bytes, folder: Path) -> None:
    """Decode a picture; its ending does not matter, its content decides."""
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
    """Parse the name of a stream; what is accepted must mean the same once it is printed."""
    with suppress(ValueError):
        found = StreamSpec.parse(data.decode("utf-8", "surrogateescape"))
        assert StreamSpec.parse(str(found)) == found
        assert found.timeline.total >= 1


TARGETS: dict[str, Target] = {one.__name__: one for one in (picture, manifest, signed, config, rows, stream)}
"""What is fuzzed, by name."""

CONFIG = {
    "format": 2,
    "settings": RunSettings().to_dict(),
    "stages": [["mnist", 5], ["folder:a", 7]],
    "sources": {},
    "config": VASEConfig().to_dict(),
    "versions": {},
}
ROW = {"kind": "probe", "step": 3, "world": "mnist", "probe": "identity", "mode": "frozen", "accuracy": 0.5}
FORMATS = {"PNG": {}, "GIF": {}, "TIFF": {"compression": "tiff_lzw"}, "JPEG": {}, "BMP": {}, "WEBP": {}, "PPM": {}}


def good_pictures() -> Iterator[bytes]:
    """A picture in every format, with a turn where there is one, and in every mode."""
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


def good_manifest() -> bytes:
    """The manifest of a small learner."""
    small = {"network.latents": 4, "network.hidden": 16, "network.channels": (4, 4), "dreaming.pool": 8}
    model = VASE(VASEConfig.smoke((1, 16, 16)).with_values(small), device="cpu")
    model.partial_fit(np.zeros((4, 16, 16), np.uint8))
    with tempfile.TemporaryDirectory() as folder:
        model.save(folder)
        return (Path(folder) / checkpoint.MANIFEST).read_bytes()


def good_inputs(target: str) -> list[bytes]:
    """Inputs that a target accepts."""
    if target == "picture":
        return list(good_pictures())
    if target == "manifest":
        return [good_manifest()]
    if target == "signed":
        return [json.dumps(json.loads(good_manifest())["values"]).encode()]
    if target == "config":
        return [json.dumps(CONFIG).encode()]
    if target == "rows":
        return [json.dumps(ROW).encode() + b"\n"]
    return [b"mnist", b"moving-digits:12*500,folder:a b*20", b"soft-faces,inverse-cifar10:classes=0-4+7"]
