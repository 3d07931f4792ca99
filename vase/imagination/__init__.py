"""Imagination-driven exploration (Section 4.3; App. "Imagination-based exploration experiments").

A policy learns, beside a learner and without touching it, how to act on an image so that its encoding becomes an
imagined z*. What it has learnt in one world can then be tried in the next: move a digit that has never moved.

>>> import numpy as np
>>> from vase import VASE, VASEConfig
>>> model = VASE(VASEConfig.smoke(image_shape=(1, 32, 32)), seed=0)
>>> explorer = Explorer(model, Translation(), seed=0)
>>> images = np.zeros((8, 32, 32), np.uint8)
>>> loss = explorer.learn(images)
>>> explorer.imagine(images, n=3).images.shape
(24, 1, 32, 32)

An action is any object with `n_parameters` and a differentiable `apply`:

>>> class Brightness:
...     n_parameters = 1
...     def apply(self, images, parameters):
...         return images * (1 + 0.5 * parameters[:, :, None, None])
>>> explorer = Explorer(model, Brightness(), seed=0)
"""

# ruff: noqa: F401
from vase.imagination.actions import Action, Rotation, Scaling, Translation, warp
from vase.imagination.augmentation import Agent, augmented
from vase.imagination.encoder import FrozenEncoder, latent_mobility, movable_latents
from vase.imagination.explorer import Closeness, Explorer, Imagined
from vase.imagination.policy import Policy, agent_loss
from vase.imagination.random_actions import RandomActions
