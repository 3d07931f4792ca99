"""Optional dependencies: imported when they are needed, with the command that installs a missing one."""

from __future__ import annotations

from importlib import import_module
from typing import Any

DISTRIBUTION = "vase-lifelong"


def require(module: str, extra: str) -> Any:
    """Import a module that needs an extra of the package.

    Raises:
        ModuleNotFoundError: a package of the extra is not installed; the message has the command.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        missing = error.name or module
        if missing.partition(".")[0] == "vase":
            raise
        raise ModuleNotFoundError(
            f"{missing} is not installed: pip install '{DISTRIBUTION}[{extra}]'.", name=missing
        ) from error
