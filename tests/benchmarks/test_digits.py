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
    ahead = [sum(a) > sum(b) for a, b in zip(found["vase"]["folds"], found["pca"]["folds"], strict=True)]
    assert (len(ahead), sum(ahead)) == (3, 2)
    assert "means of three repeats of three folds, of which VASE is ahead in two" in guide
    assert found["command"] == "python -m benchmarks.digits --steps 1000 --folds 3 --repeats 3"


def test_the_pipeline_is_as_good_as_pca() -> None:
    found = json.loads((ROOT / "results" / "digits" / "pipeline.json").read_text())
    assert found["vase"]["mean"] >= found["pca"]["mean"]


def test_a_small_comparison() -> None:
    found = compare(steps=20, folds=2, repeats=2, images=120)
    assert found["images"] == 120
    for name in ("vase", "pca"):
        (a, b), (c, d) = found[name]["folds"]
        assert found[name]["mean"] == pytest.approx((a + b + c + d) / 4, abs=1e-4)
    assert 0.1 < found["vase"]["mean"] < 1
