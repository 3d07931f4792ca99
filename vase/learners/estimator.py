"""What makes a learner an estimator of scikit-learn: parameters with nested names, codes as features, fit on arrays."""

from __future__ import annotations

import logging
import math
import warnings
from collections.abc import Iterator, Mapping
from typing import Any, Self

import numpy as np
import torch
from jaxtyping import Float
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags

from vase.config import VASEConfig
from vase.distributed import Distributed
from vase.learners.representation import Representation, encode_in_chunks
from vase.nn.likelihood import Images

FEW = 4
"""Training of fewer steps than one FEWth of what it takes is called short."""
_CONFIG = "config__"
_log = logging.getLogger("vase.learners")


class Estimator(TransformerMixin, BaseEstimator, Representation):
    """A transformer from images to codes; fields of the configuration are parameters: `config__capacity__gamma`."""

    config: VASEConfig | None

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The constructor's arguments and, if `deep`, every field of the configuration as `config__PART__FIELD`."""
        params: dict[str, Any] = super().get_params(deep=False)
        config = _configuration(self.config)
        return params | _flat(config.to_dict(), _CONFIG) if deep and isinstance(config, VASEConfig) else params

    def set_params(self, **params: Any) -> Self:
        """Change constructor arguments, or single fields of the configuration."""
        fields = {name: value for name, value in params.items() if name.startswith(_CONFIG)}
        super().set_params(**{name: value for name, value in params.items() if name not in fields})
        if fields:
            values = {name.removeprefix(_CONFIG).replace("__", "."): value for name, value in fields.items()}
            self.config = _configuration(self.config).with_values(values)
        return self

    @torch.no_grad()
    def transform(self, images: Any) -> Float[np.ndarray, "B N"]:
        """The means of q(z|x), one row per image.

        The prior has variance 1, so that latents in use have means of about that spread, and unused ones hardly any: no
        scaler is needed, and one would raise the noise of unused latents to the level of the others.
        """
        self._index(None)
        return encode_in_chunks(self.networks_, self._images(images))[1].cpu().numpy()

    def inverse_transform(self, codes: Any) -> Float[np.ndarray, "B C H W"]:
        """Images that the codes stand for in the current environment: `decode`."""
        return self.decode(codes)

    def get_feature_names_out(self, input_features: object = None) -> np.ndarray:
        """Names of the latents: vase0, vase1, ..."""
        self._index(None)
        prefix = type(self).__name__.lower()
        return np.array([f"{prefix}{n}" for n in range(self.n_latents)], dtype=object)

    @property
    def n_features_in_(self) -> int:
        """Numbers of one image."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError("n_features_in_ is not known before something has been learnt")
        return math.prod(self.config_.image_shape)

    def __sklearn_is_fitted__(self) -> bool:
        return "config_" in self.__dict__ and self.steps_ > 0

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.input_tags.positive_only = True
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags


def default_epochs(n_images: int, config: VASEConfig) -> int:
    """Passes over an array until it is learnt: as many as a stage takes.

    >>> default_epochs(600, VASEConfig.smoke())  # 120 steps, 19 in each epoch
    7
    """
    return max(1, math.ceil(config.stage_steps / math.ceil(n_images / config.batch_size)))


def array_batches(
    x: Images, epochs: int, config: VASEConfig, generator: torch.Generator, workers: Distributed
) -> Iterator[Images]:
    """Batches of an array in a new random order in every epoch; what is too small for a batch waits for the next."""
    for _ in range(epochs):
        order = torch.randperm(len(x), generator=generator)
        for part in order.split(config.batch_size):
            if len(part) >= 2 * workers.size and len(part) % workers.size == 0:
                yield workers.shard(x[part])


def say_plan(n_images: int, epochs: int, config: VASEConfig) -> None:
    """Log how long an array will be learnt."""
    steps = epochs * math.ceil(n_images / config.batch_size)
    _log.info("%d images, %d epochs: %d steps", n_images, epochs, steps)


def warn_if_short(steps: int, config: VASEConfig) -> None:
    """Warn if a learner has taken too few steps to have learnt much."""
    enough = config.stage_steps
    if steps * FEW < enough:
        warnings.warn(
            f"{steps} step{'s' * (steps != 1)} of learning: too few for this configuration, which takes {enough} to "
            "learn a world; pass more epochs or images, or shorten the schedule (stage_steps of VASEConfig.laptop)",
            stacklevel=3,
        )


def _configuration(config: VASEConfig | None) -> VASEConfig:
    return VASEConfig() if config is None else config


def _flat(tree: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """Leaves of nested dictionaries by their joined names."""
    flat: dict[str, Any] = {}
    for name, value in tree.items():
        flat |= _flat(value, f"{prefix}{name}__") if isinstance(value, Mapping) else {prefix + name: value}
    return flat
