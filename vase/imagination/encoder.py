"""The encoder as the agent sees it: frozen, but differentiable in the image; and what actions change in its latents."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from vase.images import as_images
from vase.imagination.actions import Action, act, check_action
from vase.learners.vase import VASE
from vase.method.dream_buffer import CHUNK
from vase.nn.likelihood import Images
from vase.nn.modes import evaluating
from vase.nn.networks import Networks


@dataclass(frozen=True, eq=False)
class FrozenEncoder:
    """q(z|x), as far as exploration needs it. `FrozenEncoder.of` makes one from a learner; any encoder will do."""

    image_shape: tuple[int, int, int]
    n_latents: int
    device: torch.device
    posterior: Callable[[Images], tuple[Tensor, Tensor]]  # mean and log-variance (B, N), differentiable in the images

    @classmethod
    def of(cls, model: VASE | FrozenEncoder) -> FrozenEncoder:
        """A learner's encoder as it is at each call. Its weights get no gradient, and nothing of it is changed."""
        if isinstance(model, FrozenEncoder):
            return model
        if not isinstance(model, VASE):
            raise TypeError(f"model of type {type(model).__name__}: pass a VASE learner or a FrozenEncoder.")

        def posterior(x: Images) -> tuple[Tensor, Tensor]:
            weights = {f"nets.{name}": weight.detach() for name, weight in model.networks_.named_parameters()}
            with evaluating(model.networks_):
                mean, log_var = torch.func.functional_call(_Posterior(model.networks_), weights, (x,))
            return mean, log_var

        return cls(model.config_.image_shape, model.n_latents, model.device_, posterior)

    def images(self, images: Any) -> Images:
        """Images of any accepted kind as a tensor on the encoder's device."""
        return as_images(images, self.image_shape, device=self.device)

    @torch.no_grad()
    def look(self, x: Images) -> tuple[Float[Tensor, "B N"], Float[Tensor, "B N"]]:
        """Mean and log-variance without gradients, a part of the images at a time."""
        means, log_vars = zip(*(self.posterior(part) for part in x.split(CHUNK)), strict=True)
        return torch.cat(means), torch.cat(log_vars)


class _Posterior(nn.Module):
    def __init__(self, nets: Networks) -> None:
        super().__init__()
        self.nets = nets

    def forward(self, x: Images) -> tuple[Tensor, Tensor]:
        _, mean, log_var = self.nets.encode(x)
        return mean, log_var


@torch.no_grad()
def latent_mobility(
    model: VASE | FrozenEncoder, action: Action, images: Any, *, actions: int = 16, span: float = 0.5, seed: int = 0
) -> Float[np.ndarray, "N"]:
    """How well an action steers each latent, from 0 to 1.

    Every image is acted on `actions` times, with parameters uniform in [−span, span]. Within the pictures of one image
    z varies by what the action does to its mean and by the variance of q(z|x); the result is the share of this variance
    that a linear function of the parameters, the same for all images, explains. A latent for position follows a
    translation in every image alike. A latent for identity may change as well, where a half-seen shoe passes for a bag,
    but in each image in another way; and a latent that the learner does not use follows nothing.

    Choose a `span` at which objects stay in the picture and latents change in one direction: no more than about 90
    degrees of a rotation.
    """
    encoder, count = FrozenEncoder.of(model), check_action(action)
    if actions <= count:
        raise ValueError(f"actions={actions}: must be more than the action's {count} parameters, e.g. 16.")
    if not 0 < span <= 1:
        raise ValueError(f"span={span}: must lie in (0, 1], the range of an action's parameters.")
    x = encoder.images(images)
    generator = torch.Generator().manual_seed(seed)
    done = span * (2 * torch.rand(len(x), actions, count, generator=generator) - 1)
    codes = [
        encoder.look(act(action, part.repeat_interleave(actions, 0), draw.flatten(0, 1).to(x)))
        for part, draw in zip(x.split(CHUNK), done.split(CHUNK), strict=True)
    ]
    mean, log_var = (torch.cat(column).double().cpu() for column in zip(*codes, strict=True))
    cause, effect = (
        (rows - rows.mean(1, keepdim=True)).flatten(0, 1)
        for rows in (done.double(), mean.unflatten(0, (len(x), actions)))
    )
    steered = cause @ torch.linalg.lstsq(cause, effect).solution
    total = effect.square().mean(0) + log_var.exp().mean(0)
    return (steered.square().mean(0) / total.clamp_min(1e-12)).float().numpy()


def movable_latents(
    model: VASE | FrozenEncoder,
    action: Action,
    images: Any,
    *,
    threshold: float = 0.65,
    actions: int = 16,
    span: float = 0.5,
    seed: int = 0,
) -> Int[np.ndarray, "L"]:
    """Latents that an action can change at will: their `latent_mobility` is at least `threshold`; perhaps none.

    Of more than the action has parameters the best are chosen, since it cannot bring more to values of their own.
    """
    mobility = latent_mobility(model, action, images, actions=actions, span=span, seed=seed)
    best = np.argsort(-mobility, kind="stable")[: action.n_parameters]
    return np.sort(best[mobility[best] >= threshold])
