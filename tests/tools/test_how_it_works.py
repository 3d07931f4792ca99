"""tools/how_it_works.py draws the pictures that docs/how-it-works.md shows."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).parents[2]


def test_the_pictures_of_the_page_are_those_that_it_draws(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("how_it_works", ROOT / "tools" / "how_it_works.py")
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    tool.main(tmp_path)
    drawn = {path.name for path in tmp_path.iterdir()}
    assert drawn == {"learner.png", "dreams.png", "same-code.png"}
    shown = set(re.findall(r"\(pictures/([\w-]+\.png)\)", (ROOT / "docs" / "how-it-works.md").read_text()))
    assert drawn <= shown
    for name in drawn:
        with Image.open(tmp_path / name) as new, Image.open(ROOT / "docs" / "pictures" / name) as old:
            assert new.size == old.size
