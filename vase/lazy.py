"""Packages whose public names are imported on first use (PEP 562), so that importing one submodule stays cheap."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def attach(
    package_name: str, modules: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package.

    Args:
        package_name: the package's ``__name__``.
        modules: for each public name the submodule that defines it, relative to the package: ``{"Stage": "schedule"}``.
    """
    names = sorted(modules)

    def __getattr__(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package_name!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package_name}.{modules[name]}"), name)
        setattr(sys.modules[package_name], name, value)  # the next access does not come here
        return value

    def __dir__() -> list[str]:
        return sorted({*vars(sys.modules[package_name]), *names})

    return __getattr__, __dir__, names
