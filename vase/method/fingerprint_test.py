"""The fingerprint as evidence: are the features of a batch those of the environment?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from vase.method.environment_memory import EnvironmentRecord
from vase.method.fingerprint import Fingerprint
from vase.method.reference import FOLLOW, Distance, Reference
from vase.method.shift_tests import FITS, Evidence, ShiftTest, p_in_words
from vase.method.statistics import BatchStatistics
from vase.nn.likelihood import Images

CHUNK = 1024
"""Images at a time; the fingerprint of more is not remembered."""
ARRIVED = 0.05
"""A moving environment has come into another if its mean is at least as probable there."""


class FingerprintTest(ShiftTest):
    """Compares the mean fingerprint of a batch with that of an environment, whichever way it differs."""

    needs_networks = False
    weight = 18.0
    """Nine tenths of the false alarms beside the two learnt tests: it detects most, and its p-values hold."""

    def __init__(self, image_shape: tuple[int, int, int], smallest_effect: float = 0.0) -> None:
        self.fingerprint = Fingerprint(*image_shape)
        self.smallest_effect = smallest_effect
        self.references: dict[int, Reference] = {}
        self._last: tuple[Images, Float[np.ndarray, "B D"], Float[np.ndarray, "D"]] | None = None

    def features(self, images: Images) -> Float[np.ndarray, "B D"]:
        """The fingerprint of each image; of the last batch it is known."""
        return self._measure(images)[0]

    def _measure(self, images: Images) -> tuple[Float[np.ndarray, "B D"], Float[np.ndarray, "D"]]:
        """The fingerprints and their mean."""
        if self._last is None or self._last[0] is not images:
            if self.fingerprint.filters.device != images.device:
                self.fingerprint.to(images.device)
            found = np.concatenate([self.fingerprint(part).numpy(force=True) for part in images.split(CHUNK)])
            mean = found.mean(0, dtype=np.float64)
            if len(images) > CHUNK:
                return found, mean
            self._last = images, found, mean
        return self._last[1:]

    def distance(self, index: int, images: Images) -> Distance | None:
        """How far the mean of a batch is from an environment; None if nothing is known of it."""
        reference = self.references.get(index)
        if reference is None or not reference.forms:
            return None
        return reference.distance(self._measure(images)[1], len(images))

    def evidence(self, record: EnvironmentRecord, batch: BatchStatistics) -> Evidence:
        """The mean fingerprint is further away than batches of the environment are."""
        found = self.distance(record.index, batch.images)
        if found is None:
            return FITS
        far = f"{found.effect:.2g}" if found.effect < 99.5 else f"{found.effect:,.0f}"
        reason = f"fingerprint {far} standard deviations from environment {record.index} ({p_in_words(found.p_value)})"
        if found.independent < len(batch.images) / 2:
            reason += f"; {len(batch.images)} images count as {found.independent:.0f} independent ones"
        return Evidence(1.0 if found.effect < self.smallest_effect else found.p_value, reason, found.effect)

    def update(self, record: EnvironmentRecord, batch: BatchStatistics) -> None:
        """Add a batch to the reference of its environment."""
        if record.index not in self.references:
            newest = self.references[max(self.references)] if self.references else None
            self.references[record.index] = Reference(self.fingerprint.smallest_std.numpy(force=True), like=newest)
        self.references[record.index].update(*self._measure(batch.images))
        self._last = None

    def forget(self, record: EnvironmentRecord) -> None:
        """Drop the reference of the environment."""
        self.references.pop(record.index, None)

    def arrived(self, record: EnvironmentRecord) -> int | None:
        """The settled environment whose reference the moving one has reached."""
        moving = self.references.get(record.index)
        if moving is None or moving.settled or moving.age < 2 * FOLLOW or moving.age % FOLLOW:
            return None
        for index, other in self.references.items():
            if other.settled and other.distance(moving.mean, round(moving.images)).p_value > ARRIVED:
                return index
        return None

    def log_likelihoods(self, images: Images, count: int) -> Float[Tensor, "B K"]:
        """log p of each image in each of the first `count` environments, up to a common constant."""
        return self._columns(images, count, Reference.log_likelihood, -torch.inf)

    def image_p_values(self, images: Images, count: int) -> Float[Tensor, "B K"]:
        """The probability of an image at least as strange, in each of the first `count` environments."""
        return self._columns(images, count, Reference.image_p_values, 0.0)

    def _columns(
        self, images: Images, count: int, column: Callable[[Reference, np.ndarray], np.ndarray], missing: float
    ) -> Float[Tensor, "B K"]:
        features = self.features(images)
        none = np.full(len(images), missing)
        known = (self.references.get(s) for s in range(count))
        columns = [none if r is None or not r.forms else column(r, features) for r in known]
        return torch.from_numpy(np.stack(columns, 1))

    def state_dict(self) -> dict[str, Any]:
        """The references, by environment."""
        return {str(index): reference.state_dict() for index, reference in self.references.items()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict()`."""
        floors = self.fingerprint.smallest_std.numpy(force=True)
        self.references = {int(i): Reference.from_state_dict(floors, values) for i, values in state.items()}
