"""CURL: the ELBO of a mixture by hand, and how a component is added, trained alone and replayed."""

from __future__ import annotations

import copy
import json
import math

import numpy as np
import pytest
import torch
from tiny import bars, tiny

from vase.checkpoint import join_tensors, split_tensors
from vase.learners.checks import states_equal
from vase.learners.rivals import curl
from vase.learners.rivals.curl import CURL, Growth
from vase.learners.rivals.mixture import mixture_loss


def test_the_elbo_by_hand() -> None:
    log_q = torch.tensor([[0.25, 0.75], [0.5, 0.5]]).log()
    cost = torch.tensor([8.0, 4.0, 10.0, 20.0])
    rows = torch.tensor([0, 0, 1, 1])
    found = mixture_loss(cost, rows, log_q.exp().flatten(), log_q)
    # ¼·8 + ¾·4 + KL(q ‖ uniform) = 5 + ¼ log ½ + ¾ log 3/2; then ½·10 + ½·20 + 0
    expected = 5 + 0.25 * math.log(0.5) + 0.75 * math.log(1.5)
    assert found.tolist() == pytest.approx([expected, 15.0])


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Components after a few batches instead of hundreds."""
    monkeypatch.setattr(curl, "BURN_IN", 12)
    monkeypatch.setattr(curl, "POOR", 24)


CONFIG = tiny().with_values({"learning_rate": 5e-3})


def grown() -> CURL:
    """A learner that met upright bars, then lying ones until it had two components."""
    learner = CURL(CONFIG, device="cpu", threshold=1e9, components=3)
    for number in range(100):
        learner.partial_fit(bars(16, number))
    learner.threshold = 150.0  # upright bars cost 89 nats at most by now, lying ones 226 or more
    for number in range(10):
        if learner.growth.count == 2:
            break
        learner.partial_fit(bars(16, number, upright=False))
    return learner


def test_nothing_is_set_aside_before_the_burn_in(eager: None) -> None:
    learner = CURL(tiny(), device="cpu", threshold=0, components=2)
    for number in range(12):
        learner.partial_fit(bars(16, number))
    assert len(learner.growth.poor) == 0
    learner.partial_fit(bars(16, 12))
    assert len(learner.growth.poor) == 16  # with a threshold of nothing every image is poor
    step = learner.partial_fit(bars(16, 13))
    assert (learner.growth.count, len(learner.growth.poor)) == (2, 0)
    assert step.switched
    assert step.is_new
    assert step.environment == 1
    for number in range(20):
        learner.partial_fit(bars(16, number))
    assert learner.growth.count == 2  # as many as allowed


def test_a_component_is_copied_from_the_likeliest_and_trained_alone(
    eager: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    learner = CURL(tiny(), device="cpu", threshold=0, components=3)
    for number in range(13):
        learner.partial_fit(bars(16, number))
    copies: list[tuple[int, int]] = []
    frozen: dict[str, torch.Tensor] = {}
    whole = learner.networks.copy_component

    def noted(source: int, target: int) -> None:
        copies.append((source, target))
        whole(source, target)
        frozen.update(copy.deepcopy(learner.networks.state_dict()))
        assert torch.equal(learner.networks.head_weight[target], learner.networks.head_weight[source])

    monkeypatch.setattr(learner.networks, "copy_component", noted)
    learner.partial_fit(bars(16, 13))
    assert copies == [(0, 1)]
    after = learner.networks.state_dict()
    changed = {name for name, value in after.items() if not torch.equal(value, frozen[name])}
    assert changed == {"cluster_weight", "cluster_bias", "head_weight", "head_bias", "prior_mean", "prior_log_var"}
    assert torch.equal(after["head_weight"][0], frozen["head_weight"][0])
    assert not torch.equal(after["head_weight"][1], frozen["head_weight"][1])
    snapshot = learner.teacher.networks
    assert snapshot is not None
    assert not torch.equal(snapshot.state_dict()["head_weight"][1], after["head_weight"][1])  # taken before


def test_another_world_becomes_a_component(eager: None) -> None:
    learner = grown()
    assert learner.growth.count == 2
    assert learner.environment == 1
    upright, lying = (learner.infer_environment(bars(32, 999, upright=upright)) for upright in (True, False))
    assert lying.probabilities[1] > upright.probabilities[1]
    assert lying.environment == 1
    assert lying.each.shape == (32, 2)
    assert lying.each.sum(1) == pytest.approx(np.ones(32), abs=1e-5)
    before = sum(view.age for view in learner.environments)
    assert before == 16 * learner.steps
    for number in range(4):
        learner.partial_fit(bars(16, 100 + number, upright=False))
    assert sum(view.age for view in learner.environments) == before + 2 * 16  # replayed batches do not count


def test_every_second_batch_is_one_of_the_snapshots(eager: None, monkeypatch: pytest.MonkeyPatch) -> None:
    learner = grown()
    calls: list[int] = []
    whole = learner.mixture
    seen: list[torch.Tensor] = []
    monkeypatch.setattr(learner, "mixture", lambda x: seen.append(x) or calls.append(learner.steps) or whole(x))
    start = learner.steps
    for _ in range(4):
        learner.partial_fit(np.zeros((16, 16, 16), np.uint8))
    assert calls == [start + 1, start + 2, start + 3, start + 4]
    assert [bool(x.any()) for x in seen] == [step % 2 == 0 for step in calls]  # black: the world's own


def test_components_are_drawn_by_their_use() -> None:
    growth = Growth(3)
    growth.use_at_snapshot = torch.tensor([300.0, 100.0, 0.0], dtype=torch.float64)
    drawn = growth.draw(4000, torch.Generator().manual_seed(0)).bincount(minlength=3)
    assert int(drawn[2]) == 0
    assert abs(int(drawn[0]) - 3000) < 140  # five standard deviations, √(4000·¾·¼) ≈ 27


def test_small_shares_hardly_matter(monkeypatch: pytest.MonkeyPatch, eager: None) -> None:
    learner = grown()
    x = torch.from_numpy(bars(32, 5)) / 255
    monkeypatch.setattr(learner, "noise", lambda *shape: torch.zeros(shape))
    losses = []
    for least in (0.0, curl.MIN_SHARE):
        monkeypatch.setattr(curl, "MIN_SHARE", least)
        losses.append(learner.mixture(x)[0].detach())
    torch.testing.assert_close(*losses, rtol=0.02, atol=0.1)


def test_a_grown_learner_is_saved_and_continues_exactly(eager: None) -> None:
    learner = grown()
    learner.partial_fit(bars(16, 7))
    values, groups = split_tensors(learner.state_dict())
    kept = {top: {name: tensor.clone() for name, tensor in tensors.items()} for top, tensors in groups.items()}
    again = CURL(CONFIG, device="cpu", threshold=learner.threshold, components=3)
    again.load_state_dict(join_tensors(json.loads(json.dumps(values)), kept))
    for number in range(6):
        for one in (learner, again):
            one.partial_fit(bars(16, 50 + number, upright=False))
    assert states_equal(learner.state_dict(), again.state_dict())
    assert np.array_equal(learner.dream(5, 1, seed=3), again.dream(5, 1, seed=3))
    with pytest.raises(ValueError, match="environment 7: the learner has environments 0 to"):
        learner.dream(5, 7)
