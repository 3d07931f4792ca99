"""The conditions of the paper's ablation, their readable names, and references to the tables and figures of all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from vase.experiments.experiment import Condition

ON, OFF = "yes", "no"
SWITCHES = {"S": "environments.enabled", "D": "dreaming.enabled", "A": "mask.enabled"}
"""The field of the configuration that each letter of the paper's ablation switches."""
LETTERS = ("none", "S", "D", "A", "SA", "DA", "SD", "SDA")
"""Rows of Table 1, in its order; "none" is its "-"."""
HALVES = ("disentangled", "entangled")
ENTANGLED_LOSS = {"capacity.objective": "elbo"}
"""The standard VAE loss, β = 1."""
OURS, BASELINE, ENTANGLED = "disentangled-SDA", "disentangled-none", "entangled-SDA"
MORE_DREAMS = "disentangled-SDA-all-dreams"
ALL_DREAMS = {"dreaming.share": 1.0}
"""As many dreams as images, as in the paper; the preset dreams half as many, for speed."""
HEADLINE = tuple(f"{half}-{letters}" for half in HALVES for letters in ("SDA", "SD", "none"))
"""Conditions in the short form of Table 1."""
METHODS = {
    OURS: "VASE",
    BASELINE: "CCI-VAE",
    "entangled-none": "VAE",
    "entangled-SD": "stand-in for lifelong generative modelling",
}
"""Conditions that are methods with a name of their own."""
_TABLES = "vase.experiments.common.analysis:"
_FIGURES = "vase.experiments.common.figures:"
TABLES = {
    name: _TABLES + name.replace("-", "_")
    for name in (
        *("forgetting", "forgetting-frozen", "detection", "axes", "disentanglement", "disentanglement-seen"),
        *("quality", "sharing", "sharing-seen"),
    )
}
"""References to the tables that every experiment can have."""
FIGURES = {name: _FIGURES + name.replace("-", "_") for name in ("traversals", "cross-domain", "disentanglement")}
"""References to the figures that every experiment with figure data can have."""


def chosen(references: Mapping[str, str], *names: str) -> dict[str, str]:
    """Some of TABLES or FIGURES, in the given order."""
    return {name: references[name] for name in names}


def ablations(seeds: Mapping[str, tuple[int, ...]], shown: Iterable[str] = ()) -> tuple[Condition, ...]:
    """The sixteen conditions of Table 1: {–, S, D, A, SA, DA, SD, SDA} × {disentangled, entangled}."""
    return tuple(
        Condition(
            f"{half}-{letters}",
            {
                **{field: ON if letter in letters else OFF for letter, field in SWITCHES.items()},
                **(ENTANGLED_LOSS if half == "entangled" else {}),
            },
            seeds[half],
            f"{half}-{letters}" in shown,
        )
        for half in seeds
        for letters in LETTERS
    )


def switched_off(condition: Condition, letters: str) -> bool:
    """Whether a condition switches off one of these letters of VASE."""
    return any(condition.overrides.get(SWITCHES[letter]) == OFF for letter in letters)


def printed(letters: str) -> str:
    """Letters as the paper prints them: "–" for none."""
    return letters.replace("none", "–")


def split(condition: str) -> tuple[str, str]:
    """Half and letters of a condition of the ablation; ("", name) of any other.

    >>> split("entangled-none"), split("my-pca")
    (('entangled', '–'), ('', 'my-pca'))
    """
    half, _, letters = condition.partition("-")
    return (half, printed(letters)) if half in HALVES and letters else ("", condition)


def readable(condition: str) -> str:
    """The name of a condition in a table that has a column for its half: "SDA (VASE)"."""
    if condition == MORE_DREAMS:
        return f"{readable(OURS)}, as many dreams as images"
    method = METHODS.get(condition)
    return split(condition)[1] + (f" ({method})" if method else "")


def label(condition: str) -> str:
    """The name of a condition in tables: "disentangled SDA (VASE)"."""
    return f"{split(condition)[0]} {readable(condition)}".strip()


def heading(condition: str) -> str:
    """The name of a condition in figures: "VASE (SDA)", "entangled VASE (SDA)", "entangled (SA)"."""
    half, letters = split(condition)
    if not half:
        return condition
    twin = METHODS.get(condition.replace("entangled-", "disentangled-", 1)) if half == "entangled" else None
    return f"{METHODS.get(condition) or (f'{half} {twin}' if twin else half)} ({letters})"
