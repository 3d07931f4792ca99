"""Tables and the figure of the comparison from hand-made results: two worlds, ten steps each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny import tiny

from vase.experiments import Results, jobs_of, results_of
from vase.experiments.common.conditions import OURS
from vase.experiments.rivals.analysis import grid, methods, ranking, worlds
from vase.experiments.rivals.evaluation import BATCHES, evaluate
from vase.experiments.rivals.figures import cost
from vase.experiments.rivals.settings import (
    CHOSEN,
    GRID_SEED,
    GRID_STEPS,
    GRIDS,
    METHODS,
    NAMES,
    ON_EVERY_STREAM,
    RIVALS,
    RIVALS_COLOUR,
    RIVALS_FIVE,
    RIVALS_GRID,
)
from vase.experiments.rivals.streams import streams
from vase.experiments.rivals.strengths import strengths
from vase.experiments.tables import words
from vase.learners.records import EnvironmentView, Inference
from vase.learners.registry import make_learner
from vase.training.plan import make_plan

ROOT = Path(__file__).parents[3]


def probe(world: str, step: int, accuracy: float) -> dict[str, Any]:
    head = {"kind": "probe", "probe": "identity", "mode": "frozen"}
    return {**head, "step": step, "world": world, "accuracy": accuracy}


def measures(world: str, step: int, reconstruction: float, samples: float) -> dict[str, Any]:
    values = {"reconstruction": reconstruction, "samples": samples, "samples_floor": 0.5}
    return {"kind": "measures", "step": step, "world": world, **values}


def write(
    folder: Path,
    name: str,
    lost: float,
    rand: float | None,
    megabytes: float,
    second: float = 0.9,
    settings: dict[str, Any] | None = None,
) -> None:
    """A run that knew the first world at 80 % and lost some of it while it learnt the second one to 90 %, say."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = [
        *(probe("fashion", 10, 0.8), probe("fashion", 20, 0.8 - lost), probe("mnist", 20, second)),
        *(measures("fashion", 10, 0.9, 9.0), measures("fashion", 20, 0.004, 2.0), measures("mnist", 20, 0.002, 1.0)),
    ]
    content = {
        "stages": [["fashion", 10], ["mnist", 10]],
        "config": {},
        "settings": settings,
        "learning_seconds": 0.5,
        "summary": {"probes": ["periodic"], "environments": 0},
        "findings": {"memory": megabytes * 1e6, "rand": rand, "environments": None},
        "rows": rows,
    }
    (folder / f"{name}.json").write_text(json.dumps(content))


@pytest.fixture
def results(tmp_path: Path) -> Results:
    folder = tmp_path / "rivals" / "laptop"
    for seed, extra in enumerate((0.0, 0.02)):
        write(folder, f"{OURS}-{seed}", 0.02 + extra, 1.0, 40)
        write(folder, f"dgr-told-{seed}", 0.12 + extra, None, 1)
        write(folder, f"joint-VAE-{seed}", -0.08 + extra, None, 0)
    return results_of(RIVALS, "laptop", tmp_path)


def test_all_columns_by_hand(results: Results) -> None:
    table = methods(results)
    found = {row[0]: dict(zip(table.columns, map(words, row), strict=True)) for row in table.rows}
    assert list(found) == ["VASE", "joint VAE", "generative replay, told"]
    told = found["generative replay, told"]
    assert (told["told boundaries"], told["seeds"]) == ("yes", "2")
    assert told["ID max (%)"] == "85.0 ± 0.0"  # 80 and 90
    assert told["ID change (%)"] == "−13.0 ± 1.4"  # −12 and −14
    assert told["ID end (%)"] == "78.5 ± 0.7"  # (68 + 90)/2 and (66 + 90)/2
    assert told["reconstruction"] == "3.00 ± 0.00"  # 4 and 2
    assert told["dreams"] == "1.50 ± 0.00"
    assert (told["position min (1e-4)"], told["Rand index"]) == ("–", "–")
    assert told["memory (MB)"] == "1.00 ± 0.00"
    assert told["ms per step"] == "25.0 ± 0.0"  # half a second for twenty steps
    assert found["VASE"]["Rand index"] == "1.00 ± 0.00"
    assert (found["VASE"]["told boundaries"], found["joint VAE"]["told boundaries"]) == ("no", "all at once")


def test_the_ranking_says_how_far_behind(results: Results) -> None:
    rows = [row for row in ranking(results).rows if row[0] == "ID change (%)"]
    assert [row[2] for row in rows] == ["joint VAE", "VASE", "generative replay, told"]
    assert [row[4] for row in rows] == ["yes", "no", "no"]
    # ten points, and standard errors of √2/√2 = 1 on either side: 10/√2
    assert rows[2][-1] == pytest.approx(10 / 2**0.5)
    assert rows[0][-1] == pytest.approx(-10 / 2**0.5)
    assert rows[1][-1] == "–"


def test_all_streams_in_one_table(results: Results, tmp_path: Path) -> None:
    five, colour = (
        {"settings": experiment.settings(experiment.condition(name), 0, "laptop").to_dict()}
        for experiment, name in ((RIVALS_FIVE, OURS), (RIVALS_COLOUR, "curl"))
    )
    write(tmp_path / "rivals-five" / "laptop", f"{OURS}-0", 0.05, 1.0, 40, **five)
    write(tmp_path / "rivals-colour" / "laptop", "curl-0", 0.3, 1.0, 40, second=0.5, **colour)
    table = streams(results)
    found = {row[:2]: dict(zip(table.columns, map(words, row), strict=True)) for row in table.rows}
    assert list(found) == [
        *(("three worlds", name) for name in ("VASE", "joint VAE", "generative replay, told")),
        ("five worlds", "VASE"),
        ("colour", "CURL"),
    ]
    ours = found["three worlds", "VASE"]
    assert (ours["seeds"], ours["change (%)"]) == ("2", "−3.0 ± 1.4")  # −2 and −4
    assert ours["change, settled probe (%)"] == "–"  # was not measured
    five = found["five worlds", "VASE"]
    assert (five["change (%)"], five["end (%)"]) == ("−5.0", "82.5")  # (75 + 90)/2
    colour = found["colour", "CURL"]
    assert (colour["max (%)"], colour["change (%)"], colour["end (%)"]) == ("65.0", "−30.0", "50.0")  # 80 and 50


def test_a_run_of_another_stream_with_other_settings_is_an_error(results: Results, tmp_path: Path) -> None:
    other = RIVALS_FIVE.settings(RIVALS_FIVE.condition("fine-tuned-VAE"), 0, "laptop").to_dict()
    write(tmp_path / "rivals-five" / "laptop", f"{OURS}-0", 0.05, 1.0, 40, settings=other)
    with pytest.raises(ValueError, match=r"rivals-five/laptop/disentangled-SDA-0\.json was made with another"):
        streams(results)


def test_single_worlds(results: Results) -> None:
    row = next(row for row in worlds(results).rows if row[:2] == ("VASE", "Fashion"))
    assert list(map(words, row[2:])) == ["77.0 ± 1.4", "4.00 ± 0.00", "2.00 ± 0.00", "0.50 ± 0.00"]


def test_the_figure_has_a_point_for_every_method(results: Results) -> None:
    left, right = cost(results).axes
    assert [len(axis.containers) for axis in (left, right)] == [2, 3]  # joint training stores everything
    assert (left.get_xlabel(), right.get_xlabel()) == ("memory beyond the weights (MB)", "time of a step (ms)")


def test_times_of_the_benchmark_take_the_place_of_those_of_runs(results: Results, tmp_path: Path) -> None:
    rows = [{"condition": OURS, "relative to fine-tuned VAE": 1.7}]
    (tmp_path / "speed").mkdir()
    (tmp_path / "speed" / "rivals.json").write_text(json.dumps({"parts": {"rivals": {"rows": rows}}}))
    right = cost(results).axes[1]
    assert [one[0].get_xdata().tolist() for one in right.containers] == [[1.7]]
    assert right.get_xlabel() == "time of a step (relative to a fine-tuned VAE)"


def test_the_grid_names_its_conditions(tmp_path: Path) -> None:
    write(tmp_path / "rivals-grid" / "laptop", f"ewc-strength=100-{GRID_SEED}", 0.1, None, 1)
    (row,) = grid(results_of(RIVALS_GRID, "laptop", tmp_path)).rows
    assert list(map(words, row[:4])) == ["ewc-strength=100", "85.0", "−10.0", "80.0"]
    assert row[-1] == "chosen"


def test_the_strength_that_forgets_least_of_those_that_end_well(tmp_path: Path) -> None:
    folder = tmp_path / "rivals-grid" / "laptop"
    # At the end (70 + 95)/2 = 82.5 %, (78 + 85.5)/2 = 81.75 %, within a point, and (80 + 80)/2 = 80 %.
    for strength, lost, second in ((1, 0.10, 0.95), (10, 0.02, 0.855), (100, 0.0, 0.8)):
        write(folder, f"ewc-strength={strength}-{GRID_SEED}", lost, None, 1, second)
    write(folder, f"si-strength=1-{GRID_SEED}", 0.5, None, 1)
    write(folder, f"fine-tuned-VAE-{GRID_SEED}", 0.0, None, 1)  # has no strength
    found = strengths(results_of(RIVALS_GRID, "laptop", tmp_path))
    assert found == {"ewc": "ewc-strength=10", "si": "si-strength=1"}


def test_what_was_chosen_is_what_the_committed_grid_says() -> None:
    results = results_of(RIVALS_GRID, "laptop", ROOT / "results")
    assert len(results.finished) == len(RIVALS_GRID.conditions)
    clock = CHOSEN["every"] * GRID_STEPS // RIVALS.steps["laptop"]
    expected = {
        **{name: f"{name}-strength={CHOSEN[name]:g}" for name in ("ewc", "si", "mas")},
        "curl": f"curl-threshold={CHOSEN['curl']:g}",
        "lifelong-generative": f"lifelong-generative-weight={CHOSEN['lgm']:g}",
        "generative-replay": f"generative-replay-boundaries={clock}",
    }
    assert strengths(results) == expected


def test_boundaries_by_the_clock_do_not_fall_where_worlds_change() -> None:
    assert all(GRID_STEPS % batches for batches in GRIDS["generative-replay"][1])
    assert RIVALS.steps["laptop"] % CHOSEN["every"]


@pytest.mark.parametrize("experiment", [RIVALS, RIVALS_FIVE, RIVALS_COLOUR, RIVALS_GRID])
def test_every_condition_can_be_built(experiment: Any) -> None:
    for job in jobs_of(experiment, "smoke", "results", "runs"):
        name, options = job.settings.learner, job.settings.learner_options
        assert make_learner(name, tiny(), device="cpu", options=options).n_latents == 4
    assert {condition.name for condition in RIVALS.conditions} == set(NAMES) >= set(METHODS)
    assert {condition.name for condition in RIVALS_COLOUR.conditions} == set(ON_EVERY_STREAM) < set(NAMES)


def test_joint_conditions_draw_from_all_worlds() -> None:
    found = {job.condition.name: job.settings.joint for job in jobs_of(RIVALS, "smoke", "results", "runs")}
    assert {name for name, joint in found.items() if joint} == {"joint-VAE", "joint-CCI-VAE"}


class Oracle:
    """Tells bright images from dark ones, and is unsure about a share of the batches."""

    n_latents, steps, environment = 1, 0, 0
    environments = (EnvironmentView(0, 0.0, *[np.ones(1, bool)] * 3, age=1),) * 2

    def __init__(self, unsure: int) -> None:
        self.unsure, self.asked = unsure, 0

    def infer_environment(self, images: np.ndarray) -> Inference:
        self.asked += 1
        bright = int(images.mean() > 127)
        doubt = self.asked <= self.unsure
        return Inference(np.ones(2), np.ones((len(images), 2)), None if doubt else bright, "", ())

    def partial_fit(self, images: Any) -> Any: ...

    def posterior(self, images: Any) -> Any: ...

    def load_state_dict(self, state: Any) -> None: ...

    def state_dict(self) -> dict[str, Any]:
        return {"seen": self.asked}


def test_the_rand_index_of_held_out_batches() -> None:
    settings = jobs_of(RIVALS, "smoke", "results", "runs")[0].settings
    plan = make_plan(settings.of("smoke", stream="digits:12,inverse-digits:12", canvas=16))
    found = evaluate(Oracle(0), plan, None).numbers  # type: ignore[arg-type]
    assert found == {"memory": 8, "rand": 1.0, "environments": 2}
    half = evaluate(Oracle(BATCHES // 2), plan, None).numbers  # type: ignore[arg-type]
    # 20 and 20 batches, of which 10 of the first world are a group of their own: pairs 45 + 45 + 190 together, of
    # 380 in worlds, 280 in groups and 780 in all: (280 − 380·280/780) / (330 − 380·280/780)
    assert half["rand"] == pytest.approx((280 - 380 * 280 / 780) / (330 - 380 * 280 / 780))
