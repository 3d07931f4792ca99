"""Imagination in runs, the look ahead at worlds not met, and the experiment that is made of both."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from stop_at import StopAt

from vase import VASE, Step, cli
from vase.experiments import Condition, Experiment, Job, export, jobs_of, results_of
from vase.experiments.common.figures import pictures
from vase.experiments.imagination.analysis import imagination_table
from vase.experiments.imagination.figures import figure4c
from vase.experiments.writer import exported_rows
from vase.training import Interrupted, Run, RunDirectory, RunSettings, make_plan, train
from vase.training import imagination as imagining
from vase.training.imagination import Imagination, translation
from vase.training.trainer import check_workers
from vase.worlds import make_world

SMALL = Experiment(
    name="imagination",
    title="stand-ins for a few steps; the first world is a negative, so that two backgrounds occur",
    stream="moving-inverse-glyphs:16,digits:16,moving-digits:16",
    steps={"smoke": 8},
    conditions=(
        Condition("plain", seeds=(0,), options={"anticipation": ""}),
        Condition("passive", seeds=(0,), shown=True),
        Condition("imagination", seeds=(0,), shown=True, options={"imagination": "digits:16"}),
        Condition(
            "random-translation",
            seeds=(0,),
            shown=True,
            options={"imagination": "digits:16", "imagination_policy": "random"},
        ),
    ),
    tables={"imagination": imagination_table},
    options={
        "anticipation": "digits:16>moving-digits:16",
        "measures": False,
        "batch_size": 8,
        "probe_every": 4,
        "checkpoint_every": 10,
        "rows_every": 3,
        "device": "cpu",
    },
    values={"smoke": {"environments.burn_in": 5, "network.latents": 5, "network.hidden": 16}},
)
DIGITS = "digits:16"


@pytest.fixture(scope="module", autouse=True)
def often() -> Iterator[None]:
    """Focus every few steps, as the runs are short."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(imagining, "FOCUS_EVERY", 5)
        yield


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Job]:
    """The small experiment, run and kept; tests only read it."""
    folder = tmp_path_factory.mktemp("study")
    found = {j.condition.name: j for j in jobs_of(SMALL, "smoke", folder / "results", folder / "runs")}
    for job in found.values():
        train(job.path, job.settings)
        export(job)
    return found


def lines_of(job: Job, *without: str) -> list[bytes]:
    lines = (job.path / "rows.jsonl").read_bytes().splitlines()
    return [line for line in lines if json.loads(line)["kind"] not in without]


def files_of(path: Path) -> dict[str, bytes]:
    """Of the newest checkpoint: an interrupted run has others before it."""
    newest = max((path / "checkpoints").iterdir())
    return {file.name: file.read_bytes() for file in sorted(newest.glob("*.safetensors"))}


# ------------------------------------------------------------------------------------------------- what is in a run


def test_without_imagination_nothing_changes(jobs: dict[str, Job]) -> None:
    plain, passive = jobs["plain"], jobs["passive"]
    assert lines_of(passive, "imagination") == lines_of(plain)
    states = {name: RunDirectory(jobs[name].path).load() for name in ("plain", "passive")}
    assert states["passive"]["callbacks"].keys() - states["plain"]["callbacks"].keys() == {"Imagination"}
    learners = [sorted(p.name for p in (job.path / "checkpoints").rglob("learner-*")) for job in (plain, passive)]
    assert learners[0] == learners[1], "named after their content"
    assert not (plain.path / "pictures.npz").exists()
    settings = json.loads((plain.path / "config.json").read_text())["settings"]
    assert not {"imagination", "anticipation"} & settings.keys()


def test_an_explorer_does_not_touch_the_learner_until_its_images_join(jobs: dict[str, Job]) -> None:
    def until(step: int, job: Job) -> list[dict[str, Any]]:
        return [row for line in lines_of(job) if (row := json.loads(line))["step"] <= step]

    passive, imagined, random = (jobs[name] for name in ("passive", "imagination", "random-translation"))
    assert until(8, passive) == until(8, imagined) == until(8, random)
    assert until(10, passive) != until(10, imagined)
    assert until(10, random) not in (until(10, passive), until(10, imagined))


def test_rows_of_all_conditions(jobs: dict[str, Job]) -> None:
    passive, imagined, random = (
        [r for r in exported_rows(jobs[name]) if r["kind"] == "imagination"]
        for name in ("passive", "imagination", "random-translation")
    )
    for rows in (passive, imagined, random):
        assert [(row["step"], row["stage"], row["world"], row["unmet"]) for row in rows] == [
            (step, 1, DIGITS, "moving-digits:16") for step in (12, 16)
        ]
        assert all(0 <= row[name] <= 1 for row in rows for name in ("accuracy", "ceiling"))
        assert {row["mode"] for row in rows} == {"periodic"}
    assert not any("latents" in row for row in (*passive, *random)), "nothing aims at z*"
    for row in imagined:
        assert len(row["latents"]) == len(row["before"]) == len(row["after"]) > 0


def test_imagination_alone_tells_the_way_to_its_targets(tmp_path: Path) -> None:
    settings = RunSettings.of(
        "smoke", stream="digits:16*4", imagination=DIGITS, batch_size=4, probe_every=2, probes="none"
    )
    train(tmp_path / "run", settings)
    rows = [row for row in RunDirectory(tmp_path / "run").rows() if row["kind"] == "imagination"]
    assert [row["step"] for row in rows] == [2, 4]
    assert rows[0].keys() == {"kind", "step", "stage", "world", "latents", "before", "after"}
    assert set(RunDirectory(tmp_path / "run").pictures()) == {
        f"{DIGITS}: {name}" for name in ("met", "imagined", "acted")
    }


def test_resume_is_exact_before_and_while_images_are_imagined(jobs: dict[str, Job], tmp_path: Path) -> None:
    job, path = jobs["imagination"], tmp_path / "run"
    with pytest.raises(Interrupted):
        train(path, job.settings, callbacks=[StopAt(5)])
    with pytest.raises(Interrupted):
        train(path, resume=True, callbacks=[StopAt(13)])
    train(path, resume=True)
    assert (path / "rows.jsonl").read_bytes() == (job.path / "rows.jsonl").read_bytes()
    assert files_of(path) == files_of(job.path)
    assert RunDirectory(path).load()["callbacks"]["Imagination"]["explorer"]["steps"] == 24
    assert (path / "pictures.npz").read_bytes() == (job.path / "pictures.npz").read_bytes()


def test_resume_is_exact_while_images_move_at_random(jobs: dict[str, Job], tmp_path: Path) -> None:
    job, path = jobs["random-translation"], tmp_path / "run"
    for step, resume in ((5, False), (13, True)):
        with pytest.raises(Interrupted):
            train(path, None if resume else job.settings, resume=resume, callbacks=[StopAt(step)])
    train(path, resume=True)
    assert (path / "rows.jsonl").read_bytes() == (job.path / "rows.jsonl").read_bytes()
    assert files_of(path) == files_of(job.path)
    assert RunDirectory(path).load()["callbacks"]["Imagination"]["explorer"] is None
    assert (path / "pictures.npz").read_bytes() == (job.path / "pictures.npz").read_bytes()


# ------------------------------------------------------------------------------------------------------------ pieces


@dataclass
class Beside:
    """Imagination beside a new learner."""

    callback: Imagination
    run: Run

    @classmethod
    def of(cls, settings: RunSettings) -> Beside:
        plan = make_plan(settings)
        learner = VASE(plan.config, device="cpu")
        callback = Imagination(plan, learner)
        return cls(callback, Run(RunDirectory("nowhere"), plan, learner, [callback]))

    def meet(self, step: int) -> tuple[np.ndarray, np.ndarray]:
        """(images of the stream, images that are learnt) of a step from 1."""
        schedule = self.run.plan.schedule
        schedule.step = step - 1
        batch = next(schedule)
        before = batch.images.copy()
        met = self.callback.on_batch(self.run, batch).images
        assert np.array_equal(before, batch.images)
        return before, met


@pytest.fixture
def beside() -> Beside:
    """With a policy that moves everything far."""
    found = Beside.of(SMALL.settings(SMALL.condition("imagination"), 0, "smoke"))
    assert found.callback.explorer is not None
    torch.nn.init.constant_(found.callback.explorer.policy.output.bias, 1.0)
    return found


def test_imagined_images_join_the_batches_of_the_named_world_from_the_first_on(beside: Beside) -> None:
    explorer = beside.callback.explorer
    assert explorer is not None
    for number, (step, more) in enumerate([(8, 0), (9, 8), (16, 8), (17, 0)], 1):
        before, met = beside.meet(step)
        assert (met.dtype, len(met)) == (np.uint8, len(before) + more)
        assert np.array_equal(met[: len(before)], before)
        assert not any(np.array_equal(a, b) for a in met[len(before) :] for b in before)
        assert explorer.steps == number, "the policy learns from every batch"


def imagining_with(**options: Any) -> Beside:
    condition = Condition("other", options={"imagination": DIGITS, **options})
    return Beside.of(SMALL.settings(condition, 0, "smoke"))


def test_random_images_join_in_the_same_number_and_nothing_learns_to_move_them() -> None:
    found, again = (imagining_with(imagination_policy="random") for _ in range(2))
    assert found.callback.explorer is None
    for step, more in [(8, 0), (9, 8), (16, 8), (17, 0)]:
        before, met = found.meet(step)
        assert (met.dtype, len(met)) == (np.uint8, len(before) + more)
        assert np.array_equal(met[: len(before)], before)
        assert not any(np.array_equal(a, b) for a in met[len(before) :] for b in before)
        assert np.array_equal(again.meet(step)[1], met), "decided by seed and step"


def test_random_images_have_the_label_of_the_digit_that_was_moved() -> None:
    suite, _ = imagining_with(imagination_policy="random").callback.lookahead[DIGITS, "moving-digits:16"]
    batch = suite.worlds["moving-digits:16"][0].sample(8, np.random.default_rng(3))
    static = make_world(DIGITS).sample(8, np.random.default_rng(3))
    assert batch.factors["label"].tolist() == [*static.factors["label"], *static.factors["label"]]
    assert np.array_equal(batch.images[:8], static.images)
    assert not any(np.array_equal(a, b) for a, b in zip(batch.images[8:], static.images, strict=True))


@pytest.mark.parametrize(
    ("options", "added"),
    [
        ({}, [8, 8, 8, 8, 8, 8, 8, 8]),
        ({"imagination_share": 0.25}, [2, 2, 2, 2, 2, 2, 2, 2]),
        ({"imagination_start": 3}, [0, 0, 0, 8, 8, 8, 8, 8]),
        ({"imagination_ramp": 4}, [2, 4, 6, 8, 8, 8, 8, 8]),
        ({"imagination_share": 0.5, "imagination_start": 2, "imagination_ramp": 4}, [0, 0, 1, 2, 3, 4, 4, 4]),
    ],
)
def test_how_many_images_join_and_when(options: dict[str, Any], added: list[int]) -> None:
    """Steps 9 to 16 are the stage; batches have 8 images."""
    found = imagining_with(**options)
    assert [len(found.meet(step)[1]) - 8 for step in range(9, 17)] == added
    assert found.callback.explorer is not None
    assert found.callback.explorer.steps == 8, "the policy learns from every batch"
    suite, _ = found.callback.lookahead[DIGITS, "moving-digits:16"]
    classified = suite.worlds["moving-digits:16"][0].sample(8, np.random.default_rng(3))
    assert len(classified.images) == 16, "the classifier gets one for each image"


def test_imagined_images_have_the_background_of_their_world(beside: Beside) -> None:
    seen = []
    act = imagining.Translation.apply

    def spy(self: Any, images: Any, parameters: Any) -> Any:
        seen.append(self.background)
        return act(self, images, parameters)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(imagining.Translation, "apply", spy)
        beside.meet(1)
        assert set(seen) == {1.0}
        seen.clear()
        beside.meet(13)
        assert set(seen) == {0.0}


def test_the_classifier_learns_labels_of_the_digits_that_were_moved(beside: Beside) -> None:
    (met, real), (met_test, real_test) = (
        [suite.worlds["moving-digits:16"][i] for suite in beside.callback.lookahead[DIGITS, "moving-digits:16"]]
        for i in (0, 1)
    )
    batch, static = (world.sample(8, np.random.default_rng(3)) for world in (met, make_world(DIGITS)))
    assert batch.factors.keys() == {"label"}
    assert batch.factors["label"].tolist() == [*static.factors["label"], *static.factors["label"]]
    assert np.array_equal(batch.images[:8], static.images)
    assert not any(np.array_equal(a, b) for a, b in zip(batch.images[8:], static.images, strict=True))
    moving = make_world("moving-digits:16").sample(8, np.random.default_rng(3))
    assert np.array_equal(real.sample(8, np.random.default_rng(3)).images, moving.images)
    held_out = make_world("moving-digits:16", split="test").sample(8, np.random.default_rng(3))
    for test in (met_test, real_test):
        assert np.array_equal(test.sample(8, np.random.default_rng(3)).images, held_out.images)


@pytest.mark.parametrize("mode", ["online", "periodic"])
def test_both_classifiers_take_as_many_steps(mode: str) -> None:
    settings = dataclasses.replace(SMALL.settings(SMALL.condition("imagination"), 0, "smoke"), probes=mode)
    found = Beside.of(settings)
    for step in range(9, 17):
        found.run.plan.schedule.step = step
        found.callback.on_step(found.run, Step(step))
    (pair,) = found.callback.lookahead.values()
    taken = [
        {int(moments["step"]) for moments in probe.state_dict()["optimiser"].values()}
        for suite in pair
        for probe in suite.probes.values()
    ]
    assert taken[0] == taken[1] != set()


def test_latents_are_kept_if_none_can_be_moved_now(beside: Beside, monkeypatch: pytest.MonkeyPatch) -> None:
    explorer = beside.callback.explorer
    assert explorer is not None
    explorer.latents = [1, 3]
    for answer, expected in (([], [1, 3]), ([2], [2])):
        monkeypatch.setattr(imagining, "movable_latents", lambda *a, answer=answer, **k: np.array(answer, np.int64))
        beside.meet(14)
        assert explorer.latents.tolist() != [2], "not due before step 15"
        beside.meet(15)
        assert explorer.latents.tolist() == expected


def test_translation_goes_from_edge_to_edge_where_there_is_room() -> None:
    found = translation(make_world("inverse-digits:20", canvas=32))
    assert found is not None
    assert (found.reach, found.background) == (0.75, 1.0)  # 12 of 16 pixels, half a canvas
    assert translation(make_world("digits:32", canvas=32)) is None


# ---------------------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"imagination": "mnst"},
            r"imagination='mnst': 'mnst' is no world of the stream; name some of moving-fashion, mnist",
        ),
        ({"imagination": "mnist,"}, "'' is no world of the stream"),
        ({"imagination": "mnist", "imagination_policy": "best"}, "'best': must be 'learnt' or 'random'"),
        ({"imagination": "mnist", "imagination_share": 0.0}, r"imagination_share=0\.0: must be above 0 and at most 1"),
        ({"imagination": "mnist", "imagination_share": 1.5}, r"imagination_share=1\.5: must be above 0 and at most 1"),
        (
            {"imagination": "mnist", "imagination_start": -1},
            "imagination_start=-1: must be a whole number",
        ),
        ({"imagination": "mnist", "imagination_ramp": 0.5}, r"imagination_ramp=0\.5: must be a whole number"),
        (
            {"imagination_policy": "random"},
            "'random' without imagination has no effect: name worlds",
        ),
        ({"anticipation": "mnist"}, "write MET>UNMET, two worlds of the stream, e.g. mnist>moving-mnist"),
        ({"anticipation": "mnist>mnist"}, "two worlds"),
        ({"anticipation": "mnist>inverse-mnist"}, "'inverse-mnist' is no world of the stream"),
        ({"anticipation": "mnist>moving-mnist", "probes": "none"}, "needs probes; use probes='periodic' or 'online'"),
    ],
)
def test_bad_settings_name_the_remedy(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        RunSettings(**values)


def test_settings_name_worlds_whatever_the_length_of_their_stages() -> None:
    stream = " moving-fashion*10, mnist *20,moving-mnist"
    found = RunSettings(stream=stream, imagination=" mnist", anticipation="mnist > moving-mnist,moving-fashion>mnist")
    assert found.names == ("moving-fashion", "mnist", "moving-mnist")
    assert found.imagined == ("mnist",)
    assert found.anticipated == (("mnist", "moving-mnist"), ("moving-fashion", "mnist"))


def test_settings_that_ask_for_nothing_are_written_as_ever() -> None:
    plain, asking = RunSettings(), RunSettings(imagination="mnist")
    assert not [name for name in plain.to_dict() if name.startswith(("imagination", "anticipation"))]
    assert [name for name in asking.to_dict() if name.startswith("imagination")] == ["imagination"]
    assert RunSettings.from_dict(plain.to_dict()) == plain
    assert RunSettings.from_dict(json.loads(json.dumps(asking.to_dict()))) == asking
    assert plain.differences(asking) == asking.differences(plain) == ["imagination"]
    random = dataclasses.replace(asking, imagination_policy="random", imagination_share=0.25)
    assert RunSettings.from_dict(json.loads(json.dumps(random.to_dict()))) == random
    assert random.differences(asking) == asking.differences(random) == ["imagination_policy", "imagination_share"]


def test_worlds_in_which_nothing_can_move_are_refused_and_leave_no_run(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"nothing can be moved in digits:32; .* or use a larger --canvas"):
        train(tmp_path / "run", RunSettings.of("smoke", stream="digits:32*4", imagination="digits:32"))
    assert not (tmp_path / "run" / "config.json").exists()


def test_several_workers_are_refused() -> None:
    settings = RunSettings.of("smoke", stream="digits*4", imagination="digits")
    with pytest.raises(ValueError, match=r"imagination='digits' with 2 workers: .* start it without torchrun"):
        check_workers(settings, 2)


def test_the_command_line_takes_worlds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [
        "train",
        "--stream",
        "digits*4",
        "--preset",
        "smoke",
        "--imagination",
        "glyphs",
        "--out",
        str(tmp_path / "run"),
    ]
    assert cli.main(words) == 2
    assert "'glyphs' is no world of the stream; name some of digits." in capsys.readouterr().err


# -------------------------------------------------------------------------------------------------- the experiment


def test_results_of_a_small_study_give_table_and_figure(jobs: dict[str, Job]) -> None:
    folder = jobs["plain"].results
    results = results_of(SMALL, "smoke", folder)
    row = imagination_table(results).rows[0]
    ahead = [r for r in exported_rows(jobs["imagination"]) if r["kind"] == "imagination"]
    assert row[2].values == (100 * ahead[-1]["accuracy"],)  # type: ignore[union-attr]
    assert not (folder / "imagination" / "smoke" / "plain-0.pictures.npz").exists()
    images = pictures(results.first("imagination"))
    assert len(images) == 5
    assert all((p.dtype, p.shape) == (np.uint8, (8, 1, 32, 32)) for p in images.values())
    assert set(pictures(results.first("passive"))) == {f"{DIGITS}: moving-{DIGITS}{x}" for x in ("", " reconstructed")}
    left, right, *panels = figure4c(results).get_axes()
    bold = next(line for line in left.lines if line.get_linewidth() == 2.2)
    assert bold.get_ydata() == pytest.approx([row["accuracy"] for row in ahead])
    assert left.get_xlim() == (8, 16)
    assert right.get_xlim() == (0, 24)
    assert [len(axis.get_yticks()) for axis in panels] == [3, 4]
    labels = [text.get_text() for text in left.get_legend().get_texts()]
    names = ("imagination", "passive", "random-translation")
    assert labels == [*(f"{name}, 1 seed" for name in names), "trained on real moving MNIST"]
    assert set(pictures(results.first("random-translation"))) == {
        f"{DIGITS}: {name}" for name in ("met", "acted", f"moving-{DIGITS}", f"moving-{DIGITS} reconstructed")
    }


def test_pictures_are_added_and_replaced(tmp_path: Path) -> None:
    directory = RunDirectory(tmp_path)
    assert directory.pictures() == {}
    directory.keep_pictures({"a": np.zeros(2), "b": np.zeros(2)})
    directory.keep_pictures({"b": np.ones(2)})
    assert {name: values.tolist() for name, values in directory.pictures().items()} == {"a": [0, 0], "b": [1, 1]}


def test_a_condition_may_overrule_the_settings_of_its_experiment() -> None:
    odd = dataclasses.replace(SMALL, conditions=(Condition("odd", options={"batch_size": 6}),))
    assert odd.settings(odd.conditions[0], 0, "smoke").batch_size == 6
    assert odd.settings(odd.conditions[0], 0, "smoke", batch_size=4).batch_size == 4
