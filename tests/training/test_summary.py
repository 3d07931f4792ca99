"""What a run found: the summary and its description, by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from vase.training import RunSettings, describe
from vase.training.directory import FORMAT
from vase.training.summary import summary


def _stage(stage: int, step: int, world: str, environments: list[tuple[str, str]], **more: Any) -> dict[str, Any]:
    """Environments as pairs of strings, "1" for a flag that is set: (mask, used)."""
    known = [
        {"index": i, "age": 10, "loss": 1.0, "mask": [c == "1" for c in mask], "used": [c == "1" for c in used]}
        for i, (mask, used) in enumerate(environments)
    ]
    current = known[-1]
    row = {"kind": "stage", "stage": stage, "step": step, "world": world, "environment": current["index"]}
    return {
        **row,
        "mask": current["mask"],
        "used": current["used"],
        "environments": known,
        "held": 8,
        "dropped": 0,
        **more,
    }


def _probe(step: int, world: str, **score: float) -> dict[str, Any]:
    probe = "identity" if "accuracy" in score else "position"
    return {"kind": "probe", "step": step, "world": world, "probe": probe, "mode": "periodic", **score}


def _switch(step: int, environment: int, delay: int | None, **more: Any) -> dict[str, Any]:
    row = {"kind": "switch", "step": step, "stage": 1, "world": "digits", "from": 0, "environment": environment}
    true = None if delay is None else step - delay
    return {
        **row,
        "is_new": True,
        "true_step": true,
        "delay": delay,
        "false_alarm": delay is None,
        "reasons": [],
        **more,
    }


POSITION = {"world": "moving-glyphs", "x": {"latent": 0, "correlation": 0.9}, "y": {"latent": 2, "correlation": -0.8}}


@pytest.fixture
def handmade(tmp_path: Path) -> Path:
    """moving-glyphs, then digits, then moving-digits, 100 steps each; only four latents."""
    config = {
        "format": FORMAT,
        "settings": RunSettings.of("smoke").to_dict(),
        "stages": [["moving-glyphs", 100], ["digits", 100], ["moving-digits", 100]],
        "sources": {},
        "config": {},
        "versions": {},
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    one, two, three = ("1111", "1110"), ("0101", "0101"), ("1111", "1110")
    last = _stage(2, 300, "moving-digits", [one, two, three], position=POSITION)
    rows = [
        _switch(1, 0, None, **{"from": None, "false_alarm": False}),
        _probe(50, "moving-glyphs", accuracy=0.5),
        _probe(100, "moving-glyphs", accuracy=0.7),
        _probe(100, "moving-glyphs", mse=0.01, pixels=1.2),
        _stage(0, 100, "moving-glyphs", [one], position=POSITION),
        _switch(104, 1, 4),
        _probe(200, "moving-glyphs", accuracy=0.6),
        _probe(200, "digits", accuracy=0.9),
        _probe(200, "moving-glyphs", mse=0.03, pixels=2.1),
        _stage(1, 200, "digits", [one, two]),
        _switch(250, 2, 50),
        _switch(260, 2, None, is_new=False, world="moving-digits"),
        _probe(300, "moving-glyphs", accuracy=0.65),
        _probe(300, "digits", accuracy=0.85),
        *(
            {**_probe(s, "moving-glyphs", accuracy=a), "mode": "frozen"}
            for s, a in ((100, 0.72), (200, 0.71), (300, 0.73))
        ),
        last,
        {
            "kind": "end",
            "step": 300,
            "environments": last["environments"],
            "held": 8,
            "dropped": 1,
            "position": POSITION,
        },
    ]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "timing.json").write_text('{"segments": [{"from": 0, "to": 300, "seconds": 61.0}]}')
    return tmp_path


def test_summary_by_hand(handmade: Path) -> None:
    found = summary(handmade)
    assert (found["environments"], found["worlds"], found["complete"]) == (3, 3, True)
    assert (found["delays"], found["false_alarms"], found["missed"]) == ([4, 50], 1, [])
    assert found["shared"] == [0, 1, 2]
    assert [e["used"] for e in found["environment_latents"]] == [[0, 1, 2], [1, 3], [0, 1, 2]]
    assert [e["recruited"] for e in found["environment_latents"]] == [[0, 1, 2], [3], []]
    assert [s["masked"] for s in found["stages"]] == [[], [0, 2], []]
    assert [s["position_masked"] for s in found["stages"]] == [[], [0, 2], []]
    assert found["position_latents"]["first"] == found["position_latents"]["end"] == POSITION
    glyphs = found["identity"]["worlds"]["moving-glyphs"]
    assert (glyphs["best"], glyphs["worst_after"], glyphs["end"]) == (0.7, 0.6, 0.65)
    assert glyphs["change"] == pytest.approx(-0.1)
    assert found["identity"]["mean"]["change"] == pytest.approx(-0.075)
    assert found["position"]["mse"]["worlds"]["moving-glyphs"]["change"] == pytest.approx(0.02)
    assert found["probes"] == ["periodic"]
    frozen = found["frozen"]["identity"]["worlds"]["moving-glyphs"]
    assert (frozen["best"], frozen["worst_after"], frozen["end"]) == (0.72, 0.71, 0.73)
    assert found["steps_per_second"] == pytest.approx(300 / 61, abs=0.01)
    assert json.loads(json.dumps(found)) == found
    assert not (handmade / "summary.json").exists(), "reading a run writes nothing"


def test_description_says_it_in_words(handmade: Path) -> None:
    text = describe(summary(handmade))
    for line in (
        "Environments: 3 found in a stream of 3 worlds, 1 false alarm",
        "step 104: new environment 1 (4 batches after the world changed to digits)",
        "step 260: back in environment 2 (false alarm: the world is still moving-digits)",
        "Latents at the end of the run: 3 of 4 shared by several environments (0, 1, 2)",
        "  environment 0: 3 used (0, 1, 2), 3 recruited (0, 1, 2)",
        "  environment 2: 3 used (0, 1, 2), 0 recruited",
        "  position in moving-glyphs: x is latent 0",
        "Latents at the end of each stage (which are used is decided when an environment is left):",
        "x is latent 0 (correlation +0.90), y is latent 2 (correlation -0.80)",
        "digits = environment 1: uses 1, 3; masked 0, 2 (position: 0, 2)",
        "mean change: class -7.5 points, position +2.0e-02",
        "What periodic probes read from the representation",
        "What fresh probes on the frozen encoder read from the representation",
        "mean change: class -1.0 points",
        "300 steps in 1 min 1 s, 4.9 steps/s",
    ):
        assert line in text
    assert "1.0e-02 (1.2 px)" in text


def test_a_switch_says_what_changed_and_keeps_the_images_out(handmade: Path) -> None:
    """The first row has a change, the second none, and the third is of a version that knew of none."""
    old = summary(handmade)
    assert [switch["change"] for switch in old["switches"]] == [None, None, None]
    change = {"sentence": "darker by 48 %, bluer", "brightness": -0.48, "latents": [], "before": {}, "after": {}}
    rows = [json.loads(line) for line in (handmade / "rows.jsonl").read_text().splitlines()]
    for row in rows:
        row |= {104: {"change": change}, 250: {"change": None}}.get(row["step"], {})
    (handmade / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = summary(handmade)
    told = {"sentence": "darker by 48 %, bluer", "brightness": -0.48, "latents": []}
    assert [switch["change"] for switch in found["switches"]] == [told, None, None]
    start = "  step 104: new environment 1 (4 batches after the world changed to digits)"
    assert start in describe(old).splitlines()
    assert f"{start}: darker by 48 %, bluer" in describe(found).splitlines()
    assert json.loads(json.dumps(found)) == found


def test_a_switch_nobody_announced_is_reported(handmade: Path) -> None:
    rows = [line for line in (handmade / "rows.jsonl").read_text().splitlines() if '"true_step": 100' not in line]
    (handmade / "rows.jsonl").write_text("\n".join(rows) + "\n")
    found = summary(handmade)
    assert found["missed"] == [100]
    assert "step 100: the world changed and no switch was announced" in describe(found)


def test_a_run_that_stopped_at_the_end_of_a_stage_has_missed_nothing_yet(handmade: Path) -> None:
    rows = [json.loads(line) for line in (handmade / "rows.jsonl").read_text().splitlines()]
    for last, missed in ((100, []), (101, [100])):
        kept = [row for row in rows if row["step"] <= 100] + [_probe(last, "moving-glyphs", accuracy=0.5)]
        (handmade / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in kept))
        found = summary(handmade)
        assert (found["steps"], found["missed"]) == (last, missed)


def test_two_stages_of_one_world_have_no_switch_between(handmade: Path) -> None:
    config = json.loads((handmade / "config.json").read_text())
    worlds = ["moving-glyphs", "moving-glyphs", "digits", "moving-digits"]
    config["stages"] = [[world, 50 if world == "moving-glyphs" else 100] for world in worlds]
    (handmade / "config.json").write_text(json.dumps(config))
    assert summary(handmade)["missed"] == []  # 100 and 200 were announced, and nothing changed at 50
