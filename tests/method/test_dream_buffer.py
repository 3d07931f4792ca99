"""Dreams by the snapshot, and the pool of them."""

import math

import numpy as np
import pytest
import torch
from torch import distributions

from vase import VASE, VASEConfig
from vase.method.dream_buffer import Dreams, dream
from vase.nn.likelihood import Bernoulli, Gaussian
from vase.nn.networks import Networks

CONFIG = VASEConfig.smoke()
N = CONFIG.network.latents


def rng(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def some(n: int, p: Bernoulli | Gaussian | None = None) -> tuple[Networks, Dreams]:
    nets = Networks(CONFIG, rng())
    s = torch.randint(3, (n,), generator=rng(1))
    gate = torch.randint(2, (n, N), generator=rng(2)).float()
    return nets, dream(nets, p or Bernoulli(), s, torch.randn(n, N, generator=rng(3)), gate)


class TestDreams:
    def test_are_what_the_snapshot_makes_of_gated_noise(self):
        nets, found = some(5)
        with torch.no_grad():
            x = torch.sigmoid(nets.decode(torch.randn(5, N, generator=rng(3)) * found.gate, found.s))
            _, mean, log_var = nets.encode(x)
        for got, expected in ((found.x, x), (found.target, x), (found.mean, mean), (found.log_var, log_var)):
            assert torch.allclose(got, expected, atol=1e-6)
        assert torch.equal(found.z * (1 - found.gate), torch.zeros(5, N))

    def test_do_not_depend_on_how_they_are_cut(self):
        # more than one chunk: the same rows as when they are dreamt one chunk at a time
        nets, found = some(300)
        part = dream(nets, Bernoulli(), found.s[256:], found.z[256:], found.gate[256:])
        assert torch.allclose(found.target[256:], part.target, atol=1e-6)
        assert torch.allclose(found.mean[256:], part.mean, atol=1e-5)

    @pytest.mark.parametrize("p", [Bernoulli(), Gaussian(0.1)])
    def test_error_above_the_floor_is_the_divergence(self, p: Bernoulli | Gaussian):
        nets, found = some(8, p)
        with torch.no_grad():
            old = nets.decode(found.z, found.s)
            new = old + 0.3 * torch.randn(old.shape, generator=rng(4))
            q = [
                distributions.Bernoulli(logits=y) if p == Bernoulli() else distributions.Normal(y, 0.1)
                for y in (old, new)
            ]
            expected = distributions.kl_divergence(*q).flatten(1).sum(1)
            assert torch.allclose(p.nll(new, found.target) - found.floor, expected, rtol=1e-3, atol=1e-2)

    def test_gaussian_dreams_are_clamped_for_the_encoder_only(self):
        _, found = some(8, Gaussian(0.1))
        assert float(found.target.min()) < 0 <= float(found.x.min())

    def test_take_and_size(self):
        _, found = some(6)
        rows = torch.tensor([5, 0, 5])
        taken = found.take(rows)
        assert len(taken) == 3
        assert torch.equal(taken.z, found.z[rows])
        assert torch.equal(taken.target, found.target[rows])
        pixels = math.prod(CONFIG.image_shape)
        assert found.nbytes == 6 * (8 + 4 * (4 * N + pixels + 1))  # s; z, gate, mean, log_var; target; floor


def stream(world: int, n: int, steps: int) -> list[np.ndarray]:
    """Bright bars that lie (0) or stand (1), at random places."""
    source = np.random.default_rng(world)
    batches = []
    for _ in range(steps):
        x = np.zeros((n, 32, 32), np.uint8)
        for image, place in zip(x, source.integers(2, 26, n), strict=True):
            image[place : place + 5] = 255
        batches.append(x if world == 0 else x.transpose(0, 2, 1).copy())
    return batches


def learner(pool: int) -> VASE:
    model = VASE(CONFIG.with_values({"dreaming.pool": pool, "environments.burn_in": 1000}), seed=0, device="cpu")
    for x in stream(0, 32, 30):
        model.partial_fit(x)
    model.finish_environment()
    model.add_environment(torch.zeros(N))
    return model


class TestPool:
    def test_is_made_once_and_dropped_with_its_snapshot(self):
        model = learner(128)
        assert model.dreams_.pool is None
        first, second = model.sample_dreams(8), model.sample_dreams(8)
        pool = model.dreams_.pool
        assert pool is not None
        assert len(pool) == 128
        assert first is not None
        assert second is not None
        assert not torch.equal(first.z, second.z)  # every step draws anew
        rows = {tuple(row) for row in pool.z.tolist()}
        assert all(tuple(row) in rows for row in torch.cat([first.z, second.z]).tolist())
        model.reenter_environment(0)
        assert model.dreams_.pool is None

    def test_every_dream_is_drawn_equally_often(self):
        model = learner(16)
        counts: dict[tuple[float, ...], int] = {}
        for _ in range(100):
            found = model.sample_dreams(64)
            assert found is not None
            for row in found.z.tolist():
                counts[tuple(row)] = counts.get(tuple(row), 0) + 1
        # 6,400 draws from 16: 400 each, standard deviation 19.4
        assert len(counts) == 16
        assert all(abs(count - 400) < 5 * 19.4 for count in counts.values())

    def test_zero_dreams_anew_at_every_step(self):
        model = learner(0)
        assert model.sample_dreams(8) is not None
        assert model.dreams_.pool is None

    def test_is_no_larger_than_what_is_drawn_until_the_next_snapshot(self):
        values = {"dreaming.pool": 512, "dreaming.snapshot": "every", "dreaming.tau": 3, "environments.burn_in": 1000}
        model = VASE(CONFIG.with_values(values), seed=-1, device="cpu")  # any whole number is a seed
        for x in stream(0, 32, 4):
            model.partial_fit(x)
        model.finish_environment()
        model.add_environment(torch.zeros(N))
        model.partial_fit(stream(1, 32, 1)[0])
        assert model.dreams_.pool is not None
        assert len(model.dreams_.pool) == 3 * 32

    def test_serves_batches_that_are_larger_than_the_one_that_filled_it(self, tmp_path):
        values = {"dreaming.pool": 512, "environments.enabled": "no", "dreaming.tau": 3}
        model = VASE(CONFIG.with_values(values), seed=0, device="cpu")
        for x in stream(0, 32, 3):
            model.partial_fit(x)
        model.partial_fit(stream(1, 4, 1)[0])
        assert model.dreams_.pool is not None
        model.save(tmp_path / "m")
        again = VASE.load(tmp_path / "m", device="cpu")
        x = stream(1, 64, 1)[0]
        assert model.partial_fit(x).loss == again.partial_fit(x).loss

    def test_is_the_same_after_saving_and_loading(self, tmp_path):
        model = learner(64)
        model.partial_fit(stream(1, 32, 1)[0])
        pool = model.dreams_.pool
        model.save(tmp_path / "m")
        again = VASE.load(tmp_path / "m", device="cpu")
        assert again.dreams_.pool is None
        x = stream(1, 32, 2)[1]
        a, b = model.partial_fit(x), again.partial_fit(x)
        assert a.loss == b.loss
        assert pool is not None
        assert again.dreams_.pool is not None
        assert torch.equal(pool.target, again.dreams_.pool.target)
