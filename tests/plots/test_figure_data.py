"""Albums: what they hold, by hand; that files come back exactly; and that damage is noticed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from vase.plots.album import Album, make_album

from vase import VASE
from vase.metrics.record import Record
from vase.plots.latents import State
from vase.plots.pictures import draw_traversals
from vase.plots.run import album_of
from vase.plots.style import new_figure
from vase.training import RunDirectory, RunSettings, train

LATENTS = 4
SIDE = 6


class Painter:
    """Environment e paints an image of brightness b as b/2 + e/10; latent 2 of environment 1 changes the brightness."""

    n_latents = LATENTS

    def __init__(self) -> None:
        used = np.array([[1, 1, 0, 0], [0, 1, 1, 0]], bool)
        mask = np.array([[1, 1, 1, 1], [0, 1, 1, 0]], bool)
        self.environments = tuple(SimpleNamespace(used=u, mask=m) for u, m in zip(used, mask, strict=True))

    def reconstruct(self, images: np.ndarray, environment: int) -> np.ndarray:
        return np.asarray(images, np.float32) / 255 / 2 + environment / 10

    def dream(self, n: int, environment: int, seed: int) -> np.ndarray:
        return np.full((n, 1, SIDE, SIDE), 0.2 + environment / 10 + seed, np.float32)

    def traverse(self, images: np.ndarray, span: float, points: int, environment: int) -> np.ndarray:
        frames = np.repeat(self.reconstruct(images, environment)[:, None, None], LATENTS, 1).repeat(points, 2)
        if environment == 1:
            frames[:, 2] += np.linspace(-span, span, points)[:, None, None, None] / 10
        return frames


def flat(*levels: int) -> np.ndarray:
    """Images of one brightness each."""
    return np.stack([np.full((1, SIDE, SIDE), level, np.uint8) for level in levels])


@pytest.fixture
def album() -> Album:
    """Three worlds in two environments: the last world went by unnoticed."""
    images = {"moving-mnist": flat(100, 40), "fashion": flat(200, 20), "mnist": flat(0, 60)}
    painter: Any = Painter()
    return make_album(painter, images, {"moving-mnist": 0, "fashion": 1, "mnist": 1})


def level(image: np.ndarray) -> int:
    """The brightness of a flat image."""
    assert np.ptp(image) == 0
    return int(image.flat[0])


# ------------------------------------------------------------------------------------------------ what it holds


def test_an_album_by_hand(album: Album) -> None:
    assert album.worlds == ("moving-mnist", "fashion", "mnist")
    assert album.environment.tolist() == [0, 1, 1]
    used, masked, unused = State.USED, State.MASKED, State.UNUSED
    assert album.states.tolist() == [[used, used, unused, unused], [masked, used, used, unused]]
    assert album.images.shape == (3, 2, 1, SIDE, SIDE)
    assert album.traversals.shape == (3, LATENTS, 7, 1, SIDE, SIDE)
    assert album.cross.shape == (3, 2, 2, 1, SIDE, SIDE)
    assert {part.dtype for part in (album.images, album.traversals, album.cross, album.dreams)} == {np.dtype(np.uint8)}
    assert [level(seed) for seed in album.seeds] == [100, 200, 0]
    assert [[level(album.cross[w, e, 1]) for e in (0, 1)] for w in range(3)] == [
        [20, 46],
        [10, 36],
        [30, 56],
    ]  # 25.5 up
    assert [level(image) for image in album.reconstructed] == [50, 126, 26]  # in their own environments; 125.5 to even
    assert [level(image) for image in album.reconstructions[:, 1]] == [20, 36, 56]
    assert [level(dreams[0]) for dreams in album.dreams] == [51, 76]  # 76.5 to even
    assert [level(frame) for frame in album.traversals[1, 2]] == [74, 92, 108, 126, 142, 160, 176]  # ± 51 around 125.5


def test_latents_are_ordered_by_sharing_then_effect(album: Album) -> None:
    assert album.order() == [1, 2, 0, 3]  # shared; changes the seeds; used; spare
    assert album.order(spare=0) == [1, 2, 0]
    assert album.order(most=2) == [1, 2]


def test_environments_are_named_after_their_worlds(album: Album) -> None:
    assert album.names() == ["moving MNIST", "2 worlds"]
    assert replace(album, environment=np.array([1, 1, 1])).names() == ["no world", "3 worlds"]


def test_an_album_draws_its_traversals(album: Album) -> None:
    blocks = album.blocks([2, 0])
    assert [block.heading for block in blocks][1] == "Fashion (environment 1)"
    axis = new_figure(4, 4).subplots()
    stage = (np.array([State.USED, State.MASKED]), "#000000")
    lefts = draw_traversals(axis, blocks, before=[stage])
    assert len(lefts) == 4
    assert lefts == sorted(lefts)
    assert len(axis.patches) == 2 * 4
    assert [label.get_text() for label in axis.get_yticklabels()] == ["seed", "z2", "z0"]
    canvas = np.asarray(axis.images[1].get_array())[:, :, 0]
    pitch = SIDE + 3
    assert canvas[0, [0, SIDE + 1]] == pytest.approx([200 / 255, 126 / 255])  # seed and reconstruction
    assert canvas[pitch, [0, -1]] == pytest.approx([74 / 255, 176 / 255])  # z2 from −2 to 2
    assert canvas[2 * pitch, 0] == pytest.approx(0.7 + 0.3 * 126 / 255)  # z0 is masked there


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


def assert_same(one: Album, other: Album) -> None:
    assert one.worlds == other.worlds
    for name in ("environment", "states", "images", "traversals", "cross", "dreams"):
        mine, theirs = getattr(one, name), getattr(other, name)
        assert mine.dtype == theirs.dtype
        np.testing.assert_array_equal(mine, theirs)


def test_an_album_comes_back_exactly_and_always_as_the_same_bytes(album: Album, tmp_path: Path) -> None:
    paths = [tmp_path / "deep" / name for name in ("a.npz", "b.npz")]
    for path in paths:
        album.save(path)
    assert_same(Album.load(paths[0]), album)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert sorted(path.name for path in (tmp_path / "deep").iterdir()) == ["a.npz", "b.npz"]


def test_a_missing_album_names_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"a-0\.npz does not exist.*delete a-0\.json.*vase experiment run"):
        Album.load(tmp_path / "a-0.npz")


def test_files_that_are_no_album_are_damaged(album: Album, tmp_path: Path) -> None:
    path, foreign, single = (tmp_path / name for name in ("a.npz", "foreign.npz", "single.npy"))
    album.save(path)
    good = path.read_bytes()
    np.savez(foreign, worlds=np.arange(3))
    np.save(single, np.arange(3))
    for data in (b"", b"no album", good[: len(good) // 2], good[:-30], foreign.read_bytes(), single.read_bytes()):
        path.write_bytes(data)
        with pytest.raises(ValueError, match=r"a\.npz is damaged .* restore it"):
            Album.load(path)


def test_one_wrong_byte_is_an_error_or_does_no_harm(album: Album, tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    album.save(path)
    good = path.read_bytes()
    damaged = 0
    for place in range(0, len(good), 3):
        path.write_bytes(good[:place] + bytes([good[place] ^ 0x5A]) + good[place + 1 :])
        try:
            found = Album.load(path)
        except ValueError as error:
            damaged += "is damaged" in str(error)
        else:
            assert_same(found, album)  # a date or another byte that carries nothing
    assert damaged > len(good) / 3 / 2


def test_parts_that_do_not_fit_are_refused(album: Album) -> None:
    with pytest.raises(ValueError, match=r"environment of shape \(2,\): with the other parts it must be \(3,\)"):
        replace(album, environment=album.environment[:2])
    with pytest.raises(ValueError, match="cross of shape"):
        replace(album, cross=album.cross[:, :1])


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


def test_the_album_of_a_run_holds_what_its_learner_says(run: RunDirectory) -> None:
    album = album_of(run)
    model = VASE.load(run.checkpoint_path)
    count = len(model.environments)
    assert album.worlds == ("moving-digits", "digits:12")
    assert album.images.shape == (2, 8, 1, 32, 32)
    assert album.traversals.shape == (2, 5, 7, 1, 32, 32)
    assert album.cross.shape == (2, count, 8, 1, 32, 32)
    for w in range(2):
        for e in range(count):
            assert (
                np.abs(album.cross[w, e] / 255 - model.reconstruct(album.images[w], environment=e)).max()
                <= 0.5 / 255 + 1e-6
            )
        s = int(album.environment[w])
        frames = model.traverse(album.seeds[w][None], latents=[3], span=2.0, points=7, environment=s)[0, 0]
        assert np.abs(album.traversals[w, 3] / 255 - frames).max() <= 0.5 / 255 + 1e-6
    assert_same(album_of(run), album)  # the same images each time


def test_a_run_that_has_learnt_nothing_has_no_album(run: RunDirectory, tmp_path: Path) -> None:
    started = RunDirectory(tmp_path)
    (tmp_path / "config.json").write_bytes((run.path / "config.json").read_bytes())
    started.save(VASE(VASE.load(run.checkpoint_path).config), None, {})
    with pytest.raises(ValueError, match="has learnt nothing yet"):
        album_of(started)
