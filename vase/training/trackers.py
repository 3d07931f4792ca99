"""Callbacks of `train` and `VASE.fit` that send numbers and pictures to TensorBoard, Weights & Biases or MLflow.

>>> with WandB("my-project") as tracker:  # doctest: +SKIP
...     train("runs/mine", callbacks=[tracker])
"""

from __future__ import annotations

import hashlib
import math
import os
import re
from collections.abc import Mapping
from typing import Any, Self

from vase.extras import require
from vase.learners.records import Step
from vase.training.callbacks import AnyRow, Callback, Run
from vase.training.pictures import Picture, pictures_of
from vase.worlds import Batch

_LOSSES = ("loss", "reconstruction", "deviance", "kl", "capacity", "dream_encoder", "dream_decoder", "classifier")
_SCORES = ("accuracy", "mse", "pixels")


class Tracker(Callback):
    """Sends numbers, probe scores and pictures somewhere; a context manager that closes what it opened.

    Args:
      every: steps between numbers.
      pictures_every: steps between pictures, which are also sent at the end; 0 for none.

    A tracker of your own overrides `open`, `log_scalars`, `log_picture` and `close`.
    """

    def __init__(self, *, every: int = 10, pictures_every: int = 500) -> None:
        self.every, self.pictures_every = every, pictures_every
        self._images: Any = None
        self._drawn_at = -1

    def open(self, run: Run) -> None:
        """Before the first step; `run.parameters` are its settings, `run.identity` stays the same after a resume."""

    def log_scalars(self, scalars: Mapping[str, float], step: int) -> None:
        """Send numbers by name."""
        raise NotImplementedError

    def log_picture(self, name: str, picture: Picture, step: int) -> None:
        """Send one picture."""
        raise NotImplementedError

    def close(self) -> None:
        """After the last step, or when the run failed."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def on_start(self, run: Run) -> None:
        """Open the tracker."""
        self.open(run)

    def on_batch(self, run: Run, batch: Batch) -> Batch:
        """Keep the images, for pictures."""
        self._images = batch.images
        return batch

    def on_step(self, run: Run, step: Step) -> None:
        """Send the numbers, and the pictures if they are due."""
        if run.step % self.every == 0:
            self.log_scalars(step_scalars(step, run.environments), run.step)
        if self.pictures_every and run.step % self.pictures_every == 0:
            self._draw(run)

    def on_row(self, run: Run, row: AnyRow) -> None:
        """Send the scores of probes."""
        if row["kind"] == "probe":
            mode = f"{row['mode']} " if row.get("mode") in ("frozen", "kept", "settled") else ""
            scores = {f"{mode}{name}/{row['world']}": row[name] for name in _SCORES if name in row}
            self.log_scalars(scores, run.step)

    def on_end(self, run: Run) -> None:
        """Send the last pictures."""
        if self.pictures_every:
            self._draw(run)

    def _draw(self, run: Run) -> None:
        """Send pictures of the last batch, once for each step."""
        if run.step != self._drawn_at and self._images is not None:
            self._drawn_at = run.step
            for name, picture in pictures_of(run.learner, self._images).items():
                self.log_picture(name, picture, run.step)


def step_scalars(step: Step, environments: int) -> dict[str, float]:
    """The finite numbers of a step, by the name that trackers show."""
    scalars: dict[str, float] = {f"learner/{name}": getattr(step, name) for name in _LOSSES}
    if environments:
        scalars |= {"learner/environment": step.environment, "learner/environments": environments}
        scalars["learner/active latents"] = int(step.mask.sum())
    scalars |= {f"atypicality/{latent}": value for latent, value in enumerate(step.atypicality.tolist())}
    return {name: value for name, value in scalars.items() if math.isfinite(value)}


class TensorBoard(Tracker):
    """Writes event files into a folder, for `tensorboard --logdir FOLDER`."""

    _writer: Any = None

    def __init__(self, folder: str | os.PathLike[str], **options: Any) -> None:
        super().__init__(**options)
        require("tensorboard", "tensorboard")
        self._make: Any = require("torch.utils.tensorboard", "tensorboard").SummaryWriter
        self._folder = str(folder)

    def open(self, run: Run) -> None:
        """Open the file; a resumed run replaces what came after its checkpoint."""
        self._writer = self._make(self._folder, purge_step=run.step + 1)

    def log_scalars(self, scalars: Mapping[str, float], step: int) -> None:
        """Write numbers."""
        for name, value in scalars.items():
            self._writer.add_scalar(name, value, step)

    def log_picture(self, name: str, picture: Picture, step: int) -> None:
        """Write a picture."""
        self._writer.add_image(name, picture, step, dataformats="HWC")

    def close(self) -> None:
        """Close the file."""
        if self._writer is not None:
            self._writer.close()


class WandB(Tracker):
    """Sends to Weights & Biases; `settings` are those of `wandb.init`, e.g. mode="offline"."""

    _run: Any = None

    def __init__(self, project: str = "vase", *, every: int = 10, pictures_every: int = 500, **settings: Any) -> None:
        super().__init__(every=every, pictures_every=pictures_every)
        self._wandb = require("wandb", "wandb")
        self._settings = {"project": project, **settings}

    def open(self, run: Run) -> None:
        """Start a run there, or continue the one of a resumed run."""
        same = {"id": _digest(run.identity), "resume": "allow"} if run.identity else {}
        given = {"name": run.name, "config": dict(run.parameters), **same, **self._settings}
        self._run = self._wandb.init(**given)

    def log_scalars(self, scalars: Mapping[str, float], step: int) -> None:
        """Send numbers."""
        self._run.log(dict(scalars), step=step)

    def log_picture(self, name: str, picture: Picture, step: int) -> None:
        """Send a picture."""
        self._run.log({name: self._wandb.Image(picture)}, step=step)

    def close(self) -> None:
        """Finish the run there."""
        if self._run is not None:
            self._run.finish()


class MLflow(Tracker):
    """Sends to MLflow: to the server or store of `uri` or of the variable MLFLOW_TRACKING_URI."""

    _run: Any = None

    def __init__(
        self, experiment: str = "vase", *, uri: str | None = None, every: int = 10, pictures_every: int = 500
    ) -> None:
        super().__init__(every=every, pictures_every=pictures_every)
        self._mlflow = require("mlflow", "mlflow")
        self._experiment, self._uri = experiment, uri

    def open(self, run: Run) -> None:
        """Start a run there."""
        if self._uri is not None:
            self._mlflow.set_tracking_uri(self._uri)
        try:
            self._mlflow.set_experiment(self._experiment)
        except self._mlflow.MlflowException as error:
            raise ValueError(
                f"MLflow cannot open the experiment {self._experiment!r}: {str(error).strip().splitlines()[0]} Set "
                "MLFLOW_TRACKING_URI to a server, install mlflow beside mlflow-skinny for a database on this machine, "
                "or set MLFLOW_ALLOW_FILE_STORE=true and MLFLOW_TRACKING_URI=file:FOLDER."
            ) from error
        self._run = self._mlflow.start_run(run_name=run.name)
        self._mlflow.log_params({name: str(value)[:500] for name, value in _flat(run.parameters).items()})

    def log_scalars(self, scalars: Mapping[str, float], step: int) -> None:
        """Send numbers."""
        self._mlflow.log_metrics({_plain(name): value for name, value in scalars.items()}, step=step)

    def log_picture(self, name: str, picture: Picture, step: int) -> None:
        """Send a picture."""
        self._mlflow.log_image(picture, key=_plain(name), step=step)

    def close(self) -> None:
        """End the run there."""
        if self._run is not None:
            self._mlflow.end_run()
            self._run = None


def _digest(identity: str) -> str:
    """A short name that stays the same for a run."""
    return hashlib.sha256(identity.encode()).hexdigest()[:16]


def _plain(name: str) -> str:
    """A name with the characters that MLflow allows.

    >>> _plain("accuracy/digits:12")
    'accuracy/digits_12'
    """
    return re.sub(r"[^\w\-. /]", "_", name)


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested parameters by dotted name.

    >>> _flat({"config": {"batch_size": 64}})
    {'config.batch_size': 64}
    """
    found: dict[str, Any] = {}
    for name, value in values.items():
        found |= _flat(value, f"{prefix}{name}.") if isinstance(value, Mapping) else {f"{prefix}{name}": value}
    return found
