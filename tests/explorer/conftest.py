"""One short run with two checkpoints that all tests of the explorer share, and the explorer of it on a free port."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from local_server import Local, running

from vase.explorer.app import explorer_app
from vase.explorer.models import Model, Models
from vase.explorer.server import new_token
from vase.training import RunDirectory, RunSettings, train


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    """Moving digits, then their negatives: two environments, of which the first checkpoint knows one."""
    path = tmp_path_factory.mktemp("explorer") / "run"
    settings = RunSettings.of(
        "smoke",
        stream="moving-digits,inverse-digits",
        steps=60,
        probes="none",
        measures=False,
        checkpoint_every=60,
        device="cpu",
    )
    train(path, settings)
    return RunDirectory(path)


@pytest.fixture(scope="session")
def models(run: RunDirectory) -> Models:
    """Its checkpoints, of steps 60 and 120."""
    return Models([run.path])


@pytest.fixture(scope="session")
def model(models: Models) -> Model:
    """The newest one."""
    return models.open("0@120")


@pytest.fixture(scope="module")
def explorer(models: Models) -> Iterator[Local]:
    """The explorer, running."""
    token = new_token()
    with running(explorer_app(models, token), token) as server:
        yield server
