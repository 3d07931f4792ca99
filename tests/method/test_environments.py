"""What is remembered of an environment, and the two tests of Eq. 6 and Alg. 1, with their reasons in words."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from vase.config import EnvironmentConfig, MaskConfig
from vase.method.environments import Environment, Evidence, in_context, objections, used_by_others

N = 24
PAPER = EnvironmentConfig(kappa=1.5, abrupt=False)
ABRUPT = EnvironmentConfig(kappa=1.5, abrupt=True)
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


def environment(
    index: int = 0, used: tuple[int, ...] = (3, 5, 17), loss: float = 10.0, calm: dict[int, float] | None = None
) -> Environment:
    return Environment(
        index, mask=flags(*range(N)), gate=flags(*range(N)), used=flags(*used), calm=alpha(calm), loss=loss, age=200
    )


class TestMemory:
    def test_first_batch_is_taken_as_it_is(self):
        e = Environment(0, flags(), flags(), flags(), calm=torch.zeros(N))
        assert math.isnan(e.loss)
        e.observe(40.0, alpha({3: 1.0}), decay=0.98)
        assert (e.loss, e.age) == (40.0, 1)
        assert e.calm[3].item() == 1.0

    def test_young_averages_are_short(self):
        # The old value counts (1+age)/(10+age): 2/11 at the second batch, 3/12 at the third.
        # L̃: 40, (2·40 + 9·29)/11 = 31, ¼·31 + ¾·27 = 28.
        # Calm of latent 3: 1, (2·1 + 9·0.2)/11 = 0.345455, ¼·0.345455 + ¾·0.1 = 0.161364.
        e = Environment(0, flags(), flags(), flags(), calm=torch.zeros(N))
        for loss, atypical in ((40.0, 1.0), (29.0, 0.2), (27.0, 0.1)):
            e.observe(loss, alpha({3: atypical}), decay=0.98)
        assert e.loss == pytest.approx(28.0)
        assert float(e.calm[3]) == pytest.approx(0.161364, abs=1e-6)
        assert e.age == 3

    def test_running_averages_by_hand(self):
        # At age 200 the start is over (201/210 = 0.957). L̃: 0.9·10 + 0.1·20 = 11, 0.9·11 + 0.1·1 = 10.
        # Calm of latent 3, with 0.95: 0.95·0.02 + 0.05·1 = 0.069, 0.95·0.069 + 0.05·0.1 = 0.07055.
        e = environment()
        e.observe(20.0, alpha({3: 1.0}), decay=0.9)
        e.observe(1.0, alpha({3: 0.1}), decay=0.9)
        assert e.loss == pytest.approx(10.0)
        assert float(e.calm[3]) == pytest.approx(0.07055)
        assert float(e.calm[0]) == pytest.approx(0.02)
        assert e.age == 202

    def test_remembered_atypicality_is_a_copy(self):
        e = Environment(0, flags(), flags(), flags(), calm=torch.zeros(N))
        seen = alpha()
        e.observe(1.0, seen, decay=0.9)
        seen.fill_(9.0)
        assert float(e.calm.max()) == pytest.approx(0.02)

    def test_information_flows_through_open_gates_of_typical_latents(self):
        e = Environment(0, mask=flags(1, 2, 3), gate=flags(2, 3, 4), used=flags(), calm=alpha())
        assert e.active.tolist() == flags(2, 3).tolist()

    def test_used_by_others(self):
        memory = [environment(0, used=(1, 2)), environment(1, used=(2, 3)), environment(2, used=(4,))]
        assert used_by_others(memory, 1, N).tolist() == flags(1, 2, 4).tolist()
        assert used_by_others(memory, -1, N).tolist() == flags(1, 2, 3, 4).tolist()

    def test_the_only_environment_protects_nothing_from_itself(self):
        assert used_by_others([environment(0)], 0, N).tolist() == flags().tolist()
        assert used_by_others([], 0, N).tolist() == flags().tolist()


class TestLoss:
    """L_s(x) ≤ κ·L̃_s with κ = 1.5 and L̃ = 10."""

    @pytest.mark.parametrize("loss", [0.0, 10.0, 15.0])
    def test_fits(self, loss):
        assert objections(environment(), Evidence(loss, alpha()), PAPER, MASK) == ()

    def test_reason_in_words(self):
        assert objections(environment(2), Evidence(31.04, alpha()), PAPER, MASK) == (
            "loss 31.0 is 3.10 times that of environment 2 (10.0), more than κ = 1.5",
        )

    def test_just_above_the_limit(self):
        assert len(objections(environment(), Evidence(15.0001, alpha()), PAPER, MASK)) == 1

    def test_a_perfect_record_is_not_held_against_a_batch(self):
        # A world of constant images reaches a loss of 0: tiny losses still fit, large ones do not.
        perfect = environment(loss=0.0)
        assert objections(perfect, Evidence(0.01, alpha()), PAPER, MASK) == ()
        assert len(objections(perfect, Evidence(1.0, alpha()), PAPER, MASK)) == 1

    def test_an_undefined_loss_does_not_fit(self):
        assert len(objections(environment(), Evidence(math.nan, alpha()), PAPER, MASK)) == 1


class TestMask:
    def test_reason_in_words(self):
        evidence = Evidence(10.0, alpha({3: 1.21, 17: 1.07}))
        assert objections(environment(), evidence, PAPER, MASK) == (
            "latents 3, 17 of environment 0 became atypical: 1.21, 1.07 > 0.72",
        )

    def test_reason_for_one_latent(self):
        evidence = Evidence(10.0, alpha({5: 2.0}))
        assert objections(environment(4), evidence, PAPER, MASK) == (
            "latent 5 of environment 4 became atypical: 2.00 > 0.72",
        )

    def test_both_reasons(self):
        found = objections(environment(), Evidence(20.0, alpha({3: 1.0})), PAPER, MASK)
        assert found == (
            "loss 20.0 is 2.00 times that of environment 0 (10.0), more than κ = 1.5",
            "latent 3 of environment 0 became atypical: 1.00 > 0.72",
        )

    def test_unused_latents_are_not_compared(self):
        # "We only compare the atypicality masks for the used latents."
        assert objections(environment(), Evidence(10.0, alpha({4: 9.0, 20: 9.0})), PAPER, MASK) == ()

    def test_masked_or_gated_latents_are_not_compared(self):
        e = environment()
        e.mask = ~flags(3)
        e.gate = ~flags(17)
        assert objections(e, Evidence(10.0, alpha({3: 9.0, 17: 9.0})), PAPER, MASK) == ()

    @pytest.mark.parametrize(("value", "fits"), [(0.5, True), (0.71, True), (0.73, False)])
    def test_inside_the_filter_a_latent_keeps_its_state(self, value, fits):
        assert (objections(environment(), Evidence(10.0, alpha({3: value})), PAPER, MASK) == ()) is fits

    def test_switched_off(self):
        evidence = Evidence(10.0, alpha({3: 9.0}))
        assert objections(environment(), evidence, PAPER, MaskConfig(enabled=False)) == ()

    @pytest.mark.parametrize(("calm", "fits"), [(0.02, False), (0.47, False), (0.49, True), (1.5, True)])
    def test_abrupt_only_a_latent_that_was_typical_testifies(self, calm, fits):
        # Below λ0 = 0.48 until now: a jump. Above it: it crept there, and proves nothing.
        evidence = Evidence(10.0, alpha({3: 1.2}))
        assert (objections(environment(calm={3: calm}), evidence, ABRUPT, MASK) == ()) is fits

    def test_not_abrupt_a_creeping_latent_testifies_too(self):
        assert len(objections(environment(calm={3: 1.5}), Evidence(10.0, alpha({3: 1.2})), PAPER, MASK)) == 1


@given(
    loss=st.floats(0, 100),
    reference=st.floats(0.1, 100),
    values=st.dictionaries(st.integers(0, N - 1), st.floats(0, 5, width=32), max_size=6),
    masked=st.sets(st.integers(0, N - 1), max_size=4),
)
def test_a_batch_fits_exactly_when_algorithm_1_says_so(loss, reference, values, masked):
    e = environment(loss=reference)
    e.mask = ~flags(*masked)
    e.used = e.used & e.mask  # a latent masked in s cannot be used by s
    a = alpha(values)
    # Alg. 1: accept if L ≤ κL̃ and a^ŝ ⊙ u^ŝ = a(x) ⊙ u^ŝ, where a(x) is e's mask filtered by λ0, λ1.
    mask_of_x = torch.where(a < MASK.low, True, torch.where(a > MASK.high, False, e.mask))
    accepted = loss <= 1.5 * reference and torch.equal(e.mask & e.used, mask_of_x & e.used)
    assert (objections(e, Evidence(loss, a), PAPER, MASK) == ()) is accepted


def test_company_weighs_by_hand():
    q = torch.tensor([[0.5, 0.5]])
    others = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.5, 0.5]])
    # 6π = 1 + 2 + 2π, since images without an opinion are taken for what the company is: π = 3 / 4.
    assert torch.allclose(in_context(q, others), torch.tensor([[0.75, 0.25]]))
    # 4π = 1 + 0.8π / (0.8π + 0.2(1 − π)) + 1: 2.4π² − 1.2π − 0.4 = 0 after multiplying by 0.6π + 0.2.
    share = (1.2 + (1.2**2 + 4 * 2.4 * 0.4) ** 0.5) / 4.8
    expected = 0.8 * share / (0.6 * share + 0.2)
    found = in_context(torch.tensor([[0.8, 0.2]]), torch.tensor([[1.0, 0.0]]))
    assert float(found[0, 0]) == pytest.approx(expected, abs=1e-6)
    assert found.dtype == torch.float32


def test_a_crowd_without_company_decides_together():
    alone, crowd = (float(in_context(torch.tensor([[0.6, 0.4]] * n), torch.zeros(0, 2))[0, 0]) for n in (1, 60))
    assert 0.6 < alone < 0.7  # an image by itself is hardly a company
    assert crowd > 0.9


def test_certain_images_mean_the_same_in_any_company():
    q = torch.tensor([[1.0, 0.0]])
    assert torch.equal(in_context(q, torch.tensor([[0.0, 1.0]] * 9)), q)


def test_more_of_one_kind_in_the_company_never_lowers_its_probability():
    q = torch.tensor([[0.3, 0.7]])
    found = [float(in_context(q, torch.tensor([[1.0, 0.0]] * n + [[0.0, 1.0]] * (10 - n)))[0, 0]) for n in range(11)]
    assert found == sorted(found)
    assert found[-1] - found[0] > 0.5
