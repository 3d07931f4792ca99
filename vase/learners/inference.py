"""What a learner answers when it is asked which environment a batch belongs to."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from vase.learners.records import Inference
from vase.method.fingerprint_test import FingerprintTest
from vase.method.mixture import NONE, assign, parts, shares
from vase.method.shift_detector import Fit, ShiftDetector, posterior
from vase.nn.likelihood import Images

FEW = 16
"""Of so few images the environment is told by their likelihood; and the evidence is called weak."""


def unknown(n: int) -> Inference:
    """The answer before anything has been learnt."""
    none = np.zeros((n, 0), np.float32)
    return Inference(
        none.sum(0),
        none,
        None,
        "new environment",
        ("nothing has been learnt yet",),
        posterior=np.ones(1, np.float32),
        environments=np.full(n, NONE),
        image_posterior=np.ones((n, 1), np.float32),
        shares={NONE: 1.0},
    )


def best_environment(fits: Mapping[int, Fit], x: Images, detector: ShiftDetector) -> int | None:
    """The environment that a batch fits best; of a few images, the most likely one of those that they fit."""
    test = _fingerprint_test(detector)
    known = [s for s in fits if fits[s].p_value >= detector.level]
    if test is None or len(x) >= FEW or len(known) < 2:
        return detector.best(fits)
    likelihood = test.log_likelihoods(x, len(fits)).sum(0)
    return max(known, key=lambda s: float(likelihood[s]))


def explain(
    environment: int | None, fits: Mapping[int, Fit], q: Float[Tensor, "B K"], x: Images, detector: ShiftDetector
) -> Inference:
    """Verdict, reasons and probabilities for a batch, and an answer for each image."""
    each, each_posterior = _images(q, x, detector)
    found = shares(each) if environment is None else {environment: 1.0}
    verdict, reasons = "new environment", tuple(r for fit in fits.values() for r in fit.reasons)
    if environment is not None:
        verdict, reasons = f"environment {environment}", (*reasons, f"the batch fits environment {environment}")
    else:
        mixed = _mixture(each, x, detector)
        if mixed is not None:
            each, found = mixed
            verdict = "mixture: " + ", ".join(
                f"{100 * share:.0f} % {'of no known environment' if s == NONE else f'environment {s}'}"
                for s, share in found.items()
            )
            reasons = (*reasons, "its images fall into parts that fit environments of their own")
    if len(x) < FEW:
        reasons = (*reasons, f"weak evidence: {len(x)} image{'s' * (len(x) > 1)}")
    order = sorted(fits)
    p_values = np.array([fits[s].p_value for s in order], np.float32)
    test, chances = _fingerprint_test(detector), posterior(fits, detector.level)
    if len(x) < FEW and test is not None:  # as for single images: by their likelihood
        likelihoods = test.log_likelihoods(x, len(order)).sum(0, keepdim=True)
        fitting = torch.from_numpy(p_values >= detector.level)
        if bool(fitting.any()):
            likelihoods = likelihoods.masked_fill(~fitting, -torch.inf)
        chances = assign(likelihoods, torch.from_numpy(p_values).double()[None], detector.level)[1][0]
    return Inference(
        q.mean(0).cpu().numpy(),
        q.cpu().numpy(),
        environment,
        verdict,
        reasons,
        posterior=chances,
        p_values=p_values,
        effects=np.array([fits[s].effect for s in order], np.float32),
        environments=each,
        image_posterior=each_posterior,
        shares=found,
    )


def _fingerprint_test(detector: ShiftDetector) -> FingerprintTest | None:
    return next((test for test in detector.tests if isinstance(test, FingerprintTest)), None)


def _images(
    q: Float[Tensor, "B K"], x: Images, detector: ShiftDetector
) -> tuple[Int[np.ndarray, "B"], Float[np.ndarray, "B M"]]:
    """The environment of each image by its fingerprint; without one, by the classifier, which knows no new ones."""
    test = _fingerprint_test(detector)
    if test is None:
        probabilities = q.cpu().numpy()
        return probabilities.argmax(1), np.pad(probabilities, ((0, 0), (0, 1)))
    count = q.shape[1]
    return assign(test.log_likelihoods(x, count), test.image_p_values(x, count), detector.level)


def _mixture(
    each: Int[np.ndarray, "B"], x: Images, detector: ShiftDetector
) -> tuple[Int[np.ndarray, "B"], dict[int, float]] | None:
    test = _fingerprint_test(detector)
    if test is None or len(x) < FEW:
        return None
    likelihoods = test.log_likelihoods(x, max(test.references) + 1)

    def fits(rows: Int[np.ndarray, "n"], s: int) -> bool:
        found = test.distance(s, x[rows.tolist()])
        return found is not None and found.p_value >= detector.level

    return parts(likelihoods, each == NONE, fits)
