"""What is released: wheel and sdist, what they hold, that the core dependencies are enough, and types for users."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
import yaml

from vase import __version__
from vase.learners.sharing import shipped_models

ROOT = Path(__file__).parents[1]
SOURCE = ("pyproject.toml", "README.md", "LICENSE")
CORE_ONLY = """
import importlib.metadata as metadata, re, sys
from importlib.machinery import PathFinder
from packaging.requirements import Requirement

def plain(name):
    return re.sub(r"[-_.]+", "-", name).lower()

wanted, core = ["vase-lifelong"], set()
while wanted:
    name = plain(wanted.pop())
    if name in core:
        continue
    core.add(name)
    try:
        needs = metadata.distribution(name).requires or []
    except metadata.PackageNotFoundError:
        continue
    needs = map(Requirement, needs)
    wanted += [need.name for need in needs if need.marker is None or need.marker.evaluate({"extra": ""})]
optional = {
    module
    for module, owners in metadata.packages_distributions().items()
    if core.isdisjoint(map(plain, owners))
}
assert {"huggingface_hub", "onnx", "tensorboard", "ray"} <= optional, "nothing to hide"

class CoreOnly(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] in optional else super().find_spec(name, path, target)

for name in [name for name in sys.modules if name.partition(".")[0] in optional]:
    del sys.modules[name]
sys.meta_path = [CoreOnly if finder is PathFinder else finder for finder in sys.meta_path]
sys.path.insert(0, SITE)
"""
USER = """
from vase import VASE, VASEConfig, Step

model = VASE(VASEConfig.laptop(), seed=0)
step: Step = model.partial_fit([])
reveal_type(step.is_new)
reveal_type(VASE.from_pretrained("three-worlds"))
model.partial_fit()
step.nothing
"""


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both archives, built from a copy, with the setuptools of this environment."""
    source = tmp_path_factory.mktemp("source")
    for name in SOURCE:
        shutil.copy(ROOT / name, source)
    shutil.copytree(ROOT / "vase", source / "vase", ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(source / "dist"), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return source / "dist"


@pytest.fixture(scope="module")
def site(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment without anything but the wheel."""
    environment = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    (folder,) = (environment / "lib").glob("python*/site-packages")
    (wheel,) = dist.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def test_both_archives_hold_the_package_and_its_data(dist: Path) -> None:
    (wheel,), (sdist,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
    assert wheel.name == f"vase_lifelong-{__version__}-py3-none-any.whl"
    data = [f"vase/report/page/{path.name}" for path in (ROOT / "vase" / "report" / "page").iterdir()]
    data += ["vase/py.typed", *(f"vase/shipped/{name}/state.json" for name in shipped_models())]
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    with tarfile.open(sdist) as archive:
        packed = [name.partition("/")[2] for name in archive.getnames()]
    for held in (names, packed):
        assert set(data) <= set(held)
    assert {name.partition("/")[0] for name in names} == {"vase", f"vase_lifelong-{__version__}.dist-info"}
    assert {"README.md", "LICENSE", "pyproject.toml"} <= set(packed)


def test_the_core_dependencies_are_enough(site: Path, tmp_path: Path) -> None:
    """In place of an empty environment, for which `make release-check` downloads everything: the rest is hidden."""
    script = (
        f"SITE = {str(site)!r}\n{CORE_ONLY}"
        + """
import numpy as np, vase
from vase import VASE, VASEConfig
from vase.cli import main
assert vase.__file__.startswith(SITE)
model = VASE(VASEConfig.smoke(), seed=0, device="cpu")
model.partial_fit(np.zeros((8, 32, 32), np.uint8))
model.save_pretrained("shared")
assert VASE.from_pretrained("shared", device="cpu").steps == 1
words = "--stream digits*3,glyphs*3 --preset smoke --batch-size 4 --probes none --device cpu --quiet --out run"
assert main(["train", *words.split()]) == 0
for words in ("share run --out other --push me/it", "train --out b --tensorboard", "train --out b --wandb p"):
    assert main(words.split()) == 2
"""
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert [
        line.partition(" installed: pip install ")[2] for line in done.stderr.splitlines() if "pip install" in line
    ] == [
        f"'vase-lifelong[{extra}]' (in a clone: pip install '.[{extra}]')." for extra in ("hub", "tensorboard", "wandb")
    ], done.stderr


def test_users_get_types(site: Path, tmp_path: Path) -> None:
    """mypy finds py.typed where the wheel was installed; what other packages are not there is Any."""
    (tmp_path / "user.py").write_text(USER)
    python = site.parents[2] / "bin" / "python"
    command = [sys.executable, "-m", "mypy", "--python-executable", str(python), "--config-file=", "user.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    told = [line.partition("user.py:")[2] for line in done.stdout.splitlines() if "user.py" in line]
    assert told[0].startswith('6: note: Revealed type is "'), done.stdout
    assert "bool" in told[0]
    assert told[1] == '7: note: Revealed type is "vase.learners.vase.VASE"'
    assert told[2] == '8: error: Missing positional argument "images" in call to "partial_fit" of "VASE"  [call-arg]'
    assert told[3] == '9: error: "Step" has no attribute "nothing"  [attr-defined]'


# ---------------------------------------------------------------------------------------------------- versions


def release_tool() -> object:
    spec = importlib.util.spec_from_file_location("release", ROOT / "tools" / "release.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_place_states_the_same_version() -> None:
    release = release_tool()
    stated = release.stated_versions()
    assert set(stated) == {"vase/__init__.py", "CITATION.cff"}
    assert release.require_one_version(stated, []) == __version__
    assert release.require_one_version(stated, ["good", f"v{__version__}"]) == __version__
    with pytest.raises(SystemExit, match=r"v9\.9.*make them agree"):
        release.require_one_version(stated, ["v9.9"])


def test_citation_and_issue_templates_are_well_formed() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert {"cff-version", "message", "title", "authors"} <= set(citation)
    assert [author["family-names"] for author in citation["preferred-citation"]["authors"]][::6] == [
        "Achille",
        "Higgins",
    ]
    for name in ("bug", "feature"):
        form = yaml.safe_load((ROOT / ".github" / "ISSUE_TEMPLATE" / f"{name}.yml").read_text())
        assert {"name", "description", "body"} <= set(form)
        assert all(field["type"] == "textarea" and field["attributes"]["label"] for field in form["body"])


def test_the_dockerfile_copies_what_the_context_has() -> None:
    """The build context is what .dockerignore lets through."""
    allowed = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    copied = [line.split()[1:-1] for line in (ROOT / "Dockerfile").read_text().splitlines() if line.startswith("COPY")]
    assert {name for names in copied for name in names} == allowed
    assert all((ROOT / name).exists() for name in allowed)
