"""Pictures of a learner for trackers: reconstructions, traversals and dreams, each as one array of pixels."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import UInt8

from vase.images import as_bytes
from vase.learners.protocol import Decodes, Dreams, InfersEnvironments, Learner

SHOWN = 8
"""Images of each row."""
MOST_LATENTS = 16
"""Rows of a traversal, at most."""
SPAN = 2.0
"""A latent is moved from −SPAN to SPAN, in standard deviations of its prior."""
_GAP, _BACKGROUND = 1, 64

Picture = UInt8[np.ndarray, "H W 3"]


def pictures_of(learner: Learner, images: Any) -> dict[str, Picture]:
    """What a learner makes of some images of the current environment; nothing without a decoder.

    reconstructions: the images above, what is decoded from their codes below. traversals: one row per latent that the
    environment uses, moved in the code of the first image. dreams: one row per environment that was not retired.
    """
    if not isinstance(learner, Decodes):
        return {}
    images = np.asarray(images)[:SHOWN]
    here = learner.environment if isinstance(learner, InfersEnvironments) else None
    rows = np.stack([as_bytes(images), as_bytes(learner.reconstruct(images, environment=here))])
    found = {"reconstructions": grid(rows), "traversals": grid(_traversals(learner, images[:1], here))}
    if isinstance(learner, Dreams):
        views = learner.environments if isinstance(learner, InfersEnvironments) else None
        known = [None] if views is None else [view.index for view in views if view.duplicate_of is None]
        found["dreams"] = grid(np.stack([as_bytes(learner.dream(SHOWN, environment=s, seed=0)) for s in known]))
    return found


def _traversals(learner: Any, image: np.ndarray, here: int | None) -> UInt8[np.ndarray, "L n C H W"]:
    """The image while one latent at a time moves: those in use, or all if none is."""
    code = learner.posterior(image)[0][0]
    every = list(range(len(code)))
    used = every if here is None else np.flatnonzero(learner.environments[here].used).tolist()
    latents: list[int] = (used or every)[:MOST_LATENTS]
    codes = np.tile(code, (len(latents), SHOWN, 1))
    for row, latent in enumerate(latents):
        codes[row, :, latent] = np.linspace(-SPAN, SPAN, SHOWN)
    decoded = as_bytes(learner.decode(codes.reshape(-1, len(code)), environment=here))
    return decoded.reshape(len(latents), SHOWN, *decoded.shape[1:])


def grid(rows: UInt8[np.ndarray, "R n C H W"]) -> Picture:
    """Rows of images as one picture, with thin lines between them; grey images become colour ones.

    >>> grid(np.zeros((2, 3, 1, 4, 4), np.uint8)).shape
    (9, 14, 3)
    """
    r, n, c, h, w = rows.shape
    colours = rows[:, :, :3] if c >= 3 else np.repeat(rows[:, :, :1], 3, axis=2)
    canvas = np.full((r * (h + _GAP) - _GAP, n * (w + _GAP) - _GAP, 3), _BACKGROUND, np.uint8)
    for i in range(r):
        for j in range(n):
            y, x = i * (h + _GAP), j * (w + _GAP)
            canvas[y : y + h, x : x + w] = np.moveaxis(colours[i, j], 0, -1)
    return canvas
