"""Training runs: what a directory holds, exact resume after any crash, refusals, and the summary by hand."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import shutil
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from stop_at import StopAt

from vase import VASE, Change
from vase.training import Interrupted, RunDirectory, RunSettings, describe, train
from vase.training import plan as plan_module
from vase.training.row_file import START, RowWriter
from vase.training.summary import summary
from vase.worlds import download

STREAM = "moving-digits*24,digits:12*18,moving-digits*18"
SETTINGS = RunSettings.of(
    "smoke",
    stream=STREAM,
    batch_size=8,
    probe_every=12,
    checkpoint_every=7,
    rows_every=5,
    overrides={"environments.burn_in": 10, "network.latents": 6, "network.hidden": 32},
    device="cpu",
)


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that nothing interrupted; tests only read it."""
    path = tmp_path_factory.mktemp("runs") / "reference"
    train(path, SETTINGS)
    return path


@pytest.fixture
def copy(reference: Path, tmp_path: Path) -> Path:
    """A finished run that a test may spoil."""
    return Path(shutil.copytree(reference, tmp_path / "copy"))


def rows_of(path: Path) -> bytes:
    return (path / "rows.jsonl").read_bytes()


def weights_of(path: Path) -> dict[str, bytes]:
    """Every tensor file of the last checkpoint, of learner and callbacks; they are named after their content."""
    return {file.name: file.read_bytes() for file in sorted(newest(path).glob("*.safetensors"))}


def newest(path: Path) -> Path:
    """The folder of the last checkpoint."""
    checkpoints = RunDirectory(path).checkpoints
    return checkpoints.path(checkpoints.steps()[-1])


def assert_same(path: Path, reference: Path) -> None:
    assert rows_of(path) == rows_of(reference)
    assert weights_of(path) == weights_of(reference)
    left = [p.name for p in path.rglob(".*") if p.name != ".lock"]
    assert left == [], "half-written files were left behind"


def kinds(path: Path) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for row in RunDirectory(path).rows():
        found.setdefault(row["kind"], []).append(row)
    return found


# ------------------------------------------------------------------------------------------------- what a run leaves


def test_a_run_directory_holds_what_it_says(reference: Path) -> None:
    config = json.loads((reference / "config.json").read_text())
    assert config["format"] == 2
    assert config["settings"]["stream"] == STREAM
    assert config["config"]["network"]["latents"] == 6
    assert config["stages"] == [["moving-digits", 24], ["digits:12", 18], ["moving-digits", 18]]
    assert set(config["versions"]) == {"vase", "torch", "numpy", "python"}
    assert "embedded" in config["sources"]["digits:12"]
    assert json.loads((reference / "summary.json").read_text())["complete"] is True
    assert VASE.load(reference).steps == 60


def test_rows(reference: Path) -> None:
    found = kinds(reference)
    assert [row["step"] for row in found["step"]] == list(range(5, 61, 5))
    assert len(found["step"][0]["atypicality"]) == len(found["step"][0]["mask"]) == 6
    assert [(row["stage"], row["step"], row["world"]) for row in found["stage"]] == [
        (0, 24, "moving-digits"),
        (1, 42, "digits:12"),
        (2, 60, "moving-digits"),
    ]
    assert ["position" in row for row in found["stage"]] == [True, False, True]
    assert {row["step"] for row in found["probe"] if row["mode"] == "periodic"} == {12, 24, 36, 48, 60}
    frozen = [(row["step"], row["world"]) for row in found["probe"] if row["mode"] == "frozen"]
    moving, still = [("moving-digits")] * 2, ["digits:12"]  # identity and position, identity
    assert frozen == [  # every fourth score (48) and the end of each stage, for the worlds met so far
        *((24, world) for world in moving),
        *((step, world) for step in (42, 48, 60) for world in moving + still),
    ]
    assert found["end"][0]["position"]["world"] == "moving-digits"
    assert found["switch"][0]["from"] is None
    assert found["switch"][0]["step"] == 1


def test_switch_rows_tell_what_changed_with_images_of_the_stream(reference: Path) -> None:
    first, *switches = kinds(reference)["switch"]
    assert (first["change"], first["p_value"], first["posterior"]) == (None, None, [])
    batches = [batch.images for batch in plan_module.make_plan(SETTINGS).schedule]
    assert [(row["from"], row["environment"]) for row in switches] == [(0, 1), (1, 0)]
    assert [len(row["posterior"]) for row in switches] == [2, 3]  # those known before, and a new one
    for row in switches:
        change = Change.from_row(row["change"])
        assert (change.step, change.previous, change.environment) == (row["step"], row["from"], row["environment"])
        assert (0 <= row["p_value"] <= 1, row["effect"] > 0) == (True, True)
        assert row["change"]["sentence"] == change.sentence
        end = row["true_step"]
        for examples, seen in ((change.before, batches[:end]), (change.after, batches[end : row["step"]])):
            known = {image.tobytes() for batch in seen for image in batch}
            assert {image.tobytes() for image in examples} <= known
    late = [row for row in kinds(reference)["step"] if row["p_value"] is not None]
    assert late
    assert {row["p_value"] for row in kinds(reference)["step"] if row["step"] <= 10} == {None}  # within the burn-in


def test_rows_do_not_depend_on_time_or_place(reference: Path, tmp_path: Path) -> None:
    train(tmp_path / "again", SETTINGS)
    assert_same(tmp_path / "again", reference)


def test_frozen_probes_change_no_other_row(tmp_path: Path) -> None:
    short = {"stream": "moving-digits*4,digits:12*14", "batch_size": 8, "probe_every": 6, "device": "cpu"}
    rows = {}
    for every in (0, 1):
        train(tmp_path / str(every), RunSettings.of("smoke", measures=True, frozen_every=every, **short))
        rows[every] = [row for found in kinds(tmp_path / str(every)).values() for row in found]
    frozen = {every: [row for row in found if row.get("mode") == "frozen"] for every, found in rows.items()}
    assert [{row["step"] for row in frozen[every]} for every in (0, 1)] == [{4, 18}, {4, 6, 12, 18}]
    assert [row for row in frozen[1] if row["step"] in (4, 18)] == frozen[0]
    once = {
        mode: [(row["step"], row["world"]) for row in rows[1] if row.get("mode") == mode and row["probe"] == "identity"]
        for mode in ("kept", "settled")
    }
    assert once["kept"] == [(step, "moving-digits") for step in (4, 6, 12, 18)]  # since the end of its visit
    assert once["settled"] == [(step, "moving-digits") for step in (14, 18)]  # since ten batches later
    others = [[row for row in found if row.get("mode") not in ("frozen", "kept", "settled")] for found in rows.values()]
    assert others[0] == others[1]
    assert (tmp_path / "0" / "checkpoints").exists()


def test_online_probes_and_no_probes(tmp_path: Path) -> None:
    short = {"stream": "digits*6", "batch_size": 8, "probe_every": 3, "device": "cpu"}
    train(tmp_path / "online", RunSettings.of("smoke", probes="online", **short))
    rows = kinds(tmp_path / "online")["probe"]
    assert [(r["step"], r["mode"]) for r in rows] == [(3, "online"), (6, "online"), (6, "frozen")]
    found = train(tmp_path / "none", RunSettings.of("smoke", probes="none", **short))
    assert "probe" not in kinds(tmp_path / "none")
    assert found["identity"] == {"worlds": {}, "mean": {"best": None, "change": None}}
    assert "probes read" not in describe(found)


# ------------------------------------------------------------------------------------------------------------- resume


def _train_until_killed(path: str, resume: bool) -> None:
    train(path, SETTINGS, resume=resume)


def test_kill_9_at_random_moments_changes_nothing(reference: Path, tmp_path: Path) -> None:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["vase.training", "sklearn.datasets"])
    moments = random.Random(0)
    path, kills, after_start = tmp_path / "run", 0, 0
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        resume = (path / "config.json").exists()
        process = context.Process(target=_train_until_killed, args=(str(path), resume))
        process.start()
        if kills < 6:
            started = _wait_for(lambda: _rows_or_checkpoint_moved(path), process)
            process.join(moments.uniform(0.0, 0.35))
            if process.is_alive():
                os.kill(process.pid or 0, signal.SIGKILL)
                kills += 1
                after_start += started
        process.join()
        if process.exitcode == 0:
            break
        assert process.exitcode == -signal.SIGKILL
    assert process.exitcode == 0
    assert kills >= 3, "the run ended before it could be killed often enough"
    assert after_start >= 2
    assert_same(path, reference)


def _rows_or_checkpoint_moved(path: Path) -> bool:
    return RunDirectory(path).has_checkpoint


def _wait_for(condition: Callable[[], bool], process: Any, seconds: float = 60) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and process.is_alive():
        if condition():
            return True
        time.sleep(0.005)
    return False


class Crash(BaseException):
    """The process dies here."""


def test_a_crash_between_any_two_writes_of_a_checkpoint_loses_nothing(
    reference: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    half = tmp_path / "half"
    with pytest.raises(Interrupted):
        train(half, SETTINGS, callbacks=[StopAt(58)])
    replace = os.replace
    crashes = 0
    for fatal in range(1, 30):
        path = Path(shutil.copytree(half, tmp_path / f"crash-{fatal}"))
        calls = 0

        def dying(*arguments: Any, fatal: int = fatal, **folders: int) -> None:
            nonlocal calls
            calls += 1
            if calls == fatal and fatal % 2:
                raise Crash
            replace(*arguments, **folders)
            if calls == fatal:
                raise Crash

        with monkeypatch.context() as patched:
            patched.setattr(os, "replace", dying)
            try:
                train(path, resume=True)
                break  # fewer writes than that
            except Crash:
                crashes += 1
        VASE.load(path)
        train(path, resume=True)
        assert_same(path, reference)
        shutil.rmtree(path)
    assert crashes == 5  # learner, callbacks, manifest, timing, summary


@pytest.mark.parametrize("moment", ["early", "before the world changes", "while a batch is held", "after a switch"])
def test_an_interrupt_saves_and_resume_is_exact(reference: Path, tmp_path: Path, moment: str) -> None:
    path, number = tmp_path / "run", signal.SIGTERM if moment == "early" else signal.SIGINT
    row = kinds(reference)["switch"][1]
    assert row["change"], "its images were seen before the interrupt"
    true, switch = row["true_step"], row["step"]
    step = {"early": 3, "before the world changes": true, "while a batch is held": switch - 1}.get(moment, switch + 2)
    handler = signal.getsignal(number)
    with pytest.raises(Interrupted, match=rf"step {step} of 60. Resume with: vase train --resume --out {path}"):
        train(path, SETTINGS, callbacks=[StopAt(step, number)])
    assert signal.getsignal(number) is handler
    assert VASE.load(path).steps == step
    train(path, resume=True)
    assert_same(path, reference)


def test_train_works_outside_the_main_thread(tmp_path: Path) -> None:
    """Signals cannot be caught there; the run must not need them."""
    thread = threading.Thread(target=lambda: train(tmp_path / "run", short(probes="none")))
    thread.start()
    thread.join()
    assert RunDirectory(tmp_path / "run").is_complete()


def short(**values: Any) -> RunSettings:
    return RunSettings.of("smoke", **{"stream": "digits*4", "batch_size": 4, "device": "cpu", **values})


def test_resuming_a_finished_run_changes_nothing(copy: Path, reference: Path) -> None:
    assert train(copy, resume=True)["complete"]
    assert_same(copy, reference)


def test_rows_after_the_checkpoint_are_cut_off(copy: Path, reference: Path) -> None:
    with (copy / "rows.jsonl").open("ab") as file:
        file.write(b'{"kind":"step","ste')
    train(copy, resume=True)
    assert_same(copy, reference)


def test_wall_time_is_kept_apart_and_adds_up(tmp_path: Path) -> None:
    path = tmp_path / "run"
    with pytest.raises(Interrupted):
        train(path, SETTINGS, callbacks=[StopAt(10)])
    train(path, resume=True)
    segments = json.loads((path / "timing.json").read_text())["segments"]
    assert [(s["from"], s["to"]) for s in segments] == [(0, 10), (10, 60)]
    assert summary(path)["seconds"] == pytest.approx(sum(s["seconds"] for s in segments), abs=0.06)


def test_stand_ins_stay_when_the_real_data_comes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def closed(*arguments: Any) -> None:
        raise download.RouteFailed("closed for the test")

    stop = StopAt(2)
    with monkeypatch.context() as offline:
        offline.setenv("VASE_DATA", str(tmp_path / "cache"))
        offline.setattr(download, "INSTALLED", tmp_path / "not-installed")
        for route in ("from_mirrors", "from_packages"):
            offline.setattr(download, route, closed)
        with pytest.raises(Interrupted):
            train(
                tmp_path / "run",
                short(stream="mnist*4", fallback=True, probes="none", data=str(tmp_path)),
                callbacks=[stop],
            )
    assert any("digits" in note for note in stop.notes)
    assert json.loads((tmp_path / "run" / "config.json").read_text())["stages"] == [["digits", 4]]
    asked: list[str] = []
    monkeypatch.setattr(plan_module, "make_world", lambda name, **v: asked.append(name) or make_world(name, **v))
    train(tmp_path / "run", resume=True)
    assert asked == ["digits"]


make_world = plan_module.make_world


# ----------------------------------------------------------------------------------------------------------- refusals


def test_a_run_is_never_overwritten(copy: Path, reference: Path) -> None:
    with pytest.raises(FileExistsError, match=rf"{copy} is a run already: resume it with --resume, or .* --out"):
        train(copy, SETTINGS)
    assert_same(copy, reference)


def test_other_things_in_the_way_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.tex").write_text("words")
    with pytest.raises(FileExistsError, match="thesis already exists and is not empty"):
        train(tmp_path / "thesis", SETTINGS)
    with pytest.raises(FileExistsError, match=r"chapter.tex is a file"):
        train(tmp_path / "thesis" / "chapter.tex", SETTINGS)
    with pytest.raises(FileNotFoundError, match=r"thesis is not a run: it holds no config.json"):
        train(tmp_path / "thesis", resume=True)
    assert (tmp_path / "thesis" / "chapter.tex").read_text() == "words"


def test_resume_needs_a_run(tmp_path: Path) -> None:
    with pytest.raises(
        FileNotFoundError, match=r"three-worlds comes with the package.*from_pretrained\('three-worlds'\)"
    ):
        RunDirectory("three-worlds").read_config()
    with pytest.raises(FileNotFoundError, match="nowhere does not exist"):
        train(tmp_path / "nowhere", resume=True)
    assert not (tmp_path / "nowhere").exists()


def test_bad_names_leave_no_directory(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="did you mean 'moving-digits'"):
        train(tmp_path / "run", short(stream="moving-digit"))
    with pytest.raises(ValueError, match=r"did you mean 'capacity.gamma'"):
        train(tmp_path / "run", short(overrides={"capacity.gama": 1}))
    with pytest.raises(ValueError, match=r"image_shape=\(1, 64, 64\): the stream decides it .* use --canvas"):
        train(tmp_path / "run", short(overrides={"image_shape": "1,64,64"}))
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(("field", "value"), [("seed", 1), ("stream", "digits"), ("overrides", {}), ("probes", "none")])
def test_resume_with_other_settings_names_the_field(copy: Path, field: str, value: Any) -> None:
    other = RunSettings.from_dict({**SETTINGS.to_dict(), field: value})
    with pytest.raises(ValueError, match=rf"{field} = .* was started with {field} = "):
        train(copy, other, resume=True)


def test_where_a_run_computes_may_change(copy: Path, reference: Path) -> None:
    train(copy, RunSettings.from_dict({**SETTINGS.to_dict(), "threads": 2, "data": str(copy)}), resume=True)
    assert_same(copy, reference)


def edit(path: Path, **values: Any) -> None:
    content = json.loads(path.read_text())
    path.write_text(json.dumps({**content, **values}))


def test_another_format_is_refused_with_a_sentence(copy: Path) -> None:
    edit(copy / "config.json", format=7)
    for call in (lambda: train(copy, resume=True), lambda: summary(copy)):
        with pytest.raises(ValueError, match=r"run directory of format 7, and this version of vase .* reads format 2"):
            call()


def test_another_library_version_is_mentioned(copy: Path) -> None:
    versions = json.loads((copy / "config.json").read_text())["versions"]
    edit(copy / "config.json", versions={**versions, "torch": "1.0"})
    listener = StopAt(0)
    train(copy, resume=True, callbacks=[listener])
    assert any(note.startswith("torch is ") and "was 1.0" in note for note in listener.notes)


def test_another_configuration_behind_a_preset_is_refused(copy: Path) -> None:
    config = json.loads((copy / "config.json").read_text())["config"]
    edit(copy / "config.json", config={**config, "learning_rate": 0.5})
    with pytest.raises(ValueError, match="started with another configuration"):
        train(copy, resume=True)


@pytest.mark.parametrize("content", ["", "[]", "{", '{"format": 2}'])
def test_a_damaged_config_is_refused(copy: Path, content: str) -> None:
    (copy / "config.json").write_text(content)
    with pytest.raises(ValueError, match=r"config.json is damaged"):
        train(copy, resume=True)


def test_damaged_or_missing_pieces_are_named(copy: Path) -> None:
    rows = rows_of(copy)
    (copy / "rows.jsonl").write_bytes(rows[:-10])
    with pytest.raises(ValueError, match=r"rows.jsonl does not start with the \d+ bytes that its checkpoint expects"):
        train(copy, resume=True)
    (copy / "rows.jsonl").write_bytes(rows.replace(b'"step":5', b'"step":6', 1))
    with pytest.raises(ValueError, match=r"it was cut or altered"):
        train(copy, resume=True)
    (copy / "rows.jsonl").write_bytes(rows)
    for tensors in (copy / "checkpoints").glob("*/learner-*"):
        *whole, last = tensors.read_bytes()
        tensors.write_bytes(bytes([*whole, last ^ 1]))
    with pytest.raises(ValueError, match="damaged"):
        train(copy, resume=True)
    shutil.rmtree(copy / "checkpoints")
    with pytest.raises(FileNotFoundError, match=r"has no checkpoint, though the run has rows"):
        train(copy, resume=True)
    assert rows_of(copy) == rows


def test_two_processes_cannot_share_a_directory(copy: Path) -> None:
    with RunDirectory(copy).locked(), pytest.raises(FileExistsError, match="another process is training there"):
        train(copy, resume=True)


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match=r"file/run cannot be written \(Not a directory\); name another .* --out"):
        train(tmp_path / "file" / "run", short())


def test_a_full_disk_keeps_the_last_checkpoint(
    tmp_path: Path, reference: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run"
    with pytest.raises(Interrupted):
        train(path, SETTINGS, callbacks=[StopAt(20)])
    fsync, calls = os.fsync, 0

    def full(handle: int) -> None:
        nonlocal calls
        calls += 1
        if calls > 25:
            raise OSError(28, "No space left on device")
        fsync(handle)

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(
            OSError, match=r"the disk is full. The last checkpoint, of step \d+, is intact; free .* --resume --out"
        ):
            train(path, resume=True)
    train(path, resume=True)
    assert_same(path, reference)


@pytest.mark.parametrize(
    ("field", "value", "rule"),
    [
        ("steps", 0, "at least 1"),
        ("batch_size", 1, "at least 2"),
        ("seed", -1, "at least 0"),
        ("threads", 1.5, "a whole number"),
        ("probes", "never", "'periodic', 'online' or 'none'"),
        ("preset", "labtop", "did you mean 'laptop'"),
    ],
)
def test_bad_settings_name_the_value_and_the_rule(field: str, value: Any, rule: str) -> None:
    with pytest.raises(ValueError, match=rule) as error:
        RunSettings(**{field: value})
    assert repr(value) in str(error.value)


def test_settings_of_a_preset_and_back() -> None:
    paper = RunSettings.of("paper", steps=10, canvas=None)
    assert (paper.probes, paper.sprite, paper.rows_every) == ("online", 28, 500)
    assert (paper.steps, paper.canvas, paper.sprite) == (10, 64, 28)
    assert RunSettings.from_dict(json.loads(json.dumps(SETTINGS.to_dict()))) == SETTINGS


# ------------------------------------------------------------------------------------------------------------- pieces


def test_row_writer_continues_where_the_checkpoint_was(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    writer = RowWriter(path, START)
    writer.write({"a": 1})
    position = writer.sync()
    writer.write({"b": 2})
    writer.close()
    assert position["bytes"] == 8
    assert path.read_bytes() == b'{"a":1}\n{"b":2}\n'
    again = RowWriter(path, position)
    again.write({"c": 3})
    again.close()
    assert path.read_bytes() == b'{"a":1}\n{"c":3}\n'


def test_summary_of_an_unfinished_run(tmp_path: Path) -> None:
    with pytest.raises(Interrupted):
        train(tmp_path / "run", SETTINGS, callbacks=[StopAt(4)])
    found = summary(tmp_path / "run")
    assert found["complete"] is False
    assert "not finished" in describe(found)
