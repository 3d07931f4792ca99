import numpy as np
import pytest
import torch
from PIL import Image

from vase.worlds import from_array, from_folder, make_world


def rng():
    return np.random.default_rng(0)


def paint(path, colour, size=(10, 6)):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("L" if isinstance(colour, int) else "RGB", size, colour).save(path)


@pytest.mark.parametrize("move", [lambda a: a, lambda a: np.moveaxis(a, 1, 3), lambda a: torch.from_numpy(a)])
def test_channel_orders_and_torch_give_the_same_world(move):
    images = rng().integers(0, 256, (5, 3, 8, 9)).astype(np.uint8)
    made = from_array(move(images), labels=range(5))
    np.testing.assert_array_equal(made.images, images)
    assert made.image_shape == (3, 8, 9)
    batch = made.sample(40, rng())
    np.testing.assert_array_equal(batch.images, images[batch.factors["label"]])


def test_grey_arrays_without_labels():
    made = from_array(np.zeros((4, 8, 8), np.uint8), name="mine")
    assert (made.name, made.image_shape) == ("mine", (1, 8, 8))
    assert made.sample(3, rng()).factors == {}


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_floats_become_bytes(dtype):
    made = from_array(np.array([[[0, 0.5], [1, 0.25]]], dtype))
    assert made.images.tolist() == [[[[0, 128], [255, 64]]]]


def test_other_types():
    assert from_array(np.array([[[True, False]]])).images.tolist() == [[[[255, 0]]]]
    assert from_array(np.array([[[7, 255]]], np.int64)).images.tolist() == [[[[7, 255]]]]


def test_the_users_array_is_copied_and_may_be_non_contiguous():
    images = np.zeros((4, 16, 16), np.uint8)
    made = from_array(images[::2, ::2, ::-1])
    images[:] = 9
    assert made.images.max() == 0
    assert made.images.flags.c_contiguous


@pytest.mark.parametrize(
    ("images", "error", "words"),
    [
        (np.full((2, 4, 4), np.nan), ValueError, "value nan"),
        (np.full((2, 4, 4), np.inf), ValueError, "value inf"),
        (np.full((2, 4, 4), 1.5), ValueError, r"value 1.5: floats must lie in \[0, 1\]; rescale"),
        (np.full((2, 4, 4), -1), ValueError, r"value -1: whole numbers must lie in \[0, 255\]"),
        (np.full((2, 4, 4), 1j), TypeError, "dtype complex128"),
        (np.array([["a"]]), TypeError, "dtype <U1"),
        (np.zeros((0, 4, 4), np.uint8), ValueError, r"shape \(0, 4, 4\): must be a non-empty"),
        (np.zeros((4, 4), np.uint8), ValueError, r"shape \(4, 4\)"),
        (np.zeros((2, 8, 8, 8), np.uint8), ValueError, "neither axis 1 nor axis 3"),
    ],
)
def test_bad_arrays_are_refused_by_name(images, error, words):
    with pytest.raises(error, match=words):
        from_array(images)


@pytest.mark.parametrize("labels", [[0], [0.5, 1.5], [[0, 1]], ["a", "b"]])
def test_bad_labels_are_refused(labels):
    with pytest.raises(ValueError, match=r"one whole number per image is needed, shape \(2,\)"):
        from_array(np.zeros((2, 4, 4), np.uint8), labels)


def test_folder_with_classes(tmp_path):
    paint(tmp_path / "dogs" / "a.png", 200)
    paint(tmp_path / "cats" / "deep" / "b.PNG", 100)
    paint(tmp_path / "cats" / "c.pgm", 50)
    (tmp_path / "notes.txt").write_text("not a picture")
    made = make_world(f"folder:{tmp_path}", canvas=8)
    assert (made.image_shape, made.classes) == ((1, 8, 8), ("cats", "dogs"))
    value = {tuple(np.unique(image)): label for image, label in zip(made.images, made.labels.tolist(), strict=True)}
    assert value == {(200,): 1, (100,): 0, (50,): 0}
    assert set(made.sample(30, rng()).factors["label"]) == {0, 1}


def test_flat_folder_has_no_labels_and_colour_is_kept(tmp_path):
    paint(tmp_path / "a.png", (255, 0, 10))
    paint(tmp_path / "b.bmp", 40)
    made = from_folder(tmp_path, size=4)
    assert made.image_shape == (3, 4, 4)
    assert made.images[0, :, 0, 0].tolist() == [255, 0, 10]
    assert made.images[1, :, 0, 0].tolist() == [40, 40, 40]
    assert made.sample(2, rng()).factors == {}
    assert from_folder(tmp_path, size=4, channels=1).image_shape == (1, 4, 4)


def test_folder_with_splits(tmp_path):
    paint(tmp_path / "train" / "x" / "a.png", 1)
    paint(tmp_path / "test" / "x" / "a.png", 2)
    assert make_world(f"folder:{tmp_path}").images.max() == 1
    assert make_world(f"folder:{tmp_path}", split="test").images.max() == 2


def test_bad_folders_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere' does not exist"):
        make_world(f"folder:{tmp_path}/nowhere")
    with pytest.raises(ValueError, match=f"{tmp_path.name}' holds no picture"):
        from_folder(tmp_path)
    paint(tmp_path / "good.png", 1)
    (tmp_path / "bad.png").write_bytes((tmp_path / "good.png").read_bytes()[:40])
    with pytest.raises(ValueError, match=r"bad\.png' cannot be read .*remove it"):
        from_folder(tmp_path, on_error="raise")
    with pytest.raises(ValueError, match="channels = 2"):
        from_folder(tmp_path, channels=2)
    with pytest.raises(ValueError, match="size = 0"):
        from_folder(tmp_path, size=0)


def test_pictures_with_more_than_eight_bits_are_refused(tmp_path):
    Image.fromarray(np.full((4, 4), 40_000, np.uint16)).save(tmp_path / "deep.png")
    with pytest.raises(ValueError, match=r"deep\.png.*8 bits"):
        from_folder(tmp_path)


def test_a_folder_without_splits_holds_out_every_fifth_picture(tmp_path):
    for i in range(10):
        paint(tmp_path / f"{i}.png", i)
    train, test = (make_world(f"folder:{tmp_path}", split=split) for split in ("train", "test"))
    assert sorted(test.images[:, 0, 0, 0].tolist()) == [4, 9]
    assert sorted(train.images[:, 0, 0, 0].tolist()) == [0, 1, 2, 3, 5, 6, 7, 8]
    assert len(from_folder(tmp_path).images) == 10


def test_both_splits_number_their_classes_alike(tmp_path):
    paint(tmp_path / "train" / "cat" / "a.png", 1)
    paint(tmp_path / "train" / "dog" / "a.png", 2)
    paint(tmp_path / "test" / "dog" / "b.png", 3)
    test = make_world(f"folder:{tmp_path}", split="test")
    assert (test.classes, test.labels.tolist(), test.n_classes) == (("cat", "dog"), [1], 2)


def test_one_split_alone_is_refused(tmp_path):
    paint(tmp_path / "train" / "a.png", 1)
    with pytest.raises(ValueError, match="none called 'test'"):
        make_world(f"folder:{tmp_path}", split="test")


def test_broken_pictures_are_skipped_and_counted(tmp_path):
    for i in range(6):
        paint(tmp_path / f"{i}.png", i)
    (tmp_path / "2.png").write_bytes((tmp_path / "1.png").read_bytes()[:40])
    (tmp_path / "4.jpg").write_text("no picture")
    with pytest.warns(
        UserWarning, match=r"^2 of 7 pictures skipped \(in Python, on_error=\"raise\" stops.*2\.png' cannot be read"
    ):
        world = from_folder(tmp_path, size=4)
    assert world.images[:, 0, 0, 0].tolist() == [0, 1, 3, 4, 5]
    assert world.source.startswith("5 pictures in ")
    with pytest.raises(ValueError, match="on_error = 'ignore': must be 'skip' or 'raise'"):
        from_folder(tmp_path, on_error="ignore")


def test_labels_of_skipped_pictures_go_with_them(tmp_path):
    for name, value in (("cats", 1), ("dogs", 2)):
        paint(tmp_path / name / "a.png", value)
    (tmp_path / "cats" / "0.png").write_text("no picture")
    with pytest.warns(UserWarning, match="1 of 3 pictures skipped"):
        world = from_folder(tmp_path, size=4)
    assert (world.images[:, 0, 0, 0].tolist(), world.labels.tolist()) == ([1, 2], [0, 1])


def test_photographs_of_any_shape_are_cropped_or_letterboxed(tmp_path, caplog):
    left, middle = np.zeros((48, 16), np.uint8), np.full((48, 32), 200, np.uint8)
    Image.fromarray(np.concatenate([left, middle, left], 1)).save(tmp_path / "wide.png")
    Image.fromarray(np.concatenate([left, middle, left], 1).T).save(tmp_path / "tall.png")
    cropped = from_folder(tmp_path, size=(12, 8))
    assert cropped.image_shape == (1, 12, 8)
    assert (cropped.images[1] == 200).all(), "the middle 32 of 64 columns"
    assert cropped.images[0, 0, :, 0].tolist() == [0] * 3 + [200] * 6 + [0] * 3
    assert "resized by area to 12×8 (height×width), their edges cut off, at most 50 % of a picture" in caplog.text
    boxed = from_folder(tmp_path, size=(12, 8), framing="letterbox")
    assert boxed.images[1, 0, :, 3].tolist() == [0] * 3 + [200] * 6 + [0] * 3
    assert "between black bars" in boxed.source


def test_large_pictures_are_read_at_a_fraction_of_their_size(tmp_path):
    x = np.linspace(0, 255, 640)[None] * np.ones((480, 1))
    picture = Image.fromarray(np.stack([x, x, 255 - x], 2).astype(np.uint8))
    for name in ("photo.jpg", "photo.png"):
        picture.save(tmp_path / name, quality=95)
    world = from_folder(tmp_path, size=(6, 8))
    expected = 255 * (np.arange(8) + 0.5) / 8
    for image in world.images:
        np.testing.assert_allclose(image[0].mean(0), expected, atol=2)
        np.testing.assert_allclose(image[2].mean(0), 255 - expected, atol=2)


def test_a_folder_larger_than_memory_stays_on_the_disk(tmp_path):
    for i in range(10):
        paint(tmp_path / "ab"[i % 2] / f"{i}.png", 20 * i)
    held, streamed = from_folder(tmp_path, size=(4, 6)), from_folder(tmp_path, size=(4, 6), memory=0)
    assert streamed.image_shape == held.image_shape == (1, 4, 6)
    assert (streamed.classes, streamed.n_classes) == (("a", "b"), 2)
    assert "read from the disk" in streamed.source
    ours, theirs = streamed.sample(20, rng()), held.sample(20, rng())
    np.testing.assert_array_equal(ours.images, theirs.images)
    np.testing.assert_array_equal(ours.factors["label"], theirs.factors["label"])
    (tmp_path / "a" / "0.png").write_text("damaged meanwhile")
    with pytest.warns(UserWarning, match=r"0\.png' cannot be read"):
        assert streamed.sample_distinct(10, rng()).images[:, 0, 0, 0].min() == 20


def test_arrays_can_be_resized():
    images = np.arange(16, dtype=np.uint8).reshape(1, 4, 4)
    # Of rows 1 and 2: (4 + 5 + 8 + 9) / 4 = 6.5 and (6 + 7 + 10 + 11) / 4 = 8.5, rounded to even.
    assert from_array(images, size=(1, 2)).images.tolist() == [[[[6, 8]]]]
    with pytest.raises(ValueError, match=r"size = \(1, 2, 3\): must be one number or \(height, width\)"):
        from_array(images, size=(1, 2, 3))
