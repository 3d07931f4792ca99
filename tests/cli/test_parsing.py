"""Parsing: suggestions for misspelt words, one line for every error, completion, and help without heavy imports."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
import subprocess
import sys

import pytest

from vase.cli import main, make_parser
from vase.cli.parsing import Parser, UsageError, hint
from vase.training.settings import RunSettings

COMMANDS = {
    "": (
        "demo",
        "data",
        "train",
        "watch",
        "sweep",
        "report",
        "explore",
        "figures",
        "summary",
        "share",
        "export",
        "config",
        "bench",
        "experiment",
        "completion",
    ),
    "data": ("list", "fetch", "suggest"),
    "experiment": ("list", "run", "check", "table", "figure", "shifts"),
}
HELPS = ["", *(f"{command} {action}".strip() for command, actions in COMMANDS.items() for action in actions)]
HEAVY = ("torch", "numpy", "sklearn", "matplotlib", "rich", "scipy", "PIL", "joblib", "pandas", "ray", "dask")
PROBE = """
import json, sys
from vase.cli import main
try:
    main(sys.argv[1:])
finally:
    print(json.dumps(sorted(sys.modules)))
"""


def printed_and_imported(*words: str) -> tuple[list[str], list[str]]:
    """The lines that a command prints in a process of its own, and the modules it imports."""
    done = subprocess.run([sys.executable, "-c", PROBE, *words], capture_output=True, text=True, check=True)
    *lines, modules = done.stdout.splitlines()
    return lines, json.loads(modules)


@pytest.mark.parametrize("command", HELPS)
def test_help_has_an_example_and_imports_nothing_heavy(command: str) -> None:
    lines, modules = printed_and_imported(*command.split(), "--help")
    assert any(line.startswith("example: ") for line in lines)
    assert [name for name in HEAVY if name in modules] == []
    assert [name for name in modules if name.startswith("vase.") and name.count(".") > 1 and ".cli." not in name] == [
        *(f"vase.experiments.{name}" for name in ("shifts", "shifts.settings", "tables")),
        "vase.training.settings",
        *(f"vase.worlds.{name}" for name in ("checks", "rooms", "spec", "timeline")),
    ]
    assert len(modules) < 200, f"{len(modules)} modules, of which Python needs about 60 to start"


@pytest.mark.parametrize("words", [["config"], ["completion", "bash"], ["--version"], ["train", "--stps"]])
def test_neither_do_commands_that_only_print(words: list[str]) -> None:
    _, modules = printed_and_imported(*words)
    assert [name for name in HEAVY if name in modules] == []


def test_the_list_of_commands_above_is_whole(capsys: pytest.CaptureFixture[str]) -> None:
    for command, actions in COMMANDS.items():
        with pytest.raises(SystemExit):
            main([*command.split(), "--help"])
        assert tuple(re.findall(r"^    (\w+)", capsys.readouterr().out, re.MULTILINE)) == actions


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["train", "--stps", "100"], "unknown option --stps; did you mean --steps? (see vase train --help)"),
        (["train", "--stps=100"], "unknown option --stps; did you mean --steps? (see vase train --help)"),
        (["experiment", "run", "ablation", "--sedes", "0"], "did you mean --seeds? (see vase experiment run --help)"),
        (["--tracebak", "train"], "unknown option --tracebak; did you mean --traceback? (see vase --help)"),
        (["trian"], "unknown command 'trian'; did you mean 'train'? Known: demo, data, train,"),
        (["data", "fetsch"], "unknown action 'fetsch'; did you mean 'fetch'? Known: list, fetch, suggest"),
        (["sweep", "--backend", "raay"], "unknown backend 'raay'; did you mean 'ray'? Known: processes, ray, dask"),
        (["train", "--probes", "onlin"], "unknown probes 'onlin'; did you mean 'online'? Known: periodic, online"),
        (["experiment", "table", "ablation", "--format", "cvs"], "unknown format 'cvs'; did you mean 'csv'?"),
        (["experiment", "table", "abltion"], "no experiment 'abltion'; did you mean 'ablation'?"),
        (["experiment", "table", "ablation", "headlin"], "did you mean 'headline'?"),
        (["bench", "--only", "stepp"], "--only stepp: no part of the benchmark; did you mean 'step'?"),
        (["completion", "bsh"], "unknown shell 'bsh'; did you mean 'bash'? Known: bash, zsh"),
        (["config", "capcity"], "unknown field 'capcity'; did you mean 'capacity"),
        (["summary"], "the following arguments are required: RUN (see vase summary --help)"),
        (["figures", "a", "b"], "unexpected argument 'b' (see vase figures --help)"),
        (["figures", "a", "b:classes=0-1"], "unexpected argument 'b:classes=0-1' (see vase figures --help)"),
        ([], "the following arguments are required: COMMAND (see vase --help)"),
    ],
)
def test_a_misspelt_word_is_one_line_with_a_remedy(
    capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    assert main(words) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("vase: error: ")
    assert message in printed.err
    assert printed.err.count("\n") == 1


def test_what_is_like_nothing_known_gets_no_suggestion() -> None:
    assert hint("xyz", ("ray", "dask")) == ". Known: ray, dask"
    with pytest.raises(UsageError, match=r"^unknown option --xyz \(see vase train --help\)$"):
        make_parser().parse_args(["train", "--xyz"])


def test_folders_are_completed_as_such() -> None:
    action = Parser().add_argument("--data", metavar="DIR")
    assert getattr(action, "complete") == {"bash": "_shtab_compgen_dirs", "zsh": "_files -/"}  # noqa: B009


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_completion_script(capsys: pytest.CaptureFixture[str], shell: str) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    for field in dataclasses.fields(RunSettings):
        if field.name != "learner_options":  # --set learner.NAME=VALUE
            assert field.metadata.get("flag", f"--{field.name.replace('_', '-')}") in script
    if found := shutil.which(shell):
        subprocess.run([found, "-n"], input=script, text=True, check=True, timeout=60)


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["vase", "tr"], {"train"}),
        (["vase", "experiment", "ch"], {"check"}),
        (["vase", "train", "--checkp"], {"--checkpoint-every"}),
        (["vase", "sweep", "--backend", "r"], {"ray"}),
    ],
)
def test_bash_completes(capsys: pytest.CaptureFixture[str], words: list[str], expected: set[str]) -> None:
    main(["completion", "bash"])
    script = capsys.readouterr().out
    name = next(line.split()[-2] for line in script.splitlines() if line.startswith("complete ") and "vase" in line)
    script += (
        f"\nCOMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}\n{name}\n" + 'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert {word.strip() for word in done.stdout.splitlines()} == expected
