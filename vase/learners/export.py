"""Encoder and decoder of a learner as graphs for other programs: `torch.export` and ONNX.

encoder: images (B, C, H, W), floats in [0, 1] → mean and standard deviation of q(z|x), each (B, N)
decoder: z (B, N) and environments (B,), whole numbers → E[x|z,s] (B, C, H, W) in [0, 1]
"""

from __future__ import annotations

import copy
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float, Int
from sklearn.exceptions import NotFittedError
from torch import Tensor, nn
from torch.export import Dim, ExportedProgram

from vase.extras import require
from vase.learners.representation import Representation
from vase.nn.likelihood import Likelihood

_NAMES = {"encoder": (["images"], ["mean", "std"]), "decoder": (["z", "environment"], ["images"])}
"""Names of the inputs and outputs of each graph."""


class EncoderGraph(nn.Module):
    """q(z|x) of a learner: its mean and standard deviation."""

    def __init__(self, encoder: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, images: Float[Tensor, "B C H W"]) -> tuple[Float[Tensor, "B N"], Float[Tensor, "B N"]]:
        """Mean and standard deviation of each image's code."""
        mean, log_var = self.encoder(images)
        return mean, torch.exp(0.5 * log_var)


class DecoderGraph(nn.Module):
    """E[x|z,s] of a learner; each environment sees only the latents that are its own."""

    seen: Tensor
    known: Tensor

    def __init__(
        self, decoder: nn.Module, likelihood: Likelihood, seen: Float[Tensor, "K N"], known: Int[Tensor, "K"]
    ) -> None:
        """`known` maps each environment to itself or, if it was retired, to the one that stands for it."""
        super().__init__()
        self.decoder, self.likelihood = decoder, likelihood
        self.register_buffer("seen", seen)
        self.register_buffer("known", known)

    def forward(self, z: Float[Tensor, "B N"], environment: Int[Tensor, "B"]) -> Float[Tensor, "B C H W"]:
        """One image for each code, in its environment."""
        environment = self.known[environment]
        y = self.decoder(z * self.seen[environment], environment)
        return self.likelihood.mean(y).clamp(0, 1)


def export_programs(learner: Representation) -> dict[str, ExportedProgram]:
    """The graphs "encoder" and "decoder" of what was learnt, for batches of any size."""
    if not len(learner.environments):
        raise NotFittedError("nothing has been learnt yet: call partial_fit or fit first.")
    networks = copy.deepcopy(learner.networks_).cpu().eval()
    networks.to(memory_format=torch.contiguous_format)  # type: ignore[call-overload]  # saved weights must be dense
    active = torch.stack([record.active for record in learner.memory_]).float()
    known = torch.tensor(learner.memory_.resolved())
    encoder = EncoderGraph(networks.encoder)
    seen = active if learner.gated_ else torch.ones_like(active)
    decoder = DecoderGraph(networks.decoder, learner.likelihood_, seen, known)
    images, z = torch.zeros(2, *learner.config_.image_shape), torch.zeros(2, learner.n_latents)
    batch = {0: Dim("batch")}
    with torch.no_grad():
        return {
            "encoder": torch.export.export(encoder.eval(), (images,), dynamic_shapes=(batch,)),
            "decoder": torch.export.export(
                decoder.eval(), (z, torch.zeros(2, dtype=torch.int64)), dynamic_shapes=(batch, batch)
            ),
        }


def write_torch(learner: Representation, folder: str | Path) -> list[Path]:
    """Write encoder.pt2 and decoder.pt2, which `torch.export.load` reads; returns the files."""
    paths = []
    for name, program in export_programs(learner).items():
        paths.append(_made(folder) / f"{name}.pt2")
        torch.export.save(program, paths[-1])
    return paths


def write_onnx(learner: Representation, folder: str | Path) -> list[Path]:
    """Write encoder.onnx and decoder.onnx; returns the files."""
    require("onnxscript", "onnx")
    paths = []
    for name, program in export_programs(learner).items():
        paths.append(_made(folder) / f"{name}.onnx")
        inputs, outputs = _NAMES[name]
        options: dict[str, Any] = {"external_data": False, "verbose": False}
        with _quiet():
            torch.onnx.export(program, (), paths[-1], input_names=inputs, output_names=outputs, dynamo=True, **options)
    return paths


@contextmanager
def _quiet() -> Iterator[None]:
    """Without PyTorch's warnings about its own code, and about packages that these graphs do not need."""
    log = logging.getLogger("torch.onnx._internal.exporter._registration")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            yield
    finally:
        log.setLevel(level)


def _made(folder: str | Path) -> Path:
    """The folder, made if need be."""
    path = Path(folder)
    if path.exists() and not path.is_dir():
        raise FileExistsError(f"{path} is a file; name a folder.")
    path.mkdir(parents=True, exist_ok=True)
    return path
