"""How the appearance of two batches of images differs: in numbers and, where it is beyond sampling noise, in words."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from vase.learners.appearance import CELLS, Appearance, Colour, Difference, appearance, cell_edges, difference

MIN_SCORE = 3.5
"""A difference of less than so many standard errors is sampling noise."""
MIN_BRIGHTNESS, MIN_CONTRAST, MIN_SATURATION, MIN_SHARPNESS = 0.05, 0.1, 0.1, 0.15
"""Smallest relative changes worth saying."""
MIN_TINT, MIN_NOISE, MIN_PLACE, MIN_DETAIL = 0.03, 0.01, 0.03, 0.005
"""Smallest changes worth saying: of a channel relative to grey, of the noise's σ, of a region's mean and detail."""
GREY = 0.01
"""Pictures of less saturation and less tint than this are grey."""

_TIMES = 2.0  # larger relative growth is said as a multiple
_NEIGHBOUR_SCORE = 1.5  # a region takes part in a change that is beyond noise in another region
_HUES = ("redder", "yellower", "greener", "more cyan", "bluer", "more magenta")  # every 60 degrees
_TINTS = {word: 60 * i for i, word in enumerate(_HUES)} | {"warmer": 30, "cooler": 210}
_ROWS, _COLUMNS = ("top", "centre", "bottom"), ("left", "centre", "right")
_PREPOSITIONS = {"centre": "in", "left": "on", "right": "on"}


@dataclass(frozen=True, eq=False)
class AppearanceChange:
    """Changes of the whole picture and of a place in it; `phrases` name those beyond noise."""

    brightness: float
    contrast: float
    colour: tuple[float, float, float] | None
    saturation: float | None
    sharpness: float
    noise: float
    place: str | None
    phrases: tuple[str, ...]


def compare_appearance(before: Float[np.ndarray, "B C H W"], after: Float[np.ndarray, "K C H W"]) -> AppearanceChange:
    """Compare two batches of images in [0, 1], statistic by statistic.

    If one ninth at the border changed, as under dirt, phrases about the whole picture must hold for the rest as well.
    """
    one, two = appearance(before), appearance(after)
    colour, regions = _colour_change(one, two), _changed_regions(one, two)
    findings = _findings(one, two)
    rest = _rest(regions, before.shape[2:])
    if rest is not None:
        elsewhere = _findings(appearance(before[..., *rest]), appearance(after[..., *rest]))
        findings = {word: phrase for word, phrase in findings.items() if word in elsewhere}
    phrases = list(findings.values())
    for region, word in regions:
        phrases.append(f"{'most' if word in findings else word} {_PREPOSITIONS.get(region, 'at')} the {region}")
    return AppearanceChange(
        brightness=difference(one.brightness, two.brightness).relative,
        contrast=difference(one.contrast, two.contrast).relative,
        colour=None if colour is None else tuple(colour[0].change.tolist()),
        saturation=None if colour is None else colour[1].relative,
        sharpness=difference(one.sharpness, two.sharpness).relative,
        noise=float(difference(one.noise, two.noise).change),
        place=regions[0][0] if regions else None,
        phrases=tuple(phrases),
    )


def _is_relevant(found: Difference, least: float) -> bool:
    """A relative change that is beyond noise and worth saying."""
    return bool(found.score >= MIN_SCORE) and abs(found.relative) >= least


def _amount(relative: float, more: str, less: str, times: str) -> str:
    """A relative change in words: per cent, or a multiple if it grew more than threefold."""
    if relative > _TIMES:
        factor = 1 + relative
        return times.format(f"{factor:.1f}" if factor < 10 else f"{factor:,.0f}")
    return (more if relative > 0 else less).format(f"{100 * abs(relative):.0f} %")


def _findings(before: Appearance, after: Appearance) -> dict[str, str]:
    """Changes of the whole picture that are beyond noise: a word for each, and the phrase."""
    return _exposure_findings(before, after) | _colour_findings(before, after) | _fine_findings(before, after)


def _exposure_findings(before: Appearance, after: Appearance) -> dict[str, str]:
    """Brightness, and contrast unless brightness explains it."""
    found = {}
    brightness = difference(before.brightness, after.brightness)
    if _is_relevant(brightness, MIN_BRIGHTNESS):
        word = "brighter" if brightness.relative > 0 else "darker"
        found[word] = _amount(brightness.relative, "brighter by {}", "darker by {}", "{} times as bright")
    contrast = difference(before.contrast, after.contrast)
    relative = difference(before.relative_contrast, after.relative_contrast)
    if _is_relevant(contrast, MIN_CONTRAST) and _is_relevant(relative, MIN_CONTRAST):
        word = "more contrast" if contrast.relative > 0 else "less contrast"
        found[word] = _amount(contrast.relative, "{} more contrast", "{} less contrast", "{} times the contrast")
    return found


def _fine_findings(before: Appearance, after: Appearance) -> dict[str, str]:
    """Sharpness unless noise may explain it, and noise unless exposure or blur explain it."""
    found = {}
    sharpness = difference(before.sharpness, after.sharpness)
    error = abs(float(difference(before.noise_share, after.noise_share).change)) / 2  # of subtracting the noise
    if _is_relevant(sharpness, MIN_SHARPNESS) and abs(float(sharpness.change)) > error:
        word = "sharper" if sharpness.relative > 0 else "blurred"
        detail = _amount(sharpness.relative, "{} more fine detail", "{} less fine detail", "{} times the fine detail")
        found[word] = f"{word} ({detail})"
    noise = difference(before.noise, after.noise)
    relative = difference(before.relative_noise, after.relative_noise)
    change = float(noise.change)
    beyond = min(float(noise.score), float(relative.score)) >= MIN_SCORE and abs(change) >= MIN_NOISE
    if beyond and change * float(relative.change) > 0 and not ("blurred" in found and change < 0):
        word = "noisier" if change > 0 else "less noisy"
        found[word] = f"{word} (σ {float(noise.before):.2f} → {float(noise.after):.2f})"
    return found


def _colour_change(before: Appearance, after: Appearance) -> tuple[Difference, Difference] | None:
    """Tint and saturation; None if all pictures are grey."""
    one, two = before.colour, after.colour
    if one is None or two is None or (_is_grey(one).all() and _is_grey(two).all()):
        return None
    return difference(one.tint, two.tint), difference(one.saturation, two.saturation)


def _is_grey(colour: Colour) -> Bool[np.ndarray, " B"]:
    return np.maximum(np.abs(colour.tint).max(axis=1), colour.saturation) < GREY


def _colour_findings(before: Appearance, after: Appearance) -> dict[str, str]:
    """Saturation, and the direction of the tint unless the saturation explains it."""
    change = _colour_change(before, after)
    if change is None or before.colour is None or after.colour is None:
        return {}
    tint, saturation = change
    one, two = _is_grey(before.colour), _is_grey(after.colour)
    if two.all() and not one.any():
        return {"grey": "grey instead of colour"}
    if one.all() and not two.any():
        return {"colour": "colour instead of grey"}
    found, kept = {}, 1.0
    if _is_relevant(saturation, MIN_SATURATION):
        kept = min(1.0, 1 + saturation.relative)
        word = "more saturated" if saturation.relative > 0 else "less saturated"
        found[word] = _amount(saturation.relative, f"{word} by {{}}", f"{word} by {{}}", "{} times as saturated")
    shift = np.abs(np.where(tint.score >= MIN_SCORE, tint.change, 0)).max()
    if min(shift, np.abs(tint.after - kept * tint.before).max()) >= MIN_TINT:
        found["tint"] = _tint_word(tint.change)
    return found


def _tint_word(shift: Float[np.ndarray, "3"]) -> str:
    """The hue nearest to the direction in which the channels moved."""
    red, green, blue = shift.tolist()
    angle = np.degrees(np.arctan2(np.sqrt(3) * (green - blue), 2 * red - green - blue))
    return min(_TINTS, key=lambda word: abs((_TINTS[word] - angle + 180) % 360 - 180))


def _changed_regions(before: Appearance, after: Appearance) -> list[tuple[str, str]]:
    """Regions that changed more than the whole picture did, and how, the strongest first.

    Brightness is compared first; fine detail only if brightness changed nowhere, and the noise did not.
    """
    one, two = before.regions, after.regions
    if one is None or two is None:
        return []
    relative = difference(one.relative_brightness, two.relative_brightness)
    scale = float(before.contrast.mean() + after.contrast.mean()) / 2
    local = _local_change(difference(one.brightness, two.brightness), relative, scale, MIN_PLACE)
    words = ("brighter", "darker")
    noise = difference(before.relative_noise, after.relative_noise)
    if not local.any() and not (noise.score >= MIN_SCORE and float(noise.change) > 0):
        relative = difference(one.relative_detail, two.relative_detail)
        scale = float(one.detail.mean() + two.detail.mean()) / 2
        local = _local_change(difference(one.detail, two.detail), relative, scale, MIN_DETAIL)
        words = ("more detail", "less detail")
    parts = sorted(zip(local, words, strict=True), key=lambda part: -float(part[0].max()))
    return [(region, word) for part, word in parts if part.any() and (region := _region(part)) is not None]


def _local_change(plain: Difference, relative: Difference, scale: float, least: float) -> Float[np.ndarray, "2 3 3"]:
    """Growth and decline of each region that the whole picture does not explain; all 0 if no region is beyond noise.

    A region counts by the smaller of two changes that must agree in sign: that of its value, and that of its value
    relative to the picture, times `scale`.
    """
    parts = []
    for sign in (1, -1):
        size = np.maximum(np.minimum(sign * plain.change, sign * scale * relative.change), 0)
        score = np.where(size > 0, np.minimum(plain.score, relative.score), 0)
        found = bool(((score >= MIN_SCORE) & (size >= least)).any())
        parts.append(np.where(found & (score >= _NEIGHBOUR_SCORE), size, 0.0))
    return np.stack(parts)


def _region_maps() -> dict[str, Float[np.ndarray, "3 3"]]:
    """Named parts of the picture as unit vectors: each ninth, the outer rows and columns, the edges, all of it."""
    maps = {name: np.zeros((CELLS, CELLS)) for name in _NINTHS}
    for name, (i, j) in _NINTHS.items():
        maps[name][i, j] = 1
    for i in (0, 2):
        maps[_ROWS[i]], maps[_COLUMNS[i]] = np.zeros((2, CELLS, CELLS))
        maps[_ROWS[i]][i], maps[_COLUMNS[i]][:, i] = 1, 1
    maps["edges"] = 1 - maps["centre"]
    maps["whole picture"] = np.ones((CELLS, CELLS))
    return {name: part / np.linalg.norm(part) for name, part in maps.items()}


_NINTHS = {
    "centre" if i == j == 1 else f"{row} {column}": (i, j)
    for i, row in enumerate(_ROWS)
    for j, column in enumerate(_COLUMNS)
}
_REGIONS = _region_maps()


def _region(part: Float[np.ndarray, "3 3"]) -> str | None:
    """The named region most like a map of changes; None if they are spread over the picture."""
    name = max(_REGIONS, key=lambda region: float((_REGIONS[region] * part).sum()))
    return None if name == "whole picture" else name


def _rest(regions: list[tuple[str, str]], sides: tuple[int, ...]) -> tuple[slice, slice] | None:
    """The rows or columns beside a single ninth at the border; None if something else changed."""
    if len(regions) != 1 or regions[0][0] not in _NINTHS or regions[0][0] == "centre":
        return None
    cell = _NINTHS[regions[0][0]]
    axis = 0 if cell[0] != 1 else 1
    first, last = cell_edges(sides[axis])[1:-1]
    kept = slice(first, None) if cell[axis] == 0 else slice(None, last)
    return (kept, slice(None)) if axis == 0 else (slice(None), kept)
