"""Random actions: the baseline of a policy."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float

from vase.images import as_images
from vase.imagination.actions import Action, act, check_action
from vase.nn.likelihood import Images


class RandomlyActed(NamedTuple):
    """Images that were acted on at random."""

    images: Float[np.ndarray, "B C H W"]
    parameters: Float[np.ndarray, "B P"]  # what was done, uniform in [−1, 1]


class RandomActions:
    """Acts on images by parameters that are uniform in [−1, 1]: no policy, no z*, and no learner is asked.

    It takes the place of an `Explorer` in `augmented`, to tell what the policy adds to actions at random. It has no
    state: all randomness comes from the generator of each call.

    >>> from vase.imagination import Translation
    >>> agent = RandomActions((1, 32, 32), Translation())
    >>> agent.imagine(np.zeros((8, 32, 32), np.uint8), rng=np.random.default_rng(0)).parameters.shape
    (8, 2)
    """

    def __init__(self, image_shape: tuple[int, int, int], action: Action) -> None:
        check_action(action)
        self.image_shape = image_shape
        self.action = action

    def images(self, images: Any) -> Images:
        """Images of any accepted kind as a tensor."""
        return as_images(images, self.image_shape)

    @torch.no_grad()
    def imagine(self, images: Any, *, rng: np.random.Generator) -> RandomlyActed:
        """Act once on each image."""
        x = self.images(images)
        parameters = rng.uniform(-1, 1, (len(x), self.action.n_parameters)).astype(np.float32)
        moved = act(self.action, x, torch.from_numpy(parameters)).clamp(0, 1)
        return RandomlyActed(moved.numpy(), parameters)
