"""What the features of an environment's images are like: their mean and covariance, and how batches scatter about them.

A reference follows its environment until that has settled, and stays from then on: a world that creeps away from where
it began is noticed, and one that is still on its way does not become a new environment at every step.

It runs at every step on a hundred numbers, for which NumPy has less overhead than tensors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from scipy.linalg import cho_solve

from vase.method.quadratic_form import Moments, moments_of_form

FOLLOW = 8
"""Batches over which the mean of an unsettled environment is averaged."""
BLOCK = 32
"""An environment has settled when the means of two successive blocks of so many batches agree."""
AGREE = 0.01
"""Blocks agree unless the probability of their difference is below this."""
FORGET = 1 / 40
"""Share of the covariance that an unsettled environment forgets with every batch."""
SHRINKAGE = 0.05
"""Smallest weight of the identity in the covariance that is inverted."""
GROUP = 4
"""Batches of a group: the scatter of their mean tells how far batches depend on each other."""
PRIOR = 10.0
"""Weight, in batches, of what is expected of the scatter before any is seen."""
HORIZON = 1000.0
"""Batches over which the scatter is averaged."""
OUTLIER = 25.0
"""Largest squared deviation that counts: five standard deviations."""
RESOLUTION = 1e-3
"""Variance, of features of variance 1, that is expected even where images never vary."""
UNKNOWN = 100.0
"""In the first batches, a statistic so many times its expected mean says that the spread of images is not known yet."""
IMAGES = 4
"""Images of a batch of which the scatter of single images is measured."""
_IMAGE = "whitened image"
_NUMBERS = ("images", "products_of", "age", "seen", "batch_size", "settled")
_ARRAYS = ("mean", "products", "covariance")
_SCATTERS = ("whitened", "plain", "whitened group", "plain group", _IMAGE)


@dataclass(frozen=True)
class Mean:
    """The mean feature of some batches."""

    mean: Float[np.ndarray, "D"]
    images: float
    batches: int

    @staticmethod
    def none(d: int) -> Mean:
        """Of no batch."""
        return Mean(np.zeros(d), 0.0, 0)

    def __add__(self, other: Mean) -> Mean:
        images = self.images + other.images
        mean = self.mean + (other.images / images) * (other.mean - self.mean)
        return Mean(mean, images, self.batches + other.batches)

    def state_dict(self) -> dict[str, Any]:
        """Mean and counts."""
        return {**vars(self), "mean": torch.from_numpy(self.mean)}

    @staticmethod
    def from_state_dict(state: Mapping[str, Any]) -> Mean:
        """As saved by `state_dict()`."""
        return Mean(**{**state, "mean": state["mean"].numpy().copy()})


def out_of_sample(mean: float, images: float, shrinkage: float) -> float:
    """How many times as large xᵀPx is for new images, on average, as for those whose covariance was inverted.

    With q = xᵀPx of one of n images, P without it gives q/(1 − (1 − shrinkage)·q/n) (Sherman and Morrison). It varies
    more by the same factor, as F does beside χ². Capped at 2: with so few images the estimate itself means little.
    """
    return 1 / max(0.5, 1 - (1 - shrinkage) * mean / images)


@dataclass(frozen=True)
class Distance:
    """How far the mean of some images is from a reference."""

    p_value: float
    """The probability of a mean at least as far, if the images come from the environment."""
    effect: float
    """Mahalanobis distance of the two means, sampling noise subtracted: in standard deviations of single images."""
    independent: float
    """Effective number of independent images."""


class Scatter:
    """How a statistic of batches varies, compared with what theory expects of independent images."""

    def __init__(self, prior: float = 1.0) -> None:
        self.prior, self.count, self.total, self.spread = prior, 0.0, 0.0, 0.0

    @property
    def ratio(self) -> float:
        """How many times its expected mean the statistic has on average: frames that resemble each other raise it."""
        return max(0.5, (PRIOR * self.prior + self.total) / (PRIOR + self.count))

    @property
    def excess(self) -> float:
        """How many times its expected variance the statistic has; not below 1."""
        return max(1.0, (PRIOR + self.spread) / (PRIOR + self.count))

    def add(self, value: float, expected: Moments) -> None:
        """Count one value; the oldest are slowly forgotten."""
        keep = 1 - 1 / HORIZON
        ratio = value / expected.mean
        deviation = (ratio / self.ratio - 1) ** 2 / (expected.variance / expected.mean**2)
        self.count, self.total = keep * self.count + 1, keep * self.total + ratio
        self.spread = keep * self.spread + min(deviation, OUTLIER)

    def state_dict(self) -> dict[str, float]:
        """Prior, count and sums."""
        return dict(vars(self))

    @classmethod
    def from_state_dict(cls, state: Mapping[str, float]) -> Scatter:
        """Continue from a `state_dict()`."""
        self = cls()
        vars(self).update(state)
        return self


class Form:
    """A quadratic form of standardised differences of means, with its distribution if nothing has changed."""

    def __init__(self, matrix: Float[np.ndarray, "D D"] | None, correlation: Float[np.ndarray, "D D"]) -> None:
        self.matrix = matrix
        noise = RESOLUTION * np.eye(len(correlation))  # images that never vary
        self.expected = moments_of_form(correlation + noise if matrix is None else matrix @ (correlation + noise))

    @classmethod
    def whitening(
        cls,
        factor: Float[np.ndarray, "D D"],
        correlation: Float[np.ndarray, "D D"],
        *,
        images: float,
        shrinkage: float,
    ) -> Form:
        """vᵀS⁻¹v with S = LLᵀ, a shrunk correlation estimated from some images; its moments are those of new ones.

        The inverse fits the images that it was made of: others lie further out, as each does if it is left out.
        """
        form = cls(cho_solve((factor, True), np.eye(len(factor))), correlation)
        further = out_of_sample(form.expected.mean, images, shrinkage)
        form.expected = form.expected.scaled(further, further)
        return form

    def __call__(self, v: Float[np.ndarray, "D"]) -> float:
        """vᵀPv."""
        return float((v if self.matrix is None else v @ self.matrix) @ v)

    def of_rows(self, v: Float[np.ndarray, "B D"]) -> Float[np.ndarray, "B"]:
        """vᵀPv of each row."""
        return ((v if self.matrix is None else v @ self.matrix) * v).sum(1)


class Reference:
    """Mean and covariance of the features in one environment, and the scatter of its batches about them.

    Two forms of the difference d between the mean of a batch and that of the environment are tested: dᵀΣ⁻¹d, to which
    every direction counts alike (Hotelling's T²), and |d|² of the standardised features, which sees small changes along
    the directions in which images vary most.
    """

    def __init__(self, smallest_std: Float[np.ndarray, "D"], like: Reference | None = None) -> None:
        """`like`: the reference of another environment of the same stream, whose scatter is a first guess."""
        d = len(smallest_std)
        self.smallest_std = smallest_std.astype(np.float64)
        self.mean = np.zeros(d)
        self.images = 0.0
        """Images that the mean is worth."""
        self.products = np.zeros((d, d))
        self.products_of = 0.0
        """Images that the sum of products is worth."""
        self.covariance = np.zeros((d, d), np.float32)
        """As of the last time that the forms were made."""
        self.age = 0
        """Batches."""
        self.seen = 0.0
        """Their images."""
        self.batch_size = 1.0
        self.settled = False
        self.means = {name: Mean.none(d) for name in ("block", "last block", "group", "before group")}
        self.scatter: dict[str, Scatter] = {
            name: Scatter(1.0 if like is None or name == _IMAGE else like.scatter[name].ratio) for name in _SCATTERS
        }
        self.pending: dict[str, list[float]] = {name: [] for name in _SCATTERS}
        """Statistics of the batches of an unfinished block."""
        self.forms: dict[str, Form] = {}
        self._std, self._log_volume = self.smallest_std, 0.0
        self._prepared_of = {"seen": 0.0, "products": 0.0}
        """Images at the last time that the forms were made: all, and those that the covariance is worth."""
        self._measured: tuple[Float[np.ndarray, "D"], dict[str, float]] | None = None
        """The last mean whose distance was asked for, and its forms: usually of the batch that is learnt next."""

    def update(self, features: Float[np.ndarray, "B D"], mean: Float[np.ndarray, "D"] | None = None) -> None:
        """Take note of a batch that belongs to the environment; `mean`: of its features, in float64, if it is known."""
        mean = features.mean(0, dtype=np.float64) if mean is None else mean
        batch = Mean(mean, float(len(features)), 1)
        self.batch_size = batch.images
        if self.forms:
            self._observe(batch, features)
        if not self.settled:
            self._follow(batch)
        if self.age < 4 * BLOCK or self.age % 4 == 0:
            deviation = features - self.mean
            self.products = self.products + deviation.T @ deviation
            self.products_of += batch.images
        self._measured = None
        self.age += 1
        self.seen += batch.images
        self._count(batch)
        if self.age % max(1, min(64, self.age // 4)) == 0:
            self.covariance = (self.products / self.products_of).astype(np.float32)
            self._prepared_of = {"seen": self.seen, "products": self.products_of}
            self._prepare()

    def distance(self, mean: Float[np.ndarray, "D"], images: int) -> Distance:
        """How far the mean feature of some images is from the environment's."""
        h = 1 / (1 / images + 1 / self.images)
        several = " group" if images >= 2 * self.batch_size else ""
        fewer = max(0.0, 1 / images - 1 / self.batch_size) * (self.scatter[_IMAGE].excess - 1)
        values = self._values(mean)
        p_value = min(
            form.expected.scaled(self.scatter[name + several].ratio, self.scatter[name + several].excess + fewer).tail(
                h * values[name]
            )
            for name, form in self.forms.items()
        )
        ratio = self.scatter["whitened" + several].ratio
        surplus = values["whitened"] - ratio * self.forms["whitened"].expected.mean / h
        return Distance(min(1.0, 2 * p_value), max(0.0, surplus) ** 0.5, images / max(1.0, ratio))

    def _values(self, mean: Float[np.ndarray, "D"]) -> dict[str, float]:
        """The forms of a mean's difference from the environment's; asked again for the same array, they are known."""
        if self._measured is None or self._measured[0] is not mean:
            v = (mean - self.mean) / self._std
            self._measured = mean, {name: form(v) for name, form in self.forms.items()}
        return self._measured[1]

    def log_likelihood(self, features: Float[np.ndarray, "B D"]) -> Float[np.ndarray, "B"]:
        """log p(features) of single images, up to a constant, with the scatter that they have had."""
        expected, values = self._of_images(features)
        noise = RESOLUTION * expected.mean  # images that never vary
        return expected.log_density(np.maximum(values, noise), features.shape[1]) - 0.5 * self._log_volume

    def image_p_values(self, features: Float[np.ndarray, "B D"]) -> Float[np.ndarray, "B"]:
        """The probability of an image at least as strange, for each of some."""
        expected, values = self._of_images(features)
        return expected.tails(values)

    def _of_images(self, features: Float[np.ndarray, "B D"]) -> tuple[Moments, Float[np.ndarray, "B"]]:
        """The form of each image's difference from the mean, and how it is distributed."""
        form, scatter = self.forms["whitened"], self.scatter[_IMAGE]
        values = form.of_rows((features - self.mean) / self._std)
        return form.expected.scaled(scatter.ratio, scatter.excess), values

    def _observe(self, batch: Mean, features: Float[np.ndarray, "B D"]) -> None:
        """Compare a batch, before it is part of the reference, with what is expected of it."""
        now = Mean(self.mean, self.images, self.age)
        h = 1 / (1 / batch.images + 1 / now.images)
        for name, value in self._values(batch.mean).items():
            self._note(name, h * value)
        if not self.means["group"].batches:
            self.means["before group"] = now
        group, past = self.means["group"] + batch, self.means["before group"]
        if group.batches == GROUP:
            v, h = (group.mean - past.mean) / self._std, 1 / (1 / group.images + 1 / past.images)
            for name, form in self.forms.items():
                self._note(name + " group", h * form(v))
            group = Mean.none(len(self.mean))
        self.means["group"] = group
        if self.age % 4 == 0:
            single = self.forms["whitened"].of_rows((features[:IMAGES] - self.mean) / self._std)
            for value in single.tolist():
                self._note(_IMAGE, value)
        if not self.settled:
            self._commit()

    def _note(self, name: str, value: float) -> None:
        """Note a statistic; after a first batch in which nothing varies, a black frame say, the next tell nothing."""
        if self.age >= FOLLOW or value <= UNKNOWN * self.forms[name.split()[0]].expected.mean:
            self.pending[name].append(value)

    def _commit(self) -> None:
        """Count the statistics that were observed."""
        for name, values in self.pending.items():
            for value in values:
                self.scatter[name].add(value, self.forms[name.split()[0]].expected)
        self.pending = {name: [] for name in _SCATTERS}

    def _follow(self, batch: Mean) -> None:
        """Move the mean of an unsettled environment with it."""
        weight = 1 / min(self.age + 1, FOLLOW)
        self.mean = self.mean + weight * (batch.mean - self.mean)
        past = (1 - weight) ** 2 / self.images if self.age else 0.0
        self.images = 1 / (past + weight**2 / batch.images)  # as many have the variance of this weighted mean
        self.products, self.products_of = (1 - FORGET) * self.products, (1 - FORGET) * self.products_of

    def _count(self, batch: Mean) -> None:
        """Compare blocks of batches: once two agree, the mean stays, and takes in only blocks like it."""
        block = self.means["block"] + batch
        if block.batches == BLOCK:
            past = Mean(self.mean, self.images, self.age) if self.settled else self.means["last block"]
            if past.batches and self._agree(past, block):
                both = past + block
                self.mean, self.images, self.settled = both.mean, both.images, True
                self._commit()
            self.pending = {name: [] for name in _SCATTERS}
            self.means["last block"], block = block, Mean.none(len(self.mean))
        self.means["block"] = block

    def _agree(self, a: Mean, b: Mean) -> bool:
        form = self.forms["whitened"]
        moved = form((a.mean - b.mean) / self._std) / (1 / a.images + 1 / b.images)
        scatter = self.scatter["whitened group"]
        return form.expected.scaled(scatter.ratio, scatter.excess).tail(moved) >= AGREE

    def _prepare(self) -> None:
        """The forms and their distributions, from the covariance."""
        covariance = self.covariance.astype(np.float64)
        self._std = np.sqrt(covariance.diagonal() + self.smallest_std**2)
        correlation = covariance / self._std / self._std[:, None]
        d = len(correlation)
        shrinkage = min(0.5, max(SHRINKAGE, d / (2 * self._prepared_of["seen"])))
        shrunk = (1 - shrinkage) * correlation + shrinkage * np.eye(d)
        factor = np.linalg.cholesky(shrunk)
        self._log_volume = 2 * float(np.log(factor.diagonal()).sum() + np.log(self._std).sum())
        images = self._prepared_of["products"]
        whitened = Form.whitening(factor, correlation, images=images, shrinkage=shrinkage)
        self.forms = {"whitened": whitened, "plain": Form(None, correlation)}

    def state_dict(self) -> dict[str, Any]:
        """Everything that an exact continuation needs."""
        return {
            **{name: getattr(self, name) for name in _NUMBERS},
            **{name: torch.from_numpy(getattr(self, name)) for name in _ARRAYS},
            "prepared_of": dict(self._prepared_of),
            "means": {name: mean.state_dict() for name, mean in self.means.items()},
            "scatter": {name: scatter.state_dict() for name, scatter in self.scatter.items()},
            "pending": {name: list(values) for name, values in self.pending.items()},
        }

    @classmethod
    def from_state_dict(cls, smallest_std: Float[np.ndarray, "D"], state: Mapping[str, Any]) -> Reference:
        """Continue from a `state_dict()`."""
        self = cls(smallest_std)
        for name in _NUMBERS:
            setattr(self, name, state[name])
        for name in _ARRAYS:
            setattr(self, name, state[name].numpy().copy())
        self.means = {name: Mean.from_state_dict(values) for name, values in state["means"].items()}
        self.scatter = {name: Scatter.from_state_dict(values) for name, values in state["scatter"].items()}
        self.pending = {name: list(values) for name, values in state["pending"].items()}
        self._prepared_of = dict(state["prepared_of"])
        if self._prepared_of["seen"]:
            self._prepare()
        return self
