"""The decoder of a learner as data that a page can compute with: a list of layers, weights in 16 bits."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from vase.learners.protocol import Learner
from vase.learners.representation import Representation
from vase.nn.decoder import BroadcastImage, DeconvImage
from vase.nn.likelihood import Bernoulli, Gaussian

LARGEST = 32_767  # of 16 bits with a sign

_OUTPUTS: dict[type, str] = {Bernoulli: "sigmoid", Gaussian: "identity"}
"""What turns the decoder's outputs into pixels."""


def export_decoder(learner: Learner) -> dict[str, Any] | None:
    """The decoder for `page/decoder.js`; None if the learner has none, or has networks or a likelihood of its own.

    The first layer sees the latents that `seen` allows, and adds the row of the environment. The layers that follow are
    `linear`, `broadcast`, `mix` (a 1×1 convolution) or `deconv` (4×4, stride 2), each with a ReLU except the last one.
    """
    if not isinstance(learner, Representation) or not len(learner.environments):
        return None
    decoder, output = learner.networks_.decoder, _OUTPUTS.get(type(learner.likelihood_))
    with torch.no_grad():
        layers = _layers(decoder.image)
        if output is None or layers is None:
            return None
        return {
            "shape": list(learner.config_.image_shape),
            "latents": learner.n_latents,
            "output": output,
            "seen": seen_by_decoder(learner),
            "first": _weights(decoder.from_latents),
            "environments": pack(decoder.environments.rows()[learner.memory_.resolved()]),
            "layers": layers,
        }


def seen_by_decoder(learner: Representation) -> list[list[bool]]:
    """Whether the decoder sees each latent, in each environment."""
    views = [learner.environments[s] for s in learner.memory_.resolved()]
    return [(view.mask & view.gate | (not learner.gated_)).tolist() for view in views]


def pack(values: Float[Tensor, "..."]) -> dict[str, Any]:
    """A tensor as whole numbers of 16 bits in base64, times a scale.

    Eight times as exact as 16-bit floats are for weights of this kind, which is what 1e-3 in the pixels needs.
    """
    array = values.detach().float().cpu().contiguous().numpy()
    scale = float(np.abs(array).max(initial=0)) / LARGEST or 1.0
    whole = np.rint(array / scale).astype("<i2")
    return {"shape": list(array.shape), "scale": scale, "int16": base64.b64encode(whole.tobytes()).decode()}


def _weights(layer: nn.Module) -> dict[str, Any]:
    """Weight and bias; those of a 1×1 convolution as a matrix."""
    weight, bias = layer.get_parameter("weight"), layer.get_parameter("bias")
    return {"weight": pack(weight.flatten(1) if weight.shape[2:] == (1, 1) else weight), "bias": pack(bias)}


def _layers(image: nn.Module) -> list[dict[str, Any]] | None:
    """The layers from hidden units to pixels; None for a module that is not exactly one of the package's."""
    if type(image) is DeconvImage:
        first: list[dict[str, Any]] = [{"kind": "linear", **_weights(image.linear), "grid": list(image.grid)}]
    elif type(image) is BroadcastImage:
        place = image.place(image.coordinates)[0]  # the same for every code
        first = [{"kind": "broadcast", **_weights(image.linear), "place": pack(place)}]
        first.append({"kind": "mix", **_weights(image.mix)})
    else:
        return None
    return [*first, *({"kind": "deconv", **_weights(layer)} for layer in image.deconvs)]
