"""What scikit-learn's `check_estimator` asks of every estimator, and a learner of images cannot or should not do.

>>> from sklearn.utils.estimator_checks import check_estimator
>>> from vase import VASE
>>> results = check_estimator(VASE(), expected_failed_checks=NOT_FOR_IMAGES, on_skip=None)  # doctest: +SKIP
"""

from __future__ import annotations

_TABLE = "fits a table of a few unbounded columns, which is no image; with rows laid out as images it passes"
_INCREMENTAL = "fit is incremental: a second call continues training; clone starts anew"
_MESSAGE = "refused, as it should be, but in words of images instead of scikit-learn's"

OTHER_HABITS = {
    "check_complex_data": f"{_MESSAGE}: a TypeError that names the dtype and the remedy",
    "check_dtype_object": "objects are refused rather than converted: a list of paths or None would become an image",
    "check_estimators_empty_data_messages": f"{_MESSAGE}: an empty batch",
    "check_fit2d_1sample": f"{_MESSAGE}: a batch of 1 image, where atypicality (Eq. 4) needs at least two",
    "check_fit2d_1feature": "an image of one pixel",
    "check_fit2d_predict1d": "one row is one image, not an error",
    "check_fit_idempotent": _INCREMENTAL,
    "check_pipeline_consistency": _INCREMENTAL,
    "check_transformer_data_not_an_array": _INCREMENTAL,
    "check_transformer_general": _INCREMENTAL,
    "check_n_features_in": "n_features_in_ counts the pixels of the configuration's images",
    "check_n_features_in_after_fitting": "n_features_in_ counts the pixels of the configuration's images",
    "check_positive_only_tag_during_fit": f"{_MESSAGE}: values outside [0, 1]",
}
"""Checks that fail even if the rows of a table are laid out as images, each with its reason."""

NOT_FOR_IMAGES = OTHER_HABITS | dict.fromkeys(
    (
        "check_dict_unchanged",
        "check_dont_overwrite_parameters",
        "check_estimators_dtypes",
        "check_estimators_fit_returns_self",
        "check_estimators_nan_inf",
        "check_estimators_overwrite_params",
        "check_estimators_pickle",
        "check_f_contiguous_array_estimator",
        "check_fit_check_is_fitted",
        "check_fit_score_takes_y",
        "check_methods_sample_order_invariance",
        "check_methods_subset_invariance",
        "check_readonly_memmap_input",
        "check_transformer_preserve_dtypes",
    ),
    _TABLE,
)
"""Checks that fail for a learner as it is, each with its reason: for `expected_failed_checks`."""
