import sys
import types

import pytest

from vase.lazy import attach


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package with one heavy module that counts its imports."""
    folder = tmp_path / "lazily"
    folder.mkdir()
    (folder / "__init__.py").write_text(
        "from vase.lazy import attach\n__getattr__, __dir__, __all__ = attach(__name__, {'Big': 'heavy'})\n"
    )
    (folder / "heavy.py").write_text("class Big: ...\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield __import__("lazily")
    for name in [name for name in sys.modules if name.partition(".")[0] == "lazily"]:
        del sys.modules[name]


def test_a_name_is_imported_on_first_use(package):
    assert "lazily.heavy" not in sys.modules
    assert (package.__all__, "Big" in dir(package), "Big" in vars(package)) == (["Big"], True, False)
    assert package.Big is sys.modules["lazily.heavy"].Big
    assert "Big" in vars(package)


def test_from_import_finds_names_and_submodules(package):
    from lazily import Big, heavy

    assert isinstance(heavy, types.ModuleType)
    assert heavy.Big is Big


def test_other_names_are_missing(package):
    with pytest.raises(AttributeError, match="module 'lazily' has no attribute 'Small'"):
        _ = package.Small
    getter, _, names = attach("lazily", {"b": "heavy", "a": "heavy"})
    assert names == ["a", "b"]
    with pytest.raises(AttributeError):
        getter("c")
