"""Data as other libraries hand them out: images found, brought to one shape, in batches that can be learnt."""

from __future__ import annotations

import io
from types import SimpleNamespace

import datasets
import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset

from vase import VASE, VASEConfig
from vase.worlds import Batch, Schedule, Stage, as_batches, from_dataset

GREY, COLOUR = (1, 8, 8), (3, 8, 12)


def numbered(n: int, shape: tuple[int, ...] = GREY) -> np.ndarray:
    """Image i is of value i."""
    return np.arange(n, dtype=np.uint8).reshape(-1, *[1] * len(shape)) * np.ones(shape, np.uint8)


def found(source: object, shape: tuple[int, int, int] = GREY, **options: object) -> list[list[int]]:
    """The values of the images in each batch."""
    batches = list(as_batches(source, shape, **options))
    assert all(batch.shape[1:] == shape for batch in batches)
    return [
        (batch[:, 0, 0, 0] * (255 if batch.dtype.kind == "f" else 1)).round().astype(int).tolist() for batch in batches
    ]


def picture(value: int, mode: str = "L", size: tuple[int, int] = (8, 8)) -> Image.Image:
    return Image.new(mode, size, value if mode == "L" else (value, 0, 0))


class Stream(IterableDataset):
    def __init__(self, form: str, n: int = 5) -> None:
        self.form, self.n = form, n

    def __iter__(self):
        for i in range(self.n):
            image = torch.from_numpy(numbered(self.n)[i])
            yield (image, i) if self.form == "tuple" else {"label": i, "image": image} if self.form == "dict" else image


class Squares(Dataset):
    """A map-style dataset that, like many, knows its length but raises no IndexError."""

    def __len__(self) -> int:
        return 5

    def __getitem__(self, i: int) -> tuple[Image.Image, int]:
        return picture(i % 5), i % 5


@pytest.mark.parametrize("form", ["tuple", "dict", "bare"])
def test_loaders_and_iterable_datasets(form: str) -> None:
    assert found(DataLoader(Stream(form), batch_size=2)) == [[0, 1], [2, 3, 4]], "a last batch of one is no error"
    assert found(Stream(form), batch_size=3) == [[0, 1, 2], [3, 4]]


def test_tensors_with_labels_keep_their_batches_and_values() -> None:
    x = torch.rand(4, *COLOUR)
    batches = list(as_batches(DataLoader(TensorDataset(x, torch.arange(4)), batch_size=2), COLOUR))
    np.testing.assert_array_equal(np.concatenate(batches), x.numpy())


def test_datasets_with_length_and_index() -> None:
    assert found(Squares(), batch_size=2) == [[0, 1], [2, 3, 4]]
    assert found(TensorDataset(torch.from_numpy(numbered(4)), torch.arange(4)), batch_size=2) == [[0, 1], [2, 3]]


def test_an_image_column_of_hugging_face_datasets() -> None:
    rows = {"caption": ["a", "b", "c"], "picture": [picture(i) for i in range(3)], "label": [5, 6, 7]}
    data = datasets.Dataset.from_dict(rows).cast_column("picture", datasets.Image())
    assert found(data) == [[0, 1, 2]]
    assert found(data.to_iterable_dataset(), column="picture") == [[0, 1, 2]]
    assert found(data.iter(batch_size=2)) == [[0, 1, 2]], "columns of lists"
    assert found(data.cast_column("picture", datasets.Image(decode=False))) == [[0, 1, 2]], "pictures as bytes"
    with pytest.raises(KeyError, match="column 'photo' is missing; the items have caption, picture, label"):
        found(data, column="photo")
    batch = from_dataset(data, size=8, channels=1).sample(9, np.random.default_rng(0))
    np.testing.assert_array_equal(batch.images[:, 0, 0, 0] + 5, batch.factors["label"])


def test_avalanche_experiences() -> None:
    """An experience has a `dataset` of (x, y, task) and cannot be iterated; a stream of experiences can."""
    first, second = (
        SimpleNamespace(dataset=[(torch.from_numpy(image), 0, 0) for image in images], classes_in_this_experience=[0])
        for images in (numbered(2), numbered(3))
    )
    assert found(first) == [[0, 1]]
    assert found([first, second], batch_size=5) == [[0, 1, 0, 1, 2]]
    assert (
        from_dataset(second, size=8, channels=1).sample(4, np.random.default_rng(0)).factors["label"].tolist()
        == [0] * 4
    )


def test_generators_of_pictures_arrays_and_batches() -> None:
    assert found(picture(i, size=(40, 20)) for i in range(3)) == [[0, 1, 2]]
    assert found([picture(7, "RGB"), picture(9)], COLOUR) == [[7, 9]], "a list of pictures"
    assert found(iter([[picture(1), picture(2)], [picture(3), picture(4)]])) == [[1, 2], [3, 4]], "lists are batches"
    assert found([numbered(2)[:, 0], numbered(3)[:, 0]]) == [[0, 1], [0, 1, 2]], "(B, H, W)"
    assert found(list(np.moveaxis(numbered(2, COLOUR), 1, 3)), COLOUR) == [[0, 1]], "(H, W, C)"
    assert found([Batch(numbered(2), {})]) == [[0, 1]]
    assert found([numbered(1)[0], numbered(1)[0] / np.float32(255)]) == [[0, 0]], "whole numbers and floats"
    assert found([numbered(1), numbered(2), numbered(1)]) == [[0, 0, 1, 0]]
    assert found([]) == []


def test_other_sizes_are_cropped_or_letterboxed() -> None:
    wide = [np.concatenate([np.zeros((16, 16)), np.full((16, 32), 9), np.zeros((16, 16))], 1).astype(np.uint8)] * 2
    cropped, boxed = (next(as_batches(wide, (1, 8, 16), framing=framing)) for framing in ("crop", "letterbox"))
    assert (cropped == 9).all()
    assert boxed[0, 0, 2:6].tolist() == [[0] * 4 + [9] * 8 + [0] * 4] * 4
    assert not boxed[:, :, [0, 1, 6, 7]].any()


def test_bad_items_are_named() -> None:
    with pytest.raises(ValueError, match=r"an image of shape \(8, 8, 4\): must have 3 channels"):
        found([np.zeros((8, 8, 4), np.uint8)], COLOUR)
    with pytest.raises(KeyError, match="no column of images among label; name it, column="):
        found([{"label": 3}])
    with pytest.raises(TypeError, match="a stream of type int"):
        found(3)
    with pytest.raises(TypeError, match="a dataset of type generator: must have items, a length and an index"):
        from_dataset(i for i in range(3))


class Damaged(Squares):
    def __getitem__(self, i: int) -> tuple[Image.Image, int]:
        if i == 3:
            return Image.open(io.BytesIO(b"GIF89a")), i
        return super().__getitem__(i)


def test_broken_items_are_drawn_again_and_counted() -> None:
    world = from_dataset(Damaged(), size=8, channels=1, name="squares")
    with pytest.warns(UserWarning, match="^squares: skipped, ") as told:
        labels = world.sample(40, np.random.default_rng(0)).factors["label"]
    assert set(labels.tolist()) == {0, 1, 2, 4}
    assert (len(told), world.broken) == (1, {3})
    assert sorted(world.sample_distinct(9, np.random.default_rng(0)).factors["label"].tolist()) == [0, 1, 2, 4]
    with pytest.raises(OSError, match=r"truncated|identify"):
        from_dataset(Damaged(), size=8, channels=1, on_error="raise").sample(40, np.random.default_rng(0))


def test_a_dataset_goes_on_a_schedule() -> None:
    world = from_dataset(Squares(), size=(8, 12), channels=3, name="squares")
    stages = Schedule([Stage(world, 2)], batch_size=4, seed=1)
    assert [batch.images.shape for batch in stages] == [(4, 3, 8, 12)] * 2


def test_fit_takes_a_loader_with_a_last_batch_of_one() -> None:
    model = VASE(VASEConfig.smoke((1, 12, 20)), seed=0, device="cpu")
    loader = DataLoader(TensorDataset(torch.rand(9, 1, 24, 40), torch.arange(9)), batch_size=4)
    with pytest.warns(UserWarning, match="^4 steps of learning"):
        model.fit(loader, epochs=2)
    assert model.steps == 4
    with pytest.raises(ValueError, match="epochs=2: the stream can be gone through once"):
        model.fit(iter(loader), epochs=2)
