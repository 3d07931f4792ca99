"""What the live latents need: held-out images with their codes, latents in a useful order, and a decoder."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from vase.images import as_floats
from vase.learners.protocol import Decodes, Learner
from vase.metrics.latents import State, learner_states
from vase.plots.pictures import DecodingLearner, Images, order_latents
from vase.report.decoder import export_decoder
from vase.report.pictures import data_uri

SHOWN = 8  # images of each environment
SPANS = 3.0, 5.0  # sliders reach from -3 to 3, and up to 5 if codes do


def live_latents(learner: Learner, images_by_environment: Images) -> dict[str, Any] | None:
    """Decoder, images and latents; None if there is no image, or no decoder that a page can compute."""
    decoder = export_decoder(learner)
    found = None if decoder is None else starting_points(learner, images_by_environment)
    return None if found is None else {"decoder": decoder, **found}


def starting_points(learner: Learner, images_by_environment: Images) -> dict[str, Any] | None:
    """Images and latents for a decoder of any kind; None if there is no image or no decoder."""
    known = {s: images for s, images in images_by_environment.items() if s < len(learner_states(learner))}
    known = {s: images[:SHOWN] for s, images in sorted(known.items())}
    if not known or not isinstance(learner, Decodes):
        return None
    codes = {s: np.asarray(learner.posterior(images)[0]) for s, images in known.items()}
    reach = max(float(np.abs(code).max()) for code in codes.values())
    every = learner.n_latents
    return {
        "start": _start(learner, known),
        "span": min(max(SPANS[0], math.ceil(2 * reach) / 2), SPANS[1]),
        "order": order_latents(learner, known, spare=every, most=every),
        "images": [
            {"environment": s, "picture": data_uri(image), "code": [round(float(z), 4) for z in code]}
            for s, images in known.items()
            for image, code in zip(images, codes[s], strict=True)
        ],
    }


def _start(learner: DecodingLearner, known: Images) -> int:
    """The image to begin with: of the environment that uses most latents, the best reconstructed for its contrast."""
    used = (learner_states(learner) == State.USED).sum(axis=1)
    s = max(known, key=lambda s: used[s])
    x, y = as_floats(known[s]), np.asarray(learner.reconstruct(known[s], environment=s))
    errors = np.square(x - y).mean(axis=(1, 2, 3)) / (x.var(axis=(1, 2, 3)) + 1e-3)
    return sum(len(images) for other, images in known.items() if other < s) + int(np.argmin(errors))
