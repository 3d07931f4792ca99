"""Tables of numbers with their spread over seeds, printed for a terminal, a page, a paper or a program."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean, stdev
from typing import Any, Literal

Format = Literal["text", "json", "csv", "markdown", "latex"]
FORMATS: tuple[Format, ...] = ("text", "json", "csv", "markdown", "latex")
NONE = "–"
"""The entry for what was not or cannot be measured."""


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

    @property
    def mean_in_errors(self) -> float | str:
        """The mean in units of its own standard error."""
        return self.mean / self.error if self.mean is not None and self.error else "?"

    def __str__(self) -> str:
        """Mean ± standard deviation."""
        if self.mean is None:
            return NONE
        spread = "" if self.std is None else f" ± {self.std:.{self.digits}f}"
        return f"{_printed(self.mean, self.digits)}{spread}"


@dataclass(frozen=True)
class Reported:
    """A number as somebody else prints it.

    >>> Reported("−15.2 ± 2.8").mean, Reported("−15.2 ± 2.8").std, Reported("90.5").std
    (-15.2, 2.8, None)
    """

    text: str

    @property
    def mean(self) -> float:
        """What stands before ±."""
        return float(self.text.partition("±")[0].replace("−", "-"))

    @property
    def std(self) -> float | None:
        """What stands behind it."""
        after = self.text.partition("±")[2]
        return float(after) if after else None

    def __str__(self) -> str:
        """As printed."""
        return self.text


Entry = str | int | float | Spread | Reported


def words(entry: Entry) -> str:
    """For readers; a bare float has one digit."""
    return _printed(entry, 1) if isinstance(entry, float) else str(entry)


def _printed(value: float, digits: int) -> str:
    """With the sign of a minus, and none before zero."""
    return f"{round(value, digits) + 0.0:.{digits}f}".replace("-", "−")


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
        lines = [self.columns, *(tuple(map(words, row)) for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        body = ["  ".join(t.ljust(w) for t, w in zip(line, widths, strict=True)).rstrip() for line in lines]
        return "\n".join([self.title, "", body[0], "  ".join("─" * w for w in widths), *body[1:], "", *self.notes])

    def _markdown(self) -> str:
        lines = [self.columns, ("---",) * len(self.columns), *(tuple(map(words, row)) for row in self.rows)]
        body = ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]
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
        parts = [_parts([row[i] for row in self.rows]) for i in range(len(self.columns))]
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        heads = [
            f"{key}: {part}" if part else key for key, names in zip(self._keys(), parts, strict=True) for part in names
        ]
        writer.writerow(heads)
        for row in self.rows:
            cells = [_plain(entry) for entry in row]
            writer.writerow(
                cell.get(part) if isinstance(cell, dict) else (cell if part == names[0] else None)
                for cell, names in zip(cells, parts, strict=True)
                for part in names
            )
        return out.getvalue().rstrip("\n")

    def _json(self) -> str:
        rows = [{c: _plain(e) for c, e in zip(self._keys(), row, strict=True)} for row in self.rows]
        return json.dumps({"title": self.title, "rows": rows, "notes": self.notes}, indent=1, ensure_ascii=False)


def _parts(column: Sequence[Entry]) -> tuple[str, ...]:
    """What a column of a table falls into for programs."""
    if any(isinstance(entry, Spread) for entry in column):
        return ("mean", "std", "n")
    return ("mean", "std") if any(isinstance(entry, Reported) for entry in column) else ("",)


def _plain(entry: Entry) -> Any:
    """A value for programs."""
    if isinstance(entry, Spread):
        return {"mean": entry.mean, "std": entry.std, "n": len(entry.values), "values": list(entry.values)}
    return {"mean": entry.mean, "std": entry.std} if isinstance(entry, Reported) else entry


_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+-")
_LOWERED = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")
_PIECE = re.compile(
    r"\b1e-(?P<power>\d+)\b|(?P<raised>[⁰¹²³⁴-⁹⁺⁻]+)|(?P<lowered>[₀-₉]+)|`(?P<code>[^`]+)`|(?P<dashes>-{2,})|.",
    re.DOTALL,
)
_MATHS = """± pm × times ÷ div · cdot ⊙ odot → to ← leftarrow ≤ leq ≥ geq ≠ neq ≈ approx ∼ sim ∈ in ∞ infty ∑ sum µ mu
α alpha β beta γ gamma δ delta ε varepsilon ζ zeta η eta θ theta ι iota κ kappa λ lambda μ mu ν nu ξ xi π pi ρ rho
σ sigma τ tau υ upsilon φ varphi χ chi ψ psi ω omega Γ Gamma Δ Delta Θ Theta Λ Lambda Ξ Xi Π Pi Σ Sigma Φ Phi Ψ Psi
Ω Omega"""
"""Signs, each with the command for it."""
_LATEX = {sign: f"$\\{name}$" for sign, name in zip(_MATHS.split()[::2], _MATHS.split()[1::2], strict=True)}
_LATEX |= {sign: f"\\{sign}" for sign in "%_&#${}"}
_LATEX |= {"\\": r"\textbackslash{}", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "|": r"\textbar{}"}
_LATEX |= {"<": r"\textless{}", ">": r"\textgreater{}", '"': "''", "−": "$-$", "°": r"$^\circ$", "…": r"\dots{}"}
_LATEX |= {"–": "--", "—": "---", "‘": "`", "’": "'", "“": "``", "”": "''", "\xa0": r"\nobreakspace{}"}
_LATEX |= {"[": "{[}", "*": "{*}"}  # at the beginning of a row they would belong to the \\ before it


def _latex(entry: Entry) -> str:
    """Text that pdflatex takes without any package; what it has no sign for is told by its number in Unicode."""
    return _PIECE.sub(_piece, words(entry))


def _piece(found: re.Match[str]) -> str:
    if found["power"]:
        return f"$10^{{-{int(found['power'])}}}$"
    if found["raised"]:
        return f"$^{{{found['raised'].translate(_RAISED)}}}$"
    if found["lowered"]:
        return f"$_{{{found['lowered'].translate(_LOWERED)}}}$"
    if found["code"]:
        return rf"\texttt{{{_latex(found['code'])}}}"
    if found["dashes"]:
        return "{}".join(found["dashes"])
    character = found[0]
    plain = character.isascii() or (character.isalpha() and character < "\u0180")
    return _LATEX.get(character, character if plain else f"U+{ord(character):04X}")


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


def standard_errors(ours: Spread, other: Spread, sign: int) -> float | str:
    """How much worse the other one is, in standard errors of the difference of the means."""
    if other.mean is None or ours.mean is None or other.error is None or ours.error is None:
        return "?"
    error = (other.error**2 + ours.error**2) ** 0.5
    return sign * (other.mean - ours.mean) / error if error else "?"
