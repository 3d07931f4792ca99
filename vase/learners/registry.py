"""Learners by name: those of the package, and classes of your own as "package.module:Class"."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping
from typing import Any

from vase.config import VASEConfig
from vase.learners.protocol import Learner

_RIVALS = "vase.learners.rivals."
LEARNERS = {
    "vase": "vase.learners.vase:VASE",
    "fine-tuning": f"{_RIVALS}vae:VAE",
    "reservoir": f"{_RIVALS}reservoir:ReservoirReplay",
    "generative-replay": f"{_RIVALS}generative_replay:GenerativeReplay",
    "lifelong-generative": f"{_RIVALS}lifelong_generative:LifelongGenerative",
    "curl": f"{_RIVALS}curl:CURL",
    "ewc": f"{_RIVALS}ewc:EWC",
    "si": f"{_RIVALS}si:SI",
    "mas": f"{_RIVALS}mas:MAS",
}
"""Short names."""
_MEMBERS = tuple(name for name in vars(Learner) if not name.startswith("_"))
_METHODS = tuple(name for name in _MEMBERS if inspect.isfunction(getattr(Learner, name)))


def load_learner_class(name: str) -> type[Learner]:
    """The class that a name stands for, imported.

    >>> load_learner_class("vase").__name__
    'VASE'
    """
    module_name, colon, class_name = LEARNERS.get(name, name).partition(":")
    if not (colon and module_name and class_name):
        known = ", ".join(LEARNERS)
        raise ValueError(f"learner={name!r}: must be one of {known}, or package.module:Class, e.g. mine.pca:PCA.")
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise  # the module exists and lacks a package that it needs
        raise ValueError(
            f"learner={name!r}: no module {error.name!r}; install it, or add its folder to PYTHONPATH."
        ) from None
    found = getattr(module, class_name, None)
    if not isinstance(found, type):
        raise ValueError(f"learner={name!r}: module {module_name} has no class {class_name!r}; check the spelling.")
    _require(name, found, _METHODS)
    return found


def make_learner(
    name: str, config: VASEConfig, *, seed: int = 0, device: str = "auto", options: Mapping[str, Any] | None = None
) -> Learner:
    """A new learner: `Class(config, seed=seed, device=device, **options)`."""
    found: Any = load_learner_class(name)
    arguments = {"seed": seed, "device": device, **(options or {})}
    try:
        inspect.signature(found).bind(config, **arguments)
    except TypeError as error:
        raise ValueError(
            f"learner={name!r} with options {dict(options or {})}: {error}; it is built as {found.__name__}"
            "(config, seed=..., device=..., **options), change --set learner.NAME=VALUE or the class."
        ) from None
    learner = found(config, **arguments)
    _require(name, learner, _MEMBERS)
    return learner


def _require(name: str, found: object, members: tuple[str, ...]) -> None:
    """Refuse what does not follow the `Learner` protocol."""
    if missing := [member for member in members if not hasattr(found, member)]:
        raise ValueError(
            f"learner={name!r} is not a Learner: it lacks {', '.join(missing)}; see vase.learners.protocol."
        )
