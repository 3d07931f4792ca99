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
from vase.config import preset as configuration
from vase.experiments import Condition, Experiment, Job, export, jobs_of, load_experiment, results_of
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

    passive, imagined = jobs["passive"], jobs["imagination"]
    assert until(8, passive) == until(8, imagined)
    assert until(10, passive) != until(10, imagined)


def test_rows_of_both_conditions(jobs: dict[str, Job]) -> None:
    passive, imagined = (
        [r for r in exported_rows(jobs[name]) if r["kind"] == "imagination"] for name in ("passive", "imagination")
    )
    for rows in (passive, imagined):
        assert [(row["step"], row["stage"], row["world"], row["unmet"]) for row in rows] == [
            (step, 1, DIGITS, "moving-digits:16") for step in (12, 16)
        ]
        assert all(0 <= row[name] <= 1 for row in rows for name in ("accuracy", "ceiling"))
        assert {row["mode"] for row in rows} == {"periodic"}
    assert not any("latents" in row for row in passive)
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
    assert not {"imagination", "anticipation"} & plain.to_dict().keys()
    assert RunSettings.from_dict(plain.to_dict()) == plain
    assert RunSettings.from_dict(json.loads(json.dumps(asking.to_dict()))) == asking
    assert plain.differences(asking) == asking.differences(plain) == ["imagination"]


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


def test_conditions_differ_by_imagination_alone() -> None:
    whole = load_experiment("imagination")
    passive, imagined = (whole.settings(whole.condition(name), 2, "laptop") for name in ("passive", "imagination"))
    assert imagined.differences(passive) == ["imagination"]
    assert (passive.imagination, imagined.imagination) == ("", "mnist")
    assert passive.anticipation == "mnist>moving-mnist"
    assert (passive.steps, passive.seed) == (3_000, 2)
    assert all(len(condition.seeds) == 3 and condition.shown for condition in whole.conditions)


def test_values_of_the_papers_table() -> None:
    whole = load_experiment("imagination")
    settings = whole.settings(whole.condition("imagination"), 0, "paper")
    assert settings.steps == 45_000
    config = configuration("paper", (1, 64, 64)).with_values(dict(settings.overrides))
    assert (config.capacity.gamma, config.capacity.c_max) == (200, 35)
    assert 1 / config.capacity.ramp_steps == pytest.approx(0.7e-5, rel=1e-5)
    assert (config.mask.threshold, config.environments.kappa, config.dreaming.tau) == (0.7, 1.5, 500)


def _probe(world: str, step: int, value: float, metric: str = "accuracy") -> dict[str, Any]:
    probe = "identity" if metric == "accuracy" else "position"
    return {"kind": "probe", "step": step, "world": world, "probe": probe, "mode": "periodic", metric: value}


def _write(
    folder: Path, condition: str, seed: int, ahead: list[float], ceiling: list[float], probes: dict[str, list[float]]
) -> None:
    """Stages of 10 steps; ahead at 15 and 20, probes at 20, 25 and 30."""
    way = {"latents": [0, 2], "before": [3.0, 4.0], "after": [0.6, 0.8]} if condition == "imagination" else {}
    rows = [
        {
            "kind": "imagination",
            "step": step,
            "world": "mnist",
            "unmet": "moving-mnist",
            **way,
            "accuracy": a,
            "ceiling": c,
        }
        for step, a, c in zip((15, 20), ahead, ceiling, strict=True)
    ]
    rows += [_probe(w, step, v) for w, vs in probes.items() for step, v in zip((20, 25, 30), vs, strict=True)]
    rows += [_probe("moving-mnist", 20, 1.5, "pixels"), _probe("moving-mnist", 30, 0.5, "pixels")]
    content = {
        "settings": {"seed": seed},
        "stages": [["moving-fashion", 10], ["mnist", 10], ["moving-mnist", 10]],
        "config": {"mask": {"threshold": 0.6}},
        "summary": {"probes": ["periodic"], "environments": 3, "false_alarms": seed},
        "rows": rows,
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{condition}-{seed}.json").write_text(json.dumps(content))


def test_table_by_hand(tmp_path: Path) -> None:
    folder = tmp_path / "imagination" / "laptop"
    fashion, moving = [0.8, 0.8, 0.75], [0.7, 0.8, 0.9]
    probes = {"moving-fashion": fashion, "moving-mnist": moving}
    _write(folder, "passive", 0, [0.1, 0.3], [0.5, 0.8], {**probes, "mnist": [0.90, 0.9, 0.85]})
    _write(folder, "passive", 1, [0.1, 0.4], [0.5, 0.8], {**probes, "mnist": [0.92, 0.9, 0.85]})
    _write(folder, "imagination", 0, [0.5, 0.72], [0.6, 0.8], {**probes, "mnist": [0.89, 0.9, 0.95]})
    _write(folder, "imagination", 1, [0.9, 0.76], [0.6, 0.95], {**probes, "mnist": [0.93, 0.9, 0.95]})
    _write(folder, "imagination", 2, [0.9, 0.9], [0.9, 0.9], {**probes, "mnist": [0.93, 0.9, 0.95]})
    table = imagination_table(results_of(load_experiment("imagination"), "laptop", tmp_path))
    assert table.columns == ("", "passive", "imagination", "gain", "bar")
    rows = {str(row[0]): row[1:] for row in table.rows}

    def values(name: str) -> list[list[float]]:
        return [[round(value, 6) for value in entry.values] for entry in rows[name][:3]]  # type: ignore[union-attr]

    # seed 2 has no passive partner: it counts in its own column, and in no gain
    assert values("moving MNIST, classifier of what was met (%)") == [[30, 40], [72, 76, 90], [42, 36]]
    assert values("the same classifier on real moving MNIST (%)") == [[80, 80], [80, 95, 90], [0, 15]]
    assert values("what was met / real (%)") == [[37.5, 50], [90, 80, 100], [52.5, 30]]
    assert values("appendix probe of moving MNIST (%)") == [[70, 70], [70, 70, 70], [0, 0]]
    assert values("its position error (pixels)") == [[1.5, 1.5], [1.5, 1.5, 1.5], [0, 0]]
    assert values("appendix probe of MNIST (%)") == [[90, 92], [89, 93, 93], [-1, 1]]
    assert values("appendix probe of moving Fashion (%)")[0] == [80, 80]
    assert values("later: moving Fashion, end of the run (%)")[0] == [75, 75]
    assert values("later: MNIST, end of the run (%)") == [[85, 85], [95, 95, 95], [10, 10]]
    assert values("later: moving MNIST, first score in its stage (%)")[1] == [80, 80, 80]
    assert values("later: moving MNIST, end of the run (%)")[1] == [90, 90, 90]
    assert values("what was met / end of the run (%)")[1] == [80, pytest.approx(76 / 0.9), 100]
    assert values("distance from z*, before acting") == [[], [pytest.approx(12.5**0.5)] * 3, []]
    assert values("distance from z*, after acting") == [[], [pytest.approx(0.5**0.5)] * 3, []]
    assert values("false alarms") == [[0, 1], [0, 1, 2], [0, 0]]
    assert rows["what was met / real (%)"][3] == "≥ 85"
    assert "2 passive, 3 imagination" in table.notes[1]


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
    assert [len(axis.get_yticks()) for axis in panels] == [3, 3]


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
