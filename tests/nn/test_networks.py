"""The networks (App. A.1): layers, the environment's one-hot input, growth, stopped gradients, re-seeding."""

import copy
import math

import pytest
import torch
import torch.nn.functional as F

from vase.config import NetworkConfig, VASEConfig
from vase.nn.decoder import BroadcastImage
from vase.nn.environment_table import BLOCK
from vase.nn.networks import Networks


def small(image_shape: tuple[int, int, int] = (1, 32, 32)) -> VASEConfig:
    return VASEConfig(image_shape, NetworkConfig(channels=(8, 8, 16, 16), hidden=64, latents=8, decoder="transposed"))


SMALL = small()


def rng(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def networks(config: VASEConfig = SMALL, seed: int = 0) -> Networks:
    return Networks(config, rng(seed))


def images(n: int, config: VASEConfig = SMALL) -> torch.Tensor:
    return torch.rand(n, *config.image_shape, generator=rng(1))


def latents(n: int, config: VASEConfig = SMALL) -> torch.Tensor:
    return torch.randn(n, config.network.latents, generator=rng(2))


def labels(*s: int) -> torch.Tensor:
    return torch.tensor(s)


class TestArchitecture:
    def test_is_the_papers(self):
        # conv 64 → conv 64 → conv 128 → conv 128 → fc 256 → 2·24; 64×64 halves four times: 4×4×128 = 2048.
        nets = networks(VASEConfig.paper())
        shapes = {name: tuple(p.shape) for name, p in nets.named_parameters() if not name.endswith("bias")}
        assert shapes == {
            "encoder.features.convs.0.weight": (64, 1, 4, 4),
            "encoder.features.convs.1.weight": (64, 64, 4, 4),
            "encoder.features.convs.2.weight": (128, 64, 4, 4),
            "encoder.features.convs.3.weight": (128, 128, 4, 4),
            "encoder.features.linear.weight": (256, 2048),
            "encoder.posterior.weight": (48, 256),
            "decoder.from_latents.weight": (256, 24),
            "decoder.image.linear.weight": (2048, 256),
            "decoder.image.deconvs.0.weight": (128, 128, 4, 4),
            "decoder.image.deconvs.1.weight": (128, 64, 4, 4),
            "decoder.image.deconvs.2.weight": (64, 64, 4, 4),
            "decoder.image.deconvs.3.weight": (64, 1, 4, 4),
            "decoder.environments.blocks.0": (BLOCK, 256),
            "classifier.environments.blocks.0": (BLOCK, 256),
        }
        assert all(layer.stride == (2, 2) for layer in [*nets.encoder.features.convs, *nets.decoder.image.deconvs])

    @pytest.mark.parametrize("shape", [(1, 32, 32), (3, 64, 64), (2, 16, 48)])
    def test_shapes(self, shape):
        config = small(shape)
        nets = networks(config)
        h, mean, log_var = nets.encode(images(5, config))
        assert (h.shape, mean.shape, log_var.shape) == ((5, 64), (5, 8), (5, 8))
        assert nets.decode(mean, labels(0, 0, 0, 0, 0)).shape == (5, *shape)
        assert nets.classify(h, 3).shape == (5, 3)

    def test_encoder_layer_by_layer(self):
        nets, x = networks(), images(3)
        h = x
        for conv in nets.encoder.features.convs:
            h = F.relu(F.conv2d(h, conv.weight, conv.bias, stride=2, padding=1))
        assert h.shape == (3, 16, 2, 2)
        h = F.relu(h.flatten(1) @ nets.encoder.features.linear.weight.T + nets.encoder.features.linear.bias)
        out = h @ nets.encoder.posterior.weight.T + nets.encoder.posterior.bias
        features, mean, log_var = nets.encode(x)
        assert torch.allclose(features, h, atol=1e-5)
        assert torch.allclose(mean, out[:, :8], atol=1e-5)
        assert torch.allclose(log_var, out[:, 8:], atol=1e-5)

    def test_the_decoder_gives_logits_of_any_sign(self):
        y = networks().decode(latents(8), labels(*[0] * 8)).detach()
        assert float(y.min()) < 0 < float(y.max())

    @torch.no_grad()
    def test_log_variance_is_bounded(self):
        nets = networks()
        torch.nn.init.constant_(nets.encoder.posterior.bias, 1e4)
        assert float(nets.encode(images(2))[2].max()) == 6.0
        torch.nn.init.constant_(nets.encoder.posterior.bias, -1e4)
        assert float(nets.encode(images(2))[2].min()) == -14.0

    def test_same_seed_same_weights(self):
        a, b, c = networks(seed=5), networks(seed=5), networks(seed=6)
        assert all(torch.equal(p, q) for p, q in zip(a.parameters(), b.parameters(), strict=True))
        assert not torch.equal(a.encoder.features.linear.weight, c.encoder.features.linear.weight)


class TestBroadcastDecoder:
    @pytest.mark.parametrize("shape", [(1, 32, 32), (3, 64, 64), (2, 16, 48)])
    def test_shapes(self, shape):
        config = small(shape).with_values({"network.decoder": "broadcast"})
        y = networks(config).decode(latents(5, config), labels(0, 0, 0, 0, 0))
        assert y.shape == (5, *shape)

    @torch.no_grad()
    def test_the_code_is_at_every_place_beside_its_coordinates(self):
        image = BroadcastImage((1, 8, 16), (4, 6), hidden=3)
        assert image.coordinates.shape == (1, 2, 2, 4)
        assert image.coordinates[0, 0, 0].tolist() == pytest.approx([-1, -1 / 3, 1 / 3, 1])  # x
        assert image.coordinates[0, 1, :, 0].tolist() == [-1, 1]  # y
        h = torch.randn(2, 3, generator=torch.Generator().manual_seed(0))
        code = h @ image.linear.weight.T + image.linear.bias
        place = image.place.weight[:, :, 0, 0]
        x, y = image.coordinates[0, :, 1, 2]
        here = F.relu(code + place[:, 0] * x + place[:, 1] * y + image.place.bias)  # of row 1, column 2
        mixed = F.relu(here @ image.mix.weight[:, :, 0, 0].T + image.mix.bias)
        grid = F.relu(image.linear(h)[:, :, None, None] + image.place(image.coordinates))
        grid = F.relu(image.mix(grid))
        assert torch.allclose(grid[:, :, 1, 2], mixed, atol=1e-5)
        assert torch.allclose(image(h), image.deconvs[1](F.relu(image.deconvs[0](grid))), atol=1e-5)


class TestInitialWeights:
    @pytest.mark.parametrize(
        ("layer", "fan_in"),
        # Inputs of one output unit: 4·4·64 for a convolution, 2048 for fc; a stride-2 transposed convolution reaches
        # each pixel with 2·2 of its 4·4 taps, from 128 channels.
        [
            ("encoder.features.convs.1", 1024),
            ("encoder.features.linear", 2048),
            ("decoder.from_latents", 24),
            ("decoder.image.linear", 256),
            ("decoder.image.deconvs.1", 512),
        ],
    )
    def test_std_is_one_over_root_fan_in(self, layer, fan_in):
        module = networks(VASEConfig.paper()).get_submodule(layer)
        assert float(module.weight.detach().std()) == pytest.approx(1 / math.sqrt(fan_in), rel=0.05)
        assert not module.bias.any()

    def test_he_has_twice_the_variance(self):
        module = networks(VASEConfig(network=NetworkConfig(init="he"))).encoder.features.linear
        assert float(module.weight.detach().std()) == pytest.approx(math.sqrt(2 / module.in_features), rel=0.05)
        assert not module.bias.any()

    def test_signals_keep_their_size_in_the_decoder(self):
        # ReLU halves the power at each of five layers; nothing explodes or vanishes on the way.
        y = networks(VASEConfig.paper()).decode(latents(16, VASEConfig.paper()), labels(*[0] * 16))
        assert 0.02 < float(y.detach().std()) < 1

    def test_torch_init_is_uniform_within_its_bound(self):
        config = VASEConfig(network=NetworkConfig(init="torch"))
        weight = networks(config).encoder.features.linear.weight.detach()
        bound = 1 / math.sqrt(weight.shape[1])
        assert 0.99 * bound < float(weight.abs().max()) <= bound
        assert float(weight.std()) == pytest.approx(bound / math.sqrt(3), rel=0.02)


def test_environment_table_is_a_one_hot_concatenation():
    # W·[z; onehot(s)] + b, with W = [W_z | table^T], as the paper writes it.
    nets = networks()
    z, s = latents(6), labels(0, 1, 2, 5, 7, 1)
    together = torch.cat([z, F.one_hot(s, BLOCK).float()], 1)
    weight = torch.cat([nets.decoder.from_latents.weight, nets.decoder.environments.blocks[0].T], 1)
    h = F.relu(F.linear(together, weight, nets.decoder.from_latents.bias))
    h = F.relu(nets.decoder.image.linear(h)).unflatten(1, nets.decoder.image.grid)
    for deconv in nets.decoder.image.deconvs[:-1]:
        h = F.relu(deconv(h))
    assert torch.allclose(nets.decode(z, s), nets.decoder.image.deconvs[-1](h), atol=1e-5)


def test_environments_render_the_same_latents_differently():
    nets, z = networks(), latents(4)
    assert not torch.equal(nets.decode(z, labels(0, 0, 0, 0)), nets.decode(z, labels(1, 1, 1, 1)))


class TestGrowth:
    @pytest.mark.parametrize(("count", "room"), [(1, 8), (8, 8), (9, 16), (16, 16), (17, 24), (40, 40)])
    def test_room(self, count, room):
        nets = networks()
        new = nets.grow(count, rng())
        assert nets.room == room
        assert len(new) == 2 * (room // BLOCK - 1)

    @pytest.mark.parametrize("before", [1, 7, 8])
    @pytest.mark.parametrize("after", [8, 9, 12, 17])
    @torch.no_grad()
    def test_no_earlier_output_changes_by_a_bit(self, before, after):
        nets = networks()
        nets.grow(before, rng(3))
        x, z = images(10), latents(10)
        s = torch.arange(10) % before
        h = nets.encode(x)[0]
        old_images, old_logits = nets.decode(z, s), nets.classify(h, before)
        old_weights = {name: value.clone() for name, value in nets.state_dict().items()}
        nets.grow(after, rng(4))
        assert torch.equal(nets.decode(z, s), old_images)
        assert torch.equal(nets.classify(nets.encode(x)[0], before), old_logits)
        assert torch.equal(nets.classify(h, max(before, after))[:, :before], old_logits)
        assert all(torch.equal(nets.state_dict()[name], value) for name, value in old_weights.items())

    @torch.no_grad()
    def test_new_environments_are_at_home_behind_the_boundary(self):
        # Environments 7, 8 and 16 read the last row of block 0, the first of block 1 and of block 2.
        nets = networks()
        nets.grow(17, rng(3))
        nets.decoder.from_latents.weight.zero_()
        z = latents(1)
        for s, row in (
            (7, nets.decoder.environments.blocks[0][7]),
            (8, nets.decoder.environments.blocks[1][0]),
            (16, nets.decoder.environments.blocks[2][0]),
        ):
            h = F.relu(nets.decoder.image.linear(F.relu(row + nets.decoder.from_latents.bias))).unflatten(
                0, nets.decoder.image.grid
            )[None]
            for deconv in nets.decoder.image.deconvs[:-1]:
                h = F.relu(deconv(h))
            assert torch.allclose(nets.decode(z, labels(s)), nets.decoder.image.deconvs[-1](h), atol=1e-6)

    def test_growth_is_repeatable_and_moves_the_generator_only_when_needed(self):
        nets, g = networks(), rng(9)
        before = g.get_state()
        assert nets.grow(8, g) == []
        assert torch.equal(g.get_state(), before)
        assert len(nets.grow(9, g)) == 2
        assert not torch.equal(g.get_state(), before)

    @torch.no_grad()
    def test_a_copy_takes_over_the_new_rooms_only(self):
        nets = networks()
        old = copy.deepcopy(nets).requires_grad_(False)
        nets.grow(20, rng(3))
        nets.decoder.environments.blocks[0].fill_(1.0)
        old.copy_room(nets)
        assert old.room == nets.room == 24
        assert not torch.equal(old.decoder.environments.blocks[0], nets.decoder.environments.blocks[0])
        for table, source in (
            (old.decoder.environments.blocks, nets.decoder.environments.blocks),
            (old.classifier.environments.blocks, nets.classifier.environments.blocks),
        ):
            assert all(torch.equal(a, b) for a, b in zip(list(table)[1:], list(source)[1:], strict=True))
        assert not any(p.requires_grad for p in old.parameters())
        nets.decoder.environments.blocks[2].fill_(5.0)
        assert not (old.decoder.environments.blocks[2] == 5.0).any()


class TestClassifier:
    @torch.no_grad()
    def test_logits_by_hand(self):
        # Features (1, 2), rows (3, 0), (0, −1), (1, 1): logits 3, −2, 3.
        # Over the first two environments only: q = 1/(1 + e⁻⁵) = 0.993307.
        nets = networks(small().with_values({"network.hidden": 2}))
        nets.classifier.environments.blocks[0].zero_()
        nets.classifier.environments.blocks[0][:3] = torch.tensor([[3.0, 0.0], [0.0, -1.0], [1.0, 1.0]])
        h = torch.tensor([[1.0, 2.0]])
        assert nets.classify(h, 3).tolist() == [[3.0, -2.0, 3.0]]
        assert nets.classify(h, 2).softmax(1).flatten().tolist() == pytest.approx([0.993307, 0.006693], abs=1e-6)

    @torch.no_grad()
    def test_l_env_by_hand(self):
        # The same features as the current environment 0 and as a dream of environment 1:
        # −ln 0.993307 − ln 0.006693 = 0.006715 + 5.006715.
        nets = networks(small().with_values({"network.hidden": 2}))
        nets.classifier.environments.blocks[0][:2] = torch.tensor([[3.0, 0.0], [0.0, -1.0]])
        logits = nets.classify(torch.tensor([[1.0, 2.0]]), 2)
        loss = F.cross_entropy(logits, labels(0)) + F.cross_entropy(logits, labels(1))
        assert float(loss) == pytest.approx(5.013430, abs=1e-5)

    def test_gradients_stop_at_the_features(self):
        # "Gradients to the encoder are stopped": L_env trains the classifier alone.
        nets = networks()
        h, _, _ = nets.encode(images(4))
        F.cross_entropy(nets.classify(h, 3), labels(0, 1, 2, 0)).backward()
        moved = {name for name, p in nets.named_parameters() if p.grad is not None and p.grad.any()}
        assert moved == {"classifier.environments.blocks.0"}

    def test_environments_not_seen_yet_get_no_probability_and_no_gradient(self):
        nets = networks()
        h, _, _ = nets.encode(images(4))
        logits = nets.classify(h, 2)
        assert logits.shape == (4, 2)
        F.cross_entropy(logits, labels(0, 1, 0, 1)).backward()
        grad = nets.classifier.environments.blocks[0].grad
        assert grad is not None
        assert grad[:2].any()
        assert not grad[2:].any()


class TestReseed:
    LATENTS = (2, 5)

    def before_and_after(self, **options) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
        nets = networks()
        torch.nn.init.constant_(nets.encoder.posterior.bias, 0.3)
        before = copy.deepcopy(nets.state_dict())
        nets.reseed(list(self.LATENTS), rng(4), **options)
        return before, nets.state_dict()

    def test_touches_only_the_named_latents(self):
        before, after = self.before_and_after()
        rows = [i + 8 * half for half in (0, 1) for i in self.LATENTS]
        for name in before:
            changed = before[name] != after[name]
            if name == "decoder.from_latents.weight":
                assert changed.any(0).nonzero().flatten().tolist() == [2, 5]
            elif name == "encoder.posterior.weight":
                assert changed.any(1).nonzero().flatten().tolist() == sorted(rows)
            elif name == "encoder.posterior.bias":
                assert changed.nonzero().flatten().tolist() == sorted(rows)
                assert not after[name][rows].any()
            else:
                assert not changed.any(), name

    def test_a_reseeded_latent_begins_close_to_the_prior(self):
        # Mean rows of std 0.5/√64, log-variance rows of 0.1/√64, decoder columns of 1/√8.
        config = small().with_values({"network.latents": 64})
        nets = networks(config)
        nets.reseed(list(range(64)), rng(4))
        weight = nets.encoder.posterior.weight.detach()
        assert float(weight[:64].std()) == pytest.approx(0.5 / 8, rel=0.05)
        assert float(weight[64:].std()) == pytest.approx(0.1 / 8, rel=0.05)
        assert float(nets.decoder.from_latents.weight.detach().std()) == pytest.approx(1 / 8, rel=0.05)

    @torch.no_grad()
    def test_with_silent_columns_the_decoder_ignores_the_latent(self):
        nets, z = networks(), latents(6)
        nets.reseed(list(self.LATENTS), rng(4), decoder_std=0.0)
        quiet = z.clone()
        quiet[:, self.LATENTS] = 0
        assert torch.equal(nets.decode(z, labels(*range(6))), nets.decode(quiet, labels(*range(6))))

    def test_no_latents_no_change(self):
        nets = networks()
        before = copy.deepcopy(nets.state_dict())
        nets.reseed([], rng(4))
        assert all(torch.equal(before[name], value) for name, value in nets.state_dict().items())


class TestPrecision:
    def test_only_passes_that_are_differentiated_are_reduced(self, monkeypatch: pytest.MonkeyPatch):
        entered = []
        real = torch.autocast

        def autocast(device: str, dtype: torch.dtype) -> torch.autocast:
            entered.append(dtype)
            return real(device, dtype, enabled=False)

        monkeypatch.setattr(torch, "autocast", autocast)
        nets = networks()
        nets.reduced = True
        with torch.no_grad():  # verdicts, used latents, dreams and questions
            nets.encode(images(2))
            nets.decode(latents(2), labels(0, 0))
        assert entered == []
        nets.decode(nets.encode(images(2))[1], labels(0, 0))
        assert entered == [torch.bfloat16] * 2
        nets.reduced = False
        nets.encode(images(2))
        assert len(entered) == 2
