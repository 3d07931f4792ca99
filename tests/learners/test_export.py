"""Encoder and decoder as graphs: torch.export and ONNX give what the learner gives, for batches of any size."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch
from dark_and_light import CONFIG, images, learner
from sklearn.exceptions import NotFittedError

from vase import VASE
from vase.cli import main
from vase.learners.export import write_onnx, write_torch


@pytest.fixture(scope="module")
def model() -> VASE:
    return learner()


@pytest.fixture(scope="module")
def written(model: VASE, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("export")
    model.save_pretrained(folder / "model")
    words = ["--onnx", str(folder / "graphs"), "--torch", str(folder / "graphs")]
    assert main(["export", str(folder / "model"), *words]) == 0
    return folder / "graphs"


def codes(model: VASE, n: int) -> np.ndarray:
    return np.random.default_rng(1).standard_normal((n, model.n_latents)).astype(np.float32)


@pytest.mark.parametrize("n", [1, 5])
def test_onnx_gives_what_the_learner_gives(model: VASE, written: Path, n: int) -> None:
    encoder, decoder = (onnxruntime.InferenceSession(written / f"{name}.onnx") for name in ("encoder", "decoder"))
    x, z = images(n, light=True), codes(model, n)
    mean, std = encoder.run(["mean", "std"], {"images": x})
    for found, wanted in zip((mean, std), model.posterior(x), strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-5)
    for s in (0, 1):
        (decoded,) = decoder.run(["images"], {"z": z, "environment": np.full(n, s, np.int64)})
        np.testing.assert_allclose(decoded, model.decode(z, environment=s), atol=1e-5)


@pytest.mark.parametrize("n", [1, 5])
def test_torch_export_gives_what_the_learner_gives(model: VASE, written: Path, n: int) -> None:
    encoder, decoder = (torch.export.load(written / f"{name}.pt2").module() for name in ("encoder", "decoder"))
    x, z = images(n, light=False), codes(model, n)
    with torch.no_grad():
        mean, std = encoder(torch.from_numpy(x))
        decoded = decoder(torch.from_numpy(z), torch.zeros(n, dtype=torch.int64))
    np.testing.assert_allclose(mean, model.posterior(x)[0], atol=1e-5)
    np.testing.assert_allclose(std, model.posterior(x)[1], atol=1e-5)
    np.testing.assert_allclose(decoded, model.decode(z, environment=0), atol=1e-5)


def test_nothing_learnt_is_nothing_to_export(tmp_path: Path) -> None:
    with pytest.raises(NotFittedError, match="nothing has been learnt yet"):
        write_torch(VASE(CONFIG, device="cpu"), tmp_path)


def test_a_missing_package_names_the_remedy(model: VASE, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'vase-lifelong\[onnx\]'"):
        write_onnx(model, tmp_path)


def test_a_format_must_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "anything"]) == 2
    assert "add --onnx DIR or --torch DIR" in capsys.readouterr().err
