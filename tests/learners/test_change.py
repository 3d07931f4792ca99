"""What a change is said to be, on pictures the test makes itself."""

from __future__ import annotations

import base64
import dataclasses
import json
import math
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scenes import scenes, smooth

from vase import Change
from vase.learners.change import LatentChange, Nearest, describe_change

QUIET: dict[str, Any] = {
    "atypical_before": np.zeros(24),
    "atypical_after": np.zeros(24),
    "used": np.ones(24, bool),
    "step": 1200,
    "previous": 0,
    "environment": 3,
    "is_new": True,
    "distances": {},
}
EITHER = pytest.mark.parametrize("channels", [1, 3])
SIZES = pytest.mark.parametrize("size", [32, 64, 256])


def describe(before: np.ndarray, after: np.ndarray, **given: Any) -> Change:
    return describe_change(before, after, **{**QUIET, **given})


def changed(
    change: Callable[[np.ndarray], np.ndarray], size: int = 64, channels: int = 3, sky: float = 0.0, seed: int = 0
) -> Change:
    """The change between other pictures of the same kind, the later ones changed."""
    rng = np.random.default_rng(seed)
    before, after = (scenes(size, rng, channels=channels, sky=sky) for _ in range(2))
    return describe(before, np.clip(change(after), 0, 1))


def tinted(*gains: float) -> Callable[[np.ndarray], np.ndarray]:
    return lambda images: images * np.array(gains, np.float32)[:, None, None]


def grey(images: np.ndarray) -> np.ndarray:
    return np.repeat(images.mean(axis=1, keepdims=True), 3, axis=1)


def dirt(images: np.ndarray) -> np.ndarray:
    """A dark spot at the bottom left."""
    images = images.copy()
    images[:, :, -10:, :10] *= 0.3
    return images


def smear(images: np.ndarray) -> np.ndarray:
    """The bottom left is out of focus."""
    images = images.copy()
    images[:, :, -11:, :11] = smooth(images, 8)[:, :, -11:, :11]
    return images


def noisy(images: np.ndarray, sigma: float = 0.05) -> np.ndarray:
    return images + np.random.default_rng(9).normal(0, sigma, images.shape).astype(np.float32)


@EITHER
@SIZES
@pytest.mark.parametrize("sky", [0.0, 0.3])
def test_darker(size: int, channels: int, sky: float) -> None:
    """The contrast, the noise and the bright top shrink with the exposure and are not mentioned."""
    change = changed(lambda images: 0.35 * images, size, channels, sky)
    assert change.brightness == pytest.approx(-0.65, abs=0.05)
    assert change.contrast == pytest.approx(-0.65, abs=0.08)
    assert change.sentence == f"darker by {-100 * change.brightness:.0f} %"
    assert change.place is None


def test_relative_changes_are_exact_on_the_same_pictures() -> None:
    images = scenes(32, np.random.default_rng(0))
    change = describe(images, 0.35 * images)
    assert (change.brightness, change.contrast) == (pytest.approx(-0.65, abs=1e-4), pytest.approx(-0.65, abs=1e-3))
    assert change.colour == pytest.approx((0, 0, 0), abs=1e-4)
    assert (change.sharpness, change.saturation) == (pytest.approx(0, abs=1e-3), pytest.approx(0, abs=1e-3))
    assert change.sentence == "darker by 65 %"


@EITHER
@SIZES
def test_blurred(size: int, channels: int) -> None:
    change = changed(smooth, size, channels)
    assert -0.95 < change.sharpness < -0.5
    assert change.findings == (f"blurred ({-100 * change.sharpness:.0f} % less fine detail)",)


@EITHER
@SIZES
def test_noisier(size: int, channels: int) -> None:
    """√(0.01² + 0.05²) − 0.01 = 0.041; neither sharper nor, in colour, more saturated."""
    change = changed(noisy, size, channels)
    assert change.noise == pytest.approx(0.041, abs=0.003)
    assert change.findings == ("noisier (σ 0.01 → 0.05)",)


def test_noise_that_shrinks_with_the_exposure_is_not_mentioned() -> None:
    images = np.clip(noisy(scenes(64, np.random.default_rng(0))), 0, 1)
    change = describe(images, 0.35 * images)
    assert change.noise == pytest.approx(-0.65 * 0.051, abs=0.003)
    assert change.findings == ("darker by 65 %",)


@SIZES
def test_without_colour(size: int) -> None:
    change = changed(grey, size)
    assert (change.findings, change.saturation) == (("grey instead of colour",), pytest.approx(-1))


def test_with_colour() -> None:
    images = scenes(64, np.random.default_rng(0))
    assert describe(grey(images), images).findings == ("colour instead of grey",)


def test_some_pictures_were_grey_before() -> None:
    images = scenes(64, np.random.default_rng(0))
    mixed = np.concatenate([images[:48], grey(images[48:])])
    assert describe(mixed, grey(images)).findings == ("less saturated by 100 %",)


@SIZES
def test_less_saturated(size: int) -> None:
    change = changed(lambda images: 0.5 * images + 0.5 * grey(images), size)
    assert change.saturation == pytest.approx(-0.5, abs=0.04)
    assert change.findings == (f"less saturated by {-100 * (change.saturation or 0):.0f} %",)


def test_a_tint_that_fades_with_the_saturation_is_not_mentioned() -> None:
    images = tinted(0.9, 0.75, 0.6)(scenes(64, np.random.default_rng(0)))
    change = describe(images, 0.5 * images + 0.5 * grey(images))
    assert change.colour == pytest.approx((-0.1, 0, 0.1), abs=0.01)
    assert [finding.split(" by ")[0] for finding in change.findings] == ["less saturated"]


@SIZES
@pytest.mark.parametrize(
    ("gains", "word"),
    [
        ((1.2, 1.0, 1.0), "redder"),
        ((1.15, 1.0, 0.85), "warmer"),
        ((1.0, 1.0, 0.8), "yellower"),
        ((1.0, 1.2, 1.0), "greener"),
        ((0.8, 1.0, 1.0), "more cyan"),
        ((0.85, 1.0, 1.15), "cooler"),
        ((0.95, 0.95, 1.15), "bluer"),
        ((1.0, 0.8, 1.0), "more magenta"),
    ],
)
def test_white_balance(gains: tuple[float, float, float], word: str, size: int) -> None:
    change = changed(tinted(*gains), size)
    assert [finding for finding in change.findings if "er by" not in finding] == [word]
    assert not any("saturated" in finding for finding in change.findings)
    assert change.colour == pytest.approx(np.array(gains) / np.mean(gains) - 1, abs=0.03)


def test_night() -> None:
    change = changed(tinted(0.33, 0.33, 0.42), 128)
    assert change.findings == (f"darker by {-100 * change.brightness:.0f} %", "bluer")


@EITHER
@SIZES
def test_a_dirty_corner(size: int, channels: int) -> None:
    """Contrast and sharpness change only under the dirt, and are not said of the picture."""
    change = changed(dirt, size, channels)
    assert (change.findings, change.place) == (("darker at the bottom left",), "bottom left")


def test_a_dirty_corner_at_night() -> None:
    change = changed(lambda images: 0.35 * dirt(images))
    assert change.findings == (f"darker by {-100 * change.brightness:.0f} %", "most at the bottom left")


@EITHER
def test_a_smeared_corner(channels: int) -> None:
    assert changed(smear, 256, channels).findings == ("less detail at the bottom left",)


@EITHER
@SIZES
def test_upside_down(size: int, channels: int) -> None:
    change = changed(lambda images: images[:, :, ::-1], size, channels, sky=0.3)
    assert sorted(change.findings) == ["brighter at the bottom", "darker at the top"]
    assert change.place in ("top", "bottom")


def test_upside_down_without_a_bright_top_is_no_change_of_appearance() -> None:
    assert changed(lambda images: images[:, :, ::-1]).findings == ()


@pytest.mark.parametrize(
    ("rows", "columns", "phrase"),
    [
        (slice(0, 10), slice(0, 10), "at the top left"),
        (slice(11, 21), slice(11, 21), "in the centre"),
        (slice(11, 21), slice(22, 32), "at the centre right"),
        (slice(0, 11), slice(None), "at the top"),
        (slice(None), slice(0, 11), "on the left"),
    ],
)
def test_names_of_places(rows: slice, columns: slice, phrase: str) -> None:
    def lit(images: np.ndarray) -> np.ndarray:
        images = images.copy()
        images[:, :, rows, columns] += 0.25
        return images

    assert changed(lit, 128).findings[-1] in (f"brighter {phrase}", f"most {phrase}")


def test_a_vignette_is_at_the_edges() -> None:
    def vignette(images: np.ndarray) -> np.ndarray:
        lens = np.full((32, 32), 0.6, np.float32)
        lens[11:21, 11:21] = 1.0
        return images * lens

    change = changed(vignette, 256)
    assert change.place == "edges"
    assert change.findings[-1] == "most at the edges"


@EITHER
def test_less_contrast(channels: int) -> None:
    """The bright top is less bright, which the contrast explains."""
    change = changed(lambda images: 0.5 + 0.5 * (images - 0.5), 256, channels, sky=0.2)
    assert change.findings[0] == f"{-100 * change.contrast:.0f} % less contrast"
    assert change.contrast == pytest.approx(-0.5, abs=0.05)
    assert change.place is None


def test_large_growth_is_a_multiple() -> None:
    images = 0.1 * scenes(32, np.random.default_rng(0), channels=1)
    assert describe(images, 4.2 * images).sentence == "4.2 times as bright"
    assert describe(images, np.minimum(2 * images, 1)).sentence == "brighter by 100 %"


def test_black_before() -> None:
    """A black picture counts as a thousandth: 0.2 is 200 of them more."""
    black = np.zeros((16, 1, 32, 32), np.uint8)
    change = describe(black, np.full_like(black, 51))
    assert (change.brightness, change.sentence) == (pytest.approx(200), "201 times as bright")


@EITHER
def test_nothing_is_said_of_what_did_not_change(channels: int) -> None:
    """Random halves of the same pictures: at least 19 of 20 descriptions say nothing, with any number of images."""
    rng = np.random.default_rng(channels)
    pool = scenes(512, rng, channels=channels, sky=0.2)
    for before, after in ((2, 2), (2, 64), (3, 3), (4, 4), (4, 256), (8, 8), (16, 16), (64, 64), (256, 256)):
        said = []
        for _ in range(60):
            chosen = pool[rng.permutation(len(pool))[: before + after]]
            said += [found] if (found := describe(chosen[:before], chosen[before:]).findings) else []
        assert len(said) <= 3, (before, after, said)


@EITHER
@pytest.mark.parametrize("size", [8, 16])
def test_few_pictures_suffice_for_a_large_change(size: int, channels: int) -> None:
    said = [changed(lambda images: 0.25 * images, size, channels, seed=seed).sentence for seed in range(10)]
    assert sum(sentence.startswith("darker by ") for sentence in said) >= 8


def test_on_a_return_the_nearest_environment_is_another_one() -> None:
    images = scenes(128, np.random.default_rng(0))
    back = describe(images[:64], images[64:], environment=0, is_new=False, distances={0: 0.1, 1: 0.254})
    assert back.sentence.endswith("; nearest other environment: 1, distance 0.25")


def test_sentence_when_nothing_changed() -> None:
    images = scenes(128, np.random.default_rng(0))
    same = describe(images[:64], images[64:], distances={1: 0.254})
    assert same.sentence == (
        "no change in brightness, colour, sharpness or place; nearest known environment: 1, distance 0.25"
    )
    assert describe(images[:64, :1], images[64:, :1]).sentence == "no change in brightness, sharpness or place"
    few = "too few to tell a change in brightness, colour, sharpness or place"
    assert describe(images[:2], images[64:]).sentence == f"2 images are {few}"
    assert describe(images[:2], images[64:65]).sentence == f"1 image is {few}"


def test_the_whole_sentence() -> None:
    images = scenes(64, np.random.default_rng(0))
    before, after = np.full(24, 0.02), np.full(24, 0.03)
    after[[19, 5]] = 1.1, 0.9
    change = describe(
        images,
        tinted(0.33, 0.33, 0.42)(images),
        atypical_before=before,
        atypical_after=after,
        distances={0: 0.81, 2: 0.474, 3: 0.01, 4: float("nan")},
    )
    assert change.sentence == (
        "darker by 64 %, bluer; latents 5 and 19 became atypical; nearest known environment: 2, distance 0.47"
    )
    assert change.heading == "step 1,200: environment 0 → 3 (new)"
    assert dataclasses.replace(change, is_new=False).heading == "step 1,200: environment 0 → 3 (known)"
    assert str(change) == f"{change.heading}: {change.sentence}"
    lost = dataclasses.replace(change, environment=-1)  # a frozen learner that knows the world no longer
    assert lost.heading == "step 1,200: environment 0 → unknown"
    back = dataclasses.replace(change, previous=-1, environment=0, is_new=False)
    assert back.heading == "step 1,200: unknown → environment 0 (known)"
    assert "array" not in repr(change), "printing a change does not print its pictures"
    assert change.nearest == Nearest(2, 0.474)  # not 3, which it belongs to
    assert change.latents == (LatentChange(19, 0.02, 1.1), LatentChange(5, 0.02, 0.9))


def latents_sentence(before: dict[int, float], after: dict[int, float], size: int = 64, **given: Any) -> str:
    images = scenes(size, np.random.default_rng(0), channels=1)
    alphas = np.full((2, 24), 0.02)
    for alpha, values in zip(alphas, (before, after), strict=True):
        for latent, value in values.items():
            alpha[latent] = value
    change = describe(images, images, atypical_before=alphas[0], atypical_after=alphas[1], **given)
    return change.sentence.partition("; ")[2]


def test_latents_in_words() -> None:
    assert latents_sentence({}, {7: 0.8}) == "latent 7 became atypical"
    assert latents_sentence({7: 0.8}, {}) == "latent 7 became typical"
    assert latents_sentence({3: 1.0, 4: 3.0}, {3: 2.5, 4: 1.5}) == (
        "latent 3 became more atypical; latent 4 became less atypical"
    )
    assert latents_sentence({}, {n: 1 + n / 100 for n in range(3)}) == "latents 0, 1 and 2 became atypical"
    five = latents_sentence({}, {n: 1 + n / 100 for n in range(5)})
    assert five == "latents 0, 1, 2, 3 and 4 became atypical"
    many = latents_sentence({}, {n: 1 + n / 100 for n in range(9)})
    assert many == "latents 5, 6, 7, 8 and 5 others became atypical"


def test_latents_within_noise_are_not_mentioned() -> None:
    """√α has the standard error √(2/(2B)) = 1/8 for 64 images each: 3.5 of them are 0.4375.

    From 0.02 (√ = 0.1414) that is 0.5789² = 0.3351.
    """
    assert latents_sentence({}, {7: 0.33}) == ""
    assert latents_sentence({}, {7: 0.34}) == "latent 7 became atypical"
    assert latents_sentence({}, {7: 0.34}, size=32) == ""
    assert latents_sentence({}, {7: 0.115}, size=256) == ""  # 0.1 nats is the least
    assert latents_sentence({}, {7: 0.14}, size=256) == "latent 7 became atypical"
    assert latents_sentence({}, {7: 0.8}, used=np.arange(24) != 7) == ""
    assert latents_sentence({7: float("nan")}, {7: 0.8}) == ""


def test_latents_that_follow_the_prior_are_quiet() -> None:
    rng = np.random.default_rng(0)
    images = scenes(64, rng, channels=1)
    said = 0
    for _ in range(100):
        z = rng.normal(size=(2, 64, 24))
        mean, variance = z.mean(axis=1), z.var(axis=1)
        alpha = 0.5 * (variance + mean**2 - 1 - np.log(variance))
        said += bool(describe(images[:8], images[:8], atypical_before=alpha[0], atypical_after=alpha[1]).latents)
    assert said == 0


def test_examples_are_few_spread_over_the_batch_and_pixels() -> None:
    levels = np.arange(10, dtype=np.uint8)[:, None, None, None] * np.ones((1, 1, 8, 8), np.uint8)
    change = describe(levels, levels[:3] / np.float32(255))
    assert change.before[:, 0, 0, 0].tolist() == [0, 3, 6, 9]
    assert change.after[:, 0, 0, 0].tolist() == [0, 1, 2]
    assert change.before.dtype == change.after.dtype == np.uint8
    levels[:] = 200
    assert change.before[0, 0, 0, 0] == 0  # a copy


def test_bytes_and_floats_say_the_same() -> None:
    pixels = np.rint(255 * scenes(32, np.random.default_rng(0))).astype(np.uint8)
    one, other = describe(pixels, pixels // 2), describe(pixels / 255.0, (pixels // 2) / 255.0)
    assert one.sentence == other.sentence
    assert one.brightness == pytest.approx(other.brightness)
    assert one.colour == pytest.approx(other.colour, abs=1e-6)
    np.testing.assert_array_equal(one.after, other.after)


def test_record_as_json() -> None:
    images = scenes(32, np.random.default_rng(0), channels=1)
    alpha = np.zeros(24)
    alpha[5] = 2.0
    change = describe(images, images, atypical_after=alpha, distances={0: 0.5, 3: 0.1}, p_value=float("nan"))
    row = json.loads(json.dumps(change.to_dict(), allow_nan=False))
    assert row == {
        **dict.fromkeys(("brightness", "contrast", "sharpness", "noise"), 0.0),
        **dict.fromkeys(("colour", "saturation", "place", "p_value")),
        "step": 1200,
        "previous": 0,
        "environment": 3,
        "is_new": True,
        "image_counts": [32, 32],
        "latents": [{"latent": 5, "before": 0.0, "after": 2.0}],
        "nearest": {"environment": 0, "distance": 0.5},
        "sentence": "no change in brightness, sharpness or place; latent 5 became atypical; "
        "nearest known environment: 0, distance 0.50",
    }


def assert_equal(one: Change, other: Change) -> None:
    """Every field, and the types of what is inside."""
    for field in dataclasses.fields(Change):
        mine, theirs = getattr(one, field.name), getattr(other, field.name)
        assert type(mine) is type(theirs), field.name
        if isinstance(mine, np.ndarray):
            assert (mine.dtype, mine.shape) == (theirs.dtype, theirs.shape)
            np.testing.assert_array_equal(mine, theirs)
        else:
            assert repr(mine) == repr(theirs), field.name  # NaN equals NaN
    assert (one.sentence, one.heading) == (other.sentence, other.heading)


def through_json(change: Change) -> Change:
    return Change.from_row(json.loads(json.dumps(change.to_row(), allow_nan=False)))


def test_a_row_holds_everything() -> None:
    """In colour, with every field set and an infinite α; in grey, with None where it may be, NaN and a flipped view."""
    images = scenes(32, np.random.default_rng(0))
    alpha = np.zeros(24)
    alpha[[5, 7]] = 1 / 3, np.inf
    full = describe(images, dirt(images), atypical_after=alpha, distances={0: 1 / 3}, p_value=1e-7)
    assert full.place == "bottom left"
    assert full.latents == (LatentChange(7, 0.0, math.inf),)  # √(1/3) is below 3.5/√32
    few = describe(images[:3, :1], images[:1, :1], is_new=False, p_value=float("nan"))
    assert (few.colour, few.saturation, few.nearest, few.p_value) == (None, None, None, None)
    for change in (full, few, dataclasses.replace(few, brightness=math.nan, before=few.before[:, :, ::-1])):
        assert_equal(through_json(change), change)
        assert through_json(change).before.flags.writeable


def test_a_row_says_what_the_dictionary_says_and_packs_the_images() -> None:
    ramp = np.arange(64, dtype=np.uint8).reshape(1, 1, 8, 8)
    change = describe(ramp, 4 * ramp)
    row = change.to_row()
    assert {name: row[name] for name in change.to_dict()} == change.to_dict()  # type: ignore[literal-required]
    assert set(row) - set(change.to_dict()) == {"findings", "before", "after"}
    assert row["after"]["shape"] == [1, 1, 8, 8]
    assert zlib.decompress(base64.b64decode(row["after"]["zlib"])) == bytes(range(0, 256, 4))


def test_a_row_is_small() -> None:
    """Four images of a bright box on black before and after: 8 kB, of which little remains."""
    images = np.zeros((64, 1, 32, 32), np.uint8)
    for number, image in enumerate(images):
        image[0, 8:20, number % 20 : number % 20 + 12] = 200
    assert len(json.dumps(describe(images, images // 2).to_row())) < 1500


@pytest.mark.parametrize(
    "packed",
    [
        {"shape": [1, 1, 8, 8], "zlib": "not base64"},
        {"shape": [1, 1, 8, 8], "zlib": base64.b64encode(b"not zlib").decode()},
        {"shape": [1, 1, 8, 9], "zlib": base64.b64encode(zlib.compress(bytes(64))).decode()},
    ],
)
def test_damaged_images_are_refused(packed: dict[str, Any]) -> None:
    images = np.zeros((1, 1, 8, 8), np.uint8)
    row = {**describe(images, images).to_row(), "after": packed}
    with pytest.raises(ValueError, match=r"example images of a change are damaged \(.+\); use another copy"):
        Change.from_row(row)


def test_numbers_of_numpy_are_plain_afterwards() -> None:
    images = scenes(4, np.random.default_rng(0), channels=1)
    change = describe(images, images, step=np.int64(7), is_new=np.bool_(False), distances={np.int64(1): np.float32(1)})
    json.dumps(change.to_dict())
    assert change.heading == "step 7: environment 0 → 3 (known)"


def test_bad_input_is_refused() -> None:
    images = scenes(4, np.random.default_rng(0))
    with pytest.raises(ValueError, match=r"shape \(3, 32, 32\) before and \(1, 32, 32\) after: must be alike"):
        describe(images, images[:, :1])
    with pytest.raises(ValueError, match=r"\(0, 3, 32, 32\) after the change: must be \(B, C, H, W\) with B ≥ 1"):
        describe(images, images[:0])
    with pytest.raises(ValueError, match=r"values from 0 to 255 before the change: must lie in \[0, 1\]"):
        describe(np.array([0, 255.0]).reshape(2, 1, 1, 1), images)
    with pytest.raises(ValueError, match="values from nan to nan after the change"):
        describe(images, np.full_like(images, np.nan))
    with pytest.raises(ValueError, match=r"α of shape \(24,\) before and \(23,\) after, .*one number per latent"):
        describe(images, images, atypical_after=np.zeros(23))
