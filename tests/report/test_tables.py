"""Tables of a run, with hand-made rows."""

from __future__ import annotations

from vase.metrics.record import Record
from vase.report.tables import tables

KNOWN = [
    {"index": 0, "age": 90, "loss": 41.26, "mask": [True, True, False], "used": [True, True, False]},
    {"index": 1, "age": 30, "loss": None, "mask": [True, True, True], "used": [True, False, True]},
]
SCORE = {"best": 0.5, "worst_after": None, "end": 0.48, "change": None}


def test_environments_with_what_they_share() -> None:
    switch = {"kind": "switch", "step": 1, "environment": 0, "from": None}
    rows = (switch, {"kind": "step", "step": 60, "environment": 0}, {"kind": "end", "step": 120, "environments": KNOWN})
    (found,) = tables(Record((("mnist", 120),), rows), {"identity": {"worlds": {}}})
    assert found["title"] == "Environments"
    assert [cell[0] for cell in found["rows"][0]] == ["0", "MNIST", "90", "41.3", "2", "1", "2", "1"]
    assert [cell[0] for cell in found["rows"][1]] == ["1", "–", "30", "–", "2", "1", "1", "0"]
    assert found["rows"][1][3][1] is None


def test_scores_of_probes() -> None:
    pixels = {"best": 1.5, "worst_after": 2.0, "end": 1.75, "change": 0.5}
    found = {
        "identity": {"worlds": {"mnist": SCORE}},
        "position": {"mse": {"worlds": {"moving-mnist": SCORE}}, "pixels": {"worlds": {"moving-mnist": pixels}}},
    }
    (table,) = tables(Record((("mnist", 10),), ()), found)
    assert [[cell[0] for cell in row] for row in table["rows"]] == [
        ["class of MNIST", "50.0 %", "–", "48.0 %", "–"],
        ["position in moving MNIST, pixels", "1.50", "2.00", "1.75", "+0.50"],
    ]
