"""Options made from the fields of RunSettings, and what the command line gives to a run."""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path

import pytest

from vase.cli import make_parser
from vase.cli.options import add_settings, given_settings, new_settings
from vase.cli.parsing import Parser, UsageError
from vase.training.settings import PRESET_DEFAULTS, RunSettings


def parsed(*words: str) -> argparse.Namespace:
    return make_parser().parse_args(["train", *words])


def help_of(*names: str, **defaults: object) -> str:
    parser = Parser(prog="x")
    add_settings(parser, *names, **defaults)
    return " ".join(parser.format_help().split())


def test_every_field_is_an_option_with_help() -> None:
    text = help_of()
    for field in dataclasses.fields(RunSettings):
        if field.name != "learner_options":  # --set learner.NAME=VALUE
            flag = field.metadata.get("flag", f"--{field.name.replace('_', '-')}")
            assert f" {flag} " in text, f"give {field.name} a value made by option(default, help)"


def test_defaults_are_told_for_every_preset() -> None:
    assert "--steps N batches per stage (default: laptop 3000, paper 150000, smoke 100)" in help_of("steps")
    assert "--canvas N side of the images in pixels (default: laptop 32, paper 64, smoke 32)" in help_of("canvas")
    assert "(default: 0)" in help_of("seed")
    assert "(default: 1200)" in help_of("steps", steps=1200)
    assert "default" not in help_of("measures", "data", "overrides")
    for preset, changed in PRESET_DEFAULTS.items():
        made = dataclasses.asdict(RunSettings.of(preset))
        for name, value in changed.items():
            assert made[name] == value
            assert f"{preset} {value}" in help_of(name)


def test_types_follow_the_fields() -> None:
    given = given_settings(parsed("--steps", "7", "--measures", "--probes", "online", "--anticipation", "a>b"))
    assert given == {"steps": 7, "measures": True, "probes": "online", "anticipation": "a>b"}


def test_how_images_are_imagined() -> None:
    words = ("--imagination-policy", "random", "--imagination-share", "0.25", "--imagination-start", "7")
    given = given_settings(parsed(*words, "--imagination-ramp", "5"))
    assert given == {
        "imagination_policy": "random",
        "imagination_share": 0.25,
        "imagination_start": 7,
        "imagination_ramp": 5,
    }
    assert "--imagination-share X imagined images" in help_of("imagination_share")
    assert "(default: 1.0)" in help_of("imagination_share")
    assert "--imagination-policy {learnt,random}" in help_of("imagination_policy")
    with pytest.raises(UsageError, match="argument --imagination-share: 'half' is not a number"):
        parsed("--imagination-share", "half")


def test_what_is_not_given_follows_the_preset() -> None:
    assert given_settings(parsed()) == {}
    settings = new_settings(given_settings(parsed("--preset", "paper", "--seed", "3")))
    assert settings == RunSettings.of("paper", seed=3)
    assert settings.steps == 150_000


def test_assignments() -> None:
    given = given_settings(parsed("--set", "capacity.gamma=7", "--set", " batch_size = 8 "))
    assert given == {"overrides": {"capacity.gamma": "7", "batch_size": "8"}}


def test_options_of_a_learner() -> None:
    words = ["--learner", "mine:Mine", "--set", "learner.rate=0.1", "--set", "mask.minimum=2"]
    settings = new_settings(given_settings(parsed(*words))).to_dict()
    assert settings["learner"] == "mine:Mine"
    assert settings["learner_options"] == {"rate": "0.1"}
    assert settings["overrides"] == {"mask.minimum": "2"}


def test_folders_are_found_from_everywhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VASE_FACES", "mine")
    assert given_settings(parsed("--data", "d")) == {"data": str(tmp_path / "d")}
    given = given_settings(parsed("--stream", "inverse-faces,mnist"))
    assert given["faces"] == str(tmp_path / "mine")
    assert "faces" not in given_settings(parsed("--stream", "inverse-faces,mnist", "--resume"))
