"""Hooks of mkdocs: links that work in the repository work on the site too, or become names of files."""

from __future__ import annotations

import re
from typing import Any

from pymdownx.slugs import slugify

_OUTSIDE = re.compile(r"(?<!!)\[([^\]]+)\]\(\.\./([^)#]+)\)")


def on_config(config: Any) -> Any:
    """Anchors of headings as GitHub makes them."""
    config.mdx_configs.setdefault("toc", {})["slugify"] = slugify(case="lower")
    return config


def on_page_markdown(markdown: str, **_: Any) -> str:
    """The text of a page without links that leave the folder docs.

    >>> on_page_markdown("[examples](../examples), [a decoder](../examples/x.py)")
    '`examples`, a decoder (`examples/x.py`)'
    """

    def name(found: re.Match[str]) -> str:
        text, path = found[1].strip("`"), found[2]
        return f"`{path}`" if path.endswith(text) else f"{found[1]} (`{path}`)"

    return _OUTSIDE.sub(name, markdown)
