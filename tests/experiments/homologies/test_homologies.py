"""Homologies: tables and figures of made-up analyses, and a small learner."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from vase.config import preset as configuration
from vase.experiments import Results
from vase.experiments.common.conditions import ENTANGLED, OURS
from vase.experiments.homologies.analysis import homology, twins, worlds
from vase.experiments.homologies.evaluation import analyse, are_twins, sampled_codes, twin_errors
from vase.experiments.homologies.figures import caption, decoded, figure4b
from vase.experiments.homologies.settings import HOMOLOGIES
from vase.experiments.tables import words
from vase.metrics.homology import MIN_R_SQUARED, REGRESSORS
from vase.metrics.record import Record
from vase.plots.run import open_run
from vase.training import RunDirectory
from vase.training.trainer import train
from vase.worlds.frames import FrameWorld

WORLDS = ("outdoors", "indoors")


class TestTwins:
    def test_errors_by_hand(self):
        twin = np.array([0.0, 1.0, 0.0, 1.0])[:, None]
        cross = np.array([0.1, 0.9, 0.1, 0.9])[:, None]
        found = twin_errors(cross, twin, twin, np.array([0.5]))
        assert found == pytest.approx({"own": 0, "cross": 0.01, "other": 0.81, "mean": 0.25, "random": 1})

    def test_twins_have_equal_factors(self):
        frames = np.zeros((10, 4, 4, 3), np.uint8)
        u = np.arange(10) / 10
        first = FrameWorld("a", frames, {"u": u, "own": u})
        assert are_twins(first, FrameWorld("b", frames, {"u": np.where(u == 0.5, 0.9, u)}))
        assert not are_twins(first, FrameWorld("b", frames, {"u": u[::-1]}))
        assert not are_twins(first, FrameWorld("b", frames))
        assert not are_twins(first, FrameWorld("b", frames[:9], {"u": u[:9]}))


# ------------------------------------------------------------------------------------------------ tables and figure


def one(within, score):
    return {"within": within, "across": [0, 0], "correlation": [0, 0], "directions": None, "score": score}


def found(ridge, *, cross=0.02, note=""):
    """Analysis of a run with given scores of ridge regressors; trees are the same."""
    errors = {"own": 0.01, "cross": cross, "other": 0.06, "mean": 0.04, "random": 0.08}
    whole = not note
    return {
        "worlds": list(WORLDS),
        "environments": [0, 1 if whole else 0],
        "used": [[True, True, False], [True, False, True]],
        "shared": [0] if whole else None,
        "scores": {"ridge": ridge, "trees": ridge} if whole else None,
        "twins": {"outdoors as indoors": errors, "indoors as outdoors": errors} if whole else None,
        "note": note,
    }


def write(folder, condition, seed, analysis):
    switches = [{"kind": "switch", "step": 1, "environment": 0, "is_new": True}]
    if analysis["environments"] == [0, 1]:
        switches.append({"kind": "switch", "step": 104, "environment": 1, "is_new": True, "from": 0})
    content = {
        "settings": {"seed": seed},
        "stages": [[name, 100] for name in WORLDS],
        "config": {"mask": {"threshold": 2.0}},
        "summary": {
            "environments": len(switches),
            "worlds": 2,
            "delays": [4] * (len(switches) - 1),
            "false_alarms": 0,
            "missed": [100] * (2 - len(switches)),
            "probes": [],
        },
        "findings": analysis,
        "rows": [*switches, {"kind": "stage", "step": 200}],
    }
    (folder / f"{condition}-{seed}.json").write_text(json.dumps(content))
    shades = {"outdoors": 200, "outdoors own": 190, "outdoors as indoors": 90}
    shades |= {"indoors": 100, "indoors own": 110, "indoors as outdoors": 210}
    pictures = {name: np.full((8, 3, 16, 16), shade, np.uint8) for name, shade in shades.items()}
    np.savez(folder / f"{condition}-{seed}.pictures.npz", **pictures)


@pytest.fixture
def results(tmp_path):
    for seed in range(3):
        ours = {"horizon": one([0.9, 0.7], 0.7 + 0.1 * seed), "x": one([0.5, 0.05], None if seed == 2 else 0.5)}
        theirs = {"horizon": one([0.6, 0.8], 0.2 + 0.1 * seed), "x": one([0.5, 0.3], 0.5)}
        write(tmp_path, OURS, seed, found(ours))
        write(tmp_path, ENTANGLED, seed, found(theirs, cross=0.05))
    return Results(HOMOLOGIES, "laptop", tmp_path)


class TestTables:
    def test_homology_by_hand(self, results):
        table = homology(results)
        rows = {row[:2]: [words(entry) for entry in row[2:]] for row in table.rows}
        # Both have a standard error of 0.1/√3: 0.5 / √(2 · 0.01 / 3) = 6.12.
        expected = ["3, 3", "0.80 ± 0.00", "0.80 ± 0.10", "0.70 ± 0.00", "0.30 ± 0.10", "+0.50", "6.1"]
        assert rows["ridge", "horizon"] == expected
        assert rows["trees", "horizon"] == expected
        assert rows["ridge", "x"][0] == "2, 3"
        assert rows["ridge", "x"][-2:] == ["+0.00", "?"]  # no spread
        assert rows["ridge", "mean of 1"] == expected  # x has no score in one of the runs
        assert "outdoors → indoors, preset laptop, 100 steps per stage" in table.notes[-1]
        assert f"none if R² within is below {MIN_R_SQUARED:g} in one of the worlds" in table.notes[0]

    def test_the_mean_of_what_every_learner_encodes_well(self, results):
        for seed in range(3):
            ours = {"horizon": one([0.9, 0.7], 0.8), "x": one([0.6, 0.3], 0.1)}  # R² of x within: 0.45
            theirs = {"horizon": one([0.6, 0.8], 0.3), "x": one([0.9, 0.9], 0.1)}
            write(results.folder, OURS, seed, found(ours))
            write(results.folder, ENTANGLED, seed, found(theirs))
        rows = {row[:2]: [words(entry) for entry in row[2:]] for row in homology(results).rows}
        assert rows["ridge", "mean of 2"][2] == "0.45 ± 0.00"
        assert rows["ridge", "mean of 1, R² ≥ 0.5"][2] == "0.80 ± 0.00"

    def test_a_worse_one_is_negative(self, results):
        for seed in range(3):
            write(results.folder, OURS, seed, found({"horizon": one([0.9, 0.7], 0.1 * seed)}))
        row = next(row for row in homology(results).rows if row[1] == "horizon")
        assert [words(entry) for entry in row[-2:]] == ["−0.20", "−2.4"]

    def test_twins_by_hand(self, results):
        rows = [[str(entry) for entry in row] for row in twins(results).rows]
        assert [row[0] for row in rows[::2]] == ["disentangled SDA (VASE)", "entangled SDA"]
        assert [row[1] for row in rows] == 2 * ["outdoors as indoors", "indoors as outdoors"]
        means = [part.split(" ±")[0] for part in rows[0][2:]]
        assert means == ["3", "10.0", "20.0", "60.0", "40.0", "80.0", "50", "2.0", "2.0", "1.0"]
        assert rows[2][8].startswith("−25 ")

    def test_worlds(self, results):
        table = worlds(results)
        assert [str(entry) for entry in table.rows[0]][:5] == ["disentangled SDA (VASE)", "3", "2.0 ± 0.0", "2", "3"]
        assert "  " not in table.notes[-1]

    def test_one_environment(self, results):
        write(results.folder, OURS, 0, found({}, note="one environment stands for both worlds"))
        rows = {row[:2]: row for row in homology(results).rows}
        assert rows["ridge", "horizon"][2] == "2, 3"
        assert twins(results).rows[0][2] == 2
        assert [str(entry) for entry in worlds(results).rows[0]][4:8] == ["2", "4.0 ± 0.0", "0", "1"]

    def test_no_score_at_all(self, results):
        for seed in range(3):
            write(results.folder, OURS, seed, found({}, note="one environment stands for both worlds"))
        row = next(row for row in homology(results).rows if row[1] == "horizon")
        assert [str(entry) for entry in row[2:5]] == ["0, 3", "–", "–"]
        assert row[-2:] == ("–", "?")
        assert [row[0] for row in twins(results).rows] == ["entangled SDA"] * 2


class TestFigure:
    def test_both_directions_of_both_conditions_above_their_twins(self, results):
        figure = figure4b(results)
        FigureCanvasAgg(figure).draw()
        titles = [axis.get_title(loc="left") for axis in figure.axes]
        both = ("outdoors decoded as indoors", "indoors decoded as outdoors")
        assert titles == [f"{name}: {way}" for way in both for name in ("VASE (SDA)", "entangled VASE (SDA)")]
        first = figure.axes[0]
        names = [text.get_text() for text in first.get_yticklabels()]
        assert names == ["outdoors", "reconstruction", "as indoors", "indoors, real"]
        canvas = np.asarray(first.images[0].get_array())
        shades = [canvas[19 * row + 8, 8, 0] for row in range(4)]
        np.testing.assert_allclose(shades, np.array([200, 190, 90, 100]) / 255)
        assert first.get_xlabel().endswith("against the real frame: 20.0; of the mean frame: 40.0")
        assert "50.0" in figure.axes[1].get_xlabel()
        for text in [first.title, *first.get_yticklabels(), *(axis.xaxis.label for axis in figure.axes)]:
            box = text.get_window_extent()
            assert box.x0 >= 0
            assert box.x1 <= figure.bbox.x1
        assert first.xaxis.label.get_window_extent().x1 < figure.axes[1].xaxis.label.get_window_extent().x0

    def test_without_twins_it_says_why(self, results):
        write(results.folder, OURS, 0, found({}, note="one environment stands for both worlds"))
        run = results.first(OURS)
        assert caption(run, *WORLDS) == "one environment stands for both worlds"
        assert list(decoded(run, *WORLDS)) == ["outdoors", "reconstruction", "as indoors"]
        FigureCanvasAgg(figure4b(results)).draw()

    def test_a_missing_condition_names_the_remedy(self, results):
        (results.folder / f"{ENTANGLED}-0.json").unlink()
        with pytest.raises(FileNotFoundError, match="vase experiment run homologies --preset laptop --only entangled"):
            figure4b(results)


# ------------------------------------------------------------------------------------------------ a learner


def paint(folder, *, factors=True, count=300):
    """Two worlds of the same scenes: a floor of their own colour up to the horizon, and a sky."""
    rng = np.random.default_rng(0)
    horizon = rng.uniform(size=count)
    rows = np.arange(64)[None, :, None, None]
    floor = rows / 64 > 0.2 + 0.6 * horizon[:, None, None, None]
    for name, (low, high) in {
        "outdoors": ((40, 160, 40), (110, 190, 250)),
        "indoors": ((250, 90, 20), (5, 5, 5)),
    }.items():
        frames = np.where(floor, np.array(low), np.array(high)).astype(np.uint8)
        np.save(folder / f"{name}.npy", np.broadcast_to(frames, (count, 64, 64, 3)))
        if factors:
            np.savez(folder / f"{name}.npz", horizon=horizon)


SMALL = {
    "network.channels": "8,8,16,16",
    "network.hidden": "32",
    "network.latents": "6",
    "capacity.gamma": 5,
    "capacity.ramp_steps": 20,
    "environments.burn_in": 20,
    "environments.patience": 2,
    "environments.loss_decay": 0.8,
    "environments.slow_decay": 0.5,
    "dreaming.gate_tolerance": 0.0,
    "learning_rate": 6e-3,
}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A small learner after a few dozen steps in both worlds."""
    folder = tmp_path_factory.mktemp("worlds")
    paint(folder)
    settings = HOMOLOGIES.settings(HOMOLOGIES.conditions[0], 0, "smoke", frames=str(folder))
    settings = replace(settings, steps=60, canvas=32, overrides={**settings.overrides, **SMALL})
    train(folder / "run", settings)
    return open_run(RunDirectory(folder / "run"))


class TestAnalyse:
    def test_two_worlds(self, run):
        model, plan, record = run
        assert record.environment_of == {"outdoors": 0, "indoors": 1}
        found = analyse(model, plan, record)
        numbers = json.loads(json.dumps(found.numbers))
        assert analyse(model, plan, record).numbers == numbers  # every time
        assert numbers["worlds"] == list(WORLDS)
        assert (numbers["environments"], numbers["note"]) == ([0, 1], "")
        both = np.logical_and(*(model.environments[s].used for s in (0, 1)))
        assert numbers["shared"] == np.flatnonzero(both).tolist()
        assert numbers["scores"].keys() == REGRESSORS.keys()
        for scores in numbers["scores"].values():
            assert list(scores) == ["horizon"]
            assert scores["horizon"]["within"][0] > 0.5
        images = plan.worlds["outdoors"][1].frames.transpose(0, 3, 1, 2), plan.worlds["indoors"][1].frames
        error = model.reconstruct(images[0], environment=1) - images[1].transpose(0, 3, 1, 2) / 255
        assert numbers["twins"]["outdoors as indoors"]["cross"] == pytest.approx(np.square(error).mean(), abs=1e-5)
        for errors in numbers["twins"].values():
            assert errors["mean"] < errors["random"]

    def test_pictures(self, run):
        model, plan, record = run
        found = analyse(model, plan, record).pictures
        assert {image.shape for image in found.values()} == {(8, 3, 32, 32)}
        assert {image.dtype for image in found.values()} == {np.dtype(np.uint8)}
        assert set(found) == {*WORLDS, *(f"{w} own" for w in WORLDS), "outdoors as indoors", "indoors as outdoors"}
        floor = (found["indoors"][:, 0] > 100).sum((1, 2))
        sky = (found["outdoors"][:, 2] > 100).sum((1, 2))
        np.testing.assert_allclose(floor + sky, 32 * 32, atol=32)  # the same horizon, give or take a blended row
        across = np.rint(255 * model.reconstruct(found["indoors"], environment=0)).astype(np.uint8)
        np.testing.assert_array_equal(found["indoors as outdoors"], across)

    def test_latents_that_an_environment_does_not_see_are_zero(self, run):
        model, plan, _ = run
        z = sampled_codes(
            model, plan.worlds["outdoors"][1].frames[:9].transpose(0, 3, 1, 2), 0, np.random.default_rng(0)
        )
        view = model.environments[0]
        np.testing.assert_array_equal((z != 0).all(0), view.mask & view.gate)

    def test_one_environment(self, run):
        model, plan, record = run
        alone = Record(record.stages, tuple(row for row in record.rows if row["kind"] != "switch"))
        found = analyse(model, plan, alone)
        assert found.numbers["note"].startswith("one environment stands for both worlds")
        assert [found.numbers[name] for name in ("shared", "scores", "twins")] == [None] * 3
        assert len(found.pictures) == 6

    def test_a_learner_without_environments_and_decoder_is_scored(self, run):
        model, plan, record = run
        bare = SimpleNamespace(n_latents=model.n_latents, posterior=model.posterior)
        found = analyse(bare, plan, record)
        assert found.numbers["environments"] == [None, None]
        assert found.numbers["scores"]["ridge"]["horizon"]["within"][0] > 0.5
        assert (found.numbers["twins"], found.numbers["shared"], found.pictures) == (None, None, {})

    def test_frames_without_factors(self, run):
        model, plan, record = run
        bare = {name: tuple(replace(part, factors={}) for part in pair) for name, pair in plan.worlds.items()}
        found = analyse(model, replace(plan, worlds=bare), record)
        assert "no factors in common" in found.numbers["note"]
        assert "same scenes" in found.numbers["note"]
        assert (found.numbers["scores"], found.numbers["twins"]) == (None, None)


class TestExperiment:
    def test_the_paper_preset_has_the_values_of_its_table(self):
        configs = {}
        for condition in HOMOLOGIES.conditions:
            settings = HOMOLOGIES.settings(condition, 0, "paper")
            assert (settings.steps, settings.canvas, settings.probes) == (60_000, 64, "none")
            assert condition.seeds == (0, 1, 2)
            configs[condition.name] = configuration("paper", (3, 64, 64)).with_values(dict(settings.overrides))
        ours, theirs = configs[OURS], configs[ENTANGLED]
        assert (ours.capacity.objective, ours.capacity.gamma, ours.capacity.c_max) == ("square", 200, 25)
        assert 1 / ours.capacity.ramp_steps == pytest.approx(1e-5)
        assert (ours.mask.threshold, theirs.mask.threshold) == (2, 20)
        assert theirs.capacity.objective == "elbo"
        for config in configs.values():
            assert config.network.likelihood == "gaussian"
            assert (config.environments.kappa, config.dreaming.tau) == (1.1, 5_000)

    def test_dreams_on_a_laptop_fit_in_100_megabytes(self):
        settings = HOMOLOGIES.settings(HOMOLOGIES.conditions[0], 0, "laptop")
        config = configuration("laptop", (3, 64, 64), settings.steps).with_values(dict(settings.overrides))
        assert config.dreaming.pool * 3 * 64 * 64 * 4 <= 101e6
        assert config.environments.loss == "deviance"
