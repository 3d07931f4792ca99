"""Tables of numbers with their spread over seeds, printed for a terminal, a page, a paper or a program."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean, stdev
from typing import Any, Literal

Format = Literal["text", "json", "csv", "markdown", "latex"]
FORMATS: tuple[Format, ...] = ("text", "json", "csv", "markdown", "latex")


@dataclass(frozen=True)
class Spread:
    """A number per seed.

    >>> str(Spread((1.0, 2.0, 3.0)))
    '2.0 ± 1.0'
    """

    values: tuple[float, ...]
    digits: int = 1

    @property
    def mean(self) -> float | None:
        """Over the seeds."""
        return mean(self.values) if self.values else None

    @property
    def std(self) -> float | None:
        """Sample standard deviation over the seeds; None for fewer than two."""
        return stdev(self.values) if len(self.values) > 1 else None

    @property
    def error(self) -> float | None:
        """Standard error of the mean."""
        return None if self.std is None else self.std / len(self.values) ** 0.5

    def __str__(self) -> str:
        """Mean ± standard deviation."""
        if self.mean is None:
            return "–"
        spread = "" if self.std is None else f" ± {self.std:.{self.digits}f}"
        return f"{self.mean:.{self.digits}f}{spread}".replace("-", "−")


Entry = str | int | Spread


@dataclass(frozen=True)
class Table:
    """Columns and rows; notes say what a reader must know."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Entry, ...], ...]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"{self.title}: a row of {len(row)} entries under {len(self.columns)} columns")

    def render(self, form: Format) -> str:
        """The table as text of one of FORMATS."""
        if form not in FORMATS:
            raise ValueError(f"format {form!r}: must be one of {', '.join(FORMATS)}.")
        return {
            "text": self._text,
            "json": self._json,
            "csv": self._csv,
            "markdown": self._markdown,
            "latex": self._latex,
        }[form]()

    def _text(self) -> str:
        lines = [self.columns, *(tuple(map(str, row)) for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        body = ["  ".join(t.ljust(w) for t, w in zip(line, widths, strict=True)).rstrip() for line in lines]
        return "\n".join([self.title, "", body[0], "  ".join("─" * w for w in widths), *body[1:], "", *self.notes])

    def _markdown(self) -> str:
        lines = [self.columns, ("---",) * len(self.columns), *(tuple(map(str, row)) for row in self.rows)]
        body = ["| " + " | ".join(line) + " |" for line in lines]
        return "\n".join([f"**{self.title}**", "", *body, "", *self.notes])

    def _latex(self) -> str:
        lines = [self.columns, *self.rows]
        body = [" & ".join(_latex(entry) for entry in line) + r" \\" for line in lines]
        layout = "l" + "r" * (len(self.columns) - 1)
        inner = ["\\hline", body[0], "\\hline", *body[1:], "\\hline"]
        caption = _latex(" ".join([self.title + ".", *self.notes]))
        return "\n".join(
            [
                "\\begin{table}",
                "\\centering",
                f"\\begin{{tabular}}{{{layout}}}",
                *inner,
                "\\end{tabular}",
                f"\\caption{{{caption}}}",
                "\\end{table}",
            ]
        )

    def _keys(self) -> list[str]:
        """Column names for programs: one that is there twice is told apart by the column before it."""
        pairs = zip(("", *self.columns), self.columns, strict=False)
        return [f"{name}: {before}" if self.columns.count(name) > 1 else name for before, name in pairs]

    def _csv(self) -> str:
        spreads = {i for row in self.rows for i, entry in enumerate(row) if isinstance(entry, Spread)}
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        heads = [[f"{c}: mean", f"{c}: std", f"{c}: n"] if i in spreads else [c] for i, c in enumerate(self._keys())]
        writer.writerow([head for group in heads for head in group])
        for row in self.rows:
            entries: list[Any] = []
            for i, entry in enumerate(row):
                if isinstance(entry, Spread):
                    entries += [entry.mean, entry.std, len(entry.values)]
                else:
                    entries += [entry, "", ""] if i in spreads else [entry]
            writer.writerow(entries)
        return out.getvalue().rstrip("\n")

    def _json(self) -> str:
        rows = [{c: _plain(e) for c, e in zip(self._keys(), row, strict=True)} for row in self.rows]
        return json.dumps({"title": self.title, "rows": rows, "notes": self.notes}, indent=1, ensure_ascii=False)


def _plain(entry: Entry) -> Any:
    if isinstance(entry, Spread):
        return {"mean": entry.mean, "std": entry.std, "n": len(entry.values), "values": list(entry.values)}
    return entry


_LATEX = {
    "±": r"$\pm$",
    "−": "$-$",
    "–": "--",
    "×": r"$\times$",
    "⁻": "",
    "%": r"\%",
    "_": r"\_",
    "&": r"\&",
    "#": r"\#",
}
_LATEX |= {"γ": r"$\gamma$", "κ": r"$\kappa$", "λ": r"$\lambda$", "τ": r"$\tau$", "α": r"$\alpha$", "β": r"$\beta$"}
_LATEX |= {"→": r"$\to$", "≤": r"$\leq$", "≥": r"$\geq$", "²": r"$^2$", "Δ": r"$\Delta$"}


def _latex(entry: Entry) -> str:
    return "".join(_LATEX.get(character, character) for character in str(entry).replace("1e-4", "$10^{-4}$"))


def render_all(tables: Sequence[Table], form: Format) -> str:
    """Several tables: one JSON list, or one after the other, in CSV each under its title."""
    parts = [table.render(form) for table in tables]
    if form == "json":
        return "[\n" + ",\n".join(parts) + "\n]"
    if form == "csv":
        parts = [f"# {table.title}\n{part}" for table, part in zip(tables, parts, strict=True)]
    return "\n\n".join(parts)


def spread(values: Sequence[float | None], *, scale: float = 1.0, digits: int = 1) -> Spread:
    """A spread of what was measured, in units of 1/scale."""
    return Spread(tuple(scale * value for value in values if value is not None), digits)
