"""scikit-learn in good faith: its own checks, parameters with nested names, codes as features, epochs over arrays."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy.special import expit
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils.estimator_checks import check_estimator

from vase import VASE, VASEConfig
from vase.learners.estimator import default_epochs
from vase.learners.estimator_checks import NOT_FOR_IMAGES, OTHER_HABITS

TINY = VASEConfig.smoke((1, 8, 8)).with_values(
    {
        "network.channels": "4,4",
        "network.hidden": 8,
        "network.latents": 4,
        "stage_steps": 4,
        "independence.enabled": False,
    }
)


def digits(n: int) -> tuple[np.ndarray, np.ndarray]:
    data = load_digits()
    return (data.images[:n] / 16).astype(np.float32), data.target[:n]


class OfRows(VASE):
    """A learner of tables, so that scikit-learn's data can be fitted: the numbers of a row are pixels of an image."""

    def _images(self, images: Any, minimum: int = 1) -> Any:
        rows = np.asarray(images) if not hasattr(images, "tocsr") else images
        if rows.ndim == 2 and rows.dtype.kind in "iuf" and 1 < rows.shape[1] < 64:
            squashed = np.where(np.isfinite(rows), expit(rows.astype(np.float64)), rows)
            rows = np.pad(squashed, ((0, 0), (0, 64 - rows.shape[1]))).reshape(-1, 8, 8)
        return super()._images(rows, minimum)


def failed(estimator: VASE) -> set[str]:
    with warnings.catch_warnings(action="ignore"):
        results = check_estimator(estimator, on_fail=None, on_skip=None)
    assert sum(result["status"] == "passed" for result in results) > 10
    return {result["check_name"] for result in results if result["status"] == "failed"}


def test_scikit_learns_checks_pass_but_for_those_that_are_listed() -> None:
    assert failed(VASE(TINY, device="cpu")) == set(NOT_FOR_IMAGES)


def test_most_of_them_pass_if_rows_are_laid_out_as_images() -> None:
    squashed = {"check_fit_non_negative"}  # negative numbers, which a learner of images refuses, become dark pixels
    assert failed(OfRows(TINY, device="cpu")) == set(OTHER_HABITS) | squashed


def test_fields_of_the_configuration_are_parameters() -> None:
    model = VASE(TINY)
    assert model.get_params()["config__capacity__gamma"] == 5.0
    assert "config__capacity__gamma" not in model.get_params(deep=False)
    model.set_params(config__capacity__gamma=7.0, config__network__latents=6, seed=3)
    assert (model.config.capacity.gamma, model.config.network.latents, model.seed) == (7.0, 6, 3)
    assert VASE().set_params(config__mask__minimum=2).config == VASEConfig().with_values({"mask.minimum": 2})
    with pytest.raises(ValueError, match=r"unknown field 'capacity\.gama'"):
        model.set_params(config__capacity__gama=7.0)


def test_a_grid_searches_them_in_a_pipeline() -> None:
    x, y = digits(60)
    pipeline = Pipeline([("codes", VASE(TINY, device="cpu")), ("reader", LogisticRegression(max_iter=500))])
    search = GridSearchCV(pipeline, {"codes__config__network__latents": [3, 5]}, cv=2).fit(x, y)
    assert search.best_estimator_["codes"].n_latents in (3, 5)
    assert search.best_estimator_["reader"].coef_.shape[1] == search.best_params_["codes__config__network__latents"]


def test_codes_have_names_and_come_as_data_frames() -> None:
    x, _ = digits(40)
    model = VASE(TINY, device="cpu")
    with pytest.raises(NotFittedError):
        model.get_feature_names_out()
    codes = model.fit(x.reshape(40, 64)).transform(x)
    frame = model.set_output(transform="pandas").transform(x)
    assert list(frame.columns) == list(model.get_feature_names_out()) == ["vase0", "vase1", "vase2", "vase3"]
    np.testing.assert_array_equal(frame.to_numpy(), codes)
    assert model.inverse_transform(codes).shape == (40, 1, 8, 8)
    np.testing.assert_array_equal(model.inverse_transform(frame), model.decode(codes))
    assert model.n_features_in_ == 64


def test_epochs_by_hand() -> None:
    assert default_epochs(600, VASEConfig.smoke()) == 7  # 120 steps, ⌈600/32⌉ = 19 of them in an epoch
    assert default_epochs(6_400, VASEConfig.laptop()) == 30  # 3000 steps, 100 of them in an epoch
    assert default_epochs(6_400, VASEConfig.paper()) == 1500  # 150,000 steps
    x, _ = digits(33)
    model = VASE(TINY, device="cpu").fit(x)  # 4 steps; 32 + 1 images, of which the single one is left out
    assert model.steps == 2
    assert model.fit(x, epochs=3).steps == 5
    with pytest.raises(ValueError, match="epochs = 0: must be a whole number of at least 1"):
        model.fit(x, epochs=0)


def test_the_default_learns_something_on_600_digits() -> None:
    x, y = digits(900)
    config = VASEConfig.for_data(x[:600], stage_steps=150, report=None)
    model = VASE(config, seed=0, device="cpu").fit(x[:600])
    assert model.steps == 150  # 15 epochs of 10
    codes = model.transform(x)
    assert 0.1 < codes.std(0).min() < codes.std(0).max() < 2, "no scaler is needed"
    reader = LogisticRegression(max_iter=2000).fit(codes[:600], y[:600])
    assert reader.score(codes[600:], y[600:]) > 0.8
