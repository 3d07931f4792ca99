"""The timeline's data: groups of rows, peaks of atypicality, images of switches, scores."""

from __future__ import annotations

from typing import Any

import pytest

from vase.metrics.record import Record
from vase.report import timeline as module
from vase.report.timeline import timeline
from vase.training import RunDirectory


def step(number: int, alpha: list[float | None], **more: Any) -> dict[str, Any]:
    return {"kind": "step", "step": number, "environment": 0, "atypicality": alpha, "mask": [True, False], **more}


def test_long_runs_are_averaged_and_keep_their_peaks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "COLUMNS", 2)
    rows = (
        step(10, [0.1, 3.0], kl=1.0),
        step(20, [0.2, None], kl=None),
        step(30, [0.5, 0.4], kl=5.0),
    )
    found = timeline(Record((("mnist", 30),), rows))
    assert found["steps"] == [20, 30]
    assert found["losses"] == {"kl": [1.0, 5.0]}
    assert found["atypicality"] == [[0.2, 3.0], [0.5, 0.4]]
    assert found["masked"] == [[1], [1]]
    assert found["stages"] == [{"world": "mnist", "start": 0, "end": 30}]


def test_a_run_without_atypicality_has_no_map() -> None:
    rows = ({"kind": "step", "step": 10, "environment": 0, "atypicality": [], "mask": [], "loss": 2.0},)
    found = timeline(Record((("mnist", 10),), rows))
    assert found["atypicality"] == []
    assert found["losses"] == {"loss": [2.0]}


def test_the_switch_of_a_run_has_its_images(run: RunDirectory) -> None:
    record = Record(run.timeline().stages, tuple(run.rows()))
    found = timeline(record)
    (change,) = found["switches"]
    assert (change["from"], change["environment"], change["is_new"]) == (0, 1, True)
    assert [len(change[name]) for name in ("before", "after")] == [4, 4]
    assert change["before"][0].startswith("data:image/png;base64,")
    assert change["reasons"] == record.switches[0]["reasons"]
    assert [panel["unit"] for panel in found["probes"]] == ["%", "px", "%", "px"]
    accuracy = next(row["accuracy"] for row in run.rows() if row["kind"] == "probe" and "accuracy" in row)
    assert found["probes"][0]["curves"][0]["values"][0] == pytest.approx(100 * accuracy)
