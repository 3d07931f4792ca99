"""Hooks of mkdocs: links that work in the repository work on the site too, or become names of files."""

from __future__ import annotations

import posixpath
import re
from typing import Any

from pymdownx.slugs import slugify

_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((\.\./[^)#\s]+)(?:#[^)\s]*)?\)")


def on_config(config: Any) -> Any:
    """Anchors of headings as GitHub makes them."""
    config.mdx_configs.setdefault("toc", {})["slugify"] = slugify(case="lower")
    return config


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """The text of a page, in which links to files outside the folder docs are their names."""
    return name_files(markdown, posixpath.dirname(page.file.src_uri))


def name_files(markdown: str, folder: str) -> str:
    """Replace links from a page in a folder of docs to files outside docs.

    >>> name_files("[examples](../examples), [a decoder](../examples/x.py)", "")
    '`examples`, a decoder (`examples/x.py`)'
    >>> name_files("[paper.md](../paper.md#glossary), [files](../../results#x)", "results")
    '[paper.md](../paper.md#glossary), files (`results`)'
    """

    def name(found: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(folder, found[2]))
        if not path.startswith("../"):
            return found[0]
        path = path[3:]
        return f"`{path}`" if path.endswith(found[1].strip("`")) else f"{found[1]} (`{path}`)"

    return _LINK.sub(name, markdown)
