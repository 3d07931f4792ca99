"""VASE and PCA as features of the 1,797 digits of scikit-learn: cross-validated accuracy of a logistic regression.

    python -m benchmarks.digits --out results/digits

Both have as many components, neither gets a scaler, and the folds are the same. Each repeat has folds and a learner of
another seed.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
import torch
from sklearn.base import BaseEstimator
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline

from vase import VASE, VASEConfig
from vase.machine import cpu_name


def accuracies(features: BaseEstimator, x: np.ndarray, y: np.ndarray, folds: int, seed: int) -> list[float]:
    """Held-out accuracy of each fold."""
    pipeline = make_pipeline(features, LogisticRegression(max_iter=2000))
    cv = StratifiedKFold(folds, shuffle=True, random_state=seed)
    return [round(float(score), 4) for score in cross_val_score(pipeline, x, y, cv=cv)]


def compare(steps: int, folds: int, repeats: int = 1, images: int | None = None) -> dict[str, Any]:
    """Both accuracies, with what they were measured on."""
    digits = load_digits()
    x, y = (digits.images[:images] / 16).astype(np.float32), digits.target[:images]
    reasons: list[str] = []
    config = VASEConfig.for_data(x, stage_steps=steps, report=reasons.append)
    begin = time.perf_counter()
    ours = [accuracies(VASE(config, seed=seed, device="cpu"), x, y, folds, seed) for seed in range(repeats)]
    seconds = time.perf_counter() - begin
    flat, pca = x.reshape(len(x), -1), PCA(config.network.latents, random_state=0)
    theirs = [accuracies(pca, flat, y, folds, seed) for seed in range(repeats)]
    return {
        "command": f"python -m benchmarks.digits --steps {steps} --folds {folds} --repeats {repeats}",
        "images": len(x),
        "components": config.network.latents,
        "config": config.to_dict(),
        "reasons": reasons,
        "vase": {"mean": round(float(np.mean(ours)), 4), "folds": ours, "seconds": round(seconds, 1)},
        "pca": {"mean": round(float(np.mean(theirs)), 4), "folds": theirs},
        "machine": {"cpu": cpu_name(), "torch": torch.__version__, "scikit-learn": sklearn.__version__},
    }


def main(arguments: list[str] | None = None) -> None:
    """Measure, and write one file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--steps", type=int, default=1000, help="length of the schedules; fit takes about as many steps"
    )
    parser.add_argument("--folds", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=3, help="seeds")
    parser.add_argument("--images", type=int, default=None, help="the first images only")
    parser.add_argument("--out", type=Path, default=None, help="folder of the file; without it, it is printed")
    chosen = parser.parse_args(arguments)
    text = json.dumps(compare(chosen.steps, chosen.folds, chosen.repeats, chosen.images), indent=1, ensure_ascii=False)
    if chosen.out is None:
        print(text)
        return
    chosen.out.mkdir(parents=True, exist_ok=True)
    (chosen.out / "pipeline.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
