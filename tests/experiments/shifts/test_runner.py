"""The shift benchmark from the command to the table, with stripes for worlds."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from drawn import assert_readable
from experiments.shifts.conftest import stripes

from vase import cli
from vase.experiments.shifts.analysis import (
    Row,
    Scores,
    curve,
    kinds_table,
    main_table,
    rates_table,
    read_scores,
    single_table,
)
from vase.experiments.shifts.evidence import SmallVAE
from vase.experiments.shifts.figures import FIGURES
from vase.experiments.shifts.runner import ResultFile, cells_of, make_learner, run
from vase.experiments.shifts.settings import FULL, LEARNERS, RATES, SIZES, Size
from vase.experiments.shifts.single import single_batches
from vase.experiments.shifts.streams import Segment, ShiftStream, Source
from vase.method.fingerprint_test import FingerprintTest
from vase.method.learnt_tests import LatentSpreadTest, LossSpreadTest
from vase.method.shift_tests import LossTest, MaskTest
from vase.metrics.detection import Score, Truth, score_stream
from vase.worlds import World, from_array
from vase.worlds.timeline import Timeline

SEEN: list[float] = []


@dataclass
class Said:
    environment: int
    switched: bool = False
    held: bool = False


class Lightmeter:
    """A new environment whenever the mean of a batch is far from that of all known ones."""

    def __init__(self, config: Any, seed: int = 0) -> None:
        self.known: list[float] = []
        self.current = -1
        self.seed = seed

    def partial_fit(self, images: np.ndarray) -> Said:
        level = float(images.mean())
        SEEN.append(level)
        near = [s for s, known in enumerate(self.known) if abs(known - level) < 0.01]
        if not near:
            self.known.append(level)
        before, self.current = self.current, near[0] if near else len(self.known) - 1
        return Said(self.current, before != self.current)


OWN = f"{__name__}:Lightmeter"
DETECTORS = ["dummy", "ks-untrained", "mmd-latents-frozen"]


def test_the_cells_of_the_full_size() -> None:
    cells = cells_of(FULL)
    streams = [cell for cell in cells if not cell.stream.name.startswith("report-still")]
    assert len(streams) == 120
    assert sum(len(cell.stream) for cell in cells if cell.stream.name.startswith("report-still")) == 130_000
    assert {cell.rates for cell in cells if cell.seed == 0} == {RATES}
    assert {cell.rates for cell in cells if cell.seed > 0} == {RATES[:1]}
    assert {cell.seed for cell in cells_of(FULL, 2, [5])} == {5}
    assert {cell.part for cell in streams} == {"streams"}
    assert {cell.part for cell in cells if cell not in streams} == {"controls"}


def test_parts_are_run_by_themselves(tiny: Size, tmp_path: Path) -> None:
    places = {"results": tmp_path / "results", "runs": tmp_path / "runs"}
    (file,) = run(tiny, [OWN], parts=["single"], **places)
    assert file.rows == []
    assert set(file.head["single"]) == {"mnist"}
    scores = read_scores(tiny, tmp_path / "results")
    assert single_table(scores).rows
    assert main_table(scores).rows == kinds_table(scores).rows == ()
    (file,) = run(tiny, [OWN], parts=["controls"], **places)
    assert [row["stream"].startswith("report-still") for row in file.rows] == [True, True]


def test_a_run_from_nothing_and_again(tiny: Size, tmp_path: Path) -> None:
    places = {"results": tmp_path / "results", "runs": tmp_path / "runs"}
    said: list[str] = []
    run(tiny, [*DETECTORS, OWN], notify=lambda text, *_: said.append(text), **places)
    assert said[-1] == "done"
    assert len([text for text in said if text.startswith("thresholds")]) == 2
    before = {path.name: path.read_bytes() for path in (tmp_path / "results/shifts/tiny").iterdir()}
    assert len(before) == 4

    content = json.loads(before["ks-untrained.json"])
    assert set(content) == {"command", "detector", "thresholds", "commit", "cpu", "versions", "rows"}
    assert set(content["thresholds"]) == {"1", "10", "100"}
    assert len(content["rows"]) == 3 * (2 + 2)  # rates × (streams + controls)
    assert len(ResultFile.open(OWN, tiny, tmp_path / "results").rows) == 4  # only the first rate

    SEEN.clear()
    run(tiny, [*DETECTORS, OWN], **places)
    assert SEEN == []
    assert before == {path.name: path.read_bytes() for path in (tmp_path / "results/shifts/tiny").iterdir()}

    scores = read_scores(tiny, tmp_path / "results")
    assert single_table(scores).columns == ("world", "then", OWN)
    assert [one.detector for one in scores][:3] == DETECTORS
    table = main_table(scores)
    assert len(table.rows) == 4
    assert "2 streams with 1 seed, and 2 controls of 48 batches in all" in table.render("text")
    assert kinds_table(scores).columns == ("detector", "grey", "colour", "grey-ramp", "colour-ramp")
    for draw in FIGURES.values():
        assert "ks-untrained" in assert_readable(draw(scores))


def test_a_result_of_another_stream_is_refused(tiny: Size, tmp_path: Path) -> None:
    places = {"results": tmp_path / "results", "runs": tmp_path / "runs", "streams": 1}
    run(tiny, [OWN], **places)
    (path,) = (tmp_path / "results/shifts/tiny").iterdir()
    path.write_text(re.sub(r'"digest": "\w+"', '"digest": "00000000"', path.read_text()))
    with pytest.raises(ValueError, match="report-000-grey is another stream now; delete the file"):
        run(tiny, [OWN], **places)
    path.write_text("{")
    with pytest.raises(ValueError, match=r"is damaged .* delete it and run it again"):
        run(tiny, [OWN], **places)
    with pytest.raises(ValueError, match="is damaged"):
        read_scores(tiny, tmp_path / "results")


def test_other_thresholds_are_refused(tmp_path: Path) -> None:
    file = ResultFile("x", tmp_path / "x.json", {}, [])
    file.set_thresholds({1.0: 2.5})
    file.rows.append({})
    file.set_thresholds({1.0: 2.5})
    with pytest.raises(ValueError, match="was made with other thresholds"):
        file.set_thresholds({1.0: 3.0})


def test_the_command(
    tiny: Size, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(SIZES, "smoke", tiny)
    monkeypatch.chdir(tmp_path)
    words = ["experiment", "shifts", "--smoke", "--only", OWN, "dummy", "--streams", "1", "--quiet"]
    assert cli.main([*words, "--figures", "drawn", "--table", "all"]) == 0
    out = capsys.readouterr().out
    assert "1/3 report-still-report-0, seed 0" in out
    assert "Adjusted Rand index by kind of stream" in out
    assert (tmp_path / "drawn/shifts-delay.png").exists()
    assert cli.main(["experiment", "shifts", "--smoke", "--no-run", "--format", "markdown"]) == 0
    assert "| dummy |" in capsys.readouterr().out
    assert cli.main(["experiment", "shifts", "--smoke", "--no-run", "--only", OWN]) == 0
    assert "dummy" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--only", "adwin"], "no detector 'adwin'; there are monitor, vase, vase-loss, vase-latents"),
        (["--streams", "0"], "--streams 0: must be at least 1"),
        (["--no-run"], "holds no result: run it with: vase experiment shifts --size smoke"),
    ],
)
def test_errors_name_the_remedy(
    words: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["experiment", "shifts", "--smoke", *words]) == 2
    assert message in capsys.readouterr().err


def score(said: list[int]) -> Score:
    return score_stream(Truth(Timeline((("a", 10), ("b", 10)))), said)


def test_a_curve_by_hand() -> None:
    """Announced with the second batch; one false alarm in 20 stationary batches at the second rate."""
    still = Truth(Timeline((("a", 20),)))
    rows = (
        Row("s", 0, RATES[0], score([0] * 20)),
        Row("c", 0, RATES[0], score_stream(still, [0] * 20)),
        Row("s", 0, RATES[1], score([0] * 11 + [1] * 9)),
        Row("c", 0, RATES[1], score_stream(still, [0] * 5 + [1] * 15)),
        Row("s", 0, RATES[2], score([0] * 11 + [1] * 9)),  # without a control
    )
    assert curve(Scores("x", rows)) == [(0, 20), (500, 2)]
    assert rates_table([Scores("x", rows)]).rows == (
        ("x", "10,000", "20", "0.002", "0"),
        ("x", "1,000", "20", "0.02", "1"),
    )


def test_learners_by_name() -> None:
    assert isinstance(make_learner(OWN, (1, 32, 32), 3, 1.0), Lightmeter)
    learner = make_learner("vase", (3, 32, 32), 3, 1.0)
    assert learner.config.image_shape == (3, 32, 32)
    alone = {
        name: [type(test) for test in make_learner(name, (1, 32, 32), 0).detector_.tests]
        for name in LEARNERS
        if "-" in name
    }
    whole = [FingerprintTest, LossSpreadTest, LatentSpreadTest]
    assert alone == {
        "vase-loss": [LossSpreadTest],
        "vase-latents": [LatentSpreadTest],
        "vase-thresholds": [LossTest, MaskTest],
        "vase-small": whole,
        "vase-small-gaussian": whole,
    }
    networks = [make_learner(f"vase-small{kind}", (1, 32, 32), 0).config.network for kind in ("", "-gaussian")]
    assert [network.likelihood for network in networks] == ["bernoulli", "gaussian"]


def test_the_small_vae_learns_and_its_loss_is_standardised() -> None:
    """On its own world the loss is about 0 ± 1; on another one it is far away."""
    vae = SmallVAE(Source("report-0"), 60, load=stripes)
    own, other = (
        vae.look(ShiftStream("s", 1, (Segment(source, 12),)).batches(load=stripes))
        for source in (Source("report-0"), Source("report-0", "inverse", 1.0))
    )
    assert own.loss.shape == (12,)
    assert own.latents.shape == (12, 64, 10)
    assert own.untrained.shape == (12, 64, 32)
    assert abs(own.loss.mean()) < 2
    assert other.loss.mean() > 10


def test_alarms_on_single_batches_by_hand() -> None:
    """A meter that knows one level holds what is darker or brighter; trying teaches it nothing."""
    meter = Lightmeter(None)
    found = single_batches(meter, "mnist", 0, 2, load=flat)
    assert list(found)[:3] == ["nothing", "other world: digits", "blur 0.8"]
    assert (found["nothing"], found["blur 0.8"], found["upside-down 1"]) == (0, 0, 0)
    assert (found["other world: digits"], found["dim 0.3"], found["dim 0.65"]) == (20, 20, 20)
    assert len(meter.known) == 1


def flat(name: str) -> World:
    """Images of one level."""
    return from_array(np.full((2, 1, 32, 32), 0.5 if name == "mnist" else 0.8), name=name)
