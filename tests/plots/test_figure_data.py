"""Figure data: what they hold, by hand; that files come back exactly; and that damage is noticed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from vase import VASE
from vase.metrics.record import Record
from vase.plots.figure_data import FigureData, make_figure_data
from vase.plots.latents import State
from vase.plots.pictures import draw_traversals
from vase.plots.run import figure_data_of
from vase.plots.style import new_figure
from vase.training import RunDirectory, RunSettings, train
from vase.training.row_file import START

LATENTS = 4
SIDE = 6


class Painter:
    """Environment e paints an image of brightness b as b/2 + e/10; latent 2 of environment 1 changes the brightness."""

    n_latents, environment = LATENTS, 0

    def __init__(self) -> None:
        used = np.array([[1, 1, 0, 0], [0, 1, 1, 0]], bool)
        mask = np.array([[1, 1, 1, 1], [0, 1, 1, 0]], bool)
        self.environments = tuple(SimpleNamespace(used=u, mask=m) for u, m in zip(used, mask, strict=True))

    def posterior(self, images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Latent 3 is the brightness."""
        mean = np.zeros((len(images), LATENTS), np.float32)
        mean[:, 3] = images[:, 0, 0, 0].astype(np.float32) / 255
        return mean, np.zeros_like(mean)

    def infer_environment(self, images: np.ndarray) -> None:
        raise AssertionError("the environments are given")

    def decode(self, z: np.ndarray, environment: int) -> np.ndarray:
        level = z[:, 3] / 2 + environment / 10 + (z[:, 2] / 10 if environment == 1 else 0)
        return np.tile(level[:, None, None, None], (1, 1, SIDE, SIDE))

    def reconstruct(self, images: np.ndarray, environment: int) -> np.ndarray:
        return self.decode(self.posterior(images)[0], environment)

    def dream(self, n: int, environment: int, seed: int) -> np.ndarray:
        return np.full((n, 1, SIDE, SIDE), 0.2 + environment / 10 + seed, np.float32)


def flat(*levels: int) -> np.ndarray:
    """Images of one brightness each."""
    return np.stack([np.full((1, SIDE, SIDE), level, np.uint8) for level in levels])


@pytest.fixture
def data() -> FigureData:
    """Three worlds in two environments: the last world went by unnoticed."""
    images = {"moving-mnist": flat(100, 40), "fashion": flat(200, 20), "mnist": flat(0, 60)}
    painter: Any = Painter()
    return make_figure_data(painter, images, {"moving-mnist": 0, "fashion": 1, "mnist": 1})


def level(image: np.ndarray) -> int:
    """The brightness of a flat image."""
    assert np.ptp(image) == 0
    return int(image.flat[0])


# ------------------------------------------------------------------------------------------------ what it holds


def test_figure_data_by_hand(data: FigureData) -> None:
    assert data.worlds == ("moving-mnist", "fashion", "mnist")
    assert data.environment.tolist() == [0, 1, 1]
    used, masked, unused = State.USED, State.MASKED, State.UNUSED
    assert data.states.tolist() == [[used, used, unused, unused], [masked, used, used, unused]]
    assert data.images.shape == (3, 2, 1, SIDE, SIDE)
    assert data.traversals.shape == (3, LATENTS, 7, 1, SIDE, SIDE)
    assert data.cross.shape == (3, 2, 2, 1, SIDE, SIDE)
    assert {part.dtype for part in (data.images, data.traversals, data.cross, data.dreams)} == {np.dtype(np.uint8)}
    assert [level(seed) for seed in data.images[:, 0]] == [100, 200, 0]
    assert [[level(data.cross[w, e, 1]) for e in (0, 1)] for w in range(3)] == [
        [20, 46],
        [10, 36],
        [30, 56],
    ]  # 25.5 up
    assert [level(image) for image in data.reconstructions[:, 0]] == [
        50,
        126,
        26,
    ]  # own environment; 125.5 to even
    assert [level(image) for image in data.reconstructions[:, 1]] == [20, 36, 56]
    assert [level(dreams[0]) for dreams in data.dreams] == [51, 76]  # 76.5 to even
    assert [level(frame) for frame in data.traversals[1, 2]] == [74, 92, 108, 126, 142, 160, 176]  # ± 51 around 125.5


def test_latents_are_ordered_by_sharing_then_effect(data: FigureData) -> None:
    assert data.order() == [1, 2, 0, 3]  # shared; changes the seeds; used; spare
    assert data.order(spare=0) == [1, 2, 0]
    assert data.order(most=2) == [1, 2]


def test_environments_are_named_after_their_worlds(data: FigureData) -> None:
    assert data.names() == ["moving MNIST", "2 worlds"]
    assert replace(data, environment=np.array([1, 1, 1])).names() == ["no world", "3 worlds"]


def test_traversals_are_drawn_from_figure_data(data: FigureData) -> None:
    blocks = data.blocks([2, 0])
    assert [block.heading for block in blocks][1] == "Fashion (environment 1)"
    axis = new_figure(4, 4).subplots()
    stage = (np.array([State.USED, State.MASKED]), "#000000")
    lefts = draw_traversals(axis, blocks, before=[stage])
    assert len(lefts) == 4
    assert lefts == sorted(lefts)
    masked = sum(int((block.states == State.MASKED).sum()) for block in blocks)
    assert len(axis.patches) == 2 * 4 + masked, "a mark for each latent and block, and hatching on masked strips"
    assert [label.get_text() for label in axis.get_yticklabels()] == ["seed", "z2", "z0"]
    canvas = np.asarray(axis.images[1].get_array())[:, :, 0]
    pitch = SIDE + 3
    assert canvas[0, [0, SIDE + 1]] == pytest.approx([200 / 255, 126 / 255])  # seed and reconstruction
    assert canvas[pitch, [0, -1]] == pytest.approx([74 / 255, 176 / 255])  # z2 from −2 to 2
    assert canvas[2 * pitch, 0] == pytest.approx(0.75 + 0.15 * (126 / 255 - 0.5))  # z0 is masked there


def test_a_learner_without_environments_and_dreams(decoder: Any) -> None:
    images = {world: np.zeros((2, 1, 32, 32), np.uint8) for world in ("mnist", "fashion")}
    data = make_figure_data(decoder, images, {"mnist": 0, "fashion": 0})
    assert data.states.tolist() == [[State.USED] * decoder.n_latents]
    assert data.cross.shape == (2, 1, 2, 1, 32, 32)
    assert data.dreams.shape == (1, 0, 1, 32, 32)
    assert len(data.order()) == 16


# ------------------------------------------------------------------------------------------------ which environment


def switch(step: int, environment: int) -> dict[str, Any]:
    return {"kind": "switch", "step": step, "environment": environment, "is_new": True}


def test_the_environment_of_a_world_is_the_one_that_stood_for_it_longest() -> None:
    stages = (("mnist", 100), ("fashion", 100), ("mnist", 100))
    rows = (switch(110, 1), switch(150, 2), switch(195, 0), {"kind": "probe", "step": 300})
    # mnist: 0 in 0–100 and 200–300. fashion: 0 in 100–110 and 195–200, 1 in 110–150, 2 in 150–195.
    assert Record(stages, rows).environment_of == {"mnist": 0, "fashion": 2}


def test_without_switches_all_worlds_are_environment_0() -> None:
    stages = (("mnist", 100), ("fashion", 100), ("moving-mnist", 100))
    assert Record(stages, ({"kind": "probe", "step": 150},)).environment_of == {"mnist": 0, "fashion": 0}


# ------------------------------------------------------------------------------------------------ files


def assert_same(one: FigureData, other: FigureData) -> None:
    assert one.worlds == other.worlds
    for name in ("environment", "states", "images", "traversals", "cross", "dreams"):
        mine, theirs = getattr(one, name), getattr(other, name)
        assert mine.dtype == theirs.dtype
        np.testing.assert_array_equal(mine, theirs)


def test_figure_data_come_back_exactly_and_always_as_the_same_bytes(data: FigureData, tmp_path: Path) -> None:
    paths = [tmp_path / "deep" / name for name in ("a.npz", "b.npz")]
    for path in paths:
        data.save(path)
    assert_same(FigureData.load(paths[0]), data)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert sorted(path.name for path in (tmp_path / "deep").iterdir()) == ["a.npz", "b.npz"]


def test_a_missing_file_names_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"a-0\.npz does not exist.*delete a-0\.json.*vase experiment run"):
        FigureData.load(tmp_path / "a-0.npz")


def test_other_files_are_damaged(data: FigureData, tmp_path: Path) -> None:
    path, foreign, single = (tmp_path / name for name in ("a.npz", "foreign.npz", "single.npy"))
    data.save(path)
    good = path.read_bytes()
    np.savez(foreign, worlds=np.arange(3))
    np.save(single, np.arange(3))
    for bad in (b"", b"no data", good[: len(good) // 2], good[:-30], foreign.read_bytes(), single.read_bytes()):
        path.write_bytes(bad)
        with pytest.raises(ValueError, match=r"a\.npz is damaged .* restore it"):
            FigureData.load(path)


def test_one_wrong_byte_is_an_error_or_does_no_harm(data: FigureData, tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    data.save(path)
    good = path.read_bytes()
    damaged = 0
    for place in range(0, len(good), 3):
        path.write_bytes(good[:place] + bytes([good[place] ^ 0x5A]) + good[place + 1 :])
        try:
            found = FigureData.load(path)
        except ValueError as error:
            damaged += "is damaged" in str(error)
        else:
            assert_same(found, data)  # a date or another byte that carries nothing
    assert damaged > len(good) / 3 / 2


def test_parts_that_do_not_fit_are_refused(data: FigureData) -> None:
    with pytest.raises(ValueError, match=r"environment of shape \(2,\): with the other parts it must be \(3,\)"):
        replace(data, environment=data.environment[:2])
    with pytest.raises(ValueError, match="cross of shape"):
        replace(data, cross=data.cross[:, :1])


# ------------------------------------------------------------------------------------------------ from a run


SETTINGS = RunSettings.of(
    "smoke",
    stream="moving-digits*24,digits:12*18",
    batch_size=16,
    probes="none",
    overrides={"environments.burn_in": 10, "network.latents": 5, "network.hidden": 32},
    device="cpu",
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    path = tmp_path_factory.mktemp("runs") / "run"
    train(path, SETTINGS)
    return RunDirectory(path)


def test_the_figure_data_of_a_run_holds_what_its_learner_says(run: RunDirectory) -> None:
    data = figure_data_of(run)
    assert data is not None
    model = VASE.load(run.path)
    count = len(model.environments)
    assert data.worlds == ("moving-digits", "digits:12")
    assert data.images.shape == (2, 8, 1, 32, 32)
    assert data.traversals.shape == (2, 5, 7, 1, 32, 32)
    assert data.cross.shape == (2, count, 8, 1, 32, 32)
    for w in range(2):
        for e in range(count):
            assert (
                np.abs(data.cross[w, e] / 255 - model.reconstruct(data.images[w], environment=e)).max()
                <= 0.5 / 255 + 1e-6
            )
        s = int(data.environment[w])
        frames = model.traverse(data.images[w, :1], latents=[3], span=2.0, points=7, environment=s)[0, 0]
        assert np.abs(data.traversals[w, 3] / 255 - frames).max() <= 0.5 / 255 + 1e-6
    again = figure_data_of(run)
    assert again is not None
    assert_same(again, data)  # the same images each time


def test_a_run_that_has_learnt_nothing_has_no_figure_data(run: RunDirectory, tmp_path: Path) -> None:
    started = RunDirectory(tmp_path)
    (tmp_path / "config.json").write_bytes((run.path / "config.json").read_bytes())
    state = run.load()
    state["run"] |= {"step": 0, "rows": START}
    started.save({**state, "learner": VASE(VASE.load(run.path).config).state_dict()})
    with pytest.raises(ValueError, match="has learnt nothing yet"):
        figure_data_of(started)
