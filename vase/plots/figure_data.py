"""Figure data: the images of a learner at the end of a run, in one small file, to draw figures without the learner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int, UInt8

from vase.files import read_arrays, write_arrays
from vase.images import as_bytes
from vase.learners.protocol import Dreams
from vase.metrics.latents import learner_states
from vase.plots.pictures import DecodingLearner, Traversal, rank_latents, traverse
from vase.plots.style import world_colour
from vase.worlds.spec import title

POINTS = 7  # frames of each traversal
SHOWN = 8  # images of each world, and dreams of each environment


@dataclass(frozen=True, eq=False)
class FigureData:
    """Images by a learner with N latents, for every world W and in every environment E."""

    worlds: tuple[str, ...]  # in order of their first visit
    environment: Int[np.ndarray, " W"]  # the environment that stood for each world
    states: Int[np.ndarray, "E N"]  # `metrics.latents.State` of each latent in each environment
    images: UInt8[np.ndarray, "W n C H X"]  # held-out images; the first one of each world is the seed of its traversals
    traversals: UInt8[np.ndarray, "W N P C H X"]  # each latent of the seed from -SPAN to SPAN, in its environment
    cross: UInt8[np.ndarray, "W E n C H X"]  # the images of each world encoded, and decoded as every environment
    dreams: UInt8[np.ndarray, "E n C H X"]

    def __post_init__(self) -> None:
        world_count, shown, *pixels = self.images.shape
        environments, latents = self.states.shape
        wanted = {
            "worlds": (world_count,),
            "environment": (world_count,),
            "traversals": (world_count, latents, self.traversals.shape[2], *pixels),
            "cross": (world_count, environments, shown, *pixels),
            "dreams": (environments, self.dreams.shape[1], *pixels),
        }
        for name, shape in wanted.items():
            found = np.shape(getattr(self, name))
            if found != shape:
                raise ValueError(f"{name} of shape {found}: with the other parts it must be {shape}")

    @property
    def reconstructions(self) -> UInt8[np.ndarray, "W n C H X"]:
        """The images of each world, decoded in its own environment."""
        return self.cross[np.arange(len(self.worlds)), self.environment]

    def order(self, spare: int = 2, most: int = 16) -> list[int]:
        """Used latents, shared ones first and then by what they change in the seeds, and a few unused ones."""
        ends = self.traversals[:, :, [0, -1]].astype(np.float64) / 255
        change = np.abs(ends[:, :, 1] - ends[:, :, 0]).mean(axis=(2, 3, 4)).sum(axis=0)
        return rank_latents(self.states, change, spare, most)

    def blocks(self, latents: Sequence[int]) -> list[Traversal]:
        """The traversals of some latents in every world, in the world's colour."""
        chosen = list(latents)
        return [
            Traversal(
                heading=f"{title(world)} (environment {self.environment[w]})",
                colour=world_colour(w),
                latents=tuple(chosen),
                states=self.states[self.environment[w]][chosen],
                seed=self.images[w, 0],
                reconstruction=self.reconstructions[w, 0],
                frames=self.traversals[w][chosen],
            )
            for w, world in enumerate(self.worlds)
        ]

    def names(self) -> list[str]:
        """Each environment by the world it stood for, or by how many."""
        stood = [np.flatnonzero(self.environment == e) for e in range(len(self.states))]
        return [
            title(self.worlds[w[0]]) if len(w) == 1 else f"{len(w) or 'no'} world{'s' * (len(w) > 1)}" for w in stood
        ]

    def save(self, path: str | Path) -> None:
        """Write one compressed file; the same data give the same bytes."""
        parts = {field.name: np.asarray(getattr(self, field.name)) for field in fields(self)}
        write_arrays(Path(path), parts)

    @classmethod
    def load(cls, path: str | Path) -> FigureData:
        """What `save` wrote."""
        path = Path(path)
        if not path.exists():
            raise FileNotFoundError(
                f"{path} does not exist: images are exported for the first seed of conditions with figures; restore it "
                f"from a clone of the repository, or delete {path.with_suffix('.json').name} beside it and run that "
                "condition again with: vase experiment run"
            )
        parts = read_arrays(path)
        if missing := [field.name for field in fields(cls) if field.name not in parts]:
            raise ValueError(f"{path} is damaged (no {missing[0]}); restore it from a copy, or run it again.")
        own: dict[str, Any] = {field.name: parts[field.name] for field in fields(cls)}
        return cls(**{**own, "worlds": tuple(own["worlds"].tolist())})


def make_figure_data(
    learner: DecodingLearner, images_by_world: Mapping[str, np.ndarray], environment_of: Mapping[str, int]
) -> FigureData:
    """Ask a learner for all its images, of the worlds with images (n, C, H, W); without dreams if it has none."""
    worlds, states = tuple(images_by_world), learner_states(learner)
    latents, environments = range(states.shape[1]), range(len(states))
    shown = min(len(images) for images in images_by_world.values())
    images = np.stack([as_bytes(np.asarray(images_by_world[world])[:shown]) for world in worlds])
    traversals = [
        traverse(learner, seen[:1], latents, environment_of[world], POINTS)[0]
        for world, seen in zip(worlds, images, strict=True)
    ]
    dreams = [
        learner.dream(shown, environment=s, seed=0) if isinstance(learner, Dreams) else images[0, :0]
        for s in environments
    ]
    return FigureData(
        worlds=worlds,
        environment=np.array([environment_of[world] for world in worlds], np.int64),
        states=states,
        images=images,
        traversals=as_bytes(np.stack(traversals)),
        cross=as_bytes(np.array([[learner.reconstruct(seen, environment=s) for s in environments] for seen in images])),
        dreams=as_bytes(np.stack(dreams)),
    )
