"""vase/extras.py: a missing optional package is named with the command that installs it."""

from __future__ import annotations

import sys

import pytest

from vase.extras import require


def test_an_installed_module_is_imported() -> None:
    assert require("json", "hub").loads("[1]") == [1]


def test_a_missing_package_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    monkeypatch.delitem(sys.modules, "vase.learners.hub", raising=False)
    with pytest.raises(
        ModuleNotFoundError,
        match=r"^huggingface_hub is not installed: pip install 'vase-lifelong\[hub\]' \(in a clone: ",
    ):
        require("vase.learners.hub", "hub")


def test_a_missing_part_of_the_package_is_not_blamed_on_an_extra() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'vase\.nothing'"):
        require("vase.nothing", "hub")
