"""Figures of the experiments, from made-up result files with known numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from drawn import assert_readable
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from vase.experiments import Condition, Experiment, Results
from vase.experiments.ablation.figures import figure2
from vase.experiments.common import figures
from vase.experiments.common.seed_curves import probe_curves, seed_curve
from vase.experiments.five_datasets.figures import figure3
from vase.plots.figure_data import FigureData
from vase.plots.latents import State
from vase.plots.style import world_colour

THREE = ("moving-fashion", "mnist", "moving-mnist")
FIVE = ("moving-mnist", "fashion", "inverse-fashion", "mnist", "moving-fashion")
STEPS = 100
LATENTS = 6
SIDE = 12
USED = ((0, 1, 2), (2, 3), (0, 1, 2, 3), (1, 2), (0, 1, 3))
"""Latents that each environment uses."""
MASKED = ((), (0, 1), (), (0, 5), ())


def flags(latents: tuple[int, ...]) -> list[bool]:
    return [n in latents for n in range(LATENTS)]


def box(across: float, shade: int) -> np.ndarray:
    """A square somewhere between the left edge (0) and the right edge (1)."""
    image = np.zeros((1, SIDE, SIDE), np.uint8)
    left = round(across * (SIDE - 5))
    image[0, 4:9, left : left + 5] = shade
    return image


def make_figure_data(worlds: tuple[str, ...], inferred: bool) -> FigureData:
    """Environments that draw in their own shade; latent 0 moves the box, the others are ignored."""
    count = len(worlds) if inferred else 1
    environment = np.arange(len(worlds)) if inferred else np.zeros(len(worlds), np.int64)
    states = np.full((count, LATENTS), State.UNUSED)
    for e in range(count):
        states[e, list(USED[e])] = State.USED
        states[e, [n for n in MASKED[e] if n != 5]] = State.MASKED
    images = np.stack([np.stack([box(i / 7, 250 - 10 * w) for i in range(8)]) for w in range(len(worlds))])
    cross = np.stack([np.stack([np.where(x > 0, 200 - 30 * e, 0) for e in range(count)]) for x in images])
    frames = [
        [[box(p / 6 if n == 0 else 0.5, 250 - 10 * w) for p in range(7)] for n in range(LATENTS)] for w in environment
    ]
    return FigureData(
        worlds=worlds,
        environment=environment,
        states=states,
        images=images,
        traversals=np.array(frames),
        cross=cross.astype(np.uint8),
        dreams=np.stack([images[e] for e in range(count)]),
    )


def accuracy(stage: int, number: int, seed: int, forgets: bool) -> float:
    """What the probes of a world (its number) say at the end of a stage."""
    if stage < number:
        return 0.2
    return 0.9 - 0.02 * seed - (0.1 * (stage - number) if forgets else 0.0)


def make_rows(worlds: tuple[str, ...], seed: int, inferred: bool) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for stage, world in enumerate(worlds):
        start, end = stage * STEPS, (stage + 1) * STEPS
        place = {"stage": stage, "world": world}
        current = stage if inferred else 0
        if stage == 0 or inferred:
            switch = {"environment": current, "is_new": True, "from": None if stage == 0 else stage - 1}
            rows.append({"kind": "switch", "step": start + (1 if stage == 0 else 4 + seed), **place, **switch})
        for step in range(start + 10, end + 1, 10) if seed == 0 else ():
            alpha = [1.5 if n in MASKED[current] else 0.05 for n in range(LATENTS)]
            rows.append({"kind": "step", "step": step, "environment": current, "atypicality": alpha, **place})
        for step in (start + 50, end):
            for number, other in enumerate(worlds):
                probe = {"kind": "probe", "step": step, "world": other, "mode": "periodic"}
                rows.append({**probe, "probe": "identity", "accuracy": accuracy(stage, number, seed, not inferred)})
                if other.startswith("moving"):
                    error = 0.5 + 0.1 * seed + (0 if inferred else stage)
                    rows.append({**probe, "probe": "position", "mse": (error / 12) ** 2, "pixels": error})
        known = [
            {"index": e, "used": flags(USED[e]), "mask": [not flag for flag in flags(MASKED[e])]}
            for e in range(stage + 1 if inferred else 1)
        ]
        knowledge = {"environment": current, **known[current], "environments": known}
        rows.append({"kind": "stage", "step": end, **place, **knowledge})
        for number, other in enumerate(worlds[: stage + 1]):
            moves = other.startswith("moving")
            rows.append(
                {
                    "kind": "measures",
                    "step": end,
                    "stage": stage,
                    "world": other,
                    "information": {"label": [0.9, 0.1], **({"x": [0.0, 0.8], "y": [0.29, 0.0]} if moves else {})},
                    "mig": 0.3 + 0.1 * seed - 0.05 * (stage - number),
                    "sap": 0.2,
                    "dci": {"disentanglement": 0.5, "completeness": 0.6, "informativeness": 0.7} if moves else None,
                    "factor_vae": 0.8 if moves else None,
                    "reconstruction": 0.01,
                    "samples": 3.0,
                    "samples_floor": 1.0,
                }
            )
    axes = {"x": {"latent": 1, "correlation": -0.8}, "y": {"latent": 0, "correlation": 0.49}}
    return [*rows, {"kind": "end", "step": len(worlds) * STEPS, "position": {"world": worlds[0], **axes}}]


def make_results(folder: Path, name: str, worlds: tuple[str, ...], conditions: dict[str, bool]) -> Results:
    """Two seeds of each condition; a condition says whether it infers environments."""
    experiment = Experiment(
        name=name,
        title=name,
        stream=",".join(worlds),
        steps={},
        conditions=tuple(Condition(condition, seeds=(0, 1), shown=True) for condition in conditions),
        tables={},
    )
    results = Results(experiment, "smoke", folder)
    for condition, inferred in conditions.items():
        for seed in (0, 1):
            content = {
                "settings": {"seed": seed},
                "stages": [[world, STEPS] for world in worlds],
                "config": {"mask": {"threshold": 0.6}},
                "summary": {"probes": ["periodic"]},
                "rows": make_rows(worlds, seed, inferred),
            }
            (folder / f"{condition}-{seed}.json").write_text(json.dumps(content))
        make_figure_data(worlds, inferred).save(folder / f"{condition}-0.npz")
    return results


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Results:
    conditions = {"disentangled-SDA": True, "disentangled-none": False, "entangled-SDA": True}
    return make_results(tmp_path_factory.mktemp("ablation"), "ablation", THREE, conditions)


@pytest.fixture(scope="module")
def five(tmp_path_factory: pytest.TempPathFactory) -> Results:
    conditions = {"disentangled-SDA": True, "entangled-SDA": True}
    return make_results(tmp_path_factory.mktemp("five"), "five-datasets", FIVE, conditions)


def axes_titled(figure: Figure, name: str) -> list[Axes]:
    return [axis for axis in figure.axes if axis.get_title(loc="left").startswith(name)]


def bold(axis: Axes, world: str, worlds: tuple[str, ...]) -> tuple[list[float], list[float]]:
    """The stretch of a curve where its world is trained on."""
    colour = world_colour(worlds.index(world))
    (line,) = [line for line in axis.lines if line.get_color() == colour and line.get_linewidth() == 2.4]
    return np.asarray(line.get_xdata()).tolist(), np.asarray(line.get_ydata()).tolist()


# ------------------------------------------------------------------------------------------------ curves


def test_a_curve_is_mean_and_sample_deviation_by_hand() -> None:
    found = seed_curve([([10, 20], [1.0, 5.0]), ([10, 20, 30], [3.0, 5.0, 7.0])])
    assert found.steps.tolist() == [10, 20, 30]
    assert found.mean.tolist() == [2.0, 5.0, 7.0]
    np.testing.assert_allclose(found.std, [2**0.5, 0.0, 0.0])  # ((1 - 2)² + (3 - 2)²) / (2 - 1); one seed has none
    assert seed_curve([]).steps.tolist() == []


def test_curves_of_probes_per_world(three: Results) -> None:
    found = probe_curves([run.record for run in three.of("disentangled-none")], "accuracy")
    assert list(found) == list(THREE)
    assert found["moving-fashion"].steps.tolist() == [50, 100, 150, 200, 250, 300]
    np.testing.assert_allclose(found["moving-fashion"].mean, [0.89, 0.89, 0.79, 0.79, 0.69, 0.69])
    np.testing.assert_allclose(found["mnist"].std, [0, 0] + [0.02 / 2**0.5] * 4)


# ------------------------------------------------------------------------------------------------ Figures 2 and 3


def test_figure2_shows_both_models_with_their_numbers(three: Results) -> None:
    figure = figure2(three)
    words = assert_readable(figure)
    assert len(figure.axes) == 2 + 2 * 4
    for part in (
        "VASE (SDA): latents in use",
        "CCI-VAE (–): latents in use",
        "VASE (SDA): 2 seeds, mean ± standard deviation",
    ):
        assert part in words
    assert "moving Fashion\nbest 89.0 ± 1.4, change 0.0 ± 0.0" in words
    assert "moving Fashion\nbest 89.0 ± 1.4, change −20.0 ± 0.0" in words
    assert "moving Fashion\nbest 0.55 ± 0.07, change 2.00 ± 0.00" in words
    ours, baseline = axes_titled(figure, "Object identity")
    assert bold(ours, "mnist", THREE)[0] == [100, 150, 200]
    np.testing.assert_allclose(bold(ours, "mnist", THREE)[1], [0.2, 0.89, 0.89])
    assert ours.get_ylim() == baseline.get_ylim()
    ours, baseline = axes_titled(figure, "Object position")
    np.testing.assert_allclose(bold(ours, "moving-mnist", THREE)[1], [0.55, 0.55, 0.55])
    np.testing.assert_allclose(bold(baseline, "moving-mnist", THREE)[1], [1.55, 2.55, 2.55])
    assert ours.get_ylim() == baseline.get_ylim()


def test_figure2_shows_true_and_announced_switches(three: Results) -> None:
    figure = figure2(three)
    ours, baseline = axes_titled(figure, "Object identity")
    for axis in (ours, baseline):
        true = [float(np.asarray(line.get_xdata())[0]) for line in axis.lines if line.get_linewidth() == 0.7]
        assert true == [100, 200]
    (marks,) = [line for line in ours.lines if line.get_marker() == "|"]
    assert np.asarray(marks.get_xdata()).tolist() == [104, 204, 105, 205]  # seed 0, seed 1
    assert not [line for line in baseline.lines if line.get_marker() == "|"]
    assert ours.get_ylim()[1] < 0.95  # they lie on the edge and do not stretch the axis


def test_figure2_shows_the_atypicality_of_the_first_seed_and_the_threshold(three: Results) -> None:
    ours, _ = axes_titled(figure2(three), "Atypicality")
    dashed = [line for line in ours.lines if line.get_linestyle() == "--"]
    assert [np.asarray(line.get_ydata()).tolist() for line in dashed] == [[0.6, 0.6]]
    curves = [line for line in ours.lines if len(np.asarray(line.get_xdata())) == 30]
    assert len(curves) == LATENTS
    assert sorted(str(line.get_label()) for line in curves if str(line.get_label()).startswith("z")) == ["z0", "z1"]


def test_figure2_orders_latents_and_marks_their_use(three: Results) -> None:
    figure = figure2(three)
    (ours,), (baseline,) = (axes_titled(figure, f"{name}: latents in use") for name in ("VASE (SDA)", "CCI-VAE (–)"))
    assert [label.get_text() for label in ours.get_yticklabels()] == ["seed", "z2", "z0", "x  z1", "z3", "z4", "z5"]
    assert [label.get_text() for label in baseline.get_yticklabels()] == ["seed", "z0", "x  z1", "z2", "z3", "z4"]
    assert len(ours.images) == len(baseline.images) == 3
    assert len(ours.patches) == 6 * (3 + 3) + 2  # a bar per world and a box per stage, and two masked strips
    hatched = [patch for patch in ours.patches if patch.get_hatch()]
    assert len(hatched) == 3 * 2  # z0 and z1 in MNIST: box, bar and strip; z5, which nobody uses, is not masked
    canvas = np.asarray(ours.images[1].get_array())
    pitch = SIDE + 3
    assert canvas[2 * pitch : 2 * pitch + SIDE].min() == pytest.approx(0.675)  # z0 is masked in MNIST, and faded
    assert canvas[1 * pitch : 1 * pitch + SIDE].min() == 0


def test_the_state_of_a_stage_by_hand() -> None:
    environments = [
        {"index": 0, "used": [True, True, False, False], "mask": [True] * 4},
        {"index": 1, "used": [False, False, True, False], "mask": [False, True, True, False]},
    ]
    row = {"environment": 1, **environments[1], "environments": environments}
    expected = [State.MASKED, State.UNUSED, State.USED, State.UNUSED]
    assert figures.stage_states(row).tolist() == expected


def test_figure3_shows_five_worlds(five: Results) -> None:
    figure = figure3(five)
    words = assert_readable(figure)
    assert len(figure.axes) == 3
    assert len(figure.axes[0].images) == 5
    assert "A  VASE (SDA)" in words
    assert "inverse Fashion (environment 2)" in words
    (accuracies,) = axes_titled(figure, "Object identity")
    assert bold(accuracies, "fashion", FIVE)[0] == [100, 150, 200]


# ------------------------------------------------------------------------------------------------ appendix


def test_traversals_of_a_condition(five: Results) -> None:
    figure = figures.traversals(five, "disentangled-SDA")
    words = assert_readable(figure)
    shown = [axis for axis in figure.axes if axis.images]
    assert len(shown) == 5
    assert "moving Fashion (environment 4)" in words
    row = shown[0].get_yticklabels()[3].get_text()
    assert row == "z0"
    canvas = np.asarray(shown[0].images[0].get_array())[3 * (SIDE + 3) :, :, 0]
    assert canvas[6, 0] == pytest.approx(250 / 255)  # the box begins at the left
    assert canvas[6, -1] == pytest.approx(250 / 255)  # and ends at the right


def test_cross_domain_puts_conditions_side_by_side(three: Results) -> None:
    figure = figures.cross_domain(three, ("disentangled-SDA", "disentangled-none"))
    words = assert_readable(figure)
    assert len(figure.axes) == 3 * 2
    (mnist,) = axes_titled(figure, "VASE (SDA): MNIST")
    names = [label.get_text() for label in mnist.get_yticklabels()]
    assert names == ["image", "as 0  moving Fashion", "as 1  MNIST (own)", "as 2  moving MNIST"]
    canvas = np.asarray(mnist.images[0].get_array())[:, :SIDE, 0]
    brightest = [canvas[i * (SIDE + 3) : i * (SIDE + 3) + SIDE].max() for i in range(4)]
    np.testing.assert_allclose(brightest, np.array([240, 200, 170, 140]) / 255)
    assert "as 0  3 worlds (own)" in words


def test_disentanglement_along_the_stream(three: Results) -> None:
    figure = figures.disentanglement(three)
    words = assert_readable(figure, slanted=True)
    assert len(figure.axes) == 8 * 3
    mig = figure.axes[0].containers
    assert len(mig) == 2  # VASE and CCI-VAE
    line, _, (bars,) = mig[0]
    np.testing.assert_allclose(line.get_xdata(), [1, 2, 3], atol=0.1)  # a little aside of the stages' numbers
    np.testing.assert_allclose(line.get_ydata(), [0.35, 0.30, 0.25])
    np.testing.assert_allclose([bar[1, 1] - bar[0, 1] for bar in bars.get_segments()], 2 * 0.1 / 2**0.5)
    assert len(figure.axes[1].containers[0][0].get_ydata()) == 2  # MNIST is met in the second stage
    assert words.count("not defined") == 4  # of a static world
    assert "VASE (SDA), 2 seeds" in words
    assert "CCI-VAE (–), 2 seeds" in words


def test_disentanglement_without_a_value_in_one_seed(five: Results, tmp_path: Path) -> None:
    for path in five.folder.glob("*"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    path = tmp_path / "disentangled-SDA-1.json"
    content = json.loads(path.read_bytes())
    for row in content["rows"]:
        if row["kind"] == "measures" and row["stage"] == 0:
            row["mig"] = None
    path.write_text(json.dumps(content))
    figure = figures.disentanglement(Results(five.experiment, "smoke", tmp_path))
    assert figure.axes[0].containers[0][0].get_ydata()[0] == pytest.approx(0.3)  # seed 0 alone
    assert "entangled VASE (SDA), 2 seeds" in assert_readable(figure, slanted=True)


def test_position_latents_are_named_after_their_axis(three: Results) -> None:
    assert figures.meanings(three.first("disentangled-SDA")) == {1: "x"}  # 0.49 with y is too little
    texts = [text.get_text() for text in figures.traversals(three, "disentangled-SDA").axes[0].get_yticklabels()]
    assert "x  z1" in texts
    assert "z0" in texts


def test_missing_results_name_the_remedy(three: Results, tmp_path: Path) -> None:
    empty = Results(three.experiment, "smoke", tmp_path)
    for draw in (figure2, figures.disentanglement, lambda r: figures.traversals(r, "entangled-SDA")):
        with pytest.raises(FileNotFoundError, match="run it with: vase experiment run ablation"):
            draw(empty)
