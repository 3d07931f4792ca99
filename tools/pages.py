"""Fill the tables and figures of the pages from the committed results.

    python tools/pages.py            brings README.md and all pages in docs/ up to date
    python tools/pages.py --check    only says whether they are; exit code 1 if not. Figures are not drawn.

A block stands between a line <!-- $ vase experiment ... --> and a line <!-- end -->: the command is run, and what it
prints takes the place of the block's lines, under the command. The files that a figure command prints become pictures.
The table of the shift benchmark is vase experiment shifts --no-run. A block of python -m benchmarks.NAME --table holds
what `results_table` of that benchmark says of the committed results.
"""

from __future__ import annotations

import argparse
import importlib
import io
import os
import re
import shlex
import sys
from contextlib import redirect_stdout
from pathlib import Path

from vase import cli

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(
    r"(<!-- \$ (?:vase (?P<words>experiment (?P<what>table|figure|shifts) .*?)|"
    r"python -m (?P<table>benchmarks\.\w+) --table) -->\n)(?P<body>.*?)(?P<end><!-- end -->)",
    re.S,
)
PAGES = tuple(
    str(page.relative_to(ROOT))
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    if BLOCK.search(page.read_text())
)
"""Pages with a block."""


def run(words: str) -> str:
    """What a command prints."""
    out = io.StringIO()
    with redirect_stdout(out):
        code = cli.main(shlex.split(words))
    if code:
        raise SystemExit(f"vase {words} failed")
    return out.getvalue().strip()


def fill(page: Path, *, draw: bool) -> str:
    """The text of a page with its blocks brought up to date; without `draw`, figure blocks stay as they are."""

    def block(match: re.Match[str]) -> str:
        if match["table"]:
            return f"{match[1]}{importlib.import_module(match['table']).results_table()}\n{match['end']}"
        if match["what"] != "figure":
            return f"{match[1]}`vase {match['words']}`\n\n{run(match['words'] + ' --format markdown')}\n{match['end']}"
        if not draw:
            return match[0]
        paths = [ROOT / line for line in run(match["words"]).splitlines()]
        pictures = [f"![{path.stem}]({os.path.relpath(path, page.parent)})" for path in paths]
        return f"{match[1]}`vase {match['words']}`\n\n" + "\n".join(pictures) + f"\n{match['end']}"

    return BLOCK.sub(block, page.read_text())


def main() -> int:
    """Fill or check every page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing; exit code 1 if a table is out of date")
    check = parser.parse_args().check
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT))
    stale = []
    for name in PAGES:
        page = ROOT / name
        text = fill(page, draw=not check)
        if text != page.read_text():
            stale.append(name)
            if not check:
                page.write_text(text)
    print(f"{'out of date' if check else 'brought up to date'}: {', '.join(stale) or 'nothing'}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
