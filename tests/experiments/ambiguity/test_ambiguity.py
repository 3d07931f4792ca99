"""Mixtures of two worlds with context: by hand on learners with known answers, and once on a real one."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from PIL import Image

from vase.experiments import Analysis, Job, Result, Results, export, jobs_of
from vase.experiments.ambiguity.analysis import (
    TABLE_COUNTS,
    boundaries,
    context,
    crossing,
    perception,
    width,
    widths,
)
from vase.experiments.ambiguity.doubt import SAMPLES, curve, doubt, entropy, sample_spread, world_disagreement
from vase.experiments.ambiguity.evaluation import AMBIGUOUS, BATCH, SHOWN, WEIGHTS, among, analyse, mixtures
from vase.experiments.ambiguity.figures import BOTH, FIRST, SECOND, figure4a, label, used_latents
from vase.experiments.ambiguity.settings import AMBIGUITY
from vase.experiments.common.figures import pictures
from vase.experiments.experiment import resolve
from vase.experiments.results import DIR
from vase.experiments.runner import compare_analysis, missing
from vase.images import as_floats
from vase.metrics.record import Record
from vase.plots.run import open_run
from vase.training import RunDirectory, train
from vase.worlds import make_world

MIDDLE = len(WEIGHTS) // 2
HALF, HALF_OF_TABLE = AMBIGUOUS.index(BATCH // 2), TABLE_COUNTS.index(BATCH // 2)

# ------------------------------------------------------------------------------------------------ pieces, by hand


def test_mixtures_of_bytes_and_of_fractions() -> None:
    black, white = np.zeros((1, 1, 1, 2), np.uint8), np.array([[[[255, 51]]]], np.uint8)
    np.testing.assert_allclose(mixtures(black, white, 0.25), [[[[0.25, 0.05]]]], rtol=1e-6)
    np.testing.assert_allclose(mixtures(white, as_floats(black), 0.25), [[[[0.75, 0.15]]]], rtol=1e-6)
    assert mixtures(black, white, 0.25).dtype == np.float32


def test_mixtures_of_white_are_not_whiter_than_white() -> None:
    white = np.full((1, 1, 2, 2), 255, np.uint8)
    assert max(float(mixtures(white, white, float(weight)).max()) for weight in np.linspace(0, 1, 101)) == 1


@pytest.mark.parametrize(
    ("curve", "level", "expected"),
    [
        ([1.0, 0.6, 0.2, 0.0], 0.5, 1.25),  # a quarter of the way from 0.6 to 0.2
        ([1.0, 0.5, 0.2, 0.0], 0.5, 1.0),
        ([1.0, 0.4, 0.8, 0.0], 0.5, 5 / 6),  # the first time
        ([0.5, 0.4, 0.2, 0.0], 0.5, 0.0),
        ([0.4, 0.3, 0.2, 0.0], 0.5, None),  # it was below from the beginning
        ([0.4, 0.9, 0.2, 0.0], 0.5, None),
        ([1.0, 0.9, 0.8, 0.7], 0.5, None),
    ],
)
def test_crossing(curve: list[float], level: float, expected: float | None) -> None:
    found = crossing(np.arange(4.0), np.array(curve), level)
    assert found == (None if expected is None else pytest.approx(expected))


@pytest.mark.parametrize(
    ("curve", "expected"),
    [
        ([1.0, 0.5, 0.0], 1.6),  # from 0.2 to 1.8
        ([1.0, 1.0, 0.0], 0.8),
        ([0.8, 0.4, 0.0], None),  # never as sure as 0.9
        ([1.0, 0.5, 0.2], None),
        ([0.0, 0.0, 0.0], None),  # sharp it is not
    ],
)
def test_width(curve: list[float], expected: float | None) -> None:
    found = width(np.arange(3.0), np.array(curve))
    assert found == (None if expected is None else pytest.approx(expected))


def test_groups_of_images_with_context_by_hand() -> None:
    q = np.array([[0.5, 0.5], [0.5, 0.5], [0.8, 0.2], [0.8, 0.2]], np.float32)
    others = np.array([[1, 0], [1, 0], [0, 1], [0, 1]], np.float32)
    # Two at a time with two sure ones, 6π = 3 + 2π for (½, ½), and 6π = 3 + 2 · 0.8π / (0.6π + 0.2) for (0.8, 0.2).
    prior = (2.2 + (2.2**2 + 4 * 3.6 * 0.6) ** 0.5) / 7.2
    expected = (0.75 + 0.8 * prior / (0.6 * prior + 0.2)) / 2
    looks, around = np.stack([q, q[::-1]])[:, None], others[None]  # two weights, of which the second has them turned
    assert among(looks, around, 2, [0]) == pytest.approx([expected, expected])
    assert among(looks, around, 2, [1]) == pytest.approx([1 - expected] * 2)
    assert among(looks, around, 2, [0, 1]) == pytest.approx([1, 1])
    # Three at a time, the fourth image is left out: 6π = 2 + 2π + 0.8π / (0.6π + 0.2).
    prior = (1.2 + (1.2**2 + 4 * 2.4 * 0.4) ** 0.5) / 4.8
    three = (2 * prior + 0.8 * prior / (0.6 * prior + 0.2)) / 3
    assert among(looks[:1], around, 3, [0]) == pytest.approx([three])


def test_measures_of_doubt_by_hand() -> None:
    assert entropy(np.array([0.25, 0.25, 0.5])) == pytest.approx(1.5)
    assert sample_spread(np.array([0.1, 0.3]).reshape(2, 1, 1, 1, 1)) == pytest.approx(0.1)
    decoded = np.array([[0.0, 0.5], [1.0, 0.5]]).reshape(2, 1, 1, 1, 2)  # the environments differ in one pixel of two
    assert world_disagreement(decoded, np.array([[0.5, 0.5]])) == pytest.approx(0.25)
    assert world_disagreement(decoded, np.array([[1.0, 0.0]])) == 0.0


# ------------------------------------------------------------------------------------------------ a known learner


class Grey:
    """A world of one shade: 0 is black, 1 is white."""

    def __init__(self, shade: float, as_bytes: bool) -> None:
        self.shade, self.as_bytes = shade, as_bytes

    def sample(self, n: int, rng: np.random.Generator) -> Any:
        images = np.full((n, 1, 4, 4), self.shade, np.float32)
        return SimpleNamespace(images=(255 * images).astype(np.uint8) if self.as_bytes else images)


class Shades:
    """Sees black as environment 0 and white as 1; the share of a third one is taken from 0's.

    Latent 0 is the shade, used by 0; latent 1 is used by 1, latent 2 by both, latent 3 by none. Doubt is largest at
    mid-grey.
    """

    def __init__(self, known: int) -> None:
        used = np.array([[1, 0, 1, 0], [0, 1, 1, 0], [1, 0, 0, 0]], bool)
        self.environments = [SimpleNamespace(used=row) for row in used[:known]]
        self.environment = 0

    def infer_environment(self, images: np.ndarray) -> Any:
        shade = images.mean(axis=(1, 2, 3))
        columns = {1: [np.ones_like(shade)], 2: [1 - shade, shade], 3: [(1 - shade) / 2, shade, (1 - shade) / 2]}
        return SimpleNamespace(each=np.stack(columns[len(self.environments)], 1).astype(np.float32))

    def posterior(self, images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        shade = images.mean(axis=(1, 2, 3))
        mean = np.stack([shade, 2 * shade, 0 * shade, 0 * shade], 1)
        std = np.stack([0.1 + shade, 0.4 + 0 * shade, 0.5 - abs(shade - 0.5), 1 + 0 * shade], 1)
        return mean, std

    def decode(self, z: np.ndarray, environment: int) -> np.ndarray:
        """The second environment draws the first latent at half its strength."""
        return np.broadcast_to(z[:, :1, None, None] / (1 + environment), (len(z), 1, 4, 4))

    def reconstruct(self, images: np.ndarray, environment: int) -> np.ndarray:
        return np.full_like(images, 0.2 + 0.6 * environment)


def switch(step: int, environment: int) -> dict[str, Any]:
    return {"kind": "switch", "step": step, "environment": environment}


def record(*switches: dict[str, Any]) -> Record:
    """Twenty steps, ten in each world."""
    steps = [{"kind": "step", "step": step, "environment": 0} for step in (1, 20)]
    return Record((("faces", 10), ("soft-inverse-fashion:32", 10)), (*steps, *switches))


def ask(known: int, history: Record, *, as_bytes: bool = True) -> Analysis:
    worlds = {world: (None, Grey(i, as_bytes)) for i, world in enumerate(history.worlds)}
    plan: Any = SimpleNamespace(settings=SimpleNamespace(seed=0), worlds=worlds)
    model: Any = Shades(known)
    return analyse(model, plan, history)


@pytest.fixture(scope="module")
def two() -> Analysis:
    return ask(2, record(switch(12, 1)))


class TestKnown:
    def test_what_is_inferred_without_context(self, two: Analysis) -> None:
        np.testing.assert_allclose(two.numbers["alone"], 1 - WEIGHTS, atol=1e-4)
        assert two.numbers["pairs"] == {"count": 256, "cross": 256, "width": pytest.approx(0.8)}

    def test_context_decides_about_half_and_half(self, two: Analysis) -> None:
        # 32 images of q = ½ among 32 sure ones: 66π = 1 + 32 + 32π.
        assert two.numbers["company"]["faces"][HALF][MIDDLE] == pytest.approx(33 / 34, abs=1e-4)
        assert two.numbers["company"]["soft-inverse-fashion:32"][HALF][MIDDLE] == pytest.approx(1 / 34, abs=1e-4)

    def test_context_moves_the_boundary(self, two: Analysis) -> None:
        # Where (1 − w)·π = w·(1 − π), hence π = w, c images are one half each: 66w = 1 + (64 − c) + c / 2.
        assert boundaries(two.numbers, 0)[HALF_OF_TABLE] == pytest.approx(49 / 66, abs=2e-3)
        assert boundaries(two.numbers, 1)[HALF_OF_TABLE] == pytest.approx(17 / 66, abs=2e-3)
        assert boundaries(two.numbers, 0)[0] == pytest.approx(36 / 66, abs=2e-3)  # 58 images
        assert boundaries(two.numbers, 0)[-1] == pytest.approx(62 / 66, abs=4e-3)  # 6; the weights are 0.05 apart

    def test_posteriors_along_the_weight(self, two: Analysis) -> None:
        assert two.numbers["used"] == [[True, False, True, False], [False, True, True, False]]
        assert two.numbers["std"][0] == pytest.approx([0.1, 0.4, 0.0, 1.0])
        assert two.numbers["std"][MIDDLE] == pytest.approx([0.6, 0.4, 0.5, 1.0])
        assert two.numbers["example"]["mean"][5] == pytest.approx([0.25, 0.5, 0.0, 0.0])

    def test_uncertainty_of_the_latents_a_world_uses(self, two: Analysis) -> None:
        places = [0, MIDDLE, -1]
        first, second = (curve(two.numbers, key) for key in ("first", "second"))
        assert first is not None
        assert second is not None
        assert first[places] == pytest.approx([0.05, 0.55, 0.55])  # (0.1 + 0) / 2, (0.6 + 0.5) / 2, (1.1 + 0) / 2
        assert second[places] == pytest.approx([0.2, 0.45, 0.2])

    def test_doubt_about_the_world(self, two: Analysis) -> None:
        found = two.numbers["doubt"]
        assert found["entropy"][MIDDLE] == 1.0
        assert found["entropy"][5] == pytest.approx(0.8113, abs=1e-4)  # of (¾, ¼)
        assert found["entropy"][0] == found["entropy"][-1] == 0.0
        # Decoded as 0.2 or 0.8, which differ by 0.6: a standard deviation of 0.6·√(q(1 − q)).
        assert found["worlds"][5] == pytest.approx(0.6 * (0.25 * 0.75) ** 0.5, abs=1e-4)
        assert found["worlds"][-1] == pytest.approx(0.0, abs=1e-4)

    def test_doubt_of_decoded_samples(self, two: Analysis) -> None:
        # σ of latent 0 is 0.1 + shade, and half of it is drawn in the second environment.
        noise = np.random.default_rng(0).standard_normal((SAMPLES, BATCH, 4))[:, :, 0].std(0).mean()
        found = two.numbers["doubt"]["samples"]
        assert found[0] == pytest.approx(0.1 * noise, abs=1e-4)
        assert found[-1] == pytest.approx(1.1 / 2 * noise, abs=1e-4)

    def test_pictures(self, two: Analysis) -> None:
        assert {name: images.shape for name, images in two.pictures.items()} == dict.fromkeys(
            ("mixed", "first", "second"), (SHOWN, 11, 1, 4, 4)
        )
        assert two.pictures["mixed"][0, :, 0, 0, 0].tolist() == [0, 26, 51, 76, 102, 128, 153, 178, 204, 230, 255]
        assert np.unique(two.pictures["first"]).tolist() == [51]  # 0.2, as environment 0
        assert np.unique(two.pictures["second"]).tolist() == [204]

    def test_numbers_are_ready_for_json(self, two: Analysis) -> None:
        assert json.loads(json.dumps(two.numbers)) == two.numbers

    def test_worlds_that_give_fractions(self, two: Analysis) -> None:
        assert ask(2, record(switch(12, 1)), as_bytes=False).numbers == two.numbers

    def test_a_world_of_two_environments_counts_with_both(self) -> None:
        found = ask(3, record(switch(7, 2), switch(12, 1))).numbers
        assert (found["environments"], found["seen_as_first"]) == ([0, 1], [0, 2])
        np.testing.assert_allclose(found["alone"], 1 - WEIGHTS, atol=1e-4)
        # 32 of (¼, ½, ¼) among 32 of (½, 0, ½): with p = π_0 + π_2 each is p / (2 − p); 67p = 2 + 32 + 32p / (2 − p).
        p = (136 - (136**2 - 4 * 67 * 68) ** 0.5) / 134
        assert found["company"]["faces"][HALF][MIDDLE] == pytest.approx(p / (2 - p), abs=1e-4)

    def test_one_environment_for_both_worlds(self) -> None:
        found = ask(1, record()).numbers
        assert found["environments"] == [0, 0]
        assert found["used"][0] == found["used"][1]
        assert np.unique([found["company"][world] for world in found["worlds"]]).tolist() == [1.0]
        assert set(boundaries(found, 0) + widths(found, 1)) == {None}
        assert found["pairs"] == {"count": 256, "cross": 0, "width": None}

    def test_a_run_that_never_came_to_the_second_world(self) -> None:
        half = Record(record().stages, ({"kind": "step", "step": 9, "environment": 0},))
        with pytest.raises(ValueError, match="never came to soft-inverse-fashion:32; run the whole stream"):
            ask(1, half)

    def test_a_stream_of_one_world(self) -> None:
        alone = Record((("faces", 10),), ({"kind": "step", "step": 10, "environment": 0},))
        with pytest.raises(ValueError, match="no second world after faces"):
            ask(1, alone)


# ------------------------------------------------------------------------------------------------ tables and figure


def results_of(folder: Path, *found: Analysis, environments: int = 2) -> Results:
    folder.mkdir(parents=True, exist_ok=True)
    for seed, one in enumerate(found):
        content = {
            "settings": {"seed": seed},
            "summary": {"environments": environments, "false_alarms": 0},
            "findings": one.numbers,
        }
        (folder / f"disentangled-SDA-{seed}.json").write_text(json.dumps(content))
    np.savez_compressed(folder / "disentangled-SDA-0.pictures.npz", **found[0].pictures)  # type: ignore[arg-type]
    return Results(AMBIGUITY, "laptop", folder)


def steps_down(places: list[float]) -> list[list[float]]:
    """Curves that fall from 1 to 0 within one step of 0.05, with one half at these places."""
    return [np.clip(0.5 - (WEIGHTS - place) / 0.05, 0, 1).tolist() for place in places]


@pytest.fixture
def sharp(two: Analysis) -> Analysis:
    """A boundary that context moves from 42.5 % to 62.5 % among faces, in equal steps."""
    places = np.linspace(0.425, 0.625, len(TABLE_COUNTS)).tolist()
    maps = {"faces": steps_down(places), "soft-inverse-fashion:32": steps_down([0.375] * len(TABLE_COUNTS))}
    changed = {"company": maps, "ambiguous": list(TABLE_COUNTS), "alone": steps_down([0.4])[0]}
    return dataclasses.replace(two, numbers={**two.numbers, **changed})


def named(results: Results, seed: int = 0) -> dict[str, Any]:
    table = perception(results)
    return dict(zip(table.columns, table.rows[seed], strict=True))


class TestTables:
    def test_perception_by_hand(self, tmp_path: Path, sharp: Analysis) -> None:
        row = named(results_of(tmp_path, sharp))
        assert (row["seed"], row["environments"], row["false alarms"]) == (0, 2, 0)
        assert row["contexts that cross both"] == "18 of 18"
        assert len(row["0.9 → 0.1 (%)"].values) == 18
        # Halfway between two weights the curve falls from 1 to 0 within one step: 0.8 · 5 %.
        assert min(row["0.9 → 0.1 (%)"].values) == pytest.approx(4.0)
        assert (row["boundary, 10 % faces (%)"], row["boundary, 90 % faces (%)"]) == ("42.5", "62.5")
        assert (row["moved by (%)"], row["monotonic"]) == ("20.0", "yes")
        assert row["0.9 → 0.1, one pair (%)"] == "80.0"

    def test_doubt_by_hand(self, tmp_path: Path, two: Analysis) -> None:
        rows = {row[0]: row[1:] for row in doubt(results_of(tmp_path, two, two)).rows}
        seeds, faces, middle, fashion, place, between = rows["entropy of q(s|x) (bits)"]
        assert (seeds, faces.values, middle.values, fashion.values) == (2, (0, 0), (1, 1), (0, 0))
        assert (place.values, between) == ((50, 50), "2 of 2")
        # 0.1 + shade as the first environment, half of it as the second: largest just before the boundary.
        assert rows["spread of decoded samples (1e-3)"][4].values == (50, 50)
        assert rows["σ of faces' latents"][-1] == "2 of 2"
        assert rows["σ of Fashion's latents"][-1] == "2 of 2"
        assert rows["disagreement of the environments (1e-3)"][2].mean == pytest.approx(300)
        assert rows["σ of Fashion's latents"][1].mean == pytest.approx(0.2)

    def test_a_boundary_that_goes_back_is_not_monotonic(self, tmp_path: Path, sharp: Analysis) -> None:
        sharp.numbers["company"]["faces"][3] = sharp.numbers["company"]["faces"][8]
        assert named(results_of(tmp_path, sharp))["monotonic"] == "no"

    def test_context_that_leaves_no_doubt_has_no_boundary(self, tmp_path: Path, sharp: Analysis) -> None:
        sharp.numbers["company"]["faces"][-1] = [1.0] * len(WEIGHTS)
        row = named(results_of(tmp_path, sharp))
        assert (row["boundary, 90 % faces (%)"], row["moved by (%)"], row["monotonic"]) == ("–", "–", "no")
        assert row["contexts that cross both"] == "17 of 18"

    def test_one_environment_and_no_latents(self, tmp_path: Path, two: Analysis) -> None:
        found = ask(1, record())
        idle = {**found.numbers, "used": [[False] * 4] * 2}
        row = named(results_of(tmp_path, dataclasses.replace(found, numbers=idle), environments=1))
        assert str(row["0.9 → 0.1 (%)"]) == "–"
        assert row["contexts that cross both"] == "0 of 18"
        assert {row["moved by (%)"], row["0.9 → 0.1, one pair (%)"]} == {"–"}
        idle_rows = doubt(results_of(tmp_path, dataclasses.replace(found, numbers=idle))).rows
        assert idle_rows[0][2:] == ("–",) * 5

    def test_context_over_the_seeds(self, tmp_path: Path, sharp: Analysis, two: Analysis) -> None:
        table = context(results_of(tmp_path, sharp, two))
        assert [row[0] for row in table.rows] == ["none", "9", "20", "30", "41", "50", "59", "70", "80", "91"]
        alone, *_, last = table.rows
        assert alone[1].values == pytest.approx((40.0, 50.0))
        assert alone[1] == alone[2]
        assert last[1].values == pytest.approx((62.5, 100 * 62 / 66), abs=0.4)
        assert last[2].values == pytest.approx((37.5, 100 * 4 / 66), abs=0.4)
        assert last[4].values[0] == pytest.approx(4.0)
        # The mean of a batch of 64, of which 58 are mixtures of q = 1 − w and 6 are real: (58 (1 − w) + 6) / 64 = ½.
        assert table.rows[1][5].values[1] == pytest.approx(100 * 32 / 58, abs=0.1)
        assert table.rows[1][6].values[1] == pytest.approx(100 * 26 / 58, abs=0.1)
        assert last[5].values == last[6].values == ()

    @pytest.mark.parametrize("form", ["text", "json", "csv", "markdown", "latex"])
    def test_every_format(self, tmp_path: Path, sharp: Analysis, form: Any) -> None:
        for table in AMBIGUITY.tables.values():
            assert "nan" not in resolve(table)(results_of(tmp_path, sharp)).render(form)


def drawn(figure: Figure) -> Figure:
    FigureCanvasAgg(figure).draw()
    return figure


def titled(figure: Figure, text: str) -> Any:
    (axis,) = [axis for axis in figure.axes if axis.get_title(loc="left").startswith(text)]
    return axis


@pytest.fixture(scope="module")
def figure(tmp_path_factory: pytest.TempPathFactory, two: Analysis) -> Figure:
    return drawn(figure4a(results_of(tmp_path_factory.mktemp("figure"), two)))


class TestFigure:
    def test_latents_are_coloured_by_the_worlds_that_use_them(self, two: Analysis) -> None:
        assert used_latents(two.numbers) == [(0, FIRST), (2, BOTH), (1, SECOND)]
        assert len({FIRST, SECOND, BOTH}) == 3
        red, _, blue = to_rgb(FIRST)
        assert blue > red
        red, _, blue = to_rgb(SECOND)
        assert red > blue

    def test_the_posterior_of_a_latent(self, figure: Figure) -> None:
        axis = titled(figure, "z0")
        (line,) = axis.lines
        assert line.get_color() == FIRST
        np.testing.assert_allclose(line.get_xdata(), WEIGHTS, atol=1e-6)
        np.testing.assert_allclose(line.get_ydata(), WEIGHTS, atol=1e-4)  # z0 is the shade
        (band,) = axis.collections
        edge = band.get_paths()[0].vertices
        assert edge[:, 1].min() == pytest.approx(-0.1)  # 0 ∓ 0.1 at the left, 1 ± 1.1 at the right
        assert edge[:, 1].max() == pytest.approx(2.1)

    def test_only_used_latents(self, figure: Figure) -> None:
        names = [axis.get_title(loc="left") for axis in figure.axes]
        assert [name for name in names if name.startswith("z")] == ["z0", "z2", "z1"]

    def test_doubt_of_either_worlds_latents(self, figure: Figure) -> None:
        first, second = titled(figure, "σ").lines
        assert first.get_ydata()[MIDDLE] == pytest.approx(0.55)
        assert second.get_ydata()[[0, MIDDLE, -1]] == pytest.approx([0.2, 0.45, 0.2])

    def test_maps_with_their_boundary(self, tmp_path: Path, sharp: Analysis) -> None:
        figure = figure4a(results_of(tmp_path, sharp))
        faces, fashion = (titled(figure, f"Among real images of {name}") for name in ("faces", "inverse Fashion"))
        np.testing.assert_allclose(faces.lines[0].get_xdata(), np.linspace(0.425, 0.625, 9), atol=2e-3)
        assert faces.lines[0].get_ydata().tolist() == list(TABLE_COUNTS)
        np.testing.assert_allclose(fashion.lines[0].get_xdata(), 0.375, atol=2e-3)
        assert np.asarray(faces.lines[1].get_xdata())[0] == pytest.approx(0.4)  # without context
        np.testing.assert_allclose(faces.collections[0].get_array(), sharp.numbers["company"]["faces"], atol=1e-9)

    def test_mixtures_and_reconstructions(self, figure: Figure) -> None:
        row = np.asarray(titled(figure, "Mixtures of an image of faces").images[0].get_array())[0, :, 0]
        np.testing.assert_allclose(row[[0, 25, 50]], [0, 128 / 255, 1], atol=1e-6)  # 4 pixels and a gap each
        axis = titled(figure, "Mixtures and their reconstructions")
        names = [text.get_text() for text in axis.get_yticklabels()]
        assert names == ["mixture", "as faces", "as inverse Fashion"]
        canvas = np.asarray(axis.images[0].get_array())[:, 0, 0]
        np.testing.assert_allclose(canvas[[0, 7, 14]], [0, 0.2, 0.8], atol=1e-6)  # 4 pixels and 3 gaps each

    def test_one_environment_and_no_latents(self, tmp_path: Path) -> None:
        found = ask(1, record())
        figure = figure4a(results_of(tmp_path, found))
        assert {line.get_color() for line in titled(figure, "z0").lines} == {BOTH}
        assert np.isnan(titled(figure, "Among real images of faces").lines[0].get_xdata()).all()
        idle = dataclasses.replace(found, numbers={**found.numbers, "used": [[False] * 4] * 2})
        figure = drawn(figure4a(results_of(tmp_path / "idle", idle)))
        assert "no latent is used" in [text.get_text() for axis in figure.axes for text in axis.texts]

    def test_the_experiment_draws_it(self, tmp_path: Path, two: Analysis) -> None:
        assert isinstance(resolve(AMBIGUITY.figures["figure4a"])(results_of(tmp_path, two)), Figure)

    def test_lost_pictures_name_the_remedy(self, tmp_path: Path, two: Analysis) -> None:
        results = results_of(tmp_path, two)
        (tmp_path / "disentangled-SDA-0.pictures.npz").unlink()
        with pytest.raises(FileNotFoundError, match=r"delete disentangled-SDA-0\.json beside it"):
            figure4a(results)

    def test_names_for_readers(self) -> None:
        assert [label(world) for world in ("faces", "soft-inverse-fashion:32")] == ["faces", "inverse Fashion"]


# ------------------------------------------------------------------------------------------------ a real learner

TINY = dataclasses.replace(
    AMBIGUITY,
    stream="faces,glyphs:32",
    steps={"smoke": 30},
    values={"smoke": {"environments.burn_in": 10, "environments.usage_every": 5}},
)


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Job:
    """A learner that met dark digits as faces, in a folder, and then bright glyphs."""
    folder = tmp_path_factory.mktemp("study")
    pictures = folder / "my pictures"
    pictures.mkdir()
    for i, image in enumerate(make_world("digits:32").sample(40, np.random.default_rng(0)).images):
        Image.fromarray(image[0]).save(pictures / f"{i}.png")
    (job,) = jobs_of(TINY, "smoke", folder / "results", folder / "runs", seeds=[0], faces=str(pictures))
    train(job.path, job.settings)
    export(job)
    return job


class TestLearner:
    def test_maps_are_what_the_learner_says_in_context(self, job: Job) -> None:
        model, plan, history = open_run(RunDirectory(job.path))
        found = Result(job.target).analysis
        assert found["environments"] == [0, 1]
        rng = np.random.default_rng([0, 20_181_204])
        draw = {world: plan.worlds[world][1].sample for world in history.worlds}
        pairs = [tuple(draw[world](64, rng).images for world in ("faces", "glyphs:32")) for _ in range(4)]
        around = {world: [draw[world](64, rng).images for _ in range(4)] for world in ("faces", "glyphs:32")}
        for world in around:
            said = [
                model.infer_environment(mixtures(a[:51], b[:51], 0.5), context=others[:13]).probabilities[0]
                for (a, b), others in zip(pairs, around[world], strict=True)
            ]
            assert found["company"][world][AMBIGUOUS.index(51)][MIDDLE] == pytest.approx(np.mean(said), abs=2e-4)
        said = [model.infer_environment(mixtures(a, b, 0.25)).probabilities[0] for a, b in pairs]
        assert found["alone"][5] == pytest.approx(np.mean(said), abs=2e-4)

    def test_posteriors_and_pictures_are_the_learners(self, job: Job) -> None:
        model, plan, _ = open_run(RunDirectory(job.path))
        rng = np.random.default_rng([0, 20_181_204])
        a, b = (plan.worlds[world][1].sample(64, rng).images for world in ("faces", "glyphs:32"))
        mean, std = model.posterior(mixtures(a, b, 0.5))
        found, images = Result(job.target).analysis, pictures(Result(job.target))
        np.testing.assert_allclose(found["std"][MIDDLE], std.mean(0), atol=2e-4)
        np.testing.assert_allclose(found["example"]["mean"][MIDDLE], mean[0], atol=2e-4)
        decoded = model.reconstruct(mixtures(a[2:3], b[2:3], 0.5), environment=1)
        np.testing.assert_allclose(images["second"][2, 5] / 255, decoded[0], atol=0.01)
        np.testing.assert_array_equal(images["mixed"][1, 0], a[1])

    def test_the_analysis_is_compared_with_those_of_the_run(self, job: Job) -> None:
        assert compare_analysis(job) == ""
        before = job.target.read_text()
        other = json.loads(before)
        other["findings"]["alone"][3] = 7
        job.target.write_text(json.dumps(other))
        assert compare_analysis(job) == "the same rows, but another analysis: alone"
        job.target.write_text(before)
        assert not job.target.with_suffix(".npz").exists(), "no figure of this experiment shows traversals"

    def test_tables_and_figure(self, job: Job) -> None:
        results = Results(TINY, "smoke", job.target.parent)
        assert len(perception(results).rows) == 1
        assert len(context(results).rows) == 1 + len(TABLE_COUNTS)
        drawn(figure4a(results))

    def test_the_result_says_that_there_was_a_folder_but_not_where(self, job: Job) -> None:
        text, content = job.target.read_text(), Result(job.target).content
        assert str(job.results.parent) not in text
        assert "my pictures" not in text
        assert content["settings"]["faces"] == DIR
        assert content["sources"]["faces"] == content["summary"]["sources"]["faces"] == "faces (32 pictures in DIR)"
        assert content["command"].endswith("--seeds 0 --faces DIR")

    def test_a_folder_more_or_less_is_another_run(self, job: Job) -> None:
        assert missing([job]) == []
        without = dataclasses.replace(job, settings=dataclasses.replace(job.settings, faces=None))
        with pytest.raises(ValueError, match=r"was made with --faces \(or VASE_FACES.*and now it is without"):
            missing([without])
