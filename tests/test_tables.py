"""Tables: spreads by hand, and every form of output."""

import csv
import io
import json

import pytest

from vase.experiments.tables import FORMATS, Spread, Table, spread

TABLE = Table(
    "Two runs",
    ("condition", "ID change (%)", "paper", "1e-4"),
    (("SDA", Spread((-1.0, -3.0)), "−5.4 ± 0.3", Spread((2.5,))), ("a_b & c", Spread(()), "–", 3)),
    ("Preset laptop.",),
)


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
