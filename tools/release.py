"""Check a release: `python tools/release.py` builds wheel and sdist and installs each into an empty environment.

The environment has the core dependencies only. The version stands in `vase/__init__.py`; a release is the commit that
carries it as a tag, v0.1.0 for 0.1.0. Needs a package index and some minutes.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
TRIAL = """
import numpy as np
from vase import VASE, VASEConfig
model = VASE(VASEConfig.smoke(), seed=0)
model.partial_fit(np.zeros((8, 32, 32), np.uint8))
model.save_pretrained("shared")
assert VASE.from_pretrained("shared").steps == 1
shipped = VASE.from_pretrained("three-worlds")
dreams = shipped.dream(4, environment=0)
assert shipped.encode(dreams).mean.shape == (4, shipped.n_latents)
"""
COMMANDS = (
    ("--help",),
    ("train", "--stream", "digits*8,glyphs*8", "--preset", "smoke", "--probes", "none", "--quiet", "--out", "run"),
    ("summary", "run"),
    ("report", "run"),
)


def stated_versions(root: Path = ROOT) -> dict[str, str]:
    """Every place that states the version."""
    patterns = {"vase/__init__.py": r'^__version__ = "(.+)"$', "CITATION.cff": r"^version: (.+)$"}
    return {
        name: found[1]
        for name, pattern in patterns.items()
        if (found := re.search(pattern, (root / name).read_text(), re.MULTILINE))
    }


def require_one_version(stated: dict[str, str], tags: list[str]) -> str:
    """The version, if all places agree, and a version tag of this commit, if there is any, is the same."""
    versions = set(stated.values()) | {tag[1:] for tag in tags if re.fullmatch(r"v\d.*", tag)}
    if len(versions) != 1:
        raise SystemExit(f"{stated} and the tags {tags} of this commit: make them agree, a tag is v and the version.")
    return versions.pop()


def run(*words: str | Path, cwd: Path = ROOT) -> str:
    """What a command prints; stops if it fails."""
    print("$", *words, flush=True)
    return subprocess.run([str(word) for word in words], cwd=cwd, check=True, stdout=subprocess.PIPE, text=True).stdout


def try_out(archive: Path, folder: Path) -> None:
    """Install an archive into an empty environment, and use what was installed from there."""
    python = folder / "environment" / "bin" / "python"
    run(sys.executable, "-m", "venv", folder / "environment")
    run(python, "-m", "pip", "install", "--quiet", "--constraint", ROOT / "constraints.txt", archive)
    run(python, "-c", TRIAL, cwd=folder)
    for words in COMMANDS:
        run(python.with_name("vase"), *words, cwd=folder)


def main() -> None:
    """Check the version, build, and try out both archives."""
    version = require_one_version(stated_versions(), run("git", "tag", "--points-at", "HEAD").split())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run(sys.executable, "-m", "build", "--outdir", folder / "dist")
        for kind in ("whl", "tar.gz"):
            (archive,) = (folder / "dist").glob(f"*.{kind}")
            (folder / kind).mkdir()
            try_out(archive, folder / kind)
    print(f"{version} builds, installs with its core dependencies only, and runs")


if __name__ == "__main__":
    main()
