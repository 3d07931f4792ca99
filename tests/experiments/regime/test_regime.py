"""The sampled regime of the paper, from hand-made results."""

import json

import pytest
from matplotlib.figure import Figure

from vase.experiments import jobs_of, results_of
from vase.experiments.regime.analysis import Line, late, line_of, regime, scores
from vase.experiments.regime.figures import curves
from vase.experiments.regime.settings import REGIME
from vase.experiments.results import Result
from vase.experiments.tables import NONE

WORLD = "moving-fashion"


def probe(step, **score):
    return {"kind": "probe", "probe": "p", "mode": "frozen", "step": step, "world": WORLD, **score}


def write(path, rows, stages):
    path.parent.mkdir(parents=True)
    content = {
        "stages": stages,
        "config": {"capacity": {"ramp_steps": 158_730, "c_max": 35.0}},
        "summary": {"probes": ["periodic"], "environments": 3},
        "rows": rows,
    }
    path.write_text(json.dumps(content))
    return path


@pytest.fixture
def results(tmp_path):
    """Identity gains ten points and the error halves with every doubling of the steps."""
    rows = [probe(1000 * 2**i, accuracy=0.3 + 0.1 * i) for i in range(5)]
    rows += [probe(1000 * 2**i, mse=0.08 / 2**i) for i in range(5)]
    rows += [probe(20_000, accuracy=0.1), {"kind": "step", "step": 2_000, "kl": 0.5, "capacity": 0.441}]
    path = tmp_path / "regime" / "paper" / "disentangled-SDA-0.json"
    write(path, rows, [[WORLD, 16_000], ["mnist", 6_000]])
    return results_of(REGIME, "paper", tmp_path)


def test_lines_over_the_logarithm_of_the_step():
    straight = Line.fit([(10, 0.1), (100, 0.2), (1000, 0.3)], logarithmic=False)
    assert straight.at(10_000) == pytest.approx(0.4)
    power = Line.fit([(10, 0.1), (100, 0.01), (1000, 0.001)], logarithmic=True)
    assert power.slope == pytest.approx(-1)
    assert power.at(10_000) == pytest.approx(1e-4)
    assert Line.fit([(10, 0.1), (100, 0.2)], logarithmic=False) is None


def test_only_scores_of_the_first_visit_count(results):
    (run,) = results.of("disentangled-SDA")
    assert scores(run, WORLD, "accuracy")[-1] == (16_000, 0.7)
    assert [step for step, _ in late(scores(run, WORLD, "accuracy"))] == [4_000, 8_000, 16_000]


def test_the_table_by_hand(results):
    identity, position, kl, capacity = regime(results).rows
    # 1,000, 2,000, 5,000, 10,000 and 20,000 steps: the last three have no score.
    assert [getattr(entry, "mean", None) for entry in identity[1:4]] == pytest.approx([30, 40, None])
    doublings = 3.2288  # log2 of 150,000 / 16,000
    assert identity[6].mean == pytest.approx(70 + 10 * doublings, abs=0.01)
    assert position[6].mean == pytest.approx(1e4 * 0.08 / 2 ** (4 + doublings), rel=1e-3)
    assert (str(identity[7]), kl[2].mean, kl[6]) == ("88.6 ± 0.4", 0.5, NONE)
    assert capacity[2].mean == pytest.approx(0.441)
    assert capacity[6].mean == pytest.approx(35 * 150_000 / 158_730)


def test_a_run_without_scores_has_no_line(tmp_path):
    run = Result(write(tmp_path / "regime" / "paper" / "disentangled-SDA-0.json", [], [[WORLD, 10]]))
    assert line_of(run, WORLD, "mse") is None
    table = regime(results_of(REGIME, "paper", tmp_path))
    assert table.rows[0][6].mean is None
    assert isinstance(curves(results_of(REGIME, "paper", tmp_path)), Figure)


def test_curves_beside_the_laptops(results, tmp_path):
    other = tmp_path / "ablation" / "laptop" / "disentangled-SDA-0.json"
    write(other, [probe(3_000, accuracy=0.71), probe(3_000, mse=0.001)], [[WORLD, 3_000]])
    identity, position = curves(results).axes
    laptop, paper, line = identity.lines
    assert (laptop.get_label(), laptop.get_ydata().tolist()) == ("preset laptop", pytest.approx([71]))
    assert (paper.get_label(), len(paper.get_xdata())) == ("preset paper", 5)
    assert (line.get_label(), line.get_xdata()[-1]) == ("extrapolated", pytest.approx(150_000))
    assert position.get_yscale() == "log"


def test_the_preset_is_the_papers_own():
    (job,) = jobs_of(REGIME, "paper", "results", "runs")
    assert dict(job.settings.overrides) == {}
    assert job.settings.lengths == (20_000, 6_000, 4_000)
