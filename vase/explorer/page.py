"""The files of the explorer's page: those of the report, and a few of its own."""

from __future__ import annotations

from vase.explorer.server import Page
from vase.report.bundle import SCRIPTS as REPORT_SCRIPTS
from vase.report.bundle import STYLES as REPORT_STYLES
from vase.report.bundle import source

PACKAGE = "vase.explorer"
SCRIPTS = (
    "asking",
    "bars",
    "compare",
    "explorer",
    "figure",
    "latent-tools",
    "origin",
    "own-pictures",
    "server-painter",
    "two-images",
)
STYLES = ("explorer", "two-images")


def explorer_page() -> Page:
    """The document, its modules and its style sheet."""
    modules = {f"modules/{name}.js": source(f"{name}.js") for name in REPORT_SCRIPTS}
    modules |= {f"modules/{name}.js": source(f"{name}.js", PACKAGE) for name in SCRIPTS}
    styles = [source(f"{name}.css") for name in REPORT_STYLES] + [source(f"{name}.css", PACKAGE) for name in STYLES]
    return Page(source("explorer.html", PACKAGE), {**modules, "style.css": "\n".join(styles)})
