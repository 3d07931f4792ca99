"""Figures of a run, from its saved rows and its learner. Each function returns a matplotlib figure."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from vase.metrics.record import Record, title
from vase.plots.curves import atypicality, probe_curves
from vase.plots.latents import latent_use
from vase.plots.page import environment_colours, overview
from vase.plots.pictures import Images, reconstructions, traversals
from vase.plots.style import save

if TYPE_CHECKING:
    from vase.learners.vase import VASE

__all__ = [
    "Record",
    "atypicality",
    "latent_use",
    "overview",
    "probe_curves",
    "reconstructions",
    "save",
    "title",
    "traversals",
    "write_figures",
]


def write_figures(folder: Path, model: "VASE", record: Record, images_by_environment: Images) -> list[Path]:
    """Draw every figure of a run into a folder, as PNG; returns the files.

    Args:
      folder: made if missing; figures of the same name are replaced.
      model: the learner at the end of the run (or where it stands).
      record: the rows and the stages of the stream.
      images_by_environment: held-out images of each environment, for pictures. Environments without images, or that the
        learner does not know yet, are left out of the pictures.
    """
    known = {s: images for s, images in images_by_environment.items() if s < len(model.environments)}
    labels = {s: title(world) for s, world in record.world_of.items()}
    colours = environment_colours(record)
    figures: dict[str, Callable[[], Figure]] = {
        "overview": lambda: overview(model, record, known),
        "atypicality": lambda: atypicality(record),
        "probes": lambda: probe_curves(record),
        "latents": lambda: latent_use(model, labels, colours),
    }
    if known:
        figures["traversals"] = lambda: traversals(model, known, labels, colours=colours)
        figures["reconstructions"] = lambda: reconstructions(model, known, labels)
    return [save(draw(), Path(folder) / f"{name}.png") for name, draw in figures.items()]
