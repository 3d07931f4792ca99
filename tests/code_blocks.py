"""Code blocks of pages in Markdown."""

from __future__ import annotations

import re


def numbered_blocks(text: str, language: str) -> list[tuple[int, str]]:
    """(line before it, content) of every block of a language."""
    found = re.finditer(rf"^```{language}\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    return [(text.count("\n", 0, match.start(1)), match[1]) for match in found]


def blocks(text: str, language: str) -> list[str]:
    """The content of every block of a language."""
    return [block for _, block in numbered_blocks(text, language)]
