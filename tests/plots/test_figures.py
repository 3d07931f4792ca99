"""Figures: what they show, that nothing overlaps or is cut off, and that odd runs draw too."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from operator import methodcaller
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from cheap_runs import cheap
from drawn import assert_readable, words
from matplotlib.figure import Figure
from matplotlib.image import imread

from vase import VASE, Change, VASEConfig
from vase.learners.change import describe_change
from vase.metrics.latents import State, learner_states
from vase.metrics.record import Record
from vase.plots import run
from vase.plots.changes import change_figure
from vase.plots.curves import atypicality, probe_curves
from vase.plots.latents import latent_use
from vase.plots.page import overview
from vase.plots.pictures import order_latents, reconstructions, traversals, traverse
from vase.plots.run import write_figures, write_run_figures
from vase.plots.style import faded, new_figure, rgb, strip
from vase.training import RunDirectory, train
from vase.training.lock import LostDirectory
from vase.worlds import Schedule

NAMES = {"overview", "atypicality", "probes", "latents", "traversals", "reconstructions"}


@pytest.fixture
def figures(learner: Any, record: Record, images: dict[int, np.ndarray]) -> dict[str, Figure]:
    labels = {0: "moving Fashion", 1: "MNIST", 2: "moving MNIST"}
    return {
        "overview": overview(learner, record, images),
        "atypicality": atypicality(record),
        "probes": probe_curves(record),
        "latents": latent_use(learner_states(learner), labels),
        "traversals": traversals(learner, images, labels),
        "reconstructions": reconstructions(learner, images, labels),
    }


def test_nothing_overlaps_or_is_cut_off(figures: dict[str, Figure]) -> None:
    for figure in figures.values():
        assert_readable(figure)


@pytest.mark.parametrize(
    "stream",
    [
        [("mnist", 400), ("fashion", 400)] * 3,
        [("moving-mnist", 300), ("fashion", 300), ("inverse-fashion", 300), ("mnist", 300), ("moving-fashion", 300)],
        [(f"moving-inverse-fashion:{size}", 250) for size in range(9, 21)],
    ],
    ids=["returns", "five", "twelve"],
)
def test_longer_streams_stay_readable(stream: list[tuple[str, int]], make_run: Any) -> None:
    model, record, images = make_run(stream)
    assert_readable(overview(model, record, images))
    assert_readable(probe_curves(record))
    assert_readable(atypicality(record))
    assert_readable(latent_use(learner_states(model), {}))


def test_atypicality_shows_every_latent_the_threshold_and_the_switches(record: Record) -> None:
    figure = atypicality(record)
    axis = figure.axes[1]
    long = [line for line in axis.lines if len(line.get_xdata()) == len(record.of("step"))]
    assert len(long) == 24
    assert sorted(line.get_label() for line in long if str(line.get_label()).startswith("z")) == ["z2", "z4", "z7"]
    assert any(np.all(np.asarray(line.get_ydata()) == 0.6) and line.get_linestyle() == "--" for line in axis.lines)
    true = {float(np.asarray(line.get_xdata())[0]) for line in axis.lines if line.get_linewidth() == 0.7}
    assert true == {3000, 6000}
    announced = next(line for line in axis.lines if line.get_label() == "new environment")
    assert list(announced.get_xdata()) == [3004, 6004]


def test_probe_curves_say_best_change_and_mode(record: Record) -> None:
    shown = words(probe_curves(record))
    assert "accuracy (periodic probes)" in shown
    assert "error in pixels (periodic probes)" in shown
    assert "moving Fashion\nbest 8" in shown
    assert "points" in shown


def test_probe_curves_without_pixels_show_the_squared_error(record: Record) -> None:
    rows = tuple({key: value for key, value in row.items() if key != "pixels"} for row in record.rows)
    assert "mean squared error" in words(probe_curves(Record(record.stages, rows)))


def test_latent_states_by_hand(learner: Any) -> None:
    states = learner_states(learner)
    assert states.shape == (3, 24)
    assert (states[0] == State.USED).nonzero()[0].tolist() == [2, 4, 7, 11]
    assert (states[1] == State.MASKED).nonzero()[0].tolist() == [2, 4, 7]
    assert (states[2] == State.MASKED).nonzero()[0].tolist() == [4]
    assert states[0][15] == State.UNUSED  # another environment's, but not masked here
    assert states[1][9] == State.UNUSED  # shut, but nobody uses it


def test_latent_use_counts(learner: Any) -> None:
    shown = words(latent_use(learner_states(learner), {}, moment="at step 10"))
    assert "Latent use at step 10: 6 shared, 16 of 24 spare" in shown
    assert "5 used, 3 masked" in shown


def test_latents_are_ordered_by_sharing_then_effect(learner: Any, images: dict[int, np.ndarray]) -> None:
    order = order_latents(learner, images, spare=2)
    assert order[0] == 11  # all three environments
    assert set(order[1:6]) == {2, 7, 15, 16, 17}  # two
    assert set(order[1:3]) == {2, 7}  # that change the picture
    assert set(order[6:8]) == {4, 20}
    assert len(order) == 10
    assert len(order_latents(learner, images, spare=20)) == 16


def test_the_overview_shows_the_position_latents_of_the_rows(
    learner: Any, record: Record, images: dict[int, np.ndarray]
) -> None:
    shown = words(overview(learner, record, images)).splitlines()
    assert "Position latents at the end of the run, traversed in every environment" in shown
    assert [label in shown for label in ("x  z7", "y  z2", "z11")] == [True, True, False]
    first = Record(record.stages, tuple({**row, "step": 3000} if "position" in row else row for row in record.rows))
    assert "Position latents at step 3,000, traversed" in words(overview(learner, first, images))
    weak = Record(record.stages, tuple(row for row in record.rows if "position" not in row))
    shown = words(overview(learner, weak, images)).splitlines()
    assert "The two most shared latents, traversed in every environment" in shown
    assert [label in shown for label in ("z11", "x  z7")] == [True, False]


def test_a_traversal_moves_one_latent_and_leaves_the_others_as_encoded(learner: Any) -> None:
    def decode(z: np.ndarray, environment: int | None) -> np.ndarray:
        assert environment == 1
        return z[:, None, None].astype(np.float32)  # an image that shows its code

    learner.decode = decode
    frames = traverse(learner, np.zeros((2, 1, 4, 4)), [5, 0], environment=1, points=3)
    assert frames.shape == (2, 2, 3, 1, 1, 24)
    codes = frames[1, :, :, 0, 0]
    encoded = learner.posterior(np.zeros((2, 1, 4, 4)))[0][1]
    assert codes[0, :, 5].tolist() == codes[1, :, 0].tolist() == [-2, 0, 2]
    np.testing.assert_allclose(np.delete(codes[0], 5, axis=1), [np.delete(encoded, 5)] * 3, rtol=1e-6)


def test_traversals_fade_masked_latents(learner: Any, images: dict[int, np.ndarray]) -> None:
    figure = traversals(learner, {1: images[1]})
    axis = figure.axes[0]
    labels = [label.get_text() for label in axis.get_yticklabels()]
    canvas = np.asarray(axis.images[0].get_array())
    pitch = canvas.shape[0] // len(labels)
    darkest = {label: canvas[i * pitch : i * pitch + 32].min() for i, label in enumerate(labels)}
    assert darkest["z7"] == pytest.approx(0.675)
    assert darkest["z11"] == 0


def test_no_images_is_an_error_with_a_remedy(learner: Any) -> None:
    with pytest.raises(ValueError, match="at least one environment"):
        traversals(learner, {})


def test_write_figures_writes_all_and_leaves_matplotlib_alone(
    tmp_path: Path, learner: Any, record: Record, images: dict[int, np.ndarray]
) -> None:
    before = dict(mpl.rcParams)
    paths = write_figures(tmp_path / "figures", learner, record, images)
    assert {path.stem for path in paths} == NAMES
    assert sorted(path.name for path in (tmp_path / "figures").iterdir()) == sorted(path.name for path in paths)
    assert dict(mpl.rcParams) == before
    picture = imread(tmp_path / "figures" / "overview.png")
    assert picture.shape[:2] == (1350, 2400)  # 16:9


def test_figures_are_the_same_bytes_every_time(
    tmp_path: Path, learner: Any, record: Record, images: dict[int, np.ndarray]
) -> None:
    one, two = (write_figures(tmp_path / name, learner, record, images) for name in "ab")
    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in two]


def test_odd_runs_draw_too(tmp_path: Path, make_run: Any) -> None:
    model, record, images = make_run([("mnist", 100), ("fashion", 100)], environments=1, channels=3)
    cut = Record(record.stages, tuple(row for row in record.rows if row["step"] <= 60))
    assert len(write_figures(tmp_path / "interrupted", model, cut, {0: images[0], 1: images[0]})) == 5
    model.environments = ()
    paths = write_figures(tmp_path / "nothing", model, Record(record.stages, ()), {0: images[0]})
    assert {path.stem for path in paths} == {"overview", "atypicality", "latents"}


def with_changes(record: Record, images: dict[int, np.ndarray]) -> Record:
    """The same rows, as a run writes them now."""
    rows, before = [], 0
    for row in record.rows:
        if row["kind"] == "switch":
            s = row["environment"]
            change = describe_change(
                images[before],
                images[s],
                atypical_before=np.zeros(24),
                atypical_after=np.zeros(24),
                used=np.ones(24, bool),
                step=row["step"],
                previous=before,
                environment=s,
                is_new=row["is_new"],
                distances={},
            )
            row, before = {**row, "change": change.to_row()}, s
        rows.append(row)
    return Record(record.stages, tuple(rows))


def test_changes_are_drawn_where_the_rows_tell_of_them(
    tmp_path: Path, learner: Any, record: Record, images: dict[int, np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[list[str]] = []

    def draw(changes: Sequence[Change]) -> Figure:
        drawn.append([change.heading for change in changes])
        return change_figure(changes)

    monkeypatch.setattr(run, "change_figure", draw)
    now = with_changes(record, images)
    assert {path.stem for path in write_figures(tmp_path / "now", learner, now, images)} == NAMES | {"changes"}
    assert drawn == [["step 3,004: environment 0 → 1 (new)", "step 6,004: environment 1 → 2 (new)"]]
    assert imread(tmp_path / "now" / "changes.png").shape[1] == 1170
    first = {**now.switches[0], "change": None}
    mixed = Record(now.stages, tuple(first if row is now.switches[0] else row for row in now.rows))
    write_figures(tmp_path / "mixed", learner, mixed, images)
    assert drawn[1:] == [["step 6,004: environment 1 → 2 (new)"]]


def test_many_changes_are_continued_in_further_figures(
    tmp_path: Path, coder: Any, record: Record, images: dict[int, np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    many = with_changes(record, images)
    few = {"overview", "atypicality", "probes"}
    for most, names in ((2, {"changes"}), (1, {"changes", "changes-2"})):
        monkeypatch.setattr(run, "CHANGES", most)
        assert {path.stem for path in write_figures(tmp_path, coder, many, images)} == few | names


def test_learners_that_can_do_less_draw_what_is_there(
    tmp_path: Path, coder: Any, decoder: Any, record: Record, images: dict[int, np.ndarray]
) -> None:
    paths = write_figures(tmp_path / "codes", coder, record, images)
    assert {path.stem for path in paths} == {"overview", "atypicality", "probes"}
    one = Record(record.stages, tuple(row for row in record.rows if row["kind"] != "switch"))
    paths = write_figures(tmp_path / "decodes", decoder, one, {0: images[0]})
    assert {path.stem for path in paths} == NAMES - {"latents"}
    shown = assert_readable(overview(decoder, one, {0: images[0]}))
    assert "Latent use" not in shown
    assert "Position latents at the end of the run" in shown
    shown = assert_readable(reconstructions(decoder, {0: images[0]}))
    assert "reconstruction" in shown
    assert "dream" not in shown


def test_a_real_learner_draws(tmp_path: Path) -> None:
    schedule = Schedule.parse("moving-digits,glyphs", steps=30, batch_size=16)
    model, rows = VASE(VASEConfig.smoke(), seed=0), []
    for batch in schedule:
        step = model.partial_fit(batch.images)
        alpha = [float(a) for a in step.atypicality]
        rows.append({"kind": "step", "step": step.step, "environment": step.environment, "atypicality": alpha})
    record = Record((("moving-digits", 30), ("glyphs", 30)), tuple(rows))
    paths = write_figures(tmp_path, model, record, dict.fromkeys(range(len(model.environments)), batch.images))
    assert {path.stem for path in paths} == NAMES - {"probes"}, "a run without probes has no figure of them"


def test_image_helpers() -> None:
    grey = np.full((2, 1, 3, 3), 255, np.uint8)
    assert rgb(grey).shape == (2, 3, 3, 3)
    assert strip(np.zeros((2, 1, 3, 3)), gap=1).shape == (3, 7, 3)
    assert strip(np.zeros((2, 1, 3, 3)), gap=1)[:, 3].min() == 1  # the gap is white
    assert rgb(np.array([[[[1.5]]]])).max() == 1


def test_masked_tiles_look_neither_bright_nor_coloured() -> None:
    red, white, black = (np.tile(np.array(colour, float), (2, 2, 1)) for colour in ((1, 0, 0), (1, 1, 1), (0, 0, 0)))
    np.testing.assert_allclose(faded(red), 0.75 + 0.15 * (0.299 - 0.5))
    assert faded(white).max() == pytest.approx(0.825)
    assert faded(black).min() == pytest.approx(0.675)


def test_a_notebook_shows_a_figure() -> None:
    png = methodcaller("_repr_png_")(new_figure(2, 1))
    assert png.startswith(b"\x89PNG")


def test_scores_of_the_frozen_encoder_have_panels_of_their_own(record: Record) -> None:
    frozen = {"kind": "probe", "world": record.worlds[0], "probe": "identity", "mode": "frozen", "error": 0.01}
    last = [{**frozen, "step": record.total, "accuracy": 0.7}]
    plain, both = probe_curves(record), probe_curves(Record(record.stages, (*record.rows, *last)))
    titles = [axis.get_title(loc="left") or axis.get_title() for axis in both.axes]
    assert len(both.axes) == len(plain.axes) + 1
    assert "frozen probes" in titles[-1]
    assert [line.get_ydata().tolist() for line in both.axes[-1].lines if line.get_marker() == "o"] == [[0.7]]


def test_no_figures_are_drawn_into_a_run_that_took_the_place_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, read = tmp_path / "run", run.open_run
    train(path, cheap())

    def read_and_take_its_place(directory: RunDirectory, data: str | None) -> Any:
        found = read(directory, data)
        path.rename(tmp_path / "gone")
        shutil.copytree(tmp_path / "gone", path)
        return found

    monkeypatch.setattr(run, "open_run", read_and_take_its_place)
    with pytest.raises(LostDirectory):
        write_run_figures(path)
    assert not (path / "figures").exists()
