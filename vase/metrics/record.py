"""The rows of a run beside the stream it saw: stages, switches, and which environment stood for which world."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
from jaxtyping import Float, Int64

from vase.metrics.forgetting import Metric, Probes, probe_series
from vase.rows import Row
from vase.worlds.timeline import Span, Timeline


@dataclass(frozen=True)
class Period:
    """Steps start < t <= end that the learner spent in one environment."""

    environment: int
    start: int
    end: int

    def overlap(self, visit: Span) -> int:
        """Steps shared with a visit; not positive if there are none."""
        return min(self.end, visit.end) - max(self.start, visit.start)


@dataclass(frozen=True)
class Record:
    """Rows of a run beside the stream it saw."""

    stages: tuple[tuple[str, int], ...]  # (world, steps) in the order of the stream, which the learner never knew
    rows: tuple[Row, ...]
    threshold: float = 0.6  # λ

    def of(self, kind: str) -> list[Row]:
        """Rows of one kind, in order."""
        return [row for row in self.rows if row.get("kind") == kind]

    @cached_property
    def total(self) -> int:
        """Last step of the run so far."""
        return max((int(row["step"]) for row in self.rows if "step" in row), default=0)

    @cached_property
    def timeline(self) -> Timeline:
        """The stages on the axis of steps."""
        return Timeline.of(self.stages)

    @property
    def worlds(self) -> tuple[str, ...]:
        """Names of the worlds, in order of their first visit."""
        return self.timeline.worlds

    @cached_property
    def visits(self) -> tuple[Span, ...]:
        """Stages that the run has reached, cut at its last step."""
        return self.timeline.until(self.total)

    @cached_property
    def true_switches(self) -> tuple[int, ...]:
        """Steps after which the world really changed, as far as the run has come."""
        return tuple(step for step in self.timeline.switches if step < self.total)

    @cached_property
    def position_row(self) -> Row | None:
        """The row with the last position latents: of the end, or of the last stage of a world that moves, if any."""
        return next((row for row in reversed(self.rows) if "position" in row), None)

    def moment(self, step: int) -> str:
        """A step in words: "at the end of the run" or "at step 200"."""
        return "at the end of the run" if step >= self.timeline.total else f"at step {step:,}"

    @cached_property
    def switches(self) -> tuple[Row, ...]:
        """Switches the learner announced after its first environment."""
        return tuple(row for row in self.of("switch") if int(row["step"]) > 1)

    @cached_property
    def environments(self) -> tuple[Period, ...]:
        """Environments as inferred, from one announced switch to the next."""
        steps = self.of("step")
        current = int(steps[0]["environment"]) if steps else 0
        periods, start = [], 0
        for row in self.switches:
            periods.append(Period(current, start, int(row["step"])))
            current, start = int(row["environment"]), int(row["step"])
        periods.append(Period(current, start, self.total))
        return tuple(period for period in periods if period.end > period.start)

    @cached_property
    def together(self) -> dict[tuple[int, str], int]:
        """(environment, world) -> steps for which the one stood for the other, if any."""
        shared: Counter[tuple[int, str]] = Counter()
        for period, visit in product(self.environments, self.visits):
            if (steps := period.overlap(visit)) > 0:
                shared[period.environment, visit.name] += steps
        return shared

    @cached_property
    def world_of(self) -> dict[int, str]:
        """Environment -> the world it mostly stood for."""
        return {
            s: max((w for e, w in self.together if e == s), key=lambda w: self.together[s, w])
            for s in sorted({e for e, _ in self.together})
        }

    @cached_property
    def environment_of(self) -> dict[str, int]:
        """World -> the environment that stood for it longest, for the worlds that the run has reached."""
        return {
            w: max((e for e, v in self.together if v == w), key=lambda e: self.together[e, w])
            for w in dict.fromkeys(visit.name for visit in self.visits)
        }

    def atypicality(self) -> tuple[Int64[np.ndarray, " T"], Float[np.ndarray, "T N"]]:
        """Steps and α of every latent at these steps; none for a learner without atypicality."""
        rows = [row for row in self.of("step") if any(a is not None for a in row.get("atypicality") or ())]
        steps = np.array([row["step"] for row in rows], np.int64)
        alpha = np.array([[np.nan if a is None else a for a in row["atypicality"]] for row in rows], np.float64)
        return steps, alpha if len(rows) else alpha.reshape(0, 0)

    def scores(
        self, metric: Metric, *, probes: Probes = "appendix"
    ) -> dict[str, tuple[Int64[np.ndarray, " T"], Float[np.ndarray, " T"]]]:
        """World -> (steps, scores) of one metric of the probes."""
        series = probe_series(self.rows, metric, probes=probes)
        order = [world for world in self.worlds if world in series]
        order += [world for world in series if world not in order]
        columns = {world: tuple(zip(*series[world], strict=True)) for world in order}
        return {world: (np.array(steps, np.int64), np.array(values)) for world, (steps, values) in columns.items()}
