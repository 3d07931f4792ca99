"""All figures of a run, as files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from matplotlib.figure import Figure

from vase.learners.protocol import Decodes, InfersEnvironments, Learner
from vase.metrics.latents import learner_states
from vase.metrics.record import Record
from vase.plots.curves import atypicality, probe_curves
from vase.plots.latents import latent_use
from vase.plots.page import axis_labels, environment_colours, environment_labels, overview
from vase.plots.pictures import Images, reconstructions, traversals
from vase.plots.style import save


def write_figures(folder: Path, learner: Learner, record: Record, images_by_environment: Images) -> list[Path]:
    """Draw every figure of a run into a folder, as PNG; returns the files.

    Args:
      folder: made if missing; figures of the same name are replaced.
      learner: at the end of the run (or where it stands). Figures of what it cannot do are left out.
      record: the rows and the stages of the stream.
      images_by_environment: held-out images of each environment. Environments without images, or that the learner does
        not know yet, are left out of traversals and reconstructions.
    """
    states = learner_states(learner)
    known = {s: images for s, images in images_by_environment.items() if s < len(states)}
    labels, colours = environment_labels(record), environment_colours(record)
    figures: dict[str, Callable[[], Figure]] = {
        "overview": lambda: overview(learner, record, known),
        "atypicality": lambda: atypicality(record),
        "probes": lambda: probe_curves(record),
    }
    if isinstance(learner, InfersEnvironments):
        figures["latents"] = lambda: latent_use(states, labels, colours, record.moment(learner.steps))
    if isinstance(learner, Decodes) and known:
        names = axis_labels(record)
        figures["traversals"] = lambda: traversals(learner, known, labels, colours=colours, names=names)
        figures["reconstructions"] = lambda: reconstructions(learner, known, labels)
    return [save(draw(), Path(folder) / f"{name}.png") for name, draw in figures.items()]
