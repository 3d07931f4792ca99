"""What a user would run instead of VASE, timed by turns with the learner, in a process with its own interpreter.

    PYTHON -m benchmarks.peers '{"preset": "laptop", "rounds": 5}'

PYTHON needs what vase needs, and the peers: pythae (a VAE and a disentangled β-VAE, by its own trainer) and
avalanche-lib (generative replay of a VAE, by its own strategy). They get the architecture of the preset as a user would
write it, the same batch and the same images. A peer that cannot be imported is named with the reason.

Each peer is timed twice: as it is used (its trainer, with its data loader), and its training step alone on batches that
are ready. The learner is timed once, on uint8 batches that it has to convert itself.
"""

from __future__ import annotations

import itertools
import os
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks import child
from benchmarks.reference import PLAIN
from vase.bench.contestants import FIRST, SECOND, Learner, block, floats, timed_config
from vase.bench.report import Part
from vase.bench.timing import Ratio, Spread, interleave
from vase.config import VASEConfig

Block = Callable[[], object]
"""A call that takes as many steps as a block has."""
OURS_FIRST, OURS_DREAMING = "VASE, first environment", "VASE, dreaming"


def encoder(config: VASEConfig) -> nn.Sequential:
    """Image -> features."""
    sizes = [config.image_shape[0], *config.network.channels]
    down = [m for a, b in itertools.pairwise(sizes) for m in (nn.Conv2d(a, b, 4, 2, 1), nn.ReLU())]
    return nn.Sequential(*down, nn.Flatten(), nn.Linear(flat(config), config.network.hidden), nn.ReLU())


def decoder(config: VASEConfig) -> nn.Sequential:
    """Latents -> image."""
    net = config.network
    sizes = [config.image_shape[0], *net.channels][::-1]
    up = [m for a, b in itertools.pairwise(sizes) for m in (nn.ReLU(), nn.ConvTranspose2d(a, b, 4, 2, 1))]
    first = [nn.Linear(net.latents, net.hidden), nn.ReLU(), nn.Linear(net.hidden, flat(config))]
    return nn.Sequential(*first, nn.Unflatten(1, grid(config)), *up, nn.Sigmoid())


def grid(config: VASEConfig) -> tuple[int, int, int]:
    """Shape of the last convolution's output."""
    _, height, width = config.image_shape
    depth = len(config.network.channels)
    return config.network.channels[-1], height >> depth, width >> depth


def flat(config: VASEConfig) -> int:
    """Its size."""
    a, b, c = grid(config)
    return a * b * c


def images(world: str, config: VASEConfig) -> Tensor:
    """Enough images for one block of steps."""
    source = floats(world, config)
    return torch.cat([next(source) for _ in range(block(config))])


# -------------------------------------------------------------------------------------------------------------- pythae


def pythae(config: VASEConfig, name: str, folder: str) -> tuple[Block, Block]:
    """One epoch of pythae's trainer; and as many of its training steps on batches that are ready."""
    from pythae.data.datasets import BaseDataset
    from pythae.models import VAE, DisentangledBetaVAE, DisentangledBetaVAEConfig, VAEConfig
    from pythae.models.base.base_utils import ModelOutput
    from pythae.models.nn import BaseDecoder, BaseEncoder
    from pythae.trainers import BaseTrainer, BaseTrainerConfig

    class Encoder(BaseEncoder):
        def __init__(self) -> None:
            super().__init__()
            self.features = encoder(config)
            self.posterior = nn.Linear(config.network.hidden, 2 * config.network.latents)

        def forward(self, x: Tensor) -> ModelOutput:
            mean, log_var = self.posterior(self.features(x)).chunk(2, 1)
            return ModelOutput(embedding=mean, log_covariance=log_var)

    class Decoder(BaseDecoder):
        def __init__(self) -> None:
            super().__init__()
            self.layers = decoder(config)

        def forward(self, z: Tensor) -> ModelOutput:
            return ModelOutput(reconstruction=self.layers(z))

    make, settings = {"VAE": (VAE, VAEConfig), "DisentangledBetaVAE": (DisentangledBetaVAE, DisentangledBetaVAEConfig)}[
        name
    ]
    shape = {"input_dim": config.image_shape, "latent_dim": config.network.latents, "reconstruction_loss": "bce"}
    data = images(FIRST, config)
    trainer = BaseTrainer(
        model=make(settings(**shape), encoder=Encoder(), decoder=Decoder()),
        train_dataset=BaseDataset(data, torch.zeros(len(data))),
        training_config=BaseTrainerConfig(
            output_dir=folder,
            per_device_train_batch_size=config.batch_size,
            learning_rate=config.learning_rate,
            no_cuda=True,
        ),
    )
    trainer.prepare_training()
    ready = [{"data": part} for part in data.split(config.batch_size)]

    def steps() -> None:
        for inputs in ready:
            output = trainer.model(inputs, epoch=1, dataset_size=len(data), uses_ddp=False)
            trainer._optimizers_step(output)

    return lambda: trainer.train_step(epoch=1), steps


# ----------------------------------------------------------------------------------------------------------- avalanche


def allow_torchvision() -> str | None:
    """Let a torchvision that was built for CUDA be imported beside a torch for CPUs; what had to be done, if anything.

    Its compiled part does not load there. avalanche uses none of it, but the import fails for want of two operators.
    """
    if torch.version.cuda is not None:
        return None
    try:
        import torchvision
    except ImportError:
        raise
    except RuntimeError as error:
        for module in [name for name in sys.modules if name.split(".")[0] == "torchvision"]:
            del sys.modules[module]
        allow_torchvision.library = torch.library.Library("torchvision", "FRAGMENT")  # type: ignore[attr-defined]
        for operator in ("nms", "qnms"):
            allow_torchvision.library.define(  # type: ignore[attr-defined]
                f"{operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
            )
        import torchvision

        return (
            f"torchvision {torchvision.__version__} beside torch {torch.__version__}: {error}; declared without code."
        )
    return None


def avalanche(config: VASEConfig) -> tuple[Block, Callable[[], float]]:
    """One experience of a VAE with generative replay; and the seconds of its iterations alone."""
    from avalanche.benchmarks import tensors_benchmark
    from avalanche.core import SupervisedPlugin
    from avalanche.training.plugins import GenerativeReplayPlugin
    from avalanche.training.supervised import VAETraining

    class ConvolutionalVAE(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.features, self.decoder = encoder(config), decoder(config)
            self.posterior = nn.Linear(config.network.hidden, 2 * config.network.latents)

        def generate(self, batch_size: int) -> Tensor:
            with torch.no_grad():  # kinder than the library's own MlpVAE, which keeps the graph
                return self.decoder(torch.randn(batch_size, config.network.latents))

        def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
            mean, log_var = self.posterior(self.features(x)).chunk(2, 1)
            z = mean + torch.exp(0.5 * log_var) * torch.randn_like(mean)
            return self.decoder(z), mean, log_var

    def criterion(x: Tensor, output: tuple[Tensor, Tensor, Tensor]) -> Tensor:
        y, mean, log_var = output
        kl = 0.5 * (mean**2 + log_var.exp() - 1 - log_var).sum()
        return (F.binary_cross_entropy(y, x, reduction="sum") + kl) / len(x)

    class Watch(SupervisedPlugin):
        def __init__(self) -> None:
            super().__init__()
            self.seconds = self.start = 0.0

        def before_training_iteration(self, strategy: Any, **kwargs: Any) -> None:
            self.start = time.perf_counter()

        def after_training_iteration(self, strategy: Any, **kwargs: Any) -> None:
            self.seconds += time.perf_counter() - self.start

    first, second = images(FIRST, config), images(SECOND, config)
    world = tensors_benchmark(
        train_tensors=[(x, torch.zeros(len(x), dtype=torch.long)) for x in (first, second)],
        test_tensors=[(x[:2], torch.zeros(2, dtype=torch.long)) for x in (first, second)],
        task_labels=[0, 0],
        complete_test_set_only=False,
    )
    model, watch = ConvolutionalVAE(), Watch()
    strategy = VAETraining(
        model=model,
        optimizer=torch.optim.Adam(model.parameters(), lr=config.learning_rate),
        criterion=criterion,
        train_mb_size=config.batch_size,
        plugins=[watch, GenerativeReplayPlugin()],
        evaluator=None,
    )
    strategy.train(world.train_stream[0])
    experience = world.train_stream[1]

    def taken() -> float:
        seconds, watch.seconds = watch.seconds, 0.0
        return seconds

    return lambda: strategy.train(experience), taken


# ---------------------------------------------------------------------------------------------------------------- main


def repeat(learner: Learner, steps: int) -> Block:
    """A block of steps of the learner."""

    def run() -> None:
        for _ in range(steps):
            learner()

    return run


def why(error: Exception) -> str:
    """An error in one line."""
    return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"


def compare(config: VASEConfig, rounds: int, folder: str) -> dict[str, Any]:
    """Seconds per step, pairs to be divided, and what went wrong."""
    steps, notes = block(config), []
    contestants: dict[str, Block] = {
        OURS_FIRST: repeat(Learner(config, 1), steps),
        OURS_DREAMING: repeat(Learner(config, 2), steps),
    }
    pairs = []
    for name in ("VAE", "DisentangledBetaVAE"):
        label = f"pythae {name}"
        try:
            contestants[label], contestants[f"{label}, step only"] = pythae(config, name, folder)
            pairs += [(label, OURS_FIRST), (f"{label}, step only", OURS_FIRST)]
        except Exception as error:  # whatever a peer does wrong is a finding
            notes.append(f"{label}: {why(error)}")
    label, inner = "avalanche-lib generative replay", None
    try:
        done = allow_torchvision()
        notes += [done] if done else []
        contestants[label], inner = avalanche(config)
        pairs.append((label, OURS_DREAMING))
    except Exception as error:
        notes.append(f"{label}: {why(error)}")
    iterations: list[float] = []
    if inner is not None:
        whole, taken = contestants[label], inner

        def watched() -> None:
            whole()
            iterations.append(taken() / steps)

        contestants[label] = watched
    timings = interleave(contestants, rounds=rounds, block=1, warmup=1, inner=steps)
    seconds = timings.seconds
    if iterations:
        seconds[f"{label}, step only"] = iterations[-rounds:]
        pairs.append((f"{label}, step only", OURS_DREAMING))
    return {"seconds": seconds, "pairs": pairs, "notes": [*notes, f"Peers: {versions()}."]}


def versions() -> str:
    """Of the peers that are installed."""
    from importlib.metadata import PackageNotFoundError, version

    found = []
    for name in ("pythae", "avalanche-lib", "torchvision"):
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            found.append(f"{name} not installed")
    return ", ".join(found)


def measure(preset: str, rounds: int, python: str | None = None) -> Part:
    """Time per training step of each peer that can be imported, by turns with the learner."""
    title = f"Peers: {preset} networks, float32, one thread"
    outcome = child.run("benchmarks.peers", {"preset": preset, "rounds": rounds}, python)
    rows, ratios, notes = [], [], []
    for said in outcome.said:
        notes += said.get("notes", [])
        seconds = said.get("seconds", {})
        rows += [{"step": name, "ms": Spread.of([1e3 * s for s in values])} for name, values in seconds.items()]
        ratios += [
            Ratio.of(f"{over} / {under}", seconds[over], seconds[under], at_least=1.0)
            for over, under in said.get("pairs", [])
        ]
    if outcome.failure is not None:
        notes.append(f"The peers' process failed: {outcome.failure}")
    return Part("peers", title, rows, ratios, notes)


def answer(asked: dict[str, Any]) -> None:
    """In the process of its own: compare, while the peers' own output is dropped."""
    with (
        open(os.devnull, "w") as nowhere,
        tempfile.TemporaryDirectory() as scratch,
        redirect_stdout(nowhere),
        redirect_stderr(nowhere),
    ):
        found = compare(timed_config(asked["preset"], **PLAIN), asked["rounds"], scratch)
    child.say(**found)


if __name__ == "__main__":
    child.serve(answer)
