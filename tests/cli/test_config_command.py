"""`vase config`: every field, with the value of the preset and the text below it in vase/config.py."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from vase.cli import main
from vase.cli.config import documentation, fields
from vase.config import VASEConfig


@dataclass
class Example:
    """Not a field."""

    first: int = 1
    """One line."""
    second: int = 2
    third: int = 3
    """Two
    lines.
    """

    def method(self) -> None:
        """Not a field either."""


def test_documentation_is_the_text_below_a_field() -> None:
    assert documentation(Example) == {"first": "One line.", "third": "Two lines."}


def test_every_field_of_the_configuration_is_documented() -> None:
    assert [name for name, _, text in fields(VASEConfig()) if not text] == []


def test_printed_values_can_be_set() -> None:
    paper = VASEConfig.paper()
    assert VASEConfig().with_values({name: value for name, value, _ in fields(paper)}) == paper


def test_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "--preset", "paper", "capacity.gamma", "mask"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("capacity.gamma=100.0\n    γ. Paper: 100")
    assert "mask.threshold=0.6\n" in out
    assert "network" not in out
    assert main(["config"]) == 0
    assert "network.channels=32,32,64,64\n" in capsys.readouterr().out
