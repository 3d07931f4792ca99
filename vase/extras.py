"""Optional dependencies: imported when they are needed, with the command that installs a missing one."""

from __future__ import annotations

from importlib import import_module
from typing import Any

DISTRIBUTION = "vase-lifelong"


def install_command(extra: str) -> str:
    """The command that installs an extra, from an index or in a clone.

    >>> install_command("hub")
    "pip install 'vase-lifelong[hub]' (in a clone: pip install '.[hub]')"
    """
    return f"pip install '{DISTRIBUTION}[{extra}]' (in a clone: pip install '.[{extra}]')"


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
        raise ModuleNotFoundError(f"{missing} is not installed: {install_command(extra)}.", name=missing) from error
