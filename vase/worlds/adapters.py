"""Other people's data as batches or as a world: data loaders, datasets, experiences, generators, pictures.

>>> from torch.utils.data import DataLoader, TensorDataset
>>> import torch
>>> loader = DataLoader(TensorDataset(torch.zeros(9, 3, 48, 64), torch.arange(9)), batch_size=4)
>>> [batch.shape for batch in as_batches(loader, (3, 32, 32))]
[(4, 3, 32, 32), (5, 3, 32, 32)]
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from jaxtyping import Int64

from vase.images import as_bytes
from vase.resize import Framing, require_framing
from vase.worlds.checks import require_int, require_size
from vase.worlds.items import Planes, elements, images_in, joined, label_in, planes_of
from vase.worlds.world import Batch

OnError = Literal["skip", "raise"]
"""What becomes of a picture that cannot be read."""


def as_batches(
    source: Any,
    image_shape: tuple[int, int, int],
    *,
    batch_size: int = 64,
    column: str | None = None,
    framing: Framing = "crop",
) -> Iterator[Planes]:
    """Batches (B, *image_shape) of any source of images, each of at least two.

    A source is a DataLoader, a dataset of torch or Hugging Face (`column` names the images, if they are not where one
    looks for them), an experience or a stream of experiences of Avalanche, a generator, or a list of pictures of PIL.
    What it hands out may be images or batches, alone, in tuples (x, y) or in dictionaries. Batches stay as they are;
    single images are collected into batches of `batch_size`. A batch of one image joins its neighbour.
    """
    require_framing(framing)
    return _without_singles(_batches(source, image_shape, require_int("batch_size", batch_size, 2), column, framing))


def _batches(
    source: Any, shape: tuple[int, int, int], size: int, column: str | None, framing: Framing
) -> Iterator[Planes]:
    singles: list[Planes] = []
    for item in elements(source):
        images, batch = planes_of(images_in(item, column), shape, framing)
        if batch:
            yield images
            continue
        singles.append(images)
        if len(singles) == size:
            yield joined(singles)
            singles = []
    if singles:
        yield joined(singles)


def _without_singles(batches: Iterable[Planes]) -> Iterator[Planes]:
    """Batches one later than they came, so that a single image can join the one before it."""
    held: Planes | None = None
    for batch in batches:
        if held is None or len(held) < 2 or len(batch) < 2:
            held = batch if held is None else joined([held, batch])
        else:
            yield held
            held = batch
    if held is not None and len(held):
        yield held


@dataclass(frozen=True, eq=False)
class DatasetWorld:
    """Images that are read when they are drawn, uniformly with replacement; factor ``label`` if the items have labels.

    Items that cannot be read are drawn again; ``broken`` has their indices.
    """

    name: str
    dataset: Any = field(repr=False)
    image_shape: tuple[int, int, int]
    framing: Framing = "crop"
    column: str | None = None
    on_error: OnError = "skip"
    classes: tuple[str, ...] = ()
    source: str = "dataset"
    broken: set[int] = field(default_factory=set)

    @property
    def n_classes(self) -> int:
        """Classes that labels count, 0 if that is not known."""
        return len(self.classes)

    def sample(self, n: int, rng: np.random.Generator) -> Batch:
        """Draw ``n`` images with replacement."""
        count = len(self.dataset)
        first: Int64[np.ndarray, " n"] = rng.integers(count, size=require_int("n", n, 1))
        found = [self._read(int(i)) for i in first]
        for place, item in enumerate(found):
            while item is None:
                if len(self.broken) == count:
                    raise ValueError(f"{self.source}: none of the {count} images can be read; repair them")
                item = self._read(int(rng.integers(count)))
            found[place] = item
        return _batch([item for item in found if item is not None])

    def sample_distinct(self, n: int, rng: np.random.Generator) -> Batch:
        """Draw ``n`` images without replacement, all that can be read if there are fewer."""
        found: list[tuple[Planes, int | None]] = []
        for i in rng.permutation(len(self.dataset)):
            if len(found) == n:
                break
            found += [item] if (item := self._read(int(i))) is not None else []
        return _batch(found)

    def _read(self, i: int) -> tuple[Planes, int | None] | None:
        if i in self.broken:
            return None
        try:
            item = self.dataset[i]
            return planes_of(images_in(item, self.column), self.image_shape, self.framing)[0], label_in(item)
        except (OSError, ValueError, SyntaxError) as error:
            if self.on_error == "raise":
                raise
            self.broken.add(i)
            warnings.warn(f"{self.name}: skipped, {error}", stacklevel=3)
            return None


def from_dataset(
    dataset: Any,
    *,
    size: int | tuple[int, int] = 32,
    channels: int = 3,
    column: str | None = None,
    framing: Framing = "crop",
    on_error: OnError = "skip",
    name: str = "dataset",
) -> DatasetWorld:
    """Make a world of a dataset with length and index, of torch, torchvision or Hugging Face, or of an experience.

    Images are read when they are drawn, so that the dataset may be larger than memory, and brought to ``size``: the
    side of a square, or (height, width). Labels are the whole numbers beside the images.
    """
    require_framing(framing)
    require_on_error(on_error)
    if not hasattr(dataset, "__getitem__") and hasattr(dataset, "dataset"):
        dataset = dataset.dataset
    if not (hasattr(dataset, "__getitem__") and hasattr(dataset, "__len__")) or not len(dataset):
        raise TypeError(
            f"a dataset of type {type(dataset).__name__}: must have items, a length and an index; hand a stream to "
            "VASE.fit or vase.worlds.as_batches instead"
        )
    shape = (require_int("channels", channels, 1, 4), *require_size(size))
    return DatasetWorld(
        name, dataset, shape, framing, column, on_error, source=f"{len(dataset)} items of {type(dataset).__name__}"
    )


def require_on_error(on_error: str) -> None:
    """Refuse an unknown answer to pictures that cannot be read."""
    if on_error not in ("skip", "raise"):
        raise ValueError(f"on_error = {on_error!r}: must be 'skip' or 'raise'; 'raise' stops at the first")


def _batch(items: list[tuple[Planes, int | None]]) -> Batch:
    images = as_bytes(joined(planes for planes, _ in items))
    labels = [label for _, label in items]
    known = all(label is not None for label in labels)
    return Batch(images, {"label": np.array(labels, np.int64)} if known else {})
