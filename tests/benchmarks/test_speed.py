"""The benchmark of developers: every part, and the file that each command writes."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import torch

from benchmarks import parts, peers, scaling, speed, tables

RESULTS = Path(__file__).parents[2] / "results" / "speed"


def test_every_file_is_written_by_its_command_and_has_its_parts():
    for name, (preset, rounds, names) in speed.FILES.items():
        record = json.loads((RESULTS / f"{name}.json").read_text())
        assert (record["settings"]["preset"], record["settings"]["rounds"]) == (preset, rounds)
        assert list(record["parts"]) == list(names)


def test_the_page_has_the_tables_of_the_files(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["tables"])
    tables.main()
    page = (RESULTS.parents[1] / "docs" / "scaling.md").read_text()
    for block in capsys.readouterr().out.strip().split("\n\n"):
        assert block in page


def test_the_parts_of_a_run(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(scaling, "AXES", {"environments": (3,)})
    memory = {
        None: {"own": [40e6, 40e6], "peak": [300e6, 310e6]},
        "environments": {"own": [42e6, 42e6], "peak": [315e6, 341e6]},
    }
    monkeypatch.setattr(scaling, "memory_of", lambda preset, axis=None, value=0: memory[axis])
    out, before = tmp_path / "new" / "speed.json", torch.get_num_threads()
    words = ["laptop", "--preset", "smoke", "--rounds", "1", "--out", str(out)]
    monkeypatch.setattr(sys, "argv", ["speed", *words, "--only", "step", "parts", "scaling", "processes"])
    speed.main()
    torch.set_num_threads(before)
    said = capsys.readouterr().out
    record = json.loads(out.read_text())
    assert record["command"] == "python -m benchmarks.speed laptop"
    assert list(record["parts"]) == ["step", "parts", "scaling", "processes"]
    for part in record["parts"].values():
        assert part["title"] in said
        assert len({tuple(row) for row in part["rows"]}) == 1
        for ratio in part["ratios"]:
            assert ratio["low"] <= ratio["median"] <= ratio["high"]
    step = {row["step"]: row for row in record["parts"]["step"]["rows"]}
    assert step["learner, dreaming"]["GFLOP"] > step["learner, dreaming"]["needed"] == 2 * step["bare VAE"]["needed"]
    assert step["bare VAE"]["GFLOP"] == pytest.approx(step["bare VAE"]["needed"])
    assert [r["bar"] for r in record["parts"]["step"]["ratios"]] == [1.10, 2.15, 1.03, 1.03, None, 1.4, None]
    rows = {row["part"]: row["% of a step"] for row in record["parts"]["parts"]["rows"]}
    named = [part for part, _, _ in parts.METHODS]
    assert all(rows[part] > 0 for part in named)
    assert sum(rows[part] for part in [*named, parts.REST]) == pytest.approx(100, abs=20)  # medians need not add up
    assert [row["case"] for row in record["parts"]["scaling"]["rows"]] == ["environments 2 (base)", "environments 3"]
    row = record["parts"]["scaling"]["rows"][1]
    assert (row["own MB"], row["own ×"], row["peak MB"], row["peak ×"]) == (42, 1.05, 328, pytest.approx(1.075))
    assert [(r["bar"], r["held"]) for r in record["parts"]["scaling"]["ratios"]][1:] == [(1.05, True), (1.05, False)]
    assert [row["processes"] for row in record["parts"]["processes"]["rows"]] == ["one", "two"]
    assert not any("Disturbed" in note for note in record["parts"]["step"]["notes"])


def test_every_peer_is_timed_or_named_with_the_reason():
    part = peers.measure("smoke", 1)
    timed, notes = {row["step"] for row in part.rows}, " ".join(part.notes)
    assert {"VASE, first environment", "VASE, dreaming"} <= timed
    for name in ("pythae VAE", "pythae DisentangledBetaVAE", "avalanche-lib generative replay"):
        assert name in timed or f"{name}: " in notes
    assert len(part.ratios) == len(timed) - 2


def test_peers_without_an_interpreter_say_so(tmp_path):
    part = peers.measure("smoke", 1, python=str(tmp_path / "python"))
    assert part.rows == []
    assert "could not be started" in part.notes[0]
