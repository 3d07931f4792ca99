"""Homologies: scores of made-up latents, tables and figures of made-up analyses, and a small learner."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from vase.config import preset as configuration
from vase.experiments import Results
from vase.experiments.common.conditions import ENTANGLED, OURS
from vase.experiments.homologies.analysis import homology, twins, worlds
from vase.experiments.homologies.evaluation import analyse, are_twins, sampled_codes, twin_errors
from vase.experiments.homologies.figures import caption, decoded, figure4b
from vase.experiments.homologies.score import (
    REGRESSORS,
    Codes,
    Homology,
    WorldCodes,
    columns_of,
    correlation,
    homologies,
    r_squared,
    with_headings,
)
from vase.experiments.homologies.settings import HOMOLOGIES
from vase.experiments.tables import words
from vase.metrics.record import Record
from vase.plots.run import open_run
from vase.training import RunDirectory
from vase.training.trainer import train
from vase.worlds.frames import FrameWorld

WORLDS = ("outdoors", "indoors")


def column(*values):
    return np.array(values, float)[:, None]


def codes(count, seed, sign=1.0, shift=0.0, informative=True, latent=0):
    """Four latents, one of which is the factor u in [0, 1] brought to [-√3, √3], with a little noise."""
    rng = np.random.default_rng(seed)
    u = rng.uniform(size=count)
    z = rng.standard_normal((count, 4))
    if informative:
        z[:, latent] = sign * (2 * u - 1) * math.sqrt(3) + shift + 0.1 * rng.standard_normal(count)
    return Codes(z, {"u": u})


def world(seed, **how):
    return WorldCodes(codes(800, seed, **how), codes(400, seed + 1, **how))


# ------------------------------------------------------------------------------------------------ the score


class TestNumbers:
    def test_r_squared_by_hand(self):
        truth = column(0, 1, 2, 3)
        assert r_squared(truth, truth) == 1
        assert r_squared(truth, column(1.5, 1.5, 1.5, 1.5)) == 0
        assert r_squared(truth, column(3, 2, 1, 0)) == -3  # 1 − 20 / 5
        both = np.hstack([truth, column(0, 0, 2, 2)])
        assert r_squared(both, np.hstack([truth, column(1, 1, 1, 1)])) == pytest.approx(1 - 4 / (5 + 4))

    def test_correlation_ignores_zero_and_scale_but_not_sign(self):
        truth = column(0, 1, 2, 3)
        assert correlation(truth, 5 + 0.1 * truth) == pytest.approx(1)
        assert correlation(truth, -truth) == pytest.approx(-1)
        assert correlation(truth, column(2, 2, 2, 2)) == 0

    def test_a_score_is_a_share_of_what_can_be_read_in_the_world_that_is_read(self):
        found = Homology(within=(0.8, 0.4), across=(0.2, 0.6), correlation=(0.5, 0.9))
        assert found.directions == pytest.approx((0.2 / 0.4, 0.6 / 0.8))
        assert found.score == pytest.approx(0.625)
        found = Homology(within=(0.5, 0.5), across=(-40.0, 0.6), correlation=(0, 0))
        assert (found.directions, found.score) == ((0, 1), 0.5)

    def test_no_score_of_what_cannot_be_read(self):
        found = Homology(within=(0.9, 0.09), across=(0.05, 0.0), correlation=(0.1, 0.1))
        assert (found.directions, found.score) == (None, None)
        assert found.to_dict()["score"] is None
        assert json.dumps(found.to_dict())

    def test_headings_by_hand(self):
        headings = np.array([0, math.pi / 8, math.pi / 4, 3 * math.pi / 8, math.pi / 2, math.pi + math.pi / 8])
        found = with_headings({"heading_sin": (1 + np.sin(headings)) / 2, "heading_cos": (1 + np.cos(headings)) / 2})
        np.testing.assert_allclose(found["heading_slant"], [0.5, 1, 0.5, 0, 0.5, 1], atol=1e-9)
        np.testing.assert_allclose(found["heading_corner"], [0, 0.5, 1, 0.5, 0, 0.5], atol=1e-9)
        assert list(with_headings({"x": headings})) == ["x"]

    def test_classes_are_asked_one_by_one(self):
        assert columns_of(np.array([2, 0]), 3).tolist() == [[0, 0, 1], [1, 0, 0]]
        assert columns_of(np.array([1, 0]), 2).tolist() == [[1], [0]]
        assert columns_of(np.array([0.25, 3.5]), 4).tolist() == [[0.25], [3.5]]


@pytest.mark.parametrize("regressor", REGRESSORS)
class TestHomologies:
    def test_the_same_code_in_both_worlds(self, regressor):
        found = homologies(world(0), world(10), regressor)["u"]
        assert min(found.within) > 0.95
        assert found.score == pytest.approx(1, abs=0.02)
        assert homologies(world(0), world(0), regressor)["u"].score == 1

    def test_another_sign(self, regressor):
        found = homologies(world(0), world(10, sign=-1), regressor)["u"]
        assert max(found.across) < -1
        assert found.score == 0
        assert max(found.correlation) < -0.9

    def test_another_latent(self, regressor):
        found = homologies(world(0), world(10, latent=2), regressor)["u"]
        assert min(found.within) > 0.95
        assert found.score < 0.1

    def test_nothing_to_read_in_one_world(self, regressor):
        found = homologies(world(0), world(10, informative=False), regressor)["u"]
        assert found.score is None

    def test_a_shift_is_told_by_the_correlation(self, regressor):
        found = homologies(world(0), world(10, shift=1.5), regressor)["u"]
        assert found.score < 0.5
        assert min(found.correlation) > 0.7

    def test_a_latent_that_the_other_world_has_not_is_not_held_against_it_twice(self, regressor):
        """Masked to zero it says "the mean", which is a score of nothing and no worse."""
        other = world(10, latent=2)
        masked = WorldCodes(*(Codes(c.z * np.array([0, 1, 1, 1]), c.factors) for c in (other.fit, other.test)))
        found = homologies(world(0), masked, regressor)["u"]
        assert -0.1 < found.across[0] < 0.1

    def test_factors_that_do_not_vary_or_are_not_shared_are_left_out(self, regressor):
        def more(part):
            return Codes(part.z, {**part.factors, "still": np.zeros(len(part.z)), "own": part.factors["u"]})

        first = world(0)
        first = WorldCodes(more(first.fit), more(first.test))
        assert list(homologies(first, world(10), regressor)) == ["u"]
        assert list(homologies(first, first, regressor)) == ["u", "own"]

    def test_a_ball_counts_only_where_it_is_seen(self, regressor):
        """Where no ball is seen, its factors have nothing to do with the latents."""

        def unseen(part, seed):
            rng = np.random.default_rng(seed)
            seen = (rng.random(len(part.z)) < 0.5).astype(np.int64)
            bearing = np.where(seen, part.factors["u"], rng.uniform(size=len(seen)))
            return Codes(part.z, {"ball_visible": seen, "ball_bearing": bearing, "x": bearing})

        pair = [WorldCodes(unseen(w.fit, 1), unseen(w.test, 2)) for w in (world(0), world(10))]
        found = homologies(*pair, regressor)
        assert min(found["ball_bearing"].within) > 0.9
        assert max(found["x"].within) < 0.6
        assert max(found["ball_visible"].within) < 0.1

    def test_colours(self, regressor):
        def coloured(part, places):
            colour = np.minimum((3 * part.factors["u"]).astype(np.int64), 2)
            z = 0.1 * part.z
            z[np.arange(len(z)), np.array(places)[colour]] += 2
            return Codes(z, {"ball_colour": colour})

        def pair(places):
            pairs = zip((world(0), world(10)), places, strict=True)
            return [WorldCodes(coloured(w.fit, p), coloured(w.test, p)) for w, p in pairs]

        assert homologies(*pair([(1, 2, 3), (1, 2, 3)]), regressor)["ball_colour"].score > 0.97
        assert homologies(*pair([(1, 2, 3), (2, 3, 1)]), regressor)["ball_colour"].score == 0


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
