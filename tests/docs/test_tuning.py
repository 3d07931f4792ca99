"""docs/tuning.md: its knobs exist, and its commands are understood."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from code_blocks import blocks

from vase import VASEConfig
from vase.cli import make_parser

TEXT = (Path(__file__).parents[2] / "docs" / "tuning.md").read_text()
FIELDS = {
    f"{part}.{name}" for part, fields in VASEConfig().to_dict().items() if isinstance(fields, dict) for name in fields
}


def test_knobs_are_fields_of_the_configuration() -> None:
    named = set(re.findall(r"`((?:capacity|network|independence|environments|dreaming|mask)\.[a-z_]+)", TEXT))
    assert len(named) > 10
    assert named <= FIELDS


def test_commands_are_understood() -> None:
    (block,) = blocks(TEXT, "sh")
    for line in block.splitlines():
        assert callable(make_parser().parse_args(shlex.split(line)[1:]).run)
