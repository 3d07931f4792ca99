"""Configurations: the paper's values, round trips, names and values from a command line, validation of every field."""

import dataclasses
import json
import math
import typing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vase.config import (
    CapacityConfig,
    DreamConfig,
    EnvironmentConfig,
    IndependenceConfig,
    MaskConfig,
    NetworkConfig,
    RecruitConfig,
    VASEConfig,
    preset,
)

PRESETS = [VASEConfig(), VASEConfig.paper(), VASEConfig.laptop(), VASEConfig.smoke()]

PARTS: dict[str, type] = {
    "network": NetworkConfig,
    "capacity": CapacityConfig,
    "mask": MaskConfig,
    "environments": EnvironmentConfig,
    "dreaming": DreamConfig,
    "recruiting": RecruitConfig,
    "independence": IndependenceConfig,
}


def fields() -> dict[str, tuple[type, str, object]]:
    """Dotted name → class, own name and type of every field that holds a value."""
    found: dict[str, tuple[type, str, object]] = {}
    for prefix, cls in [("", VASEConfig), *((f"{name}.", cls) for name, cls in PARTS.items())]:
        for name, hint in typing.get_type_hints(cls).items():
            if not dataclasses.is_dataclass(hint):
                found[prefix + name] = (cls, name, hint)
    return found


FIELDS = fields()

# Values just outside the rule of each field. Booleans have no rule beyond their type.
OUTSIDE: dict[str, list[object]] = {
    "image_shape": [(1, 32), (0, 32, 32), (1, -32, 32), ()],
    "learning_rate": [0.0, -1e-3],
    "adam_beta2": [-0.1, 1.0],
    "stage_steps": [0, -1],
    "batch_size": [1, 0, -64],
    "network.channels": [(), (32, 0), (-1,)],
    "network.hidden": [0, -1],
    "network.latents": [0, -24],
    "network.likelihood": ["poisson", "Bernoulli"],
    "network.gaussian_std": [0.0, -0.1],
    "network.decoder": ["linear"],
    "network.init": ["zeros"],
    "network.precision": ["float16", ""],
    "capacity.objective": ["beta", ""],
    "capacity.gamma": [-1.0],
    "capacity.kl_weight": [-0.5],
    "capacity.c_max": [-1.0],
    "capacity.ramp_steps": [0, -1],
    "capacity.balance": ["mean"],
    "independence.total_correlation": [-1.0],
    "independence.means": [-1.0],
    "independence.rotate_every": [-1],
    "independence.fade_from": [-1],
    "independence.fade_to": [-1],
    "mask.threshold": [0.0, -0.6],
    "mask.hysteresis": [-0.1, 1.0],
    "mask.minimum": [-1],
    "environments.kappa": [0.99, -1.5],
    "environments.loss": ["mse"],
    "environments.loss_decay": [-0.1, 1.0],
    "environments.burn_in": [-1],
    "environments.inference": ["eq6", ""],
    "environments.false_alarm_every": [0.5, -1.0],
    "environments.smallest_effect": [-0.1],
    "environments.patience": [-1],
    "environments.slow_decay": [-0.1, 1.0],
    "environments.usage_every": [0],
    "environments.usage_images": [0],
    "environments.usage_threshold": [0.0],
    "dreaming.share": [0.0, -1.0],
    "dreaming.encoder_weight": [-1.0],
    "dreaming.decoder_weight": [-1.0],
    "dreaming.snapshot": ["never"],
    "dreaming.pool": [-1],
    "dreaming.tau": [0],
    "dreaming.gate_tolerance": [-0.01],
    "recruiting.warmup_steps": [-1],
}


def build(name: str, value: object) -> object:
    """The dataclass that owns a field, with this value."""
    cls, own, _ = FIELDS[name]
    return cls(**{own: value})


class TestPaper:
    """Table "Hyperparameter values" (ablation study), App. A.1 and A.3."""

    config = VASEConfig.paper()

    def test_objective(self):
        assert self.config.capacity.objective == "square"
        assert self.config.capacity.gamma == 100
        assert self.config.capacity.c_max == 35
        assert 1 / self.config.capacity.ramp_steps == pytest.approx(6.3e-6, rel=1e-5)

    def test_mask_and_environments(self):
        assert self.config.mask.threshold == 0.6
        assert self.config.environments.kappa == 1.5

    def test_dreaming(self):
        assert (self.config.dreaming.encoder_weight, self.config.dreaming.decoder_weight) == (1000, 20)
        assert (self.config.dreaming.snapshot, self.config.dreaming.tau) == ("every", 500)
        assert self.config.dreaming.pool == 0

    def test_networks(self):
        assert self.config.network.channels == (64, 64, 128, 128)
        assert (self.config.network.hidden, self.config.network.latents) == (256, 24)
        assert self.config.network.likelihood == "bernoulli"
        assert self.config.image_shape == (1, 64, 64)

    def test_training(self):
        assert (self.config.learning_rate, self.config.adam_beta2, self.config.batch_size) == (6e-4, 0.999, 64)

    def test_all_components_are_on(self):
        assert self.config.mask.enabled
        assert self.config.environments.enabled
        assert self.config.dreaming.enabled

    def test_nothing_that_the_paper_does_not_have(self):
        assert not self.config.dreaming.gates
        assert not self.config.recruiting.reseed
        assert self.config.recruiting.warmup_steps == 0
        assert self.config.mask.minimum == 0
        assert not self.config.demands_independence
        assert self.config.network.decoder == "transposed"


@pytest.mark.parametrize(
    ("shape", "weight"), [((1, 64, 64), 1.0), ((1, 32, 32), 4.0), ((3, 64, 64), 1.0), ((3, 32, 32), 4.0)]
)
def test_the_papers_balance_for_images_of_any_size(shape, weight):
    """A sum over the pixels of its 64×64 images, grey or coloured, is the paper's own loss."""
    config = VASEConfig(image_shape=shape)
    assert config.reconstruction_weight == weight
    assert config.with_values({"capacity.balance": "sum"}).reconstruction_weight == 1


class TestPresets:
    @pytest.mark.parametrize("name", ["paper", "laptop", "smoke"])
    def test_by_name(self, name):
        assert preset(name) == getattr(VASEConfig, name)()
        assert preset(name, (3, 64, 32)).image_shape == (3, 64, 32)

    def test_laptop_is_the_default(self):
        """But for its stages of 3,000 batches: one in a hundred may have a false alarm."""
        assert VASEConfig.laptop().environments.false_alarm_every == 300_000
        assert VASEConfig.laptop().with_values({"environments.false_alarm_every": 10_000}) == VASEConfig()

    def test_unknown_name_gets_the_nearest(self):
        with pytest.raises(ValueError, match=r"unknown preset 'labtop'; did you mean 'laptop'\?.*paper, laptop, smoke"):
            preset("labtop")

    def test_frozen_and_hashable(self):
        config = VASEConfig()
        with pytest.raises(dataclasses.FrozenInstanceError):
            config.learning_rate = 1.0  # type: ignore[misc]
        assert len({hash(VASEConfig()), hash(VASEConfig.from_dict(VASEConfig().to_dict()))}) == 1


class TestRoundTrip:
    @pytest.mark.parametrize("config", PRESETS)
    def test_through_json(self, config):
        assert VASEConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config

    @pytest.mark.parametrize("config", PRESETS)
    def test_types_survive(self, config):
        again = VASEConfig.from_dict(json.loads(json.dumps(config.to_dict())))
        assert repr(again) == repr(config)

    def test_every_field_as_a_string(self):
        # What a command line would pass for every field of another preset turns one into the other.
        target = VASEConfig.paper()
        values = {}
        for name in FIELDS:
            node: typing.Any = target
            for part in name.split("."):
                node = getattr(node, part)
            values[name] = ",".join(map(str, node)) if isinstance(node, tuple) else str(node)
        assert VASEConfig.smoke().with_values(values) == target

    def test_missing_fields_take_their_defaults(self):
        assert VASEConfig.from_dict({"capacity": {"gamma": 7}}) == VASEConfig(capacity=CapacityConfig(gamma=7.0))

    @given(
        gamma=st.floats(0, 1e6),
        channels=st.lists(st.integers(1, 99), min_size=1, max_size=4).map(tuple),
        enabled=st.booleans(),
    )
    def test_any_value(self, gamma, channels, enabled):
        config = VASEConfig(
            network=NetworkConfig(channels=channels),
            capacity=CapacityConfig(gamma=gamma),
            mask=MaskConfig(enabled=enabled),
        )
        assert VASEConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config
        text = {"capacity.gamma": repr(gamma), "network.channels": str(channels), "mask.enabled": str(enabled)}
        assert VASEConfig().with_values(text) == config


class TestWithValues:
    @pytest.mark.parametrize(
        ("name", "text", "value"),
        [
            ("capacity.gamma", "7", 7.0),
            ("capacity.gamma", " 1e2 ", 100.0),
            ("capacity.gamma", 7, 7.0),
            ("capacity.ramp_steps", "3e3", 3000),
            ("capacity.ramp_steps", 3000.0, 3000),
            ("capacity.objective", "elbo", "elbo"),
            ("network.channels", "8,16", (8, 16)),
            ("network.channels", "(8, 16)", (8, 16)),
            ("network.channels", "[8,16,]", (8, 16)),
            ("network.channels", [8, 16], (8, 16)),
            ("network.channels", "8", (8,)),
            ("image_shape", "3x64x32", (3, 64, 32)),
            *(("dreaming.enabled", word, True) for word in ("true", "True", "yes", "ON", "1", 1, True)),
            *(("dreaming.enabled", word, False) for word in ("false", "no", "Off", "0", 0, False)),
        ],
    )
    def test_parsing(self, name, text, value):
        node: typing.Any = VASEConfig().with_values({name: text})
        for part in name.split("."):
            node = getattr(node, part)
        assert node == value
        assert type(node) is type(value)

    @pytest.mark.parametrize(
        ("name", "text"),
        [
            ("capacity.gamma", "much"),
            ("capacity.gamma", ""),
            ("capacity.gamma", "nan"),
            ("capacity.gamma", "inf"),
            ("capacity.gamma", None),
            ("capacity.gamma", True),
            ("capacity.gamma", [5]),
            ("network.latents", "2.5"),
            ("network.latents", "1e999"),
            ("network.latents", True),
            ("mask.enabled", "maybe"),
            ("mask.enabled", 2),
            ("mask.enabled", None),
            ("image_shape", "1,a,32"),
            ("image_shape", 32),
            ("image_shape", None),
            ("network.channels", "8;16"),
            ("network.channels", 8),
        ],
    )
    def test_wrong_type(self, name, text):
        with pytest.raises(ValueError, match=rf"^{name}=.*: not a value of type (int|float|bool|tuple)"):
            VASEConfig().with_values({name: text})

    def test_the_rules_hold_here_too(self):
        with pytest.raises(ValueError, match=r"^environments.kappa=0.5: must be at least 1"):
            VASEConfig().with_values({"environments.kappa": "0.5"})

    @pytest.mark.parametrize(
        ("name", "nearest"),
        [
            ("capacity.gama", "capacity.gamma"),
            ("capcity.gamma", "capacity.gamma"),
            ("gamma", "capacity.gamma"),
            ("kapa", "environments.kappa"),
            ("mask.treshold", "mask.threshold"),
            ("learningrate", "learning_rate"),
            ("network.latent", "network.latents"),
            ("dreaming.encoder-weight", "dreaming.encoder_weight"),
        ],
    )
    def test_unknown_field_gets_the_nearest(self, name, nearest):
        with pytest.raises(
            ValueError, match=rf"unknown field '{name}'; did you mean '{nearest}'\?.*Known fields: image_shape"
        ):
            VASEConfig().with_values({name: "1"})

    def test_nothing_near(self):
        with pytest.raises(ValueError, match=r"unknown field 'qqq'\. Known fields"):
            VASEConfig().with_values({"qqq": "1"})

    def test_the_original_is_unchanged(self):
        config = VASEConfig()
        config.with_values({"capacity.gamma": 7})
        assert config == VASEConfig()


class TestFromDict:
    @pytest.mark.parametrize(
        ("values", "message"),
        [
            ({"netwrk": {}}, r"unknown field 'netwrk'; did you mean 'network'\?"),
            ({"network": {"chanels": [8]}}, r"unknown field 'network.chanels'; did you mean '(network\.)?channels'\?"),
            ({"capacity": {"gamma": "x"}}, r"capacity.gamma='x': not a value of type float"),
            ({"capacity": {"gamma": math.inf}}, r"capacity.gamma=inf: not a value of type float"),
        ],
    )
    def test_refused(self, values, message):
        with pytest.raises(ValueError, match=message):
            VASEConfig.from_dict(values)

    @pytest.mark.parametrize("values", [{"network": 5}, {"network": None}, {"network": [8, 8]}])
    def test_a_part_that_is_no_object(self, values):
        with pytest.raises(ValueError, match="network"):
            VASEConfig.from_dict(values)


class TestValidation:
    def test_every_field_has_a_case(self):
        assert set(OUTSIDE) == {name for name, (_, _, hint) in FIELDS.items() if hint is not bool}

    @pytest.mark.parametrize(("name", "value"), [(name, value) for name in OUTSIDE for value in OUTSIDE[name]])
    def test_outside_the_rule(self, name, value):
        with pytest.raises(ValueError, match=rf"^{name}=.*: must be .+\.$") as error:
            build(name, value)
        assert repr(value) in str(error.value)

    @pytest.mark.parametrize("name", [name for name, (_, _, hint) in FIELDS.items() if hint is float])
    @pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
    def test_not_finite(self, name, value):
        with pytest.raises(ValueError, match=f"^{name}="):
            build(name, value)

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("network.hidden", 64.5),
            ("network.hidden", "many"),
            ("network.channels", (8.5, 8)),
            ("network.channels", 8),
            ("capacity.gamma", "strong"),
            ("capacity.ramp_steps", 0.5),
            ("mask.enabled", "perhaps"),
            ("dreaming.gates", None),
            ("batch_size", 32.5),
            ("image_shape", 32),
        ],
    )
    def test_wrong_type(self, name, value):
        with pytest.raises(ValueError, match=f"^{name}="):
            build(name, value)

    def test_lists_become_tuples(self):
        listed = VASEConfig(image_shape=[1, 32, 32], network=NetworkConfig(channels=[32, 32, 64, 64]))  # type: ignore[arg-type]
        assert listed == VASEConfig()

    def test_sides_need_not_be_multiples_of_the_stride(self):
        assert VASEConfig(image_shape=(1, 28, 50)).image_shape == (1, 28, 50)

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("mask.hysteresis", 0.0),
            ("environments.kappa", 1.0),
            ("environments.slow_decay", 0.0),
            ("environments.burn_in", 0),
            ("environments.patience", 1),
            ("capacity.c_max", 0.0),
            ("dreaming.encoder_weight", 0.0),
            ("recruiting.warmup_steps", 0),
            ("batch_size", 2),
        ],
    )
    def test_borders_are_allowed(self, name, value):
        assert getattr(build(name, value), name.split(".")[-1]) == value


def test_every_field_is_documented():
    # A docstring under each field gives its symbol and the paper's value.
    import ast
    import inspect

    from vase import config as module

    tree = ast.parse(inspect.getsource(module))
    documented = {}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            for line, after in zip(node.body, [*node.body[1:], None], strict=True):
                if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name):
                    documented[node.name, line.target.id] = isinstance(after, ast.Expr)
    assert all(documented[cls.__name__, own] for cls, own, _ in FIELDS.values())
