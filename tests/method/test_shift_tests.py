"""The two tests of Eq. 6 and Alg. 1, with their reasons in words."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from vase.config import EnvironmentConfig, MaskConfig
from vase.method.environment_memory import EnvironmentRecord
from vase.method.shift_detector import ShiftDetector
from vase.method.shift_tests import FITS, Evidence, LossTest, MaskTest, ShiftTest, evident_loss
from vase.method.statistics import BatchStatistics

N = 24
MASK = MaskConfig(threshold=0.6, hysteresis=0.2)  # λ0 = 0.48, λ1 = 0.72


def flags(*latents: int) -> torch.Tensor:
    values = torch.zeros(N, dtype=torch.bool)
    values[list(latents)] = True
    return values


def alpha(values: dict[int, float] | None = None) -> torch.Tensor:
    """Atypicality: 0.02 except where said otherwise."""
    result = torch.full((N,), 0.02)
    for n, value in (values or {}).items():
        result[n] = value
    return result


def record(index: int = 0, used: tuple[int, ...] = (3, 5, 17), loss: float = 10.0) -> EnvironmentRecord:
    return EnvironmentRecord(index, mask=flags(*range(N)), gate=flags(*range(N)), used=flags(*used), loss=loss, age=200)


def batch(loss: float = 10.0, a: torch.Tensor | None = None, images: int = 64) -> BatchStatistics:
    losses = {"deviance": loss, "reconstruction": loss + 100}
    return BatchStatistics(torch.zeros(1, 1, 2, 2), losses, alpha() if a is None else a, images)


def reasons(
    e: EnvironmentRecord,
    loss: float,
    a: torch.Tensor | None = None,
    *,
    abrupt: bool = False,
    mask: MaskConfig | None = MASK,
    calm: dict[int, float] | None = None,
) -> tuple[str, ...]:
    tests: list[ShiftTest] = [LossTest(EnvironmentConfig(kappa=1.5))]
    if mask is not None:
        test = MaskTest(mask, abrupt=abrupt)
        test.atypicality_ema[e.index] = alpha(calm)
        tests.append(test)
    fit = ShiftDetector(tests, EnvironmentConfig()).fit(e, [batch(loss, a)])
    assert fit.p_value == (0.0 if fit.reasons else 1.0)  # thresholds know nothing in between
    assert math.isnan(fit.effect)
    return fit.reasons


class TestLoss:
    """L_s(x) ≤ κ·L̃_s with κ = 1.5 and L̃ = 10."""

    @pytest.mark.parametrize("loss", [0.0, 10.0, 15.0])
    def test_fits(self, loss):
        assert reasons(record(), loss) == ()

    def test_reason_in_words(self):
        assert reasons(record(2), 31.04, alpha()) == (
            "loss 31.0 is 3.10 times that of environment 2 (10.0), more than κ = 1.5",
        )

    def test_just_above_the_limit(self):
        assert len(reasons(record(), 15.0001, alpha())) == 1

    def test_a_perfect_record_is_not_held_against_a_batch(self):
        # A world of constant images reaches a loss of 0: tiny losses still fit, large ones do not.
        perfect = record(loss=0.0)
        assert reasons(perfect, 0.01, alpha()) == ()
        assert len(reasons(perfect, 1.0, alpha())) == 1

    def test_an_undefined_loss_does_not_fit(self):
        assert len(reasons(record(), math.nan, alpha())) == 1


class TestEvidence:
    def test_what_fits_has_no_reason(self):
        assert FITS.p_value == 1.0
        assert FITS.reason == ""
        assert math.isnan(FITS.effect)

    def test_a_plain_threshold_is_certain(self):
        test = LossTest(EnvironmentConfig(kappa=1.5))
        assert test.evidence(record(), batch(15.0)) == FITS
        found = test.evidence(record(), batch(20.0))
        assert found.p_value == 0.0
        assert found.reason == "loss 20.0 is 2.00 times that of environment 0 (10.0), more than κ = 1.5"

    def test_a_test_of_ones_own_needs_only_evidence(self):
        class Never(ShiftTest):
            def evidence(self, record, batch):
                return Evidence(0.25, "never", 2.0)

        test, e = Never(), record()
        test.update(e, batch())
        test.load_state_dict(test.state_dict())
        assert test.state_dict() == {}
        assert test.arrived(e) is None
        assert test.needs_networks
        assert test.knows_all


class TestMask:
    def test_reason_in_words(self):
        evidence = (10.0, alpha({3: 1.21, 17: 1.07}))
        assert reasons(record(), *evidence) == ("latents 3, 17 of environment 0 became atypical: 1.21, 1.07 > 0.72",)

    def test_reason_for_one_latent(self):
        evidence = (10.0, alpha({5: 2.0}))
        assert reasons(record(4), *evidence) == ("latent 5 of environment 4 became atypical: 2.00 > 0.72",)

    def test_both_reasons(self):
        found = reasons(record(), 20.0, alpha({3: 1.0}))
        assert found == (
            "loss 20.0 is 2.00 times that of environment 0 (10.0), more than κ = 1.5",
            "latent 3 of environment 0 became atypical: 1.00 > 0.72",
        )

    def test_unused_latents_are_not_compared(self):
        # "We only compare the atypicality masks for the used latents."
        assert reasons(record(), 10.0, alpha({4: 9.0, 20: 9.0})) == ()

    def test_masked_or_gated_latents_are_not_compared(self):
        e = record()
        e.mask = ~flags(3)
        e.gate = ~flags(17)
        assert reasons(e, 10.0, alpha({3: 9.0, 17: 9.0})) == ()

    @pytest.mark.parametrize(("value", "fits"), [(0.5, True), (0.71, True), (0.73, False)])
    def test_inside_the_filter_a_latent_keeps_its_state(self, value, fits):
        assert (reasons(record(), 10.0, alpha({3: value})) == ()) is fits

    def test_switched_off(self):
        evidence = (10.0, alpha({3: 9.0}))
        assert reasons(record(), *evidence, mask=None) == ()

    @pytest.mark.parametrize(("calm", "fits"), [(0.02, False), (0.47, False), (0.49, True), (1.5, True)])
    def test_abrupt_only_a_latent_that_was_typical_testifies(self, calm, fits):
        # Below λ0 = 0.48 until now: a jump. Above it: it crept there, and proves nothing.
        evidence = (10.0, alpha({3: 1.2}))
        assert (reasons(record(), *evidence, abrupt=True, calm={3: calm}) == ()) is fits

    def test_not_abrupt_a_creeping_latent_testifies_too(self):
        assert len(reasons(record(), 10.0, alpha({3: 1.2}), calm={3: 1.5})) == 1


@given(
    loss=st.floats(0, 100),
    reference=st.floats(0.1, 100),
    values=st.dictionaries(st.integers(0, N - 1), st.floats(0, 5, width=32), max_size=6),
    masked=st.sets(st.integers(0, N - 1), max_size=4),
)
def test_a_batch_fits_exactly_when_algorithm_1_says_so(loss, reference, values, masked):
    e = record(loss=reference)
    e.mask = ~flags(*masked)
    e.used = e.used & e.mask  # a latent masked in s cannot be used by s
    a = alpha(values)
    # Alg. 1: accept if L ≤ κL̃ and a^ŝ ⊙ u^ŝ = a(x) ⊙ u^ŝ, where a(x) is e's mask filtered by λ0, λ1.
    mask_of_x = torch.where(a < MASK.low, True, torch.where(a > MASK.high, False, e.mask))
    accepted = loss <= 1.5 * reference and torch.equal(e.mask & e.used, mask_of_x & e.used)
    assert (reasons(e, loss, a) == ()) is accepted


class TestAtypicalityAverage:
    def test_young_averages_are_short(self):
        # The old value counts 0, 2/11, 3/12: 1, (2·1 + 9·0.2)/11 = 0.345455, ¼·0.345455 + ¾·0.1 = 0.161364.
        test, e = MaskTest(MASK, abrupt=True), record()
        e.age = 0
        for value in (1.0, 0.2, 0.1):
            test.update(e, batch(a=alpha({3: value})))
            e.observe(10.0, 0.98)
        assert float(test.atypicality_ema[0][3]) == pytest.approx(0.161364, abs=1e-6)

    def test_running_average_by_hand(self):
        # With 0.95: 0.95·0.02 + 0.05·1 = 0.069, 0.95·0.069 + 0.05·0.1 = 0.07055.
        test, e = MaskTest(MASK, abrupt=True), record()
        test.atypicality_ema[0] = alpha()
        test.update(e, batch(a=alpha({3: 1.0})))
        test.update(e, batch(a=alpha({3: 0.1})))
        assert float(test.atypicality_ema[0][3]) == pytest.approx(0.07055)
        assert float(test.atypicality_ema[0][0]) == pytest.approx(0.02)

    def test_small_batches_neither_testify_nor_count(self):
        test, e = MaskTest(MASK, abrupt=True), record()
        small = batch(a=alpha({3: 9.0}), images=15)
        assert test.evidence(e, small) == FITS
        assert test.evidence(e, batch(a=alpha({3: 9.0}), images=16)).p_value == 0.0
        test.update(e, small)
        assert test.atypicality_ema == {}

    def test_state_is_restored(self):
        test, again = MaskTest(MASK, abrupt=True), MaskTest(MASK, abrupt=True)
        test.update(record(), batch(a=alpha({3: 0.3})))
        again.load_state_dict(test.state_dict())
        assert torch.equal(again.atypicality_ema[0], test.atypicality_ema[0])


@pytest.mark.parametrize(("loss", "expected"), [("deviance", 4.0), ("nll", 9.0)])
def test_kappa_compares_what_the_configuration_names(loss, expected):
    assert evident_loss({"deviance": 4.0, "reconstruction": 9.0}, EnvironmentConfig(loss=loss)) == expected
