"""The comparison with PCA: the committed file is what the guide says, and a small one runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.digits import compare

ROOT = Path(__file__).parents[2]


def test_the_guide_says_what_was_measured() -> None:
    found = json.loads((ROOT / "results" / "digits" / "pipeline.json").read_text())
    guide = " ".join((ROOT / "docs" / "guide.md").read_text().split())
    assert f"with {found['components']} components each" in guide
    assert f"reads {100 * found['vase']['mean']:.1f} % of held-out digits from codes of 1,000 steps" in guide
    assert f"and {100 * found['pca']['mean']:.1f} % from PCA" in guide
    assert found["command"] == "python -m benchmarks.digits --steps 1000 --folds 3"


def test_a_small_comparison() -> None:
    found = compare(steps=20, folds=2, images=120)
    assert found["images"] == 120
    assert len(found["vase"]["folds"]) == len(found["pca"]["folds"]) == 2
    assert found["pca"]["mean"] == pytest.approx(sum(found["pca"]["folds"]) / 2, abs=1e-4)
    assert 0.1 < found["vase"]["mean"] < 1
