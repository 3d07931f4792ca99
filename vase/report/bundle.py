"""One HTML file from the page's files and its data: no server, no build step, nothing fetched.

The scripts are ES modules that name each other `vase/NAME.js`. A page of one file cannot import files, so an import map
gives each module as a data: address; a server can map the same names to its own files.
"""

from __future__ import annotations

import base64
import html
import json
from importlib.resources import files
from typing import Any

SCRIPTS = (
    "chart",
    "decoder",
    "elements",
    "facts",
    "heatmap",
    "latents",
    "lines",
    "moment",
    "page-painter",
    "picture",
    "report",
    "stages",
    "strips",
    "tables",
    "timeline",
    "usage",
)
STYLES = ("base", "latents", "timeline", "details")


def page(title: str, data: dict[str, Any]) -> str:
    """The whole page."""
    parts = {
        "TITLE": html.escape(title),
        "STYLE": "\n".join(source(f"{name}.css") for name in STYLES),
        "MODULES": _json({"imports": {f"vase/{name}.js": _address(source(f"{name}.js")) for name in SCRIPTS}}),
        "DATA": _json(data),
        "MAIN": source("main.js"),
    }
    text = source("report.html")
    for name, part in parts.items():
        text = text.replace(f"<!--{name}-->", part)
    return text


def data_of(text: str) -> dict[str, Any]:
    """The data that a page shows, so that the same can be shown by the page's present files."""
    before, after = source("report.html").split("<!--DATA-->")
    marks = before.rpartition("\n")[2], after.partition("\n")[0]
    found = text.partition(marks[0])[2].partition(marks[1])[0]
    if not found:
        raise ValueError("it has no data of a VASE report.")
    data: dict[str, Any] = json.loads(found)
    return data


def source(name: str, package: str = "vase.report") -> str:
    """A file of the page, or of the page of another package."""
    return files(package).joinpath("page", name).read_text(encoding="utf-8")


def _address(script: str) -> str:
    return f"data:text/javascript;base64,{base64.b64encode(script.encode()).decode()}"


def _json(value: Any) -> str:
    """JSON that cannot end the script element it stands in, whatever the names in it are."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
