"""What defines a watch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from vase.config import VASEConfig, preset
from vase.watching.frames import FRAMINGS, Framing
from vase.worlds.checks import MAX_SEED

OPERATION = ("source", "raw", "idle", "device", "threads", "checkpoint_every", "keep")
"""How a watch is operated, not what it computes: these may change when it is resumed."""
MONITOR = "monitor"
"""The learner without networks, `vase.ShiftMonitor`."""
_SHADES = {"network.likelihood": "gaussian"}
"""Cameras and videos show shades, for which the squared error is the better measure (`vase.suggestions`)."""
_LEAST = {"size": 1, "batch_size": 2, "every": 1, "threads": 1, "checkpoint_every": 1, "keep": 1, "stage_steps": 1}


@dataclass(frozen=True)
class WatchSettings:
    """A watch in full: on the same video or folder, the same settings give identical rows on one machine."""

    source: str = ""
    learner: str = "vase"
    """"vase", "monitor" for the shift detector alone, or package.module:Class."""
    model: str = ""
    """Folder of a saved learner or of a run to start from; empty for a new learner."""
    frozen: bool = False
    """Only detect: nothing is learnt. Needs a model."""
    preset: str = "laptop"
    """Configuration of a new learner."""
    stage_steps: int = 3000
    """Batches that a new learner of the preset laptop expects to spend in an environment."""
    overrides: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the configuration that differ from the preset."""
    size: int = 32
    """Side of the learner's images in pixels; a model has its own."""
    channels: int = 3
    """3 for colour, 1 for grey; a model has its own."""
    framing: Framing = "letterbox"
    batch_size: int = 64
    """Frames per batch."""
    every: int = 1
    """Use every n-th frame."""
    seed: int = 0
    raw: str = ""
    """WIDTHxHEIGHT of raw frames on standard input."""
    idle: float | None = None
    """Seconds without a new picture after which a folder ends; None waits for ever."""
    device: str = "auto"
    threads: int = 1
    checkpoint_every: int = 100
    """Batches between two checkpoints; there is one after every switch and at the end, too."""
    keep: int = 2

    def __post_init__(self) -> None:
        for name, least in _LEAST.items():
            if getattr(self, name) < least:
                raise ValueError(f"{name}={getattr(self, name)!r}: must be at least {least}.")
        if self.framing not in FRAMINGS:
            raise ValueError(f"framing={self.framing!r}: must be one of {', '.join(FRAMINGS)}.")
        if self.channels not in (1, 3):
            raise ValueError(f"channels={self.channels!r}: must be 3 (colour) or 1 (grey).")
        if not 0 <= self.seed <= MAX_SEED:
            raise ValueError(f"seed={self.seed!r}: must be from 0 to {MAX_SEED}.")
        if self.idle is not None and not self.idle >= 0:
            raise ValueError(f"idle={self.idle!r}: must be zero or more seconds.")
        if self.frozen and not self.model:
            raise ValueError("frozen=True: needs a trained learner; name a run, a watch or a saved one with --model.")
        if self.model and self.overrides:
            raise ValueError("--set with --model: a saved learner has its own configuration; leave --set out.")

    def config(self) -> VASEConfig:
        """The configuration of a new learner: the preset with a Gaussian likelihood, unless `overrides` has another."""
        shape = (self.channels, self.size, self.size)
        plain = preset(self.preset, shape, self.stage_steps)
        return plain.with_values({"image_shape": shape, "batch_size": self.batch_size, **_SHADES, **self.overrides})

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> WatchSettings:
        """The inverse of `to_dict`."""
        return cls(**values)

    def differences(self, other: WatchSettings) -> list[str]:
        """Names of settings that compute something else."""
        names = (f.name for f in fields(self) if f.name not in OPERATION)
        return [name for name in names if getattr(self, name) != getattr(other, name)]
