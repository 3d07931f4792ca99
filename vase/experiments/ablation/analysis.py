"""Tables of the ablation study: Table 1 beside the paper's numbers, rankings, twins and latents."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable

from vase.experiments.common import analysis
from vase.experiments.common.conditions import (
    HALVES,
    HEADLINE,
    LETTERS,
    OURS,
    label,
    printed,
    readable,
    split,
    switched_off,
)
from vase.experiments.common.numbers import best, change, note, percent, tenthousandths
from vase.experiments.results import Result, Results
from vase.experiments.tables import NONE, Entry, Reported, Table, spread, standard_errors
from vase.metrics.forgetting import Metric, Probes

CLASSES = ("moving-fashion", "mnist")
"""Worlds with an object classifier in Section 4."""
PAPER = {
    "disentangled": {
        "–": ("88.6 ± 0.4", "−15.2 ± 2.8", "3.5 ± 0.05", "24.8 ± 13.5"),
        "S": ("88.9 ± 0.5", "−13.9 ± 1.9", "3.4 ± 0.05", "22.5 ± 12.2"),
        "D": ("88.6 ± 0.3", "−14.4 ± 1.9", "3.3 ± 0.04", "21.4 ± 4.9"),
        "A": ("86.7 ± 1.9", "−24.5 ± 1.0", "3.3 ± 0.04", "67.6 ± 107.0"),
        "SA": ("87.1 ± 1.8", "−28.1 ± 0.08", "3.3 ± 0.04", "78.9 ± 109.0"),
        "DA": ("86.3 ± 2.5", "−25.2 ± 0.5", "3.3 ± 0.04", "72.2 ± 90.0"),
        "SD": ("88.3 ± 0.3", "−12.9 ± 1.9", "3.4 ± 0.05", "20.0 ± 3.5"),
        "SDA": ("88.6 ± 0.4", "−5.4 ± 0.3", "3.2 ± 0.03", "3.0 ± 0.2"),
    },
    "entangled": {
        "–": ("91.8 ± 0.4", "−12.1 ± 0.8", "4.2 ± 0.7", "10.5 ± 2.6"),
        "S": ("91.7 ± 0.4", "−12.2 ± 0.03", "4.5 ± 0.8", "10.9 ± 3.1"),
        "D": ("91.8 ± 0.4", "−12.4 ± 0.7", "4.3 ± 0.7", "11.7 ± 3.2"),
        "A": ("88.6 ± 0.3", "−19.7 ± 0.5", "4.5 ± 0.7", "47.1 ± 26.2"),
        "SA": ("89.9 ± 1.3", "−18.3 ± 0.4", "4.8 ± 0.7", "41.8 ± 20.6"),
        "DA": ("88.8 ± 0.3", "−19.4 ± 0.4", "4.6 ± 0.7", "40.2 ± 19.2"),
        "SD": ("91.4 ± 0.3", "−11.7 ± 0.6", "4.3 ± 0.5", "11.6 ± 1.9"),
        "SDA": ("91.5 ± 0.1", "−6.5 ± 0.7", "4.2 ± 0.4", "3.9 ± 1.1"),
    },
}
"""Table 1: maximum and change of identity accuracy (%), minimum and change of position MSE (1e-4)."""
LEAST_PAIRS = 3
"""Of twins, for a standard error of their difference."""


def table1_frozen(results: Results) -> Table:
    """Table 1 by fresh probes on the frozen encoder."""
    return table1(results, probes="frozen")


def twins_frozen(results: Results) -> Table:
    """The twins by fresh probes on the frozen encoder."""
    return twins(results, probes="frozen")


def ranking_frozen(results: Results) -> Table:
    """The ranking by fresh probes on the frozen encoder."""
    return ranking(results, probes="frozen")


def headline(results: Results) -> Table:
    """Table 1 in short, by fresh probes on the frozen encoder."""
    return table1(results, HEADLINE, "frozen")


def table1(results: Results, chosen: Container[str] | None = None, probes: Probes = "appendix") -> Table:
    """Table 1 beside the paper's numbers: the chosen conditions, or all that have finished runs; and other learners."""
    rows: list[tuple[Entry, ...]] = []
    if chosen is not None:
        results = results.where(lambda condition: not split(condition.name)[0] or condition.name in chosen)
    for condition, runs in results.finished:
        half, letters = split(condition.name)
        ours = (
            percent(best(runs, "accuracy", CLASSES, probes)),
            percent(change(runs, "accuracy", CLASSES, probes)),
            tenthousandths(best(runs, "mse", None, probes)),
            tenthousandths(change(runs, "mse", None, probes)),
        )
        paper: Iterable[Entry] = map(Reported, PAPER[half][letters]) if half else [NONE] * len(ours)
        pairs: list[Entry] = [entry for pair in zip(ours, paper, strict=True) for entry in pair]
        rows.append((half or NONE, readable(condition.name), len(runs), *pairs))
    measured = ("ID max (%)", "ID change (%)", "position min (1e-4)", "position change (1e-4)")
    columns = tuple(name for column in measured for name in (column, "paper"))
    notes = (
        "D: dreaming, S: inference of the environment, A: atypicality mask. ID: moving Fashion and MNIST; position: "
        "the moving worlds, of which the last has no change.",
        note(results, probes),
    )
    name = "Ablation, moving Fashion → MNIST → moving MNIST" + ", frozen encoder" * (probes == "frozen")
    return Table(name, ("half", "condition", "seeds", *columns), tuple(rows), notes)


def latents(results: Results) -> Table:
    """Which latents the worlds use, share and recruit, and whether position is masked where nothing moves."""
    rows: list[tuple[Entry, ...]] = []
    for condition, runs in results.finished:
        if switched_off(condition, "SA"):
            continue
        able = [run for run in runs if run.infers_environments]
        used = [float(sum(map(any, zip(*_used(run), strict=True)))) for run in able]
        shared = [float(len(run.summary["shared"])) for run in able]
        fresh = [_recruited(run) for run in able]
        pattern = f"{sum(map(masks_position_where_nothing_moves, able))} of {len(able)}" if able else NONE
        rows.append((label(condition.name), len(runs), spread(used), spread(shared), spread(fresh), pattern))
    columns = (
        *("condition", "seeds", "used in the end", "shared", "recruited by the second"),
        "position masked on MNIST only",
    )
    notes = (
        "used: by any environment, of 24 (paper: 8 by VASE). shared: by several. recruited: used by the second "
        "environment and not by the first. position: the position latents of moving Fashion are used there, masked "
        "on MNIST, and used on moving MNIST.",
        note(results),
    )
    return Table("Ablation: use of the latents", columns, tuple(rows), notes)


def _recruited(run: Result) -> float | None:
    """Latents that the second environment uses and the first does not; None without a second one."""
    used = _used(run)
    return float(sum(new and not old for old, new in zip(*used[:2], strict=True))) if len(used) > 1 else None


def _used(run: Result) -> list[list[bool]]:
    """u^s of every environment at the end that was not retired."""
    return [known["used"] for known in run.of("end")[0]["environments"] if "duplicate_of" not in known]


def masks_position_where_nothing_moves(run: Result) -> bool:
    """Both position latents used on moving Fashion, masked on MNIST, active and used on moving MNIST."""
    first, second, third = run.of("stage")
    position = {first["position"][axis]["latent"] for axis in "xy"}
    return (
        len(position) == 2
        and all(first["used"][n] for n in position)
        and not any(second["mask"][n] for n in position)
        and all(third["mask"][n] and third["used"][n] for n in position)
    )


def ranking(results: Results, probes: Probes = "appendix") -> Table:
    """How far the unablated, disentangled learner is ahead of the next conditions, in standard errors."""
    rows: list[tuple[Entry, ...]] = []
    for name, losses, sign in forgotten(results, probes):
        spreads = {condition: spread(list(found.values())) for condition, found in losses.items()}
        order = sorted(spreads, key=lambda c: sign * (spreads[c].mean or 0.0))
        shown = [c for place, c in enumerate(order) if place < 5 or c == OURS or not split(c)[0]]
        for known in shown:
            behind = standard_errors(spreads[OURS], spreads[known], sign) if OURS in spreads and known != OURS else NONE
            rows.append((name, order.index(known) + 1, label(known), len(losses[known]), spreads[known], behind))
    notes = (
        "behind: how much worse than disentangled SDA, in standard errors of the difference of the two means; "
        "negative: better.",
        note(results, probes),
    )
    columns = ("measure", "place", "condition", "seeds", "change", "behind")
    title = "Ablation: least forgetting first" + ", frozen encoder" * (probes == "frozen")
    return Table(title, columns, tuple(rows), notes)


def twins(results: Results, probes: Probes = "appendix") -> Table:
    """Entangled learners against their disentangled twins of the same seeds."""
    rows: list[tuple[Entry, ...]] = []
    for name, losses, sign in forgotten(results, probes):
        for letters in LETTERS:
            first, second = (losses.get(f"{half}-{letters}", {}) for half in HALVES)
            if common := [seed for seed in first if seed in second]:
                pair = (spread([found[seed] for seed in common]) for found in (first, second))
                more = spread([sign * (second[seed] - first[seed]) for seed in common])
                errors = more.mean_in_errors if len(common) >= LEAST_PAIRS else NONE
                rows.append((name, printed(letters), len(common), *pair, more, errors))
    notes = (
        "more: how much more the entangled one forgets than the disentangled one of the same seed, and that in "
        "standard errors of its mean; negative: less.",
        note(results, probes),
    )
    columns = ("measure", "condition", "seeds", *HALVES, "more", "standard errors")
    return Table("Ablation: entangled twins" + ", frozen encoder" * (probes == "frozen"), columns, tuple(rows), notes)


def forgotten(results: Results, probes: Probes = "appendix") -> list[tuple[str, dict[str, dict[int, float]], int]]:
    """(measure, condition -> seed -> change, sign): a positive sign if more is worse."""
    found: list[tuple[str, dict[str, dict[int, float]], int]] = []
    for name, metric, worlds, scale, sign in _MEASURED:
        losses = {}
        for condition in results.experiment.conditions:
            runs = results.of(condition.name)
            changes = zip(runs, change(runs, metric, worlds, probes), strict=True)
            losses[condition.name] = {run.seed: scale * value for run, value in changes if value is not None}
        found.append((name, {condition: by_seed for condition, by_seed in losses.items() if by_seed}, sign))
    return found


_MEASURED: tuple[tuple[str, Metric, tuple[str, ...] | None, float, int], ...] = (
    ("ID change (%)", "accuracy", CLASSES, 1e2, -1),
    ("position change (1e-4)", "mse", None, 1e4, 1),
)


def _of_shown(table: Callable[[Results], Table]) -> Callable[[Results], Table]:
    """A table of the conditions that figures show."""
    return lambda results: table(results.shown())


shown_axes, shown_disentanglement = _of_shown(analysis.axes), _of_shown(analysis.disentanglement_seen)
shown_quality, shown_sharing = _of_shown(analysis.quality), _of_shown(analysis.sharing_seen)
