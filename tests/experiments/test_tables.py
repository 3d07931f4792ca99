"""Tables: spreads by hand, and every form of output."""

import csv
import io
import json
import re
from pathlib import Path

import pytest

from vase.experiments import experiment_names, load_experiment, results_of
from vase.experiments.experiment import resolve
from vase.experiments.tables import FORMATS, Reported, Spread, Table, spread, words

TABLE = Table(
    "Two runs",
    ("condition", "ID change (%)", "paper", "1e-4"),
    (("SDA", Spread((-1.0, -3.0)), "−5.4 ± 0.3", Spread((2.5,))), ("a_b & c", Spread(()), "–", 3)),
    ("Preset laptop.",),
)
RESULTS = Path(__file__).parents[2] / "results"


class TestSpread:
    def test_mean_deviation_and_error_by_hand(self):
        found = Spread((1.0, 2.0, 6.0))
        assert found.mean == 3
        assert found.std == pytest.approx(7**0.5)  # (4 + 1 + 9) / 2
        assert found.error == pytest.approx((7 / 3) ** 0.5)

    def test_one_number_has_no_deviation(self):
        assert (Spread((2.0,)).std, Spread((2.0,)).error) == (None, None)
        assert str(Spread((2.0,))) == "2.0"

    def test_nothing_measured_is_a_dash(self):
        assert str(Spread(())) == "–"
        assert Spread(()).mean is None

    def test_digits_and_a_real_minus(self):
        assert str(Spread((-1.25, -1.25), digits=2)) == "−1.25 ± 0.00"

    def test_what_was_not_measured_is_left_out(self):
        assert spread([0.5, None, 0.7], scale=100).values == (50.0, 70.0)


class TestTable:
    def test_text_aligns_columns(self):
        lines = TABLE.render("text").splitlines()
        assert lines[0] == "Two runs"
        assert lines[2].index("paper") == lines[4].index("−5.4 ± 0.3") == lines[5].index("–", 8 + lines[2].index("ID"))
        assert lines[-1] == "Preset laptop."

    def test_markdown(self):
        lines = TABLE.render("markdown").splitlines()
        assert lines[2] == "| condition | ID change (%) | paper | 1e-4 |"
        assert lines[4] == "| SDA | −2.0 ± 1.4 | −5.4 ± 0.3 | 2.5 |"

    def test_bars_do_not_end_a_cell_of_markdown(self):
        lines = Table("t", ("|r| of x",), (("a|b",),)).render("markdown").splitlines()
        assert (lines[2], lines[4]) == (r"| \|r\| of x |", r"| a\|b |")

    def test_numbers_of_others_and_bare_ones_are_numbers_for_programs(self):
        table = Table("t", ("paper", "errors"), ((Reported("−15.2 ± 2.8"), -1.74), (Reported("90.5"), "?")))
        assert table.render("text").splitlines()[4:6] == ["−15.2 ± 2.8  −1.7", "90.5         ?"]
        assert json.loads(table.render("json"))["rows"] == [
            {"paper": {"mean": -15.2, "std": 2.8}, "errors": -1.74},
            {"paper": {"mean": 90.5, "std": None}, "errors": "?"},
        ]
        head, first, second = csv.reader(io.StringIO(table.render("csv")))
        assert head == ["paper: mean", "paper: std", "errors"]
        assert (first, second) == (["-15.2", "2.8", "-1.74"], ["90.5", "", "?"])

    def test_zero_has_no_sign(self):
        assert [words(entry) for entry in (-0.04, Spread((-0.004, -0.002), 2), -0.06)] == ["0.0", "0.00 ± 0.00", "−0.1"]

    def test_csv_has_mean_deviation_and_count(self):
        head, first, second = csv.reader(io.StringIO(TABLE.render("csv")))
        assert head == [
            "condition",
            *(f"ID change (%): {part}" for part in ("mean", "std", "n")),
            "paper",
            *(f"1e-4: {part}" for part in ("mean", "std", "n")),
        ]
        assert first == ["SDA", "-2.0", "1.4142135623730951", "2", "−5.4 ± 0.3", "2.5", "", "1"]
        assert second == ["a_b & c", "", "", "0", "–", "3", "", ""]

    def test_json_has_every_value(self):
        rows = json.loads(TABLE.render("json"))["rows"]
        assert rows[0]["ID change (%)"] == {"mean": -2, "std": pytest.approx(2**0.5), "n": 2, "values": [-1, -3]}
        assert rows[1]["1e-4"] == 3

    def test_latex_escapes(self):
        text = TABLE.render("latex")
        assert r"SDA & $-$2.0 $\pm$ 1.4 & $-$5.4 $\pm$ 0.3 & 2.5 \\" in text
        assert r"a\_b \& c & -- & -- & 3 \\" in text
        assert r"ID change (\%)" in text
        assert text.count("{tabular}") == 2

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("a^b ~ c", r"a\textasciicircum{}b \textasciitilde{} c"),
            ("q(s|x) < 1 > 0", r"q(s\textbar{}x) \textless{} 1 \textgreater{} 0"),
            (r"a\b {c} $5 #1", r"a\textbackslash{}b \{c\} \$5 \#1"),
            ("σ ⊙ μ ≈ Ω", r"$\sigma$ $\odot$ $\mu$ $\approx$ $\Omega$"),
            ("R² of 10⁻⁴ and z₁₀", "R$^{2}$ of 10$^{-4}$ and z$_{10}$"),
            ("MSE (1e-4), not 21e-4", "MSE ($10^{-4}$), not 21e-4"),
            ("`environments.log_odds` with --faces", r"\texttt{environments.log\_odds} with -{}-faces"),
            ("Poincaré", "Poincaré"),
            ("done ✓", "done U+2713"),
        ],
    )
    def test_latex_of_a_note(self, text, expected):
        note = Table("t", ("a",), (), (text,)).render("latex").splitlines()[-2]
        assert note == rf"\caption{{t. {expected}}}"

    def test_a_row_of_latex_is_no_argument_of_the_one_before(self):
        text = Table("t", ("a",), (("[0.1]",), ("*",))).render("latex")
        assert "{[}0.1] \\\\\n{*} \\\\\n" in text

    def test_an_unknown_format_is_refused(self):
        with pytest.raises(ValueError, match="must be one of text, json, csv, markdown, latex"):
            TABLE.render("html")

    def test_a_row_must_fill_the_columns(self):
        with pytest.raises(ValueError, match="a row of 1 entries under 2 columns"):
            Table("t", ("a", "b"), (("x",),))

    @pytest.mark.parametrize("form", FORMATS)
    def test_columns_of_one_name_stay_apart(self, form):
        twins = Table("t", ("max", "paper", "min", "paper"), (("1", "2", "3", "4"),))
        text = twins.render(form)
        assert all(number in text for number in "1234")


def refused(latex: str) -> set[str]:
    """Signs of a LaTeX text that pdflatex has no use for where they stand."""
    foreign = {sign for sign in latex if not sign.isascii() and sign not in "äöüßéèêëïçñ"}
    words = re.sub(r"\\\\|\\[%_&#${}]|\\[a-z]+", "", latex)
    words = re.sub(r"\$[^$]*\$", "", words)
    return foreign | set(re.findall(r"[\\$^~#%_<>|]", words))


def test_what_pdflatex_refuses_is_found():
    assert refused(r"R$^{2}$ of a\_b \& \textbar{} é \\") == set()
    assert refused(r"a^b ~ σ_i |x| \$ $\pm$ $2 5% ⊙") == set("^~σ_|$%⊙")


@pytest.mark.parametrize("name", [name for name in experiment_names() if (RESULTS / name / "laptop").is_dir()])
def test_latex_of_every_table_with_results(name):
    experiment = load_experiment(name)
    results = results_of(experiment, "laptop", RESULTS)
    texts = {table: resolve(make)(results).render("latex") for table, make in experiment.tables.items()}
    assert {table: refused(text) for table, text in texts.items() if refused(text)} == {}
    assert all(text.count("{") - text.count(r"\{") == text.count("}") - text.count(r"\}") for text in texts.values())
