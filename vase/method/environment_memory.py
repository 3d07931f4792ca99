"""What is known of each environment: a^s, u^s, L̃_s (Section 3)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from vase.config import MaskConfig
from vase.method.atypicality import update_mask


@dataclass
class EnvironmentRecord:
    """The memory of one environment s. Its size does not depend on the stream."""

    index: int
    mask: Bool[Tensor, "N"]
    """a^s: latents typical in s (Eq. 5)."""
    gate: Bool[Tensor, "N"]
    """Latents that the decoder of s may see: all for a new environment, u^s once it has been left."""
    used: Bool[Tensor, "N"]
    """u^s: latents on which reconstructions in s depend."""
    loss: float = float("nan")
    """L̃_s, the average loss while s was last current."""
    age: int = 0
    """Batches of s learnt so far."""
    duplicate_of: int | None = None
    """The environment that this one came into before it had settled; it is retired."""

    @property
    def active(self) -> Bool[Tensor, "N"]:
        """Latents through which information about s flows."""
        return self.mask & self.gate

    def keep(self, decay: float) -> float:
        """The weight of the past in a running average over the batches of s.

        An average starts short, at most (1+age)/(10+age), so that the large losses of the first batches are soon
        forgotten.
        """
        return min(decay, (1 + self.age) / (10 + self.age)) if self.age else 0.0

    def observe(self, loss: float, decay: float) -> None:
        """Count one learnt batch, and update L̃_s with its loss."""
        keep = self.keep(decay)
        self.loss = loss if self.age == 0 else keep * self.loss + (1 - keep) * loss
        self.age += 1

    def retire(self, duplicate_of: int) -> None:
        """Let another environment stand for this one, a false alarm or one that has faded into it."""
        self.duplicate_of = duplicate_of
        self.used = torch.zeros_like(self.used)
        self.gate = torch.zeros_like(self.gate)


class EnvironmentMemory:
    """The environments seen so far, and which of them is current."""

    def __init__(self, n_latents: int) -> None:
        self.n_latents = n_latents
        self.records: list[EnvironmentRecord] = []
        self.current = 0

    def __len__(self) -> int:
        return len(self.records)

    def __getitem__(self, index: int) -> EnvironmentRecord:
        return self.records[index]

    def __iter__(self) -> Iterator[EnvironmentRecord]:
        return iter(self.records)

    @property
    def record(self) -> EnvironmentRecord:
        """The current environment."""
        return self.records[self.current]

    def add(self, mask: Bool[Tensor, "N"]) -> EnvironmentRecord:
        """Remember a new environment."""
        ones = torch.ones(self.n_latents, dtype=torch.bool)
        self.records.append(EnvironmentRecord(len(self.records), mask=mask, gate=ones, used=~ones))
        return self.records[-1]

    def order(self, first: Iterable[int] = ()) -> list[int]:
        """All environments in the order in which they are asked: the given ones, the current one, the others."""
        return list(dict.fromkeys((*first, self.current, *range(len(self)))))

    def past(self) -> list[int]:
        """Environments other than the current one, without those that were retired."""
        return [r.index for r in self.records if r.index != self.current and r.duplicate_of is None]

    def retired(self) -> list[int]:
        """Environments that are duplicates of others."""
        return [r.index for r in self.records if r.duplicate_of is not None]

    def resolve(self, index: int) -> int:
        """The environment of this number or, if that was retired, the one that it came into."""
        known = self.records[index].duplicate_of
        return index if known is None else known

    def resolved(self) -> list[int]:
        """Each environment or, of a retired one, the one that it came into."""
        return [self.resolve(index) for index in range(len(self))]

    def used_by_others(self, index: int) -> Bool[Tensor, "N"]:
        """Latents that some environment other than `index` uses: those that a mask must protect."""
        others = [record.used for record in self.records if record.index != index]
        return torch.stack(others).any(0) if others else torch.zeros(self.n_latents, dtype=torch.bool)

    def own(self) -> Bool[Tensor, "N"]:
        """Active latents of the current environment that no other one uses."""
        return self.record.active & ~self.used_by_others(self.current)

    def spare(self) -> Bool[Tensor, "N"]:
        """Latents that no environment uses."""
        return ~self.used_by_others(-1)

    def updated_mask(
        self, index: int, mask: Bool[Tensor, "N"], alpha: Float[Tensor, "N"], config: MaskConfig, *, protect: bool
    ) -> Bool[Tensor, "N"]:
        """The mask of environment `index` after a batch (Eq. 5).

        With `protect`, only latents that another environment uses can be masked; masking more than that can starve a
        latent for ever. Without it, A masks whatever is atypical, as in the paper.
        """
        if protect and all(record.index == index for record in self.records):  # nobody to protect
            return torch.ones_like(mask)
        maskable = self.used_by_others(index) if protect else torch.ones(self.n_latents) > 0
        return update_mask(mask, alpha, config.low, config.high, maskable, min(config.minimum, self.n_latents))

    def state_dict(self) -> dict[str, Any]:
        """One row per environment."""
        vectors = {name: [getattr(r, name) for r in self.records] for name in ("mask", "gate", "used")}
        return {
            "current": self.current,
            "loss": torch.tensor([r.loss for r in self.records], dtype=torch.float64),
            "age": torch.tensor([r.age for r in self.records]),
            "duplicate_of": [r.duplicate_of for r in self.records],
            **{name: torch.stack(rows) if rows else torch.zeros(0, self.n_latents) for name, rows in vectors.items()},
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict()`."""
        vectors = zip(state["mask"], state["gate"], state["used"], strict=True)
        self.records = [
            EnvironmentRecord(i, mask.clone(), gate.clone(), used.clone(), loss, age, known)
            for i, ((mask, gate, used), loss, age, known) in enumerate(
                zip(vectors, state["loss"].tolist(), state["age"].tolist(), state["duplicate_of"], strict=True)
            )
        ]
        self.current = state["current"]
