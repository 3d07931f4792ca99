"""vase/__init__.py: public names that are imported on first use."""

from __future__ import annotations

import subprocess
import sys

import pytest

import vase


def test_names_of_the_package() -> None:
    from vase import VASE, Change, Encoding, EnvironmentView, Inference, Step, VASEConfig

    assert (VASE.__module__, VASEConfig.__module__) == ("vase.learners.vase", "vase.config")
    assert Change.__module__ == "vase.learners.change"
    assert {kind.__module__ for kind in (Encoding, EnvironmentView, Inference, Step)} == {"vase.learners.records"}
    for name in vase.__all__:
        assert getattr(vase, name) is not None
        assert name in dir(vase)
    with pytest.raises(AttributeError, match="module 'vase' has no attribute 'VASEE'"):
        _ = vase.VASEE  # type: ignore[attr-defined]


def test_importing_the_package_and_its_configuration_is_cheap() -> None:
    script = "import sys, vase; vase.VASEConfig; import vase.training.settings; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
