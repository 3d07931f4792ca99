"""Tables of finished runs, every column worked out by hand from a hand-made pair of conditions."""

import json

import pytest

from vase.experiments import Condition, Experiment, Result, results_of
from vase.experiments.common.analysis import (
    axes,
    detection,
    disentanglement,
    disentanglement_seen,
    forgetting,
    forgetting_frozen,
    quality,
    sharing,
    sharing_seen,
)
from vase.experiments.common.figures import figure_data
from vase.experiments.common.numbers import AXES, MEASURES, SEEN_MEASURES, measure_of, measured

VASE, VAE = "disentangled-SDA", "entangled-none"
PAIR = Experiment(
    name="pair",
    title="two conditions, three worlds",
    stream="moving-fashion,mnist,moving-mnist",
    steps={},
    conditions=(Condition(VASE, seeds=(0, 1)), Condition(VAE, {"environments.enabled": "no"}, seeds=(0,))),
    tables={},
)
STAGES = (("moving-fashion", 10), ("mnist", 10), ("moving-mnist", 1_000))
FOUND = ((1, 0), (14, 1), (23, 2))
"""Announced switches, (step, environment): each world has its own environment, a few batches late."""


def _probes(world, metric, scores):
    probe = "identity" if metric == "accuracy" else "position"
    head = {"kind": "probe", "world": world, "probe": probe, "mode": "periodic"}
    return [{**head, "step": step, metric: score} for step, score in scores.items()]


def _measures(world, step, v, environment, home):
    """A row whose numbers tell which row they are from (v) and which column (what is added)."""
    return {
        "kind": "measures",
        "step": step,
        "world": world,
        "environment": environment,
        "candidate": home,
        "mig": v + 0.01,
        "sap": v + 0.02,
        "dci": {"disentanglement": v + 0.03, "completeness": v + 0.04, "informativeness": v + 0.05},
        "factor_vae": None if world == "mnist" else v + 0.06,
        "reconstruction": v / 100,
        "samples": v + 2,
        "samples_floor": v + 1,
    }


def _write(folder, name, rows, *, switches=FOUND, stages=STAGES, **summary):
    """One result file; returns its run."""
    announced = [{"kind": "switch", "step": step, "environment": s} for step, s in switches]
    base = {"environments": len(switches), "worlds": 3, "delays": [], "false_alarms": 0, "missed": []}
    content = {
        "stages": stages,
        "config": {"mask": {"threshold": 0.6}},
        "summary": {**base, "probes": ["periodic"], **summary},
        "rows": [*announced, *rows, {"kind": "end", "step": sum(steps for _, steps in stages)}],
    }
    path = folder / "pair" / "laptop" / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))
    return Result(path)


@pytest.fixture
def results(tmp_path):
    first = [
        *_probes("moving-fashion", "accuracy", {5: 0.6, 10: 0.8, 20: 0.7, 30: 0.75}),
        *_probes("mnist", "accuracy", {10: 0.99, 20: 0.9, 30: 0.5}),  # 0.99 before its stage does not count
        *_probes("moving-mnist", "accuracy", {30: 0.1}),
        *_probes("moving-fashion", "mse", {5: 9e-4, 10: 2e-4, 20: 5e-4, 30: 4e-4}),
        *_probes("moving-mnist", "mse", {30: 8e-4}),
        _measures("moving-fashion", 10, 0.10, 0, 0),
        _measures("moving-fashion", 20, 0.20, None, 0),
        _measures("mnist", 20, 0.40, 1, 1),
        _measures("moving-fashion", 30, 0.30, 0, 0),
        _measures("mnist", 30, 0.50, 0, 1),
        _measures("moving-mnist", 30, 0.60, None, 2),
    ]
    second = [
        *_probes("moving-fashion", "accuracy", {10: 0.6, 20: 0.65}),
        *_probes("mnist", "accuracy", {20: 0.7, 30: 0.7}),
        *_probes("moving-fashion", "mse", {10: 4e-4, 20: 3e-4}),
        _measures("moving-fashion", 10, 0.14, 0, 0),
        _measures("moving-fashion", 30, 0.36, 1, 0),
        _measures("moving-mnist", 30, 0.68, 2, 2),
    ]
    entangled = [*_probes("moving-fashion", "accuracy", {10: 0.4, 20: 0.1}), _measures("mnist", 20, 0.7, 0, 0)]
    _write(tmp_path, f"{VASE}-0", first)
    _write(tmp_path, f"{VASE}-1", second)
    _write(tmp_path, f"{VAE}-0", entangled, switches=FOUND[:1])
    return results_of(PAIR, "laptop", tmp_path)


def _by_name(table, names):
    """Rows by their first columns, as {column: values or text}."""
    found = {}
    for row in table.rows:
        plain = [getattr(entry, "values", entry) for entry in row]
        found[tuple(row[:names])] = dict(zip(table.columns[names:], plain[names:], strict=True))
    return found


def test_forgetting_by_hand(results):
    table = forgetting(results)
    vase, vae = "disentangled SDA (VASE)", "entangled – (VAE)"
    expected = {  # seeds, accuracy: max, change and end in percent, error: min, change and end in 1e-4
        (vase, "moving Fashion"): (2, (80, 60), (-10, 5), (75, 65), (2, 4), (3, -1), (4, 3)),
        (vase, "MNIST"): (2, (90, 70), (-40, 0), (50, 70), (), (), ()),
        (vase, "moving MNIST"): (2, (10,), (), (10,), (8,), (), (8,)),
        (vase, "mean"): (2, (60, 65), (-25, 2.5), (45, 67.5), (5, 4), (3, -1), (6, 3)),
        (vae, "moving Fashion"): (1, (40,), (-30,), (10,), (), (), ()),
        (vae, "MNIST"): (1, (), (), (), (), (), ()),
        (vae, "moving MNIST"): (1, (), (), (), (), (), ()),
        (vae, "mean"): (1, (40,), (-30,), (10,), (), (), ()),
    }
    columns = (
        "seeds",
        *("ID max (%)", "ID change (%)", "ID end (%)"),
        *("position min (1e-4)", "position change (1e-4)", "position end (1e-4)"),
    )
    found = _by_name(table, 2)
    assert list(found) == list(expected)
    for name, values in expected.items():
        assert found[name] == {c: pytest.approx(v) for c, v in zip(columns, values, strict=True)}, name
    assert table.notes[-1].startswith("Preset laptop, 10, 1,000 steps per stage, periodic probes; ")


def _frozen(world, metric, scores, error):
    return [{**row, "mode": "frozen", "error": error} for row in _probes(world, metric, scores)]


def test_forgetting_by_the_frozen_encoder_probe(results, tmp_path):
    before = forgetting(results)
    path = tmp_path / "pair" / "laptop" / f"{VASE}-0.json"
    content = json.loads(path.read_text())
    content["rows"] += [
        *_frozen("moving-fashion", "accuracy", {10: 0.85, 20: 0.84, 1020: 0.83}, 0.004),
        *_frozen("mnist", "accuracy", {20: 0.95, 1020: 0.96}, 0.003),
        *_frozen("moving-fashion", "mse", {10: 2e-4, 20: 3e-4, 1020: 3e-4}, 1e-5),
    ]
    path.write_text(json.dumps(content))
    again = results_of(PAIR, "laptop", tmp_path)
    assert forgetting(again) == before  # the appendix's probes are not touched
    found = _by_name(forgetting_frozen(again), 2)
    vase = "disentangled SDA (VASE)"
    assert found[vase, "moving Fashion"] == {
        "seeds": 2,
        "ID max (%)": pytest.approx((85,)),
        "ID change (%)": pytest.approx((-2,)),
        "ID end (%)": pytest.approx((83,)),
        "ID error (%)": pytest.approx((0.4,)),
        "position min (1e-4)": pytest.approx((2,)),
        "position change (1e-4)": pytest.approx((1,)),
        "position end (1e-4)": pytest.approx((3,)),
        "position error (1e-4)": pytest.approx((0.1,)),
    }
    assert found[vase, "mean"]["ID change (%)"] == pytest.approx((-0.5,))
    assert found[vase, "mean"]["ID error (%)"] == pytest.approx((0.35,))
    assert found["entangled – (VAE)", "mean"]["ID max (%)"] == ()
    assert "fresh probes on the frozen encoder" in forgetting_frozen(again).notes[-1]


def _adjusted(v, information, **axes):
    """Adjusted measures whose numbers tell which column they belong to."""
    return {
        "information": information,
        "mig": v + 0.1,
        "mig_error": v + 0.2,
        "sap": v + 0.3,
        "dci": {"disentanglement": v + 0.4, "completeness": v + 0.5, "informativeness": v + 0.6},
        **({"axes": axes} if axes else {}),
    }


@pytest.fixture
def seen(tmp_path):
    x = {"latent": 1, "correlation": -0.9, "second": 0.2}
    y = {"latent": 0, "correlation": 0.8, "second": 0.3}
    rows = []
    for world, environment in (("moving-fashion", 0), ("mnist", 1)):
        plain = {**_measures(world, 1020, 0.5, environment, environment), "information": {"label": [0.5, 0.5]}}
        places = {"x": x, "y": y} if world == "moving-fashion" else {}
        told = {"label": [0.4, 0.1] if environment else [0.3, 0.0]}
        kinds = {"means": _adjusted(0, told, **places), "samples": _adjusted(1, told, **places)}
        rows.append({**plain, "seen": {"latents": [True, True], **kinds}})
    _write(tmp_path / "seen", f"{VASE}-0", rows, stages=(STAGES[0], ("mnist", 1_010)))
    return results_of(PAIR, "laptop", tmp_path / "seen")


def test_disentanglement_of_seen_latents_by_hand(seen):
    found = _by_name(disentanglement_seen(seen), 4)
    vase, when = "disentangled SDA (VASE)", "after its visit"
    numbers = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
    for kind, v in (("means", 0), ("samples", 1)):
        moving = [(pytest.approx(v + number),) for number in numbers] + [(0.9,), (0.2,), (0.8,), (0.3,)]
        assert found[vase, "moving Fashion", when, kind] == {
            "seeds": 1,
            **dict(zip(SEEN_MEASURES, moving, strict=True)),
        }
        assert found[vase, "MNIST", when, kind]["|r| of x"] == ()


def test_alignment_joins_the_table_of_disentanglement_where_it_was_measured(seen, results):
    vase, when = "disentangled SDA (VASE)", "after its visit"
    found = _by_name(disentanglement(seen), 3)[vase, "moving Fashion", when]
    assert [found[name] for name in AXES] == [(0.9,), (0.2,), (0.8,), (0.3,)]
    assert disentanglement(results).columns[-1] == "FactorVAE"  # of earlier runs, as it was
    assert set(_by_name(disentanglement_seen(results), 4)[vase, "MNIST", when, "means"].values()) == {1, ()}


def test_sharing_of_seen_latents_by_hand(seen):
    row = _by_name(sharing_seen(seen), 3)["disentangled SDA (VASE)", "moving Fashion and MNIST", "label"]
    assert row["information"] == (0.3,)
    assert row["same latent"] == "1 of 1"
    assert row["cosine"] == pytest.approx((0.4 / (0.4**2 + 0.1**2) ** 0.5,))
    plain = _by_name(sharing(seen), 3)["disentangled SDA (VASE)", "moving Fashion and MNIST", "label"]
    assert plain["cosine"] == pytest.approx((1,))


MOMENTS = {  # condition, world, when: v of each seed, and how many took the world for its own environment
    ("disentangled SDA (VASE)", "moving Fashion", "after its visit"): ((0.10, 0.14), "2 of 2"),
    ("disentangled SDA (VASE)", "moving Fashion", "at the end"): ((0.30, 0.36), "1 of 2"),
    ("disentangled SDA (VASE)", "MNIST", "after its visit"): ((0.40,), "1 of 1"),
    ("disentangled SDA (VASE)", "MNIST", "at the end"): ((0.50,), "0 of 1"),
    ("disentangled SDA (VASE)", "moving MNIST", "after its visit"): ((0.60, 0.68), "1 of 2"),
    ("entangled – (VAE)", "moving Fashion", "after its visit"): ((), "–"),
    ("entangled – (VAE)", "MNIST", "after its visit"): ((0.7,), "–"),
    ("entangled – (VAE)", "moving MNIST", "after its visit"): ((), "–"),
}


def test_disentanglement_by_hand(results):
    table = disentanglement(results)
    found = _by_name(table, 3)
    assert list(found) == list(MOMENTS)
    for name, (rows, _) in MOMENTS.items():
        expected = {column: tuple(v + (n + 1) / 100 for v in rows) for n, column in enumerate(MEASURES)}
        expected["FactorVAE"] = () if name[1] == "MNIST" else expected["FactorVAE"]
        assert found[name] == {"seeds": len(rows), **{c: pytest.approx(v) for c, v in expected.items()}}, name
    assert str(table.rows[0][4]) == "0.13 ± 0.03"  # MIG 0.11 and 0.15: deviation 0.02 √2


def test_quality_by_hand(results):
    table = quality(results)
    found = _by_name(table, 3)
    assert list(found) == list(MOMENTS)
    for name, (rows, known) in MOMENTS.items():
        assert found[name] == {
            "recognised": known,
            "reconstruction": pytest.approx(tuple(10 * v for v in rows)),
            "dreams": pytest.approx(tuple(v + 2 for v in rows)),
            "floor": pytest.approx(tuple(v + 1 for v in rows)),
        }, name
    # 1 and 1.4, 2.10 and 2.14, 1.10 and 1.14: deviations 0.2 √2 and 0.02 √2
    assert [str(entry) for entry in table.rows[0][4:]] == ["1.20 ± 0.28", "2.12 ± 0.03", "1.12 ± 0.03"]


def test_measures_of_a_world_along_the_stream(results):
    run = results.of(VASE)[0]
    assert [(row["step"], row["home"]) for row in measured(run, "mnist")] == [(20, 1), (30, 1)]


def _place(world, x, y):
    told = {"x": {"latent": 0, "correlation": x}, "y": {"latent": 1, "correlation": y}}
    return {"kind": "stage", "step": 10, "world": world, "position": {"world": world, **told}}


def test_position_latents_by_hand(tmp_path):
    still = {"kind": "stage", "step": 20, "world": "mnist"}
    first = [_place("moving-fashion", -0.9, 0.8), still, _place("moving-mnist", 0.7, -0.6)]
    _write(tmp_path, f"{VASE}-0", first)
    _write(tmp_path, f"{VASE}-1", [_place("moving-fashion", 0.5, -0.4), still])
    rows = axes(results_of(PAIR, "laptop", tmp_path)).rows
    assert [tuple(getattr(entry, "values", entry) for entry in row[1:]) for row in rows] == [
        ("moving Fashion", 2, (0.9, 0.5), (0.9,), (0.8, 0.4), (0.8,)),
        ("moving MNIST", 1, (0.7,), (0.7,), (0.6,), (0.6,)),
    ]


# Switches


def _exact(folder, **changes):
    """How many of one seed are exact."""
    _write(folder, f"{VASE}-0", [], **changes)
    table = detection(results_of(PAIR, "laptop", folder))
    return table.rows[0][table.columns.index("exact")]


def test_a_false_alarm_spoils_one_environment_per_world(tmp_path):
    assert _exact(tmp_path) == 1
    assert _exact(tmp_path, environments=4) == 0
    there_and_back = (*FOUND, (500, 0), (505, 2))
    assert _exact(tmp_path, switches=there_and_back, environments=3, false_alarms=2) == 0
    (run,) = results_of(PAIR, "laptop", tmp_path).of(VASE)
    assert run.record.environment_of == {"moving-fashion": 0, "mnist": 1, "moving-mnist": 2}


@pytest.mark.parametrize(
    ("worlds", "switches", "expected"),
    [
        ("aab", ((1, 0), (23, 1)), "–"),  # two visits in a row are no return
        ("aba", ((1, 0), (12, 1), (23, 0)), "1 of 1"),
        ("abba", ((1, 0), (12, 1), (33, 0)), "1 of 1"),
        ("ababa", ((1, 0), (12, 1), (23, 2), (34, 1), (42, 2)), "1 of 3"),  # a comes back as somebody else, twice
    ],
)
def test_returns_by_hand(tmp_path, worlds, switches, expected):
    _write(tmp_path, f"{VASE}-0", [], switches=switches, stages=[(world, 10) for world in worlds])
    ((*_, returns),) = detection(results_of(PAIR, "laptop", tmp_path)).rows
    assert returns == expected


def _announce(step, environment, new, came_from):
    return {
        "kind": "switch", "step": step, "environment": environment, "is_new": new, "from": came_from,
    }  # fmt: skip


class TestReadings:
    def content(self, rows, summary=None):
        base = {"environments": 2, "worlds": 2, "delays": [4, 6], "false_alarms": 0, "missed": [], "probes": []}
        return {
            "stages": [["a", 10], ["b", 10], ["a", 10]],
            "config": {"mask": {"threshold": 0.6}},
            "summary": {**base, **(summary or {})},
            "rows": rows,
        }

    def results(self, folder, *contents):
        conditions = (Condition("one", seeds=tuple(range(len(contents)))),)
        experiment = Experiment("small", "a study", "a,b,a", {}, conditions, {})
        path = folder / "small" / "laptop"
        path.mkdir(parents=True)
        for seed, content in enumerate(contents):
            (path / f"one-{seed}.json").write_text(json.dumps(content))
        return results_of(experiment, "laptop", folder)

    def test_returns_are_counted(self, tmp_path):
        back = [_announce(11, 1, True, 0), _announce(21, 0, False, 1), {"kind": "end", "step": 30}]
        lost = [_announce(11, 1, True, 0), _announce(21, 2, True, 1), {"kind": "end", "step": 30}]
        results = self.results(tmp_path, self.content(back), self.content(lost, {"environments": 3, "false_alarms": 1}))
        (row,) = detection(results).rows
        named = dict(zip(detection(results).columns, row, strict=True))
        assert named["returns"] == "1 of 2"
        assert named["exact"] == 1
        assert named["false alarms"] == 1
        assert named["delay (batches)"].values == (4, 6, 4, 6)

    def test_a_return_that_nobody_announced_is_not_recognised(self, tmp_path):
        results = self.results(tmp_path, self.content([{"kind": "end", "step": 30}], {"environments": 1}))
        (row,) = detection(results).rows
        named = dict(zip(detection(results).columns, row, strict=True))
        assert (named["returns"], named["exact"]) == ("0 of 1", 0)

    def test_as_many_environments_as_worlds_can_still_be_the_wrong_ones(self, tmp_path):
        rows = [_announce(5, 1, True, 0), {"kind": "end", "step": 30}]  # in the middle of a, and b goes unnoticed
        (row,) = detection(self.results(tmp_path, self.content(rows, {"false_alarms": 1}))).rows
        assert row[detection(self.results(tmp_path / "again", self.content(rows))).columns.index("exact")] == 0

    def test_latents_that_mean_the_same(self, tmp_path):
        def measured(world, x):
            return {"kind": "measures", "step": 30, "world": world, "information": {"x": x, "label": [1.0, 0.0]}}

        same = [measured("a", [0.0, 1.0]), measured("b", [0.0, 0.5])]
        other = [measured("a", [0.0, 1.0]), measured("b", [1.0, 0.0])]
        results = self.results(tmp_path, self.content(same), self.content(other))
        row = next(row for row in sharing(results).rows if row[2] == "x")
        assert row[1] == "a and b"
        assert row[3].values == (0.5, 1.0)  # the smaller of the two largest
        assert row[4] == "1 of 2"
        assert row[5].values == pytest.approx((1.0, 0.0))

    def test_measures_by_name(self):
        row = {"mig": 0.1, "sap": 0.2, "factor_vae": None, "dci": {"disentanglement": 0.3}}
        assert measure_of(row, "MIG") == 0.1
        assert measure_of(row, "DCI disentanglement") == 0.3
        assert measure_of(row, "FactorVAE") is None

    def test_figure_data_that_was_not_saved(self, tmp_path):
        results = self.results(tmp_path, self.content([]))
        with pytest.raises(FileNotFoundError, match="one-0"):
            figure_data(results.of("one")[0])
