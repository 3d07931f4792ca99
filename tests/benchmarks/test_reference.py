"""The plain reference step against the learner: the same losses, gradients and noise tolerance."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from benchmarks.reference import PLAIN, Reference
from vase import VASE, VASEConfig
from vase.bench.contestants import Foreign
from vase.method.usage import noise_tolerance
from vase.nn.networks import Networks
from vase.worlds import Schedule

SMOKE = VASEConfig.smoke().with_values(PLAIN)


def images(world: str, steps: int = 1, seed: int = 0) -> list[torch.Tensor]:
    schedule = Schedule.parse(world, steps, batch_size=32, seed=seed)
    return [torch.from_numpy(batch.images).float() / 255 for batch in schedule]


def copy_weights(plain: nn.Module, nets: Networks) -> None:
    """The learner's weights for the reference's networks."""
    features, decoder = nets.encoder.features, nets.decoder
    with torch.no_grad():
        for i, (conv, deconv) in enumerate(zip(features.convs, decoder.image.deconvs, strict=True)):
            plain.features[2 * i].load_state_dict(conv.state_dict())
            plain.decoder[5 + 2 * i].load_state_dict(deconv.state_dict())
        plain.features[-2].load_state_dict(features.linear.state_dict())
        plain.posterior.load_state_dict(nets.encoder.posterior.state_dict())
        plain.classifier.weight.copy_(nets.classifier.environments.rows())
        rows = decoder.environments.rows()
        plain.decoder[0].weight.copy_(torch.cat([decoder.from_latents.weight, rows.T], 1))
        plain.decoder[0].bias.copy_(decoder.from_latents.bias)
        plain.decoder[2].load_state_dict(decoder.image.linear.state_dict())


@pytest.mark.parametrize("objective", ["square", "ceiling", "elbo"])
@pytest.mark.parametrize("dreaming", [False, True])
def test_the_reference_has_the_learner_s_losses_and_gradients(objective, dreaming):
    """On the same weights, batch, noise and dreams. Gates and recruiting are the learner's own."""
    config = SMOKE.with_values(
        {
            "capacity.objective": objective,
            "capacity.kl_weight": 0.5,
            "environments.burn_in": 0,
            "environments.inference": "paper",
            "environments.kappa": 1e9,
            "mask.threshold": 1e9,
            "dreaming.gates": False,
            "recruiting.reseed": False,
            "recruiting.warmup_steps": 0,
        }
    )
    model, plain = VASE(config, seed=0), Reference(config, seed=0)
    for x in images("inverse-digits", 15):
        model.partial_fit(x)
    if dreaming:
        model.detector_.tests.append(Foreign())
        for x in images("digits", config.environments.patience):
            model.partial_fit(x)
        model.detector_.tests.pop()
        plain.add_environment()
        assert len(model.environments) == len(plain.environments) == 2
        copy_weights(plain.old, model.dreams_.snapshot)
    mask = torch.arange(10) % 4 > 0
    model.memory_.record.mask = mask.clone()
    plain.environments[-1].mask = mask.clone()
    copy_weights(plain.nets, model.networks_)
    x = images("digits", 1, seed=3)[0]
    same = torch.Generator()
    same.set_state(model.generator_.get_state())
    gates = torch.ones(len(model.environments), 10)
    dreams = model.dreams_.sample(len(x), model.memory_, gates, same, model.workers_)
    noise = torch.randn(len(x), 10, generator=same)
    step = model.partial_fit(x)
    assert not step.held
    assert not step.switched
    plain.t = model.steps
    assert (dreams is not None) == dreaming
    losses = plain.losses(x, plain.nets.encode(x), noise, (dreams.s, dreams.z) if dreaming else None)
    assert ("dream_decoder" in losses) == dreaming
    for name, value in losses.items():
        assert value.item() == pytest.approx(getattr(step, name), rel=1e-4, abs=1e-3), name
    losses["loss"].backward()
    nets = model.networks_
    pairs = [
        (plain.nets.features[0].weight, nets.encoder.features.convs[0].weight),
        (plain.nets.posterior.weight, nets.encoder.posterior.weight),
        (plain.nets.decoder[-1].weight, nets.decoder.image.deconvs[-1].weight),
        (plain.nets.classifier.weight, nets.classifier.environments.blocks[0]),
    ]
    for mine, theirs in pairs:
        assert torch.allclose(mine.grad, theirs.grad, rtol=1e-3, atol=1e-3 * float(theirs.grad.abs().max()))


def test_the_reference_finds_the_noise_that_latents_tolerate():
    model, plain = VASE(SMOKE, seed=0), Reference(SMOKE, seed=0)
    for x in images("digits:28", 60):
        model.partial_fit(x)
    copy_weights(plain.nets, model.networks_)
    x = images("digits:28", 1, seed=5)[0][:8]
    nets, active = model.networks_, torch.ones(10, dtype=torch.bool)
    with torch.no_grad():
        theirs = noise_tolerance(
            lambda z: nets.decode(z, torch.zeros(len(z), dtype=torch.long)),
            nets.encode(x)[1],
            model.likelihood_,
            active,
            weight=SMOKE.reconstruction_weight,
        )
    mine = plain.noise_tolerance(x, delta=0.01)
    assert torch.allclose(mine.log(), theirs.log(), atol=0.3)  # central against forward differences


def test_the_reference_learns_dreams_and_notices_a_new_world():
    config = SMOKE.with_values({"mask.threshold": 1e9})
    plain = Reference(config, seed=0)
    copy_weights(plain.nets, VASE(config, seed=0).networks_)
    first = [plain.step(x) for x in images("digits:28", 60)]
    assert sum(s["reconstruction"] for s in first[-10:]) < 0.6 * sum(s["reconstruction"] for s in first[:10])
    plain.add_environment()
    second = [plain.step(x) for x in images("glyphs:28", 70)]
    assert (plain.current, len(plain.environments)) == (1, 2)
    assert sum(s["dream_decoder"] for s in second[-10:]) < 0.7 * sum(s["dream_decoder"] for s in second[15:25])
    assert second[-1]["classifier"] < 0.8 * second[0]["classifier"]
    plain.step(images("inverse-digits:28")[0])
    assert (plain.current, len(plain.environments)) == (2, 3)
    plain.environments *= 3
    plain.environments.pop()
    with pytest.raises(RuntimeError, match="more room"):
        plain.add_environment()
