"""The benchmark of the explorer asks valid questions, and its page holds what its file holds."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from benchmarks.explorer import MOVES, RESULT, questions, table
from vase.explorer import questions as read

DATA = {
    "live": {"latents": 4, "images": [{"picture": "data:image/png;base64,AAAA"}] * 3},
    "environments": [{}, {}],
}


def test_questions_have_the_form_that_the_page_sends() -> None:
    asked = questions(DATA, "0@1", np.random.default_rng(0))
    assert set(asked) == set(MOVES)
    path, drag = asked["drag"]
    assert path == "decode"
    assert read.codes(drag["codes"], 4).shape == (2, 4)
    assert read.environments(drag["environments"], 2, 2).tolist() == [0, 1]
    assert 0 <= read.number(asked["mix"][1], "share", 0, 1) <= 1


def test_the_page_holds_the_table_of_the_result() -> None:
    page = Path(__file__).parents[2] / "docs" / "explorer.md"
    record = json.loads(RESULT.read_text())
    assert table(record) in page.read_text()
    assert record["command"].rpartition(" --")[0] in page.read_text()
    assert all(numbers["server_cpu_ms"] < record["bar_ms"] for numbers in record["answers"].values())
