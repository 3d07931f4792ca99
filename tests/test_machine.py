"""What the machine can do is found by trying."""

import subprocess

import pytest
import torch

from vase import VASE, VASEConfig
from vase.machine import HalfPrecision, half_on, half_precision


@pytest.fixture(autouse=True)
def _try_again():
    half_precision.cache_clear()
    yield
    half_precision.cache_clear()


def answer(monkeypatch: pytest.MonkeyPatch, code: int, output: str = "") -> None:
    done = subprocess.CompletedProcess([], code, stdout=output, stderr="")
    monkeypatch.setattr(subprocess, "run", lambda *a, **k: done)


def test_the_attempt_never_kills_the_caller():
    found = half_precision()
    assert found.works == (found.speed > 0)
    assert "bfloat16" in found.reason


def test_an_illegal_instruction_is_an_answer(monkeypatch: pytest.MonkeyPatch):
    answer(monkeypatch, -4)
    assert half_precision() == HalfPrecision(False, 0.0, "a bfloat16 convolution died of signal 4 in a trial process")
    assert not half_on(torch.device("cpu"))


@pytest.mark.parametrize(("speed", "pays"), [(0.5, False), (1.09, False), (1.1, True), (1.6, True)])
def test_it_pays_from_a_tenth_on(monkeypatch: pytest.MonkeyPatch, speed: float, pays: bool):
    answer(monkeypatch, 0, f"a warning\n{speed}\n")
    assert half_precision().pays == pays
    assert half_on(torch.device("cpu")) == pays


def test_an_attempt_that_cannot_be_made(monkeypatch: pytest.MonkeyPatch):
    def no(*a: object, **k: object) -> None:
        raise OSError("no processes")

    monkeypatch.setattr(subprocess, "run", no)
    assert half_precision().reason == "bfloat16 could not be tried (no processes)"


def test_asking_for_what_does_not_work_is_an_error(monkeypatch: pytest.MonkeyPatch):
    answer(monkeypatch, -4)
    config = VASEConfig.smoke().with_values({"network.precision": "bfloat16"})
    with pytest.raises(ValueError, match=r"precision='bfloat16': not usable here .*use 'float32' or 'auto'"):
        VASE(config, device="cpu").environments  # noqa: B018
    auto = VASE(VASEConfig.smoke().with_values({"network.precision": "auto"}), device="cpu")
    assert not auto.networks_.reduced


def test_auto_uses_it_where_it_pays(monkeypatch: pytest.MonkeyPatch):
    answer(monkeypatch, 0, "1.6")
    auto = VASE(VASEConfig.smoke().with_values({"network.precision": "auto"}), device="cpu")
    assert auto.networks_.reduced
    assert auto.ema_.nets.reduced  # the verdicts of both kinds of weights see the same arithmetic
