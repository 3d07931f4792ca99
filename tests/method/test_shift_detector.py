"""How evidence is combined, what is held and for how long, and how tests of one's own join in."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
import torch

from vase import VASE, VASEConfig
from vase.config import EnvironmentConfig
from vase.method.environment_memory import EnvironmentRecord
from vase.method.shift_detector import SUSPICION, Decision, Fit, ShiftDetector, bayes_factor, posterior
from vase.method.shift_tests import Evidence, ShiftTest
from vase.method.statistics import BatchStatistics

IMAGES = 64
WORLD = 6.0
"""Distance of two worlds in standard deviations of a batch: p = 2·10⁻⁹."""
SUSPICIOUS = 2.8
"""A batch of its own world with p = 0.005: between the level, 10⁻⁴, and a hundredth."""


class Says(ShiftTest):
    """Gives the same evidence about every batch."""

    def __init__(self, p_value: float, reason: str = "", effect: float = math.nan) -> None:
        self.found = Evidence(p_value, reason, effect)

    def evidence(self, record: EnvironmentRecord, batch: BatchStatistics) -> Evidence:
        return self.found


class SaysOfCurrent(Says):
    knows_all = False
    needs_networks = False


def record(index: int = 0) -> EnvironmentRecord:
    none = torch.zeros(0, dtype=torch.bool)
    return EnvironmentRecord(index, none, none, none)


def view(loss: float = 0.0) -> BatchStatistics:
    return BatchStatistics(torch.zeros(2, 1, 2, 2), {"deviance": loss}, torch.zeros(4), 2)


def images(value: float, n: int = IMAGES) -> torch.Tensor:
    return torch.full((n, 1, 1, 1), value)


def fit_of(value: float, batches: float, environment: int) -> Fit:
    """The mean of some batches against world s, which has its mean at 6·s; a batch's mean has the spread 1."""
    effect = abs(value - WORLD * environment)
    return Fit(math.erfc(effect * math.sqrt(batches / 2)), effect, ())


class Stream:
    """A detector in environment 0 of a few, fed with batches of a given mean."""

    def __init__(self, environments: int = 1, **config: Any) -> None:
        self.environments = environments
        self.detector = ShiftDetector([], EnvironmentConfig(**config))
        self.record = record()

    def judge(self, x: torch.Tensor, environments: Sequence[int] | None) -> dict[int, Fit]:
        asked = range(self.environments) if environments is None else environments
        return {s: fit_of(float(x.mean()), len(x) / IMAGES, s) for s in asked}

    def receive(self, value: float) -> Decision:
        x = images(value)
        return self.detector.receive(x, self.judge(x, [0])[0], self.judge, self.record)

    def __call__(self, *values: float) -> Decision:
        """All but the last are held."""
        for value in values[:-1]:
            assert self.receive(value).held
        return self.receive(values[-1])


def values(batches: Sequence[torch.Tensor]) -> list[float]:
    return [pytest.approx(float(x.mean()), abs=1e-5) for x in batches]


class TestFit:
    def test_one_test_speaks_for_itself(self) -> None:
        found = ShiftDetector([Says(0.003, "dark", 1.5)], EnvironmentConfig()).fit(record(), [view()])
        assert found == Fit(0.003, 1.5, ("dark",))

    def test_the_smallest_of_several_counts_times_their_number(self) -> None:
        tests = [Says(0.5, "fine"), Says(0.001, "dark", 0.7), Says(0.004, "blurred", 1.2)]
        found = ShiftDetector(tests, EnvironmentConfig()).fit(record(), [view()])
        assert found.p_value == pytest.approx(0.003)
        assert found.reasons == ("dark", "blurred")  # the strangest first; what is not strange is not told
        assert found.effect == 1.2

    def test_a_heavier_test_pays_less_for_the_company_of_others(self) -> None:
        # Weights 18, 1 and 1: nine tenths of the false alarms for the first, a twentieth for each of the others.
        tests = [Says(0.009, "dark"), Says(0.001, "blurred"), Says(0.5)]
        tests[0].weight = 18.0
        found = ShiftDetector(tests, EnvironmentConfig()).fit(record(), [view()])
        assert found.p_value == pytest.approx(0.009 / 0.9)
        assert found.reasons == ("dark", "blurred")  # 0.01 against 0.02
        tests[1].found = Evidence(0.0004, "blurred")
        found = ShiftDetector(tests, EnvironmentConfig()).fit(record(), [view()])
        assert found.p_value == pytest.approx(0.0004 / 0.05)
        assert found.reasons == ("blurred", "dark")

    @pytest.mark.parametrize("weight", [0.0, -1.0, math.nan])
    def test_a_weight_is_positive(self, weight: float) -> None:
        test = Says(0.5)
        test.weight = weight
        with pytest.raises(ValueError, match=r"of Says: must be positive; .* leave it out"):
            ShiftDetector([test], EnvironmentConfig())

    def test_a_weight_matters_only_among_those_who_are_asked(self) -> None:
        heavy, light = Says(0.009), SaysOfCurrent(0.5)
        heavy.weight = 18.0
        detector = ShiftDetector([heavy, light], EnvironmentConfig())
        assert detector.fit(record(), [view()], current=False).p_value == 0.009

    def test_a_p_value_is_at_most_one(self) -> None:
        found = ShiftDetector([Says(0.8), Says(0.7)], EnvironmentConfig()).fit(record(), [view()])
        assert found.p_value == 1.0
        assert math.isnan(found.effect)
        assert found.strength == 0.0

    def test_the_mildest_view_counts(self) -> None:
        class Loss(ShiftTest):
            def evidence(self, record: EnvironmentRecord, batch: BatchStatistics) -> Evidence:
                return Evidence(0.1 ** batch.losses["deviance"], f"loss {batch.losses['deviance']:g}")

        detector = ShiftDetector([Loss()], EnvironmentConfig())
        spike, mild = detector.fit(record(), [view(5.0), view(1.0)]), detector.fit(record(), [view(4.0), view(5.0)])
        assert (spike.p_value, spike.reasons) == (pytest.approx(0.1), ())
        assert (mild.p_value, mild.reasons) == (pytest.approx(1e-4), ("loss 4",))

    @pytest.mark.parametrize(("current", "every", "seen"), [(True, 10_000.0, 2), (False, 10_000.0, 3), (True, 50.0, 3)])
    def test_no_view_is_asked_for_once_the_batch_is_clear(self, current: bool, every: float, seen: int) -> None:
        class Loss(ShiftTest):
            def evidence(self, record: EnvironmentRecord, batch: BatchStatistics) -> Evidence:
                return Evidence(0.1 ** batch.losses["deviance"])

        asked: list[float] = []

        def views() -> Iterator[BatchStatistics]:
            for loss in (5.0, 1.0, 0.5):
                asked.append(loss)
                yield view(loss)

        detector = ShiftDetector([Loss()], EnvironmentConfig(false_alarm_every=every))  # 50: 2 is above any p-value
        found = detector.fit(record(), views(), current=current)
        assert len(asked) == seen
        assert found.p_value == pytest.approx(0.1 if seen == 2 else 0.1**0.5)

    def test_of_equal_views_the_last_which_knows_most_gives_the_reasons(self) -> None:
        class Reason(ShiftTest):
            def evidence(self, record: EnvironmentRecord, batch: BatchStatistics) -> Evidence:
                return Evidence(0.0, f"loss {batch.losses['deviance']:g}")

        found = ShiftDetector([Reason()], EnvironmentConfig()).fit(record(), [view(5.0), view(1.0)])
        assert found.reasons == ("loss 1",)

    def test_of_other_environments_only_those_are_asked_who_know_them(self) -> None:
        detector = ShiftDetector([SaysOfCurrent(1e-6), Says(0.2)], EnvironmentConfig())
        assert detector.fit(record(), [view()]).p_value == pytest.approx(2e-6)
        assert detector.fit(record(), [view()], current=False).p_value == pytest.approx(0.2)

    def test_without_anybody_who_knows_nothing_fits(self) -> None:
        detector = ShiftDetector([SaysOfCurrent(0.9)], EnvironmentConfig())
        assert detector.fit(record(), [view()], current=False).p_value == 0.0

    def test_networks_are_needed_by_those_who_are_asked(self) -> None:
        assert ShiftDetector([Says(1.0)], EnvironmentConfig()).needs_networks(current=False)
        own = ShiftDetector([SaysOfCurrent(1.0)], EnvironmentConfig())
        assert not own.needs_networks(current=True)

    @pytest.mark.parametrize("every", [1000.0, 10_000.0])
    def test_the_level_is_one_in_so_many(self, every: float) -> None:
        detector = ShiftDetector([], EnvironmentConfig(false_alarm_every=every))
        assert detector.level == pytest.approx(1 / every)


class TestBest:
    @staticmethod
    def best(p_values: dict[int, float]) -> int | None:
        detector = ShiftDetector([], EnvironmentConfig(false_alarm_every=1000))
        return detector.best({s: Fit(p, math.nan, ()) for s, p in p_values.items()})

    def test_the_best_wins_not_the_first_that_fits(self) -> None:
        assert self.best({0: 0.02, 1: 0.6, 2: 0.5}) == 1

    def test_of_equals_the_first_in_order(self) -> None:
        assert self.best({2: 0.6, 0: 0.6, 1: 0.6}) == 2
        assert self.best({1: 0.6, 2: 0.6}) == 1

    def test_none_below_the_level(self) -> None:
        assert self.best({0: 0.00099, 1: 0.0}) is None
        assert self.best({0: 0.001, 1: 0.0}) == 0


@pytest.mark.parametrize(("size", "expected"), [(64, 4), (32, 8), (256, 2), (1000, 2), (100, 3), (2, 32), (1, 32)])
def test_patience_is_as_many_batches_as_hold_256_images(size: int, expected: int) -> None:
    assert ShiftDetector([], EnvironmentConfig()).patience(size) == expected
    assert ShiftDetector([], EnvironmentConfig(patience=3)).patience(size) == 3


class TestReceive:
    """Environment 0 has its mean at 0. 64 images a batch: four batches are held."""

    def test_what_fits_is_learnt_at_once(self) -> None:
        decision = Stream()(0.5)
        assert values(decision.here) == [0.5]
        assert (decision.there, decision.fits, decision.dropped, decision.held) == ((), None, 0, False)

    @pytest.mark.parametrize(("value", "held"), [(2.57, False), (2.58, True)])
    def test_suspicion_is_one_in_a_hundred(self, value: float, held: bool) -> None:
        # 2·(1 − Φ(2.5758)) = 0.01
        assert Stream().receive(value).held is held

    def test_suspicion_that_is_not_confirmed(self) -> None:
        stream = Stream()
        decision = stream(SUSPICIOUS, 0.0, 0.3, -0.3)
        assert values(decision.here) == [SUSPICIOUS, 0.0, 0.3, -0.3]
        assert (decision.there, decision.dropped) == ((), 0)
        assert not stream.receive(0.0).held  # and the next is free

    def test_a_change_at_once(self) -> None:
        decision = Stream()(WORLD, WORLD, WORLD, WORLD)
        assert values(decision.there) == [WORLD] * 4
        assert (decision.here, decision.environment, decision.dropped) == ((), None, 0)
        assert decision.fits is not None
        assert decision.fits[0].effect == pytest.approx(WORLD)

    def test_a_change_among_the_held(self) -> None:
        # z of the last batches against environment 0 once six are held: 26.8/√6 = 10.9 of all, 24/√5 = 10.7 of five,
        # 24/√4 = 12 of four: these four came from elsewhere. Before, there are too few of them.
        decision = Stream()(SUSPICIOUS, 0.0, WORLD, WORLD, WORLD, WORLD)
        assert values(decision.here) == [SUSPICIOUS, 0.0]
        assert values(decision.there) == [WORLD] * 4

    def test_a_change_with_the_last_of_the_held(self) -> None:
        decision = Stream()(SUSPICIOUS, 0.0, 0.0, WORLD, WORLD, WORLD, WORLD)
        assert values(decision.here) == [SUSPICIOUS, 0.0, 0.0]
        assert values(decision.there) == [WORLD] * 4

    def test_a_change_among_the_held_beyond_the_smallest_number(self) -> None:
        # At 60 standard deviations all p-values are 0, and effect²·batches decides: 3600·4 against 40.5²·6 of all six.
        decision = Stream()(SUSPICIOUS, 0.0, 60.0, 60.0, 60.0, 60.0)
        assert values(decision.here) == [SUSPICIOUS, 0.0]
        assert values(decision.there) == [60.0] * 4

    def test_a_verdict_does_not_wait_for_ever(self) -> None:
        # Each batch is three times as far as the last, so that it alone is always the strongest evidence.
        decision = Stream()(*[3.0**i for i in range(1, 8)])
        assert values(decision.there) == [3.0**7]

    def test_a_known_world_comes_back(self) -> None:
        decision = Stream(environments=4)(2 * WORLD, 2 * WORLD, 2 * WORLD, 2 * WORLD)
        assert decision.environment == 2
        assert decision.fits is not None
        assert [decision.fits[s].p_value >= 1e-4 for s in range(4)] == [False, False, True, False]

    def test_a_new_world_among_many(self) -> None:
        assert Stream(environments=4)(*[-WORLD] * 4).environment is None

    def test_a_short_visit_is_dropped(self) -> None:
        # Of 6, 0, 0 the mean, 2, is 3.5 standard deviations away; but each 0 fits by itself, and the stream is back.
        stream = Stream()
        decision = stream(WORLD, WORLD, 0.0, 0.0)
        assert values(decision.here) == [0.0, 0.0]
        assert (decision.there, decision.dropped) == ((), 2)
        assert not stream.receive(0.0).held

    def test_a_single_strange_batch_is_dropped(self) -> None:
        decision = Stream()(WORLD, 0.0, 0.0, 0.0)
        assert (values(decision.here), decision.dropped) == ([0.0] * 3, 1)

    def test_a_visit_whose_return_is_strange_too_is_a_change(self) -> None:
        # The last two are near the old world, but not of it: together 2.5·√2 = 3.5 standard deviations away.
        decision = Stream()(WORLD, WORLD, 2.5, 2.5)
        assert values(decision.there) == [WORLD, WORLD, 2.5, 2.5]

    def test_batches_that_are_strange_each_but_not_together_are_dropped(self) -> None:
        stream = Stream()
        decision = stream(WORLD, -WORLD, WORLD, -WORLD, WORLD)
        assert (decision.here, decision.there, decision.dropped) == ((), (), 5)
        assert not decision.held
        assert stream.detector.held == []

    def test_small_changes_are_found_together(self) -> None:
        # 2.8 four times: p = 0.005 each, 2.8·√3 = 4.8 standard deviations of those after the first.
        decision = Stream()(*[SUSPICIOUS] * 4)
        assert values(decision.there) == [SUSPICIOUS] * 4

    def test_patience_of_one_decides_at_once(self) -> None:
        decision = Stream(patience=1)(WORLD)
        assert values(decision.there) == [WORLD]

    @pytest.mark.parametrize("age", [64, 65])
    def test_a_moving_environment_that_arrives_is_left_for_the_old_one(self, age: int) -> None:
        """Before two blocks of 32 batches it cannot have settled, and is a duplicate of the old one."""

        class Arrived(Says):
            def arrived(self, record: EnvironmentRecord) -> int | None:
                return 2

        stream = Stream(environments=3)
        stream.detector.tests.append(Arrived(1.0))
        stream.record.age = age
        decision = stream(0.0)
        assert (decision.here, decision.environment, values(decision.there)) == ((), 2, [0.0])
        assert decision.fits is not None
        assert decision.duplicate is (age <= 64)

    def test_nothing_fits_what_was_retired(self) -> None:
        forgotten = []

        class Forgets(Says):
            def forget(self, record: EnvironmentRecord) -> None:
                forgotten.append(record.index)

        detector, spurious = ShiftDetector([Forgets(1.0)], EnvironmentConfig()), record(1)
        assert detector.fit(spurious, [view()]).p_value == 1
        fits = {s: Fit(p, 0.5, (f"reason {s}",)) for s, p in ((0, 0.4), (1, 0.9))}
        decision = Decision(there=(images(0.0),), environment=0, fits=fits, duplicate=True)
        assert decision.distances(1) == {0: 0.5}
        assert detector.leave(spurious, decision) == (
            "reason 1",
            "the batch fits environment 0",
            "environment 1 had not settled, and is retired",
        )
        assert detector.fit(spurious, [view()]).p_value == 0
        assert (forgotten, spurious.duplicate_of) == ([1], 0)


@pytest.mark.parametrize(
    ("every", "z", "alarm"),
    [(1000, 1.64, False), (1000, 1.65, True), (10_000, 2.57, False), (10_000, 2.58, True), (100_000, 3.29, False)],
)
def test_the_two_improbable_events_of_a_false_alarm(every: float, z: float, alarm: bool) -> None:
    """The three batches after the suspicious one, whose mean is z standard deviations away, are 0.01·p = 1/every."""
    decision = Stream(false_alarm_every=every)(SUSPICIOUS, *[z / math.sqrt(3)] * 3)
    assert bool(decision.there) is alarm
    assert decision.environment is None  # the current one cannot be what came instead


def test_false_alarms_are_as_rare_as_promised() -> None:
    """One batch in 100 arouses suspicion; of those, 100 in 1000 may be confirmed by chance, within a factor of two."""
    rng, normal, alarms, episodes = np.random.default_rng(0), NormalDist(), 0, 1000
    for _ in range(episodes):
        stream = Stream(false_alarm_every=1000)
        decision = stream.receive(normal.inv_cdf(1 - SUSPICION / 2 * (1 - rng.random())))
        while decision.held:
            decision = stream.receive(rng.standard_normal())
        alarms += bool(decision.there)
    assert 0.05 < alarms / episodes < 0.2


class TestPosterior:
    @pytest.mark.parametrize(
        ("p", "factor"),
        [(0.0, 0.0), (0.01, 0.125182), (0.05, 0.407162), (1 / math.e, 1.0), (0.5, 1.0), (1.0, 1.0)],
    )
    def test_bayes_factor(self, p: float, factor: float) -> None:
        # −e·0.05·log 0.05 = 2.71828 · 0.05 · 2.99573
        assert bayes_factor(p) == pytest.approx(factor, abs=1e-6)

    def test_by_hand(self) -> None:
        # Factors 0.407162 (p = 0.05), 0.00250364 (p = level = 1e-4, twice): sum 0.412169.
        fits = {1: Fit(1e-4, math.nan, ()), 0: Fit(0.05, math.nan, ())}
        assert posterior(fits, 1e-4).tolist() == pytest.approx([0.987851, 0.0060743, 0.0060743], abs=1e-6)

    @pytest.mark.parametrize(("p", "new"), [(1e-5, True), (1.1e-4, False), (0.0, True), (0.3, False)])
    def test_a_new_one_wins_below_the_level(self, p: float, new: bool) -> None:
        found = posterior({0: Fit(p, math.nan, ())}, 1e-4)
        assert bool(found.argmax() == 1) is new
        assert found.sum() == pytest.approx(1.0)


class TestState:
    def test_what_is_held_is_restored(self) -> None:
        stream, again = Stream(), Stream()
        for value in (SUSPICIOUS, 0.0, WORLD, WORLD):
            stream.receive(value)
        again.detector.load_state_dict(stream.detector.state_dict())
        for each in (stream, again):
            decision = each(WORLD, WORLD)
            assert (values(decision.here), values(decision.there)) == ([SUSPICIOUS, 0.0], [WORLD] * 4)

    def test_what_is_held_keeps_the_p_values_that_it_came_with(self) -> None:
        stream, again = Stream(), Stream()
        for value in (WORLD, WORLD, 0.0):
            stream.receive(value)
        again.detector.load_state_dict(stream.detector.state_dict())
        for each in (stream, again):  # a short visit, as in the test above
            decision = each(0.0)
            assert (values(decision.here), decision.dropped) == ([0.0, 0.0], 2)

    def test_a_batch_is_judged_by_itself_once(self) -> None:
        stream, asked = Stream(), list[int]()

        def judge(x: torch.Tensor, environments: Sequence[int] | None) -> dict[int, Fit]:
            asked.append(len(x) // IMAGES)
            return stream.judge(x, environments)

        for value in (SUSPICIOUS, 0.0, 0.0, 0.0):
            x = images(value)
            decision = stream.detector.receive(x, stream.judge(x, [0])[0], judge, record())
        assert len(decision.here) == 4
        assert asked == [3]  # only the three that followed the first, together

    def test_release_gives_the_oldest_first(self) -> None:
        stream = Stream()
        for value in (WORLD, 2 * WORLD, 3 * WORLD):
            stream.receive(value)
        assert values(stream.detector.release()) == [WORLD, 2 * WORLD, 3 * WORLD]
        assert stream.detector.release() == ()

    def test_a_state_of_other_tests_is_refused(self) -> None:
        state = ShiftDetector([Says(1.0)], EnvironmentConfig()).state_dict()
        with pytest.raises(ValueError, match=r"shift_tests are \[\], the saved learner has \['Says'\]"):
            ShiftDetector([], EnvironmentConfig()).load_state_dict(state)


class Brightness(ShiftTest):
    """A test of one's own: the mean brightness of a batch must stay near that of the environment."""

    def __init__(self, tolerance: float) -> None:
        self.tolerance = tolerance
        self.expected: dict[int, float] = {}

    def evidence(self, record: EnvironmentRecord, batch: BatchStatistics) -> Evidence:
        mean, expected = float(batch.images.mean()), self.expected.get(record.index)
        if expected is None or abs(mean - expected) <= self.tolerance:
            return Evidence(1.0)
        return Evidence(0.0, f"brightness {mean:.2f}, environment {record.index} has {expected:.2f}")

    def update(self, record: EnvironmentRecord, batch: BatchStatistics) -> None:
        self.expected[record.index] = float(batch.images.mean())

    def state_dict(self) -> dict[str, Any]:
        return {str(index): value for index, value in self.expected.items()}

    def load_state_dict(self, state: Any) -> None:
        self.expected = {int(index): value for index, value in state.items()}


def test_a_learner_with_a_test_of_its_own(tmp_path: Any) -> None:
    """Day, night, day: found by brightness alone; saved and loaded with the test passed again."""
    config = VASEConfig.smoke().with_values({"environments.burn_in": 5, "environments.patience": 2})
    rng = np.random.default_rng(0)

    def batch(level: float) -> np.ndarray:
        return np.clip(level + 0.02 * rng.standard_normal((16, 1, 32, 32)), 0, 1)

    test = Brightness(0.1)
    model = VASE(config, seed=0, shift_tests=[test])
    steps = [model.partial_fit(batch(level)) for level in [0.7] * 12 + [0.2] * 12 + [0.7] * 6]
    assert [(s.step, s.environment, s.is_new) for s in steps if s.switched] == [
        (1, 0, True),
        (14, 1, True),
        (26, 0, False),
    ]
    assert steps[12].reasons == ("brightness 0.20, environment 0 has 0.70",)
    assert steps[12].p_value == 0.0
    assert steps[11].p_value == 1.0
    assert test.expected == {}  # the learner has a copy
    model.save(tmp_path)
    with pytest.raises(ValueError, match=r"shift_tests=\[Brightness\]: pass it again"):
        VASE.load(tmp_path)
    again = VASE.load(tmp_path, shift_tests=[Brightness(0.1)])
    x = batch(0.2)
    assert model.partial_fit(x).reasons == again.partial_fit(x).reasons != ()
