"""What defines a training run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal

from vase.config import preset

ProbeMode = Literal["periodic", "online", "none"]
THREE_WORLDS = "moving-fashion,mnist,moving-mnist"
"""The stream of the paper's Figure 2 and ablation study."""
_DEFAULTS: dict[str, dict[str, Any]] = {
    "laptop": {},
    "paper": {
        "steps": 150_000,
        "canvas": 64,
        "sprite": 28,
        "probes": "online",
        "checkpoint_every": 5_000,
        "probe_every": 5_000,
        "rows_every": 500,
    },
    "smoke": {"steps": 100, "batch_size": 32, "checkpoint_every": 50, "probe_every": 50},
}
_PLACE = ("data", "device", "threads")
"""Where a run computes, not what: these may change between an interruption and a resume."""
_SELDOM: dict[str, Any] = {"imagination": "", "anticipation": "", "learner": "vase", "learner_options": {}}
"""Defaults that are left out of a saved run, so that older versions can read it."""
_OPTION = "learner."
"""Overrides whose name starts like this are options of the learner, not fields of the configuration."""


@dataclass(frozen=True)
class RunSettings:
    """A training run in full: the same settings give bit-identical rows and weights on one machine."""

    stream: str = THREE_WORLDS
    """Worlds in order, as `Schedule.parse` reads them; `name*500` sets the length of one stage."""
    preset: str = "laptop"
    """'laptop', 'paper' or 'smoke': the configuration to start from."""
    steps: int = 3_000
    """Batches per stage. Paper: 150,000."""
    overrides: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the configuration by dotted name, e.g. {"capacity.gamma": 7}."""
    seed: int = 0
    """Of the learner, the stream and the probes."""
    canvas: int = 32
    """Side of the images in pixels. Paper: 64."""
    sprite: int = 20
    """Side of the sprites in pixels. Paper: 28."""
    batch_size: int = 64
    """Images per batch. Paper: 64."""
    probes: ProbeMode = "periodic"
    """'online' is the paper's appendix to the letter, 'periodic' a cheaper form, 'none' switches probes off."""
    probe_every: int = 250
    """Steps between two scores of the probes."""
    measures: bool = False
    """Measure disentanglement, reconstruction and dreams of every world met so far at the end of each stage."""
    checkpoint_every: int = 500
    """Steps between two checkpoints."""
    rows_every: int = 10
    """Steps between two step rows."""
    imagination: str = ""
    """Worlds of the stream, with commas between, whose batches are joined by as many imagined images: moved by a policy
    that learns along with the learner. Empty: there is none."""
    anticipation: str = ""
    """Pairs MET>UNMET of worlds of the stream, e.g. "mnist>moving-mnist": while MET is trained on, a classifier that
    learns from what is met there, imagined images included, is tested on UNMET."""
    data: str | None = None
    """A folder with the datasets' idx files, tried first."""
    faces: str | None = None
    """A folder of face pictures for the world `faces`; by default what VASE_FACES names, else the ORL faces."""
    frames: str | None = None
    """A folder with frames of the worlds `outdoors` and `indoors`, which are rendered without it."""
    fallback: bool = False
    """Use the embedded stand-ins (digits, glyphs) where the real data cannot be had."""
    device: str = "auto"
    threads: int = 1
    """CPU threads; one is fastest for several runs side by side."""
    learner: str = "vase"
    """The class that learns: "vase", or "package.module:Class" for a learner of your own."""
    learner_options: Mapping[str, Any] = field(default_factory=dict)
    """Keyword arguments of the learner; also given as overrides "learner.NAME"."""

    def __post_init__(self) -> None:
        options = {name.removeprefix(_OPTION): v for name, v in self.overrides.items() if name.startswith(_OPTION)}
        if options:
            fields_only = {name: v for name, v in self.overrides.items() if not name.startswith(_OPTION)}
            object.__setattr__(self, "overrides", fields_only)
            object.__setattr__(self, "learner_options", {**self.learner_options, **options})
        preset(self.preset)
        least = {"seed": 0, "batch_size": 2}
        counts = ("steps", "seed", "canvas", "sprite", "batch_size", "probe_every", "checkpoint_every", "rows_every")
        for name in (*counts, "threads"):
            value, low = getattr(self, name), least.get(name, 1)
            if not isinstance(value, int) or isinstance(value, bool) or value < low:
                raise ValueError(f"{name}={value!r}: must be a whole number of at least {low}.")
        if self.probes not in ("periodic", "online", "none"):
            raise ValueError(f"probes={self.probes!r}: must be 'periodic', 'online' or 'none'.")
        if self.anticipation and self.probes == "none":
            raise ValueError(f"anticipation={self.anticipation!r}: needs probes; use probes='periodic' or 'online'.")
        named = {"imagination": self.imagined, "anticipation": [name for pair in self.anticipated for name in pair]}
        for field_name, names in named.items():
            for name in names:
                if name not in self.names:
                    text = f"{field_name}={getattr(self, field_name)!r}: {name!r} is no world of the stream; name some"
                    raise ValueError(f"{text} of {', '.join(dict.fromkeys(self.names))}.")

    @property
    def names(self) -> tuple[str, ...]:
        """The world of each stage, as the stream names it; a stand-in may take its place."""
        return tuple(entry.partition("*")[0].strip() for entry in self.stream.split(","))

    @property
    def imagined(self) -> tuple[str, ...]:
        """Names of the worlds with imagined images."""
        return tuple(name.strip() for name in self.imagination.split(",")) if self.imagination else ()

    @property
    def anticipated(self) -> tuple[tuple[str, str], ...]:
        """Pairs of (met, unmet) worlds."""
        pairs = []
        for text in self.anticipation.split(",") if self.anticipation else ():
            met, _, unmet = (part.strip() for part in text.partition(">"))
            if not met or not unmet or met == unmet:
                raise ValueError(
                    f"anticipation={self.anticipation!r}: write MET>UNMET, two worlds of the stream, e.g. "
                    "mnist>moving-mnist."
                )
            pairs.append((met, unmet))
        return tuple(pairs)

    @classmethod
    def of(cls, preset_name: str = "laptop", **given: Any) -> RunSettings:
        """The settings that suit a preset, with values replaced; None means "as the preset says"."""
        preset(preset_name)
        chosen = {name: value for name, value in given.items() if value is not None}
        return cls(**{"preset": preset_name, **_DEFAULTS[preset_name], **chosen})

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready copy; the inverse of `from_dict`. Fields that are seldom used appear only if they are used."""
        values = {**asdict(self), "overrides": dict(self.overrides), "learner_options": dict(self.learner_options)}
        return {name: value for name, value in values.items() if name not in _SELDOM or value != _SELDOM[name]}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> RunSettings:
        """Rebuild settings from `to_dict` or from parsed JSON."""
        return cls(**values)

    def differences(self, other: RunSettings) -> list[str]:
        """Names of the fields that define what is computed and differ."""
        mine, others = self.to_dict(), other.to_dict()
        return [f.name for f in fields(self) if f.name not in _PLACE and mine.get(f.name) != others.get(f.name)]
