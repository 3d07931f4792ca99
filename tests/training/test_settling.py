"""When probes are kept and settled: at the end of a visit and ten batches later, if the world is still away."""

from __future__ import annotations

from pathlib import Path

from cheap_runs import cheap

from vase.training import RunDirectory, train


def first_rows(folder: Path, mode: str) -> list[tuple[int, str]]:
    """(step, world) of every score of these probes."""
    rows = RunDirectory(folder).rows()
    return [(row["step"], row["world"]) for row in rows if row.get("mode") == mode and row["probe"] == "identity"]


def test_a_world_that_is_back_within_ten_batches_is_not_settled(tmp_path: Path) -> None:
    stream = "moving-digits*12,digits:12*4,moving-digits*12,digits:12*12"
    train(tmp_path / "run", cheap(stream=stream, probes="periodic", probe_every=100))
    moving, still = "moving-digits", "digits:12"
    assert first_rows(tmp_path / "run", "kept") == [
        (12, moving),
        *[(t, w) for t in (16, 28, 40) for w in (moving, still)],
    ]
    # step 22 would be ten batches after the first visit to moving digits, which are back since step 16
    assert first_rows(tmp_path / "run", "settled") == [
        (26, still),
        (28, still),
        (38, moving),
        (40, moving),
        (40, still),
    ]


def test_a_world_goes_on_in_its_next_stage(tmp_path: Path) -> None:
    train(tmp_path / "run", cheap(stream="digits*6,digits*14,digits:12*4", probes="periodic", probe_every=100))
    assert first_rows(tmp_path / "run", "kept") == [(20, "digits"), (24, "digits")]
    assert first_rows(tmp_path / "run", "settled") == []  # the last stage is too short


def test_joint_training_leaves_no_world(tmp_path: Path) -> None:
    train(
        tmp_path / "run", cheap(stream="moving-digits*4,digits:12*14", joint=True, probes="periodic", probe_every=100)
    )
    assert first_rows(tmp_path / "run", "frozen") != []
    assert first_rows(tmp_path / "run", "kept") == first_rows(tmp_path / "run", "settled") == []
