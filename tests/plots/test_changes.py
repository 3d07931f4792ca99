"""The figure of changes: what it shows, and that nothing overlaps or is cut off."""

from __future__ import annotations

import numpy as np
import pytest
from drawn import assert_readable
from matplotlib.colors import to_rgba
from scenes import scenes, smooth

from vase import Change
from vase.learners.change import describe_change
from vase.plots.changes import change_figure
from vase.plots.style import world_colour


def change(environment: int, *, size: int = 32, channels: int = 3, side: int = 32, moved: int = 0) -> Change:
    images = scenes(size, np.random.default_rng(environment), channels=channels, side=side)
    return describe_change(
        images,
        0.35 * smooth(images),
        atypical_before=np.zeros(24),
        atypical_after=np.where(np.arange(24) < moved, 2.0, 0.0),
        used=np.ones(24, bool),
        step=1000 * environment,
        previous=0,
        environment=environment,
        is_new=True,
        distances={0: 0.47},
    )


def test_each_change_has_its_images_and_its_sentence() -> None:
    figure = change_figure([change(1), change(2, moved=2)])
    words = assert_readable(figure)
    assert "Step 1,000: environment 0 → 1 (new)" in words
    assert "latents 0 and 1 became atypical; nearest known environment: 0, distance 0.47" in words.replace("\n", " ")
    for axis, environment in zip(figure.axes, (1, 2), strict=True):
        before, after = (np.asarray(image.get_array()) for image in axis.get_images())
        assert before.shape == after.shape == (32, 4 * 33 - 1, 3)
        assert after.mean() < before.mean()
        frames = [patch.get_edgecolor() for patch in axis.patches[:2]]
        assert frames == [to_rgba(world_colour(0)), to_rgba(world_colour(environment))]


@pytest.mark.parametrize(
    "changes",
    [
        [change(1, size=1, channels=1)],
        [change(n, moved=3 * n, size=2 + n) for n in range(1, 8)],
        [change(n, side=64, size=3) for n in range(1, 4)],
    ],
    ids=["one", "seven", "large"],
)
def test_any_number_of_changes_is_readable(changes: list[Change]) -> None:
    words = assert_readable(change_figure(changes)).replace("\n", " ")
    for each in changes:
        assert each.sentence in words


def test_fewer_images_leave_white_room() -> None:
    figure = change_figure([change(1, size=1)])
    before = np.asarray(figure.axes[0].get_images()[0].get_array())
    assert before.shape == (32, 4 * 33 - 1, 3)
    assert (before[:, 32:] == 1).all()


def test_no_changes_cannot_be_drawn() -> None:
    with pytest.raises(ValueError, match="no changes to draw"):
        change_figure([])
