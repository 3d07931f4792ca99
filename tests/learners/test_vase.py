"""The learner: contracts of every public method, and one test per pitfall that fails without its remedy."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from itertools import islice

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from vase import VASE, VASEConfig
from vase.checkpoint import CheckpointError
from vase.learners.checks import states_equal
from vase.method.shift_tests import LossTest
from vase.nn.likelihood import Gaussian
from vase.worlds import Schedule

SMOKE = VASEConfig.smoke()


def stream(text: str = "digits:28,glyphs:16", steps: int = 120, seed: int = 0) -> Schedule:
    return Schedule.parse(text, steps=steps, batch_size=32, seed=seed)


def learn(model: VASE, batches) -> list:
    return [model.partial_fit(batch.images) for batch in batches]


def same_state(a: VASE, b: VASE) -> bool:
    return states_equal(a.state_dict(), b.state_dict())


def with_values(**values) -> VASEConfig:
    return SMOKE.with_values({name.replace("__", "."): value for name, value in values.items()})


@pytest.fixture(scope="module")
def two_worlds() -> tuple[VASE, list]:
    model = VASE(SMOKE, seed=0)
    return model, learn(model, stream())


# -------------------------------------------------------------------- the stream


def test_a_shift_is_found_after_patience_batches_and_nothing_else_is(two_worlds):
    _, steps = two_worlds
    switches = [(s.step, s.environment, s.is_new) for s in steps if s.switched]
    assert switches == [(1, 0, True), (120 + SMOKE.environments.patience, 1, True)]
    # One batch in a hundred is suspicious by chance, and learnt after the next ones acquitted it.
    assert [s.step for s in steps if s.held and s.step > 120] == [121, 122]
    assert sum(s.held for s in steps) <= 6
    assert "standard deviations from environment 0" in steps[122].reasons[0]


def test_a_return_is_recognised():
    model = VASE(SMOKE, seed=0)
    steps = learn(model, stream("digits:28,glyphs:16,digits:28"))
    assert [(s.step, s.environment, s.is_new) for s in steps if s.switched][2] == (243, 0, False)
    assert len(model.environments) == 2


def test_learning_lowers_the_loss_of_each_world(two_worlds):
    _, steps = two_worlds
    assert np.mean([s.deviance for s in steps[115:120]]) < 0.7 * np.mean([s.deviance for s in steps[:5]])
    assert np.mean([s.deviance for s in steps[-5:]]) < 0.7 * steps[122].deviance


def test_held_batches_are_learnt_after_the_verdict():
    model = VASE(SMOKE, seed=0)
    learn(model, stream())
    # 120 batches of the first world, 120 of the second: none is lost, the held ones included.
    assert [e.age for e in model.environments] == [120, 120]


def test_dreaming_and_gates_keep_the_past(two_worlds):
    """After the second world, the learner still draws the first about as well as when it left it."""
    model, _ = two_worlds
    forgetful = VASE(with_values(dreaming__enabled=False), seed=0)
    learn(forgetful, stream())
    images = stream().stages[0].world.sample(256, np.random.default_rng(5)).images / 255.0

    def error(learner: VASE) -> float:
        return float(np.square(learner.reconstruct(images, environment=0) - images).mean())

    assert error(model) < 0.75 * error(forgetful)


def test_switches_off_and_square_objective_is_cci_vae():
    config = with_values(
        environments__enabled=False,
        dreaming__enabled=False,
        mask__enabled=False,
        capacity__objective="square",
        independence__enabled=False,
    )
    model = VASE(config, seed=0)
    steps = learn(model, stream(steps=30))
    assert len(model.environments) == 1
    assert not any(s.held for s in steps)
    last = steps[-1]
    assert last.dream_encoder == last.dream_decoder == 0
    assert last.loss == pytest.approx(
        4 * last.reconstruction + 5.0 * (last.kl - last.capacity) ** 2 + last.classifier, rel=1e-5
    )
    assert last.classifier == 0  # one class


def test_plain_elbo_is_a_vae():
    config = with_values(
        environments__enabled=False, dreaming__enabled=False, mask__enabled=False, capacity__objective="elbo"
    )
    last = learn(VASE(config, seed=0), stream(steps=5))[-1]
    assert last.loss == pytest.approx(4 * last.reconstruction + last.kl, rel=1e-5)


@pytest.mark.parametrize(("balance", "weight"), [("sum", 1), ("paper", 4)])  # 64·64 pixels in the paper, 32·32 here
def test_full_loss_is_the_weighted_sum_of_its_parts(balance, weight):
    values = {"capacity__objective": "square", "capacity__balance": balance, "independence__enabled": False}
    model = VASE(with_values(recruiting__warmup_steps=0, dreaming__gate_tolerance=0.0, **values), seed=0)
    last = learn(model, stream())[-1]
    d = SMOKE.dreaming
    assert last.dream_encoder > 0
    assert last.dream_decoder > 0
    assert last.loss == pytest.approx(
        weight * (last.reconstruction + d.decoder_weight * last.dream_decoder)
        + 5.0 * (last.kl - last.capacity) ** 2
        + d.encoder_weight * last.dream_encoder
        + last.classifier,
        rel=1e-4,
    )


def test_without_s_dreams_come_from_the_only_environment():
    model = VASE(with_values(environments__enabled=False, dreaming__tau=5), seed=0)
    steps = learn(model, stream(steps=10))
    assert len(model.environments) == 1
    assert steps[-1].dream_decoder > 0


def test_snapshot_every_tau_follows_the_weights():
    model = VASE(with_values(dreaming__snapshot="every", dreaming__tau=7), seed=0)
    learn(model, stream("digits:28", steps=7))
    assert model.dreams_.snapshot is not None
    assert all(
        torch.equal(a, b)
        for a, b in zip(model.dreams_.snapshot.parameters(), model.networks_.parameters(), strict=True)
    )
    learn(model, stream("digits:28", steps=1))
    assert not torch.equal(model.dreams_.snapshot.encoder.posterior.weight, model.networks_.encoder.posterior.weight)


def test_gaussian_likelihood_learns_colour_images():
    config = dataclasses.replace(SMOKE, image_shape=(3, 32, 32)).with_values({"network.likelihood": "gaussian"})
    model = VASE(config, seed=0)
    rng = np.random.default_rng(0)
    steps = [model.partial_fit(np.clip(rng.random((16, 3, 1, 1)) + np.zeros((1, 1, 32, 32)), 0, 1)) for _ in range(60)]
    assert steps[-1].deviance < 0.5 * steps[0].deviance


# -------------------------------------------------------------------- pitfalls, each with its remedy removed


def _collapsed(model: VASE) -> bool:
    return bool((~model.mask).all())


def test_mask_collapse_cannot_be_entered():
    """Capacity that rises too fast makes latents atypical; masked, they would get no gradient and never return."""
    broken = with_values(
        mask__protect_only=False, mask__minimum=0, capacity__objective="square", capacity__gamma=100, learning_rate=0.01
    )
    cured = broken.with_values({"mask.protect_only": True, "mask.minimum": 4})
    outcomes = []
    for config in (broken, cured):
        model = VASE(config, seed=0)
        steps = learn(model, stream("digits:28"))
        outcomes.append((_collapsed(model), steps[-1].kl))
    assert outcomes[0] == (True, 0.0)
    assert not outcomes[1][0]
    assert outcomes[1][1] > 1


def test_a_world_without_spare_latents_keeps_some():
    """All latents used by others and atypical here: the least atypical ones stay active."""
    masks = []
    for minimum in (0, 4):
        model = VASE(with_values(mask__minimum=minimum), seed=0)
        learn(model, stream("digits:28", steps=40))
        model.memory_[0].used[:] = True
        model.add_environment(torch.linspace(1, 2, 10))
        masks.append(model.mask.tolist())
    assert masks[0] == [False] * 10
    assert masks[1] == [True] * 4 + [False] * 6


@pytest.mark.parametrize("burn_in", [0, SMOKE.environments.burn_in])
def test_a_young_environment_passes_its_own_tests(burn_in):
    """The classifier and decoder of a young environment are untrained, and few of its images are known."""
    model = VASE(with_values(environments__burn_in=burn_in, environments__patience=1), seed=0)
    learn(model, stream("digits:28,glyphs:16", steps=80))
    assert len(model.environments) == 2


def test_held_batches_cannot_poison_the_current_world():
    """Fewer foreign batches than `patience`, then the old world again: not one of them is learnt."""
    world, foreign = stream("digits:28"), stream("glyphs:16")
    visited, stayed = VASE(SMOKE, seed=0), VASE(SMOKE, seed=0)
    learn(visited, world)
    learn(stayed, stream("digits:28"))
    intruder = next(foreign).images
    step = visited.partial_fit(intruder)
    assert step.held
    assert np.isnan(step.loss)
    assert all(
        torch.equal(a, b) for a, b in zip(visited.networks_.parameters(), stayed.networks_.parameters(), strict=True)
    )
    steps = learn(visited, islice(stream("digits:28", seed=7), 2))
    assert [s.dropped for s in steps] == [0, 1]
    assert visited.environments[0].age == 122
    # Without holding (patience 1 and no test) the same batch moves the weights.
    naive = VASE(with_values(environments__enabled=False, dreaming__enabled=False), seed=0)
    learn(naive, stream("digits:28"))
    before = naive.networks_.encoder.posterior.weight.clone()
    naive.partial_fit(intruder)
    assert not torch.equal(before, naive.networks_.encoder.posterior.weight)


def test_a_spike_of_the_live_weights_is_not_a_shift():
    """Live weights thrown off by the optimiser fail the test; the slow weights know better."""
    held = []
    for decay in (0.95, 0.0):
        model = VASE(with_values(environments__slow_decay=decay, environments__inference="paper"), seed=0)
        learn(model, stream("digits:28"))
        with torch.no_grad():
            model.networks_.decoder.image.deconvs[-1].bias += 3.0
            if decay == 0.0:
                model.ema_.load_state_dict(model.networks_.state_dict())
        held.append(model.partial_fit(next(stream("digits:28", seed=3)).images).held)
    assert held == [False, True]


def test_spare_latents_are_reseeded_and_no_past_output_changes():
    model = VASE(SMOKE, seed=0)
    learn(model, stream("digits:28"))
    model.finish_environment()
    z = np.random.default_rng(0).normal(size=(16, 10))
    before = model.decode(z, environment=0)
    weights = model.networks_.decoder.from_latents.weight.clone()
    model.add_environment(torch.zeros(10))
    changed = (model.networks_.decoder.from_latents.weight != weights).any(0).numpy()
    assert changed.any()
    assert (changed == ~model.environments[0].used).all()
    assert np.array_equal(model.decode(z, environment=0), before)


def test_a_world_is_recognised_although_the_classifier_names_another(two_worlds, monkeypatch):
    model, _ = two_worlds
    batch = next(iter(stream("digits:28", seed=5))).images
    assert (model.environment, len(model.environments)) == (1, 2)
    monkeypatch.setattr(model.networks_, "classify", lambda h, count: torch.eye(count)[1].repeat(len(h), 1))
    found = model.infer_environment(batch)
    assert found.probabilities.argmax() == 1
    assert found.environment == 0
    assert found.reasons[-1] == "the batch fits environment 0"
    assert "environment 1" in found.reasons[0]


@pytest.mark.parametrize("off", ["mask.enabled", "dreaming.enabled", "dreaming.gates"])
def test_without_mask_or_dreams_there_are_no_gates_and_no_fresh_weights(off):
    model = VASE(SMOKE.with_values({off: False}), seed=0)
    learn(model, stream("digits:28"))
    model.finish_environment()
    weights = model.networks_.decoder.from_latents.weight.clone()
    model.add_environment(torch.zeros(10))
    assert model.memory_[0].gate.all()
    assert torch.equal(model.networks_.decoder.from_latents.weight, weights)


def test_twelve_environments_and_the_first_seven_stay_bit_identical():
    model = VASE(with_values(dreaming__gate_tolerance=0.0), seed=0)
    learn(model, stream("digits:28", steps=80))
    z = np.random.default_rng(0).normal(size=(8, 10)).astype(np.float32)
    images = next(stream()).images
    for _ in range(11):
        known = len(model.environments)
        model.finish_environment()
        assert model.used[0].any()
        before = [model.decode(z, environment=s) for s in range(known)]
        logits = model.networks_.classify(torch.ones(2, 128), known)
        mean = model.transform(images)
        model.add_environment(torch.zeros(10) + 1)
        after = [model.decode(z, environment=s) for s in range(known)]
        assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))
        assert torch.equal(model.networks_.classify(torch.ones(2, 128), known), logits)
        spare = ~model.used[:known].any(0)
        assert np.array_equal(model.transform(images)[:, ~spare], mean[:, ~spare])
        learn(model, stream("digits:28", steps=2))
    assert len(model.environments) == 12
    assert model.networks_.room == 16


# -------------------------------------------------------------------- contracts


def test_seeds_make_runs_bit_identical():
    a, b, c = VASE(SMOKE, seed=3), VASE(SMOKE, seed=3), VASE(SMOKE, seed=4)
    for model in (a, b, c):
        learn(model, stream(steps=15))
    assert same_state(a, b)
    assert not same_state(a, c)


@pytest.mark.parametrize("cut", [0, 1, 60, 122, 123, 140])
def test_save_and_load_go_on_exactly(tmp_path, cut):
    """Saved before anything, while a batch is held, right after a birth, in mid-stage: the rest is bit-identical."""
    whole, first = VASE(SMOKE, seed=0), VASE(SMOKE, seed=0)
    batches = list(stream())[:150]
    learn(whole, batches)
    learn(first, batches[:cut])
    first.save(tmp_path / "model")
    second = VASE.load(tmp_path / "model")
    assert same_state(first, second)
    learn(second, batches[cut:])
    assert same_state(whole, second)


def test_saving_again_replaces_and_a_damaged_folder_is_refused(tmp_path):
    model = VASE(SMOKE, seed=0)
    learn(model, stream(steps=2))
    model.save(tmp_path)
    learn(model, stream(steps=1))
    model.save(tmp_path)
    assert same_state(VASE.load(tmp_path), model)
    weights = next(tmp_path.glob("learner-*.safetensors"))
    weights.write_bytes(weights.read_bytes()[:-4])
    with pytest.raises(CheckpointError, match="damaged"):
        VASE.load(tmp_path)


def test_asking_questions_does_not_change_the_learner(two_worlds):
    model, _ = two_worlds
    before = copy.deepcopy(model)
    images = next(stream()).images
    model.encode(images), model.reconstruct(images), model.infer_environment(images), model.dream(2, 0)
    model.traverse(images[:1], [0]), model.transform(images), model.decode(np.zeros((1, 10)), 1)
    assert same_state(before, model)


def test_representation_interface(two_worlds):
    model, _ = two_worlds
    rng = np.random.default_rng(8)
    for s, stage in enumerate(stream().stages):
        images = stage.world.sample(64, rng).images
        found = model.infer_environment(images)
        assert found.environment == s
        assert found.verdict == f"environment {s}"
        assert found.probabilities.argmax() == s
        encoding = model.encode(images)
        assert encoding.environment == s
        assert encoding.mean.shape == encoding.std.shape == (64, 10)
        view = model.environments[s]
        assert (encoding.active == view.mask & view.gate).all()
        assert np.array_equal(model.transform(images), encoding.mean)
        assert model.reconstruct(images[:1]).shape == (1, 1, 32, 32)
    assert model.traverse(images[:2], [1, 3], points=5).shape == (2, 2, 5, 1, 32, 32)
    assert np.array_equal(model.dream(3, 0, seed=1), model.dream(3, 0, seed=1))
    assert model.used.shape == (2, 10)
    assert model.environment == 1


def test_a_traversal_moves_one_latent_only(two_worlds):
    model, _ = two_worlds
    images = next(stream()).images[:1]
    z = model.transform(images)
    z[0, 2] = -2.0
    assert np.allclose(model.traverse(images, [2], points=3, environment=0)[0, 0, 0], model.decode(z, 0)[0], atol=1e-6)


def test_noise_is_a_new_environment_with_reasons(two_worlds):
    model, _ = two_worlds
    found = model.infer_environment(np.random.default_rng(0).random((32, 32, 32)))
    assert found.environment is None
    assert found.verdict == "new environment"
    assert all("environment" in reason for reason in found.reasons)


@pytest.mark.parametrize("twin", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_copies_go_on_exactly_and_by_themselves(two_worlds, twin):
    model, _ = two_worlds
    before, other = copy.deepcopy(model), twin(model)
    batches = list(stream("glyphs:16", steps=3, seed=4))
    a, b = learn(copy.deepcopy(model), batches), learn(other, batches)
    assert [step.loss for step in a] == [step.loss for step in b]
    assert same_state(before, model)


def test_the_constructor_only_stores_its_arguments():
    model = VASE(SMOKE, seed=3)
    assert vars(model) == dict(model.get_params(deep=False))
    assert model.steps == 0
    assert "networks_" in vars(model)  # built on first use


def test_loading_replaces_whatever_was_learnt_before(two_worlds):
    model, _ = two_worlds
    used, fresh = VASE(SMOKE, seed=0), VASE(SMOKE, seed=0)
    learn(used, stream("glyphs:16", steps=3))
    used.load_state_dict(fresh.state_dict())
    assert same_state(used, fresh)
    used.load_state_dict(model.state_dict())
    assert same_state(used, model)


@pytest.mark.parametrize(
    ("mine", "saved", "message"),
    [
        ({"seed": 1}, {}, "seed=1: the saved learner has seed 0"),
        ({"config": with_values(learning_rate=0.1)}, {}, "another configuration: open it with VASE.load"),
        ({"likelihood": Gaussian(0.1)}, {}, "the saved learner has the default one; leave likelihood out"),
        ({}, {"likelihood": Gaussian(0.1)}, r"the saved learner has likelihood=Gaussian\(std=0.1\): pass it again"),
        ({"likelihood": Gaussian(9.0)}, {"likelihood": Gaussian(0.1)}, r"the saved learner has Gaussian\(std=0.1\)"),
    ],
)
def test_a_state_of_another_learner_is_refused(mine, saved, message):
    state = VASE(**{"config": SMOKE, **saved}).state_dict()
    with pytest.raises(ValueError, match=message):
        VASE(**{"config": SMOKE, **mine}).load_state_dict(state)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"likelihood": "gaussian"}, "pass an object with mean, nll, floor and curvature"),
        ({"shift_tests": []}, "one or more ShiftTest objects"),
        ({"shift_tests": [LossTest]}, "one or more ShiftTest objects"),
    ],
)
def test_parts_of_the_wrong_kind_are_named(parts, message):
    with pytest.raises(TypeError, match=message):
        VASE(SMOKE, **parts).partial_fit(next(stream()).images)


def test_scikit_learn_habits(two_worlds):
    model, _ = two_worlds
    twin = clone(model)
    assert twin.get_params() == model.get_params()
    assert twin.environments == ()
    images = next(stream()).images
    pipeline = make_pipeline(VASE(SMOKE, seed=0), StandardScaler())
    assert pipeline.fit_transform(images).shape == (32, 10)


def test_fit_takes_streams_and_arrays():
    images = next(stream()).images
    array, batches = VASE(SMOKE, seed=0), VASE(SMOKE, seed=0)
    with pytest.warns(UserWarning, match="^2 steps of learning: too few .* takes 120 to learn"):
        array.fit(np.concatenate([images] * 3)[:65], epochs=1)
    assert array.steps == 2  # 32 + 32 images; a single left-over image is no batch
    assert batches.fit(stream(steps=3), progress=False).steps == 6
    with pytest.raises(TypeError, match="iterable"):
        VASE(SMOKE).fit(3)


BAD = [
    np.zeros((0, 1, 32, 32), np.uint8),
    np.zeros((1, 1, 32, 32), np.uint8),
    np.full((4, 1, 32, 32), np.nan),
    np.full((4, 1, 32, 32), np.inf),
    np.full((4, 1, 32, 32), 1.5),
    np.full((4, 1, 32, 32), -0.1),
    np.zeros((4, 3, 32, 32), np.uint8),
    np.zeros((4, 1, 1, 32, 32), np.uint8),
    np.zeros((4, 1, 32, 32), np.int64),
    "images",
    None,
]


@pytest.mark.parametrize("bad", BAD)
def test_bad_input_is_refused_and_changes_nothing(two_worlds, bad):
    model, _ = two_worlds
    before = copy.deepcopy(model)
    with pytest.raises((ValueError, TypeError)):
        model.partial_fit(bad)
    assert same_state(before, model)


def test_constant_images_float16_and_odd_batches_are_learnt():
    model = VASE(SMOKE, seed=0)
    for batch in (
        np.zeros((2, 32, 32), np.uint8),
        np.full((7, 32, 32, 1), 0.5, np.float16),
        torch.ones(33, 1, 32, 32),
        np.zeros((4, 32, 64), np.uint8)[:, :, ::2],
    ):
        assert np.isfinite(model.partial_fit(batch).loss)


def test_questions_before_learning_say_so():
    model = VASE(SMOKE)
    with pytest.raises(ValueError, match="nothing has been learnt"):
        model.dream(1)
    assert model.infer_environment(np.zeros((2, 32, 32), np.uint8)).environment is None
    with pytest.raises(TypeError, match="VASEConfig"):
        VASE({"latents": 3}).partial_fit(np.zeros((2, 32, 32), np.uint8))


def test_bad_questions_name_the_rule(two_worlds):
    model, _ = two_worlds
    with pytest.raises(ValueError, match="environments 0 to 1"):
        model.dream(1, 2)
    with pytest.raises(ValueError, match="one column per latent"):
        model.decode(np.zeros((1, 11)))
    with pytest.raises(ValueError, match="latents 0 to 9"):
        model.traverse(np.zeros((2, 32, 32), np.uint8), [10])
    with pytest.raises(ValueError, match="n = 0: must be a whole number of at least 1"):
        model.dream(0)


def test_a_without_s_masks_what_is_atypical():
    """Without S no environment protects another: A masks as in Eq. 5, but never everything."""
    model = VASE(with_values(environments__enabled=False, dreaming__enabled=False), seed=0)
    learn(model, stream("digits:28", steps=2))
    alpha = torch.full((10,), 0.1)
    alpha[3] = 5.0

    def masked(values: torch.Tensor) -> torch.Tensor:
        return model.memory_.updated_mask(0, model.memory_[0].mask, values, SMOKE.mask, protect=False)

    assert np.flatnonzero(~masked(alpha).numpy()).tolist() == [3]
    assert int(masked(alpha + 5).sum()) == SMOKE.mask.minimum


def test_without_s_every_batch_belongs_to_the_only_environment():
    model = VASE(with_values(environments__enabled=False), seed=0)
    learn(model, stream("digits:28", steps=2))
    assert model.infer_environment(np.random.default_rng(0).random((32, 32, 32))).environment == 0


def test_a_small_batch_is_weak_evidence():
    """Two images of a typical world look strange by chance; they must neither be held nor change the mask."""
    model = VASE(SMOKE, seed=0)
    learn(model, stream("digits:28"))
    model.memory_[0].used[:] = True
    rng = np.random.default_rng(3)
    world = stream("digits:28").stages[0].world
    assert not any(model.partial_fit(world.sample(2, rng).images).held for _ in range(10))
    assert model.mask.all()


def test_the_first_step_reports_its_atypicality():
    assert VASE(SMOKE, seed=0).partial_fit(next(stream()).images).atypicality.any()


def test_set_params_builds_the_learner_anew():
    model = VASE(SMOKE, seed=0).set_params(seed=1)
    assert same_state(model, VASE(SMOKE, seed=1))
    with pytest.raises(ValueError, match="Invalid parameter 'sede'"):
        model.set_params(sede=2)
    model.partial_fit(next(stream()).images)
    with pytest.raises(ValueError, match="clone"):
        model.set_params(seed=2)


def test_a_device_that_is_not_there_is_named():
    with pytest.raises(ValueError, match="device='foo'"):
        VASE(SMOKE, device="foo").environments  # noqa: B018


def test_a_loss_that_is_not_finite_leaves_the_weights_alone():
    model = VASE(SMOKE, seed=0)
    learn(model, stream("digits:28", steps=2))
    with torch.no_grad():
        model.networks_.decoder.image.deconvs[-1].bias.fill_(float("nan"))
    before = model.networks_.encoder.posterior.weight.clone()
    with pytest.raises(FloatingPointError, match="lower learning_rate"):
        model.partial_fit(next(stream()).images)
    assert torch.equal(before, model.networks_.encoder.posterior.weight)


def test_dreaming_off_closes_no_gate():
    model = VASE(with_values(dreaming__enabled=False), seed=0)
    learn(model, stream("digits:28", steps=20))
    model.finish_environment()
    assert model.environments[0].gate.all()
