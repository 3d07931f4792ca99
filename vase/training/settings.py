"""What defines a training run."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Literal

from vase.config import VASEConfig, preset
from vase.worlds.checks import MAX_SEED
from vase.worlds.spec import StreamSpec, WorldSpec, canonical

ProbeMode = Literal["periodic", "online", "none"]
ImaginationPolicy = Literal["learnt", "random"]
THREE_WORLDS = "moving-fashion,mnist,moving-mnist"
"""The stream of the paper's Figure 2 and ablation study."""
PRESET_DEFAULTS: dict[str, dict[str, Any]] = {
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
"""Preset -> settings in which it differs from the defaults of the fields."""
_RANGES = dict.fromkeys(("steps", "probe_every", "checkpoint_every", "keep", "rows_every"), (1, 10**12)) | {
    "canvas": (1, 4096),
    "sprite": (1, 4096),
    "batch_size": (2, 65_536),
    "seed": (0, MAX_SEED),
    "frozen_every": (0, 10**12),
    "imagination_start": (0, 10**12),
    "imagination_ramp": (0, 10**12),
    "threads": (1, 1024),
}
"""The smallest and the largest value of each field that counts something."""
FOLDERS = ("data", "faces", "frames")
"""Fields that name a folder."""
OPERATION = ("data", "device", "threads", "checkpoint_every", "keep")
"""How a run is operated, not what it computes: these may change between an interruption and a resume."""
_IMAGINATION: dict[str, Any] = {
    "imagination_policy": "learnt",
    "imagination_share": 1.0,
    "imagination_start": 0,
    "imagination_ramp": 0,
}
"""How images are imagined, unless told."""
_SELDOM: dict[str, Any] = {
    "imagination": "",
    **_IMAGINATION,
    "anticipation": "",
    "learner": "vase",
    "learner_options": {},
    "frozen_every": 4,
    "keep": 3,
    "joint": False,
}
"""Defaults that are left out of a saved run, so that older versions can read it."""


def option(default: Any, help: str, **details: Any) -> Any:
    """A field with its documentation, from which the command line makes an option.

    `details` are `metavar`, `choices` and `flag`, where the option is not called `--` and the name of the field.
    """
    value: Any = {"default_factory": default.copy} if isinstance(default, dict) else {"default": default}
    return field(**value, metadata={"help": help, **details})


@dataclass(frozen=True)
class RunSettings:
    """A training run in full: the same settings give bit-identical rows and weights on one machine."""

    stream: str = option(
        THREE_WORLDS,
        "worlds in order: [moving-][soft-][inverse-]DATASET[:SPRITE], [soft-][inverse-]faces, outdoors, indoors, in "
        "colour cifar10, emoji-google or emoji-twitter, of which :classes=0-4+7 keeps some classes, or folder:PATH, "
        "separated by commas; *N sets the number of batches of one stage, e.g. mnist,fashion*500,mnist; 'vase data "
        "list' names the datasets",
        metavar="WORLDS",
    )
    preset: str = option("laptop", "configuration and defaults to start from", choices=tuple(PRESET_DEFAULTS))
    steps: int = option(3_000, "batches per stage")
    joint: bool = option(
        False,
        "every batch has images of all worlds of the stream, in equal shares on average, instead of one world after "
        "the other: what a learner could reach that never has to remember",
    )
    overrides: Mapping[str, Any] = option(
        {},
        "set a field of the configuration, e.g. capacity.gamma=7, or an option of the learner, learner.NAME=VALUE; may "
        "be repeated; 'vase config' lists the fields",
        flag="--set",
        metavar="FIELD=VALUE",
    )
    seed: int = option(0, "seed of the learner, the stream and the probes")
    canvas: int = option(32, "side of the images in pixels")
    sprite: int = option(20, "side of the sprites in pixels")
    batch_size: int = option(64, "images per batch")
    probes: ProbeMode = option(  # noqa: RUF009
        "periodic",
        "evaluation during training: 'online' trains the probes as in the paper's appendix, 'periodic' is cheaper, "
        "'none' switches them off",
    )
    probe_every: int = option(250, "steps between two scores of the probes")
    frozen_every: int = option(
        4,
        "the worlds met so far are also scored by fresh probes on the frozen encoder, at the end of each stage and at "
        "every N-th score of the probes; 1: at all of them; 0: only at the end of each stage",
        metavar="N",
    )
    measures: bool = option(
        False,
        "also measure disentanglement, reconstruction and dreams of every world met so far at the end of each stage",
    )
    checkpoint_every: int = option(500, "steps between two checkpoints")
    keep: int = option(3, "checkpoints to keep; the oldest is deleted when a new one is written")
    rows_every: int = option(10, "steps between two step rows in rows.jsonl")
    imagination: str = option(
        "",
        "worlds of the stream, separated by commas, e.g. mnist: each of their batches is joined by as many imagined "
        "images, which a policy moves that is trained along with the learner (default: none)",
        metavar="WORLDS",
    )
    imagination_policy: ImaginationPolicy = option(  # noqa: RUF009
        "learnt",
        "what moves images in the worlds of --imagination: 'learnt' is the policy, which aims at z*, 'random' moves "
        "them by uniformly random parameters, as a baseline",
    )
    imagination_share: float = option(
        1.0, "imagined images that the learner gets per image of a batch in the worlds of --imagination, above 0 to 1"
    )
    imagination_start: int = option(
        0, "batches at the beginning of each stage of --imagination that get no imagined images"
    )
    imagination_ramp: int = option(
        0,
        "batches over which the number of imagined images then grows from none to --imagination-share, so that the "
        "change is no sudden shift",
    )
    anticipation: str = option(
        "",
        "pairs of worlds of the stream, e.g. 'mnist>moving-mnist': while MET is trained on, a classifier trained on "
        "its images, imagined ones included, is tested on UNMET (default: none)",
        metavar="MET>UNMET",
    )
    data: str | None = option(None, "folder with the idx files of the datasets, searched first")
    faces: str | None = option(
        None, "folder of pictures for the world faces, e.g. CelebA's (default: VASE_FACES, or the ORL faces)"
    )
    frames: str | None = option(
        None, "folder of frames for the worlds outdoors and indoors, e.g. DeepMind Lab's (default: they are rendered)"
    )
    fallback: bool = option(False, "use the embedded stand-ins, digits and glyphs, if the real data is unavailable")
    device: str = option("auto", "auto, cpu, cuda, ...")
    threads: int = option(1, "CPU threads; 1 is fastest for several runs at the same time")
    learner: str = option(
        "vase",
        "vase, a rival (docs/compare.md), or a class of your own as package.module:Class, also of the current folder",
        metavar="NAME",
    )
    learner_options: Mapping[str, Any] = option({}, "keyword arguments of the learner: --set learner.NAME=VALUE")

    def __post_init__(self) -> None:
        for name in ("overrides", "learner_options"):
            if not isinstance(given := getattr(self, name), Mapping):
                raise ValueError(f"{name}={given!r}: must be names and their values.")
        overrides: dict[str, Any] = {}
        learner_options = dict(self.learner_options)
        for name, value in self.overrides.items():
            target = learner_options if name.startswith("learner.") else overrides
            target[name.removeprefix("learner.")] = value
        object.__setattr__(self, "overrides", overrides)
        object.__setattr__(self, "learner_options", learner_options)
        preset(self.preset)
        for name, (low, high) in _RANGES.items():
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < low:
                raise ValueError(f"{name}={value!r}: must be a whole number of at least {low}.")
            if value > high:
                raise ValueError(f"{name}={value!r}: must be at most {high}.")
        for name in FOLDERS:
            if getattr(self, name) == "":
                raise ValueError(f"{name}='': must be the name of a folder; leave it out if there is none.")
        if self.probes not in ("periodic", "online", "none"):
            raise ValueError(f"probes={self.probes!r}: must be 'periodic', 'online' or 'none'.")
        if self.anticipation and self.probes == "none":
            raise ValueError(f"anticipation={self.anticipation!r}: needs probes; use probes='periodic' or 'online'.")
        self._check_imagination()
        named = [("imagination", name) for name in self.imagined]
        named += [("anticipation", name) for pair in self.anticipated for name in pair]
        for field_name, name in named:
            if name not in self.names:
                text = f"{field_name}={getattr(self, field_name)!r}: {name!r} is no world of the stream; name some"
                raise ValueError(f"{text} of {', '.join(dict.fromkeys(self.names))}.")

    def _check_imagination(self) -> None:
        """Raise ValueError for a policy, share or time of imagined images that cannot be."""
        if self.imagination_policy not in ("learnt", "random"):
            raise ValueError(f"imagination_policy={self.imagination_policy!r}: must be 'learnt' or 'random'.")
        share = self.imagination_share
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share <= 1:
            rule = "must be above 0 and at most 1; for no imagined images, leave imagination out"
            raise ValueError(f"imagination_share={share!r}: {rule}.")
        changed = [name for name, usual in _IMAGINATION.items() if getattr(self, name) != usual]
        if changed and not self.imagination:
            found = f"{changed[0]}={getattr(self, changed[0])!r} without imagination has no effect"
            raise ValueError(f"{found}: name worlds of the stream, e.g. imagination='mnist', or leave it out.")

    @property
    def names(self) -> tuple[str, ...]:
        """The world of each stage, as the stream names it; a stand-in may take its place."""
        return tuple(str(world) for world, _ in StreamSpec.parse(self.stream, self.steps).stages)

    @property
    def lengths(self) -> tuple[int, ...]:
        """The number of batches of each stage."""
        return tuple(steps for _, steps in StreamSpec.parse(self.stream, self.steps).stages)

    @property
    def imagined(self) -> tuple[str, ...]:
        """Names of the worlds with imagined images."""
        return tuple(map(canonical, self.imagination.split(","))) if self.imagination else ()

    @property
    def anticipated(self) -> tuple[tuple[str, str], ...]:
        """Pairs of (met, unmet) worlds."""
        pairs = []
        for text in self.anticipation.split(",") if self.anticipation else ():
            met, _, unmet = map(canonical, text.partition(">"))
            if not met or not unmet or met == unmet:
                example = "write MET>UNMET, two worlds of the stream, e.g. mnist>moving-mnist."
                raise ValueError(f"anticipation={self.anticipation!r}: {example}")
            pairs.append((met, unmet))
        return tuple(pairs)

    @classmethod
    def of(cls, preset_name: str = "laptop", **given: Any) -> RunSettings:
        """The settings that suit a preset, with values replaced; None means "as the preset says"."""
        preset(preset_name)
        chosen = {name: value for name, value in given.items() if value is not None}
        return cls(**{"preset": preset_name, **PRESET_DEFAULTS[preset_name], **chosen})

    def configure(self, image_shape: tuple[int, int, int]) -> VASEConfig:
        """The configuration of a learner of images of this shape: the preset, and what the settings change."""
        fixed = {"image_shape": image_shape, "batch_size": self.batch_size}
        config = preset(self.preset, image_shape, self.lengths[0]).with_values({**fixed, **self.overrides})
        for name, option in (("image_shape", "--canvas"), ("batch_size", "--batch-size")):
            if getattr(config, name) != fixed[name]:
                raise ValueError(
                    f"{name}={getattr(config, name)}: the stream decides it ({fixed[name]}); use {option}."
                )
        return config

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready copy; the inverse of `from_dict`. Fields that are seldom used appear only if they are used."""
        return {name: value for name, value in asdict(self).items() if name not in _SELDOM or value != _SELDOM[name]}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> RunSettings:
        """Rebuild settings from `to_dict` or from parsed JSON."""
        return cls(**values)

    def differences(self, other: RunSettings) -> list[str]:
        """Names of the fields that define what is computed and differ; two paths of one folder do not."""
        mine, others = (settings.with_absolute_folders().to_dict() for settings in (self, other))
        return [f.name for f in fields(self) if f.name not in OPERATION and mine.get(f.name) != others.get(f.name)]

    def with_absolute_folders(self) -> RunSettings:
        """The same run for a process with another working directory or home.

        >>> RunSettings(stream="mnist, folder:/cats/../dogs*500").with_absolute_folders().stream
        'mnist,folder:/dogs*500'
        """

        def whole(name: str) -> str:
            return str(WorldSpec.parse(name).with_absolute_folder())

        folders: dict[str, Any] = {name: absolute(path) for name in FOLDERS if (path := getattr(self, name))}
        return replace(
            self,
            stream=str(StreamSpec.parse(self.stream, self.steps).with_absolute_folders()),
            imagination=",".join(map(whole, self.imagined)),
            anticipation=",".join(f"{whole(met)}>{whole(unmet)}" for met, unmet in self.anticipated),
            **folders,
        )


def absolute(path: str) -> str:
    """The absolute path of a folder that a person named, who may have written ~."""
    return os.path.abspath(os.path.expanduser(path))
