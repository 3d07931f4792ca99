"""Settings of the whole process, and commands that read results without loading PyTorch."""

import platform
import subprocess
import sys
from pathlib import Path

import pytest

from vase import process
from vase.experiments.registry import experiment_names
from vase.process import keep_memory, silence_other_ranks

HEAVY = ("torch", "sklearn", "scipy", "matplotlib", "pandas", "joblib")
ROOT = Path(__file__).parent.parent


def python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT).stdout


def test_memory_is_kept_in_a_process_of_its_own():
    found = python("from vase.process import keep_memory; print(keep_memory())")
    assert found.strip() == str(platform.libc_ver()[0] == "glibc")


def test_without_glibc_nothing_happens(monkeypatch: pytest.MonkeyPatch):
    def none(name: object) -> object:
        return object()

    monkeypatch.setattr(process.ctypes, "CDLL", none)
    assert keep_memory() is False


@pytest.mark.parametrize(("size", "rank", "silent"), [("2", "0", False), ("2", "1", True), ("1", "0", False)])
def test_only_the_first_of_several_workers_speaks(
    size: str, rank: str, silent: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("WORLD_SIZE", size)
    monkeypatch.setenv("RANK", rank)
    monkeypatch.setattr(sys, "stdout", sys.stdout)
    silence_other_ranks()
    print("heard")
    if silent:
        sys.stdout.close()
    assert capsys.readouterr().out == ("" if silent else "heard\n")


@pytest.mark.parametrize("name", [name for name in experiment_names() if (ROOT / "results" / name).exists()])
def test_all_tables_of_an_experiment_are_made_without_heavy_libraries(name: str):
    preset = min(folder.name for folder in (ROOT / "results" / name).iterdir())  # laptop, if there are several
    code = (
        "import sys; from vase.cli import main\n"
        f"assert main(['experiment', 'table', {name!r}, 'all', '--preset', {preset!r}]) == 0\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    assert python(code).splitlines()[-1] == "[]"
