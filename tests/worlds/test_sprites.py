import time

import numpy as np
import pytest

from vase.worlds import World, make_world
from vase.worlds.datasets import Labelled
from vase.worlds.spec import COLOUR, NAMES, world_names
from vase.worlds.sprites import SpriteWorld
from vase.worlds.world import SoftWorld

FULL = Labelled(np.full((3, 6, 6), 200, np.uint8), np.array([7, 8, 9]), "full squares")


def rng(seed=0):
    return np.random.default_rng(seed)


def corners(images):
    """Top and left edge of whatever is brighter than black."""
    rows, columns = images[:, 0].max(axis=2) > 0, images[:, 0].max(axis=1) > 0
    return rows.argmax(axis=1), columns.argmax(axis=1)


def test_factors_are_where_the_pixels_are():
    batch = SpriteWorld("squares", 16, FULL, moving=True).sample(500, rng())
    tops, lefts = corners(batch.images)
    np.testing.assert_array_equal(np.rint(batch.factors["y"] * 10), tops)
    np.testing.assert_array_equal(np.rint(batch.factors["x"] * 10), lefts)
    assert (batch.images > 0).sum() == 500 * 36
    assert set(np.unique(tops)) == set(np.unique(lefts)) == set(range(11))  # both edges are reached


def test_offsets_are_uniform_and_independent():
    batch = SpriteWorld("squares", 16, FULL, moving=True).sample(20_000, rng())
    x, y = batch.factors["x"], batch.factors["y"]
    expected = 20_000 / 11
    assert np.abs(np.bincount(np.rint(x * 10).astype(int)) - expected).max() < 5 * np.sqrt(expected)
    assert abs(np.corrcoef(x, y)[0, 1]) < 0.03
    assert (x.min(), x.max(), y.min(), y.max()) == (0, 1, 0, 1)


def test_static_is_centred_at_one_half():
    batch = SpriteWorld("squares", 16, FULL).sample(10, rng())
    tops, lefts = corners(batch.images)
    assert set(tops) == set(lefts) == {5}
    assert set(batch.factors["x"]) == set(batch.factors["y"]) == {0.5}


def test_inverse_is_the_negative_of_the_whole_canvas():
    for moving in (False, True):
        plain = SpriteWorld("a", 16, FULL, moving=moving).sample(20, rng())
        inverse = SpriteWorld("b", 16, FULL, moving=moving, inverse=True).sample(20, rng())
        np.testing.assert_array_equal(inverse.images, 255 - plain.images)
        assert inverse.images.max() == 255
        for factor in ("label", "x", "y"):
            np.testing.assert_array_equal(inverse.factors[factor], plain.factors[factor])


def test_soft_keeps_four_fifths_of_the_contrast_about_mid_grey():
    shades = Labelled(np.array([[[0, 100], [128, 255]]], np.uint8), np.array([3]), "shades")
    inner = SpriteWorld("shades", 2, shades)
    soft = SoftWorld("soft-shades", inner)
    # 0.8·v + 25.5: 25.5, 105.5, 127.9, 229.5
    assert soft.sample(1, rng()).images[0, 0].tolist() == [[26, 106], [128, 230]]
    assert (soft.sprite, soft.n_classes, soft.source, soft.image_shape) == (2, 4, "shades", (1, 2, 2))
    assert soft.sample(1, rng()).factors["label"].tolist() == [3]


def test_soft_takes_the_negative_first_and_reaches_the_empty_canvas():
    soft = make_world("moving-soft-inverse-digits:12")
    inverse = make_world("moving-inverse-digits:12")
    assert (soft.name, soft.sprite) == ("moving-soft-inverse-digits:12", 12)
    a, b = soft.sample(8, rng()).images, inverse.sample(8, rng()).images
    assert np.abs(a - (0.8 * b + 25.5)).max() <= 0.5
    assert (a[b == 255] == 230).all()
    assert soft != inverse
    assert soft == make_world("moving-soft-inverse-digits", sprite=12)


def test_labels_belong_to_the_sprites(tiny, tmp_path):
    tiny.put(tmp_path / "cache" / "mnist")
    batch = make_world("moving-mnist", canvas=40, sprite=9).sample(100, rng())
    np.testing.assert_array_equal(
        batch.images.max(axis=(1, 2, 3)), batch.factors["label"] + 1
    )  # image i is filled with i + 1
    assert (batch.images > 0).sum() == 100 * 81
    assert set(batch.factors["label"]) == {0, 1, 2, 3}
    test = make_world("moving-mnist", canvas=40, sprite=9, split="test").sample(100, rng())
    assert set(test.factors["label"]) == {0, 1}


def test_batch_types():
    batch = make_world("moving-digits").sample(5, rng())
    assert batch.images.shape == (5, 1, 32, 32)
    assert (batch.images.dtype, len(batch)) == (np.uint8, 5)
    assert {k: v.dtype.name for k, v in batch.factors.items()} == {"label": "int64", "x": "float64", "y": "float64"}


@pytest.mark.parametrize("canvas", [20, 28, 64])
def test_any_canvas_and_sprite(canvas):
    made = make_world("moving-digits:20", canvas=canvas, sprite=5)  # the size in the name wins
    assert (made.image_shape, made.sprite, made.name) == ((1, canvas, canvas), 20, "moving-digits:20")
    batch = made.sample(50, rng())
    if canvas == 20:
        assert set(batch.factors["x"]) == {0.5}


def test_every_name_makes_a_world():
    names = {name for name in world_names() if name.rpartition("-")[2] in {*NAMES} - {*COLOUR}}
    assert len(names) == 4 * 8 + 4  # four datasets of sprites, and faces, which do not move
    for name in sorted(names):
        made = make_world(name, fallback=True)
        assert isinstance(made, World)
        assert isinstance(made, SoftWorld) == ("soft-" in name)
        plain = made.inner if "soft-" in name else made
        assert (plain.moving, plain.inverse) == ("moving-" in name, "inverse-" in name)
        assert make_world(made.name) == made  # the name leads back to it, also that of a stand-in


def test_worlds_share_sprites_and_know_when_they_are_the_same():
    moving, still, same = (make_world(name) for name in ("moving-digits", "digits", "digits:20"))
    assert moving.bank is still.bank
    assert still == same != moving
    assert make_world("digits:12").bank is not still.bank


def test_sampling_is_reproducible_and_fast():
    made = make_world("moving-digits")
    np.testing.assert_array_equal(made.sample(64, rng(3)).images, made.sample(64, rng(3)).images)
    assert (made.sample(64, rng(3)).images != made.sample(64, rng(4)).images).any()
    times = []
    for _ in range(50):
        start = time.perf_counter()
        made.sample(64, rng(1))
        times.append(time.perf_counter() - start)
    assert min(times) < 1e-3


@pytest.mark.parametrize(
    ("name", "options", "error", "words"),
    [
        ("moving-mnits", {}, ValueError, "did you mean 'moving-mnist'"),
        ("inverse-moving-fashion", {}, ValueError, "did you mean '(moving-)?inverse-fashion'"),
        ("moving-fasion:12", {}, ValueError, "did you mean 'moving-fashion'"),
        ("digits:x", {}, ValueError, "DATASET\\[:SPRITE\\]"),
        ("inverse-soft-digits", {}, ValueError, "did you mean '(soft-)?inverse-digits'"),
        ("soft-moving-digits", {}, ValueError, "did you mean 'moving-(soft-)?digits'"),
        ("", {}, ValueError, "unknown"),
        (3, {}, TypeError, "expected a name"),
        ("digits", {"canvas": 10}, ValueError, "canvas = 10 is smaller than sprite = 20.*use canvas >= 20"),
        ("digits:33", {}, ValueError, "canvas = 32 is smaller than sprite = 33"),
        ("digits:0", {}, ValueError, "sprite = 0"),
        ("digits", {"sprite": -1}, ValueError, "sprite = -1"),
        ("digits", {"canvas": 32.5}, TypeError, "canvas = 32.5: expected a whole number"),
        ("digits", {"canvas": True}, ValueError, "canvas = True"),
        ("digits", {"split": "valid"}, ValueError, "split = 'valid'"),
    ],
)
def test_errors_name_value_rule_and_remedy(name, options, error, words):
    with pytest.raises(error, match=words):
        make_world(name, **options)


@pytest.mark.parametrize("n", [0, -3])
def test_an_empty_batch_cannot_be_drawn(n):
    with pytest.raises(ValueError, match=f"n = {n}"):
        make_world("digits").sample(n, rng())
