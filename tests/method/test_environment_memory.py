"""What is remembered of an environment: running averages, masks, used latents."""

import math

import pytest
import torch

from vase.config import MaskConfig
from vase.method.environment_memory import EnvironmentMemory, EnvironmentRecord

N = 24


def flags(*latents: int) -> torch.Tensor:
    values = torch.zeros(N, dtype=torch.bool)
    values[list(latents)] = True
    return values


def memory(*used: tuple[int, ...]) -> EnvironmentMemory:
    made = EnvironmentMemory(N)
    for latents in used:
        made.add(flags(*range(N))).used = flags(*latents)
    return made


def new() -> EnvironmentRecord:
    return EnvironmentRecord(0, flags(), flags(), flags())


class TestRecord:
    def test_first_batch_is_taken_as_it_is(self):
        record = new()
        assert math.isnan(record.loss)
        record.observe(40.0, decay=0.98)
        assert (record.loss, record.age) == (40.0, 1)

    def test_young_averages_are_short(self):
        # The old value counts (1+age)/(10+age): 2/11 at the second batch, 3/12 at the third.
        # L̃: 40, (2·40 + 9·29)/11 = 31, ¼·31 + ¾·27 = 28.
        record = new()
        for loss in (40.0, 29.0, 27.0):
            record.observe(loss, decay=0.98)
        assert record.loss == pytest.approx(28.0)
        assert record.age == 3

    def test_running_average_by_hand(self):
        # At age 200 the start is over (201/210 = 0.957). L̃: 0.9·10 + 0.1·20 = 11, 0.9·11 + 0.1·1 = 10.
        record = EnvironmentRecord(0, flags(), flags(), flags(), loss=10.0, age=200)
        record.observe(20.0, decay=0.9)
        record.observe(1.0, decay=0.9)
        assert record.loss == pytest.approx(10.0)
        assert record.age == 202

    @pytest.mark.parametrize(("age", "keep"), [(0, 0.0), (1, 2 / 11), (8, 0.5), (1000, 0.95)])
    def test_weight_of_the_past(self, age, keep):
        record = EnvironmentRecord(0, flags(), flags(), flags(), age=age)
        assert record.keep(0.95) == pytest.approx(keep)

    def test_information_flows_through_open_gates_of_typical_latents(self):
        record = EnvironmentRecord(0, mask=flags(1, 2, 3), gate=flags(2, 3, 4), used=flags())
        assert record.active.tolist() == flags(2, 3).tolist()


class TestMemory:
    def test_a_new_environment_may_see_all_latents_and_uses_none(self):
        made = EnvironmentMemory(N)
        record = made.add(flags(1))
        assert (len(made), record.index, made.record) == (1, 0, record)
        assert record.gate.all()
        assert not record.used.any()
        assert record.mask.tolist() == flags(1).tolist()

    def test_used_by_others(self):
        made = memory((1, 2), (2, 3), (4,))
        assert made.used_by_others(1).tolist() == flags(1, 2, 4).tolist()
        assert made.spare().tolist() == (~flags(1, 2, 3, 4)).tolist()

    def test_the_only_environment_protects_nothing_from_itself(self):
        assert memory((1,)).used_by_others(0).tolist() == flags().tolist()
        assert memory().used_by_others(0).tolist() == flags().tolist()

    def test_only_what_others_use_can_be_masked(self):
        made = memory((1, 2), (2, 3))
        alpha = torch.full((N,), 2.0)
        config = MaskConfig(threshold=0.6, minimum=0)
        protected = made.updated_mask(1, flags(*range(N)), alpha, config, protect=True)
        assert protected.tolist() == (~flags(1, 2)).tolist()
        assert not made.updated_mask(1, flags(*range(N)), alpha, config, protect=False).any()

    def test_one_environment_masks_nothing(self):
        alone = memory((1, 2))
        assert alone.updated_mask(0, flags(), torch.full((N,), 9.0), MaskConfig(), protect=True).all()

    def test_past_environments(self):
        made = memory((1,), (2,), (3,))
        made.current = 1
        assert made.past() == [0, 2]
        made[0].retire(duplicate_of=1)
        assert (made.past(), made.retired()) == ([2], [0])
        assert [made.resolve(s) for s in range(3)] == [1, 1, 2]

    def test_what_was_retired_uses_nothing(self):
        made = memory((1, 2), (2, 3))
        made[1].retire(duplicate_of=0)
        assert made[1].duplicate_of == 0
        assert not made[1].gate.any()
        assert made.spare().tolist() == (~flags(1, 2)).tolist()

    def test_state_is_restored(self):
        made = memory((1, 2), (2, 3), (3, 4))
        made[2].retire(duplicate_of=1)
        made[1].observe(3.5, 0.9)
        made[0].gate = flags(1, 2)
        made.current = 1
        again = EnvironmentMemory(N)
        again.load_state_dict(made.state_dict())
        assert again.current == 1
        for a, b in zip(made, again, strict=True):
            assert (a.index, a.age, str(a.loss), a.duplicate_of) == (b.index, b.age, str(b.loss), b.duplicate_of)
            assert all(torch.equal(getattr(a, name), getattr(b, name)) for name in ("mask", "gate", "used"))
        again[0].used[5] = True
        assert not made[0].used[5]

    def test_empty_state_is_restored(self):
        again = memory((1,))
        again.load_state_dict(EnvironmentMemory(N).state_dict())
        assert len(again) == 0
