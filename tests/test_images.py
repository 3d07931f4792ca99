"""Every kind of input: the right tensor, or an error with the value, the rule and the remedy."""

import re

import numpy as np
import pytest
import torch
from PIL import Image

from vase.images import as_bytes, as_floats, as_images, as_pixels

SHAPE = (1, 4, 6)
COLOUR = (3, 4, 6)


def pixels(n: int = 5, shape: tuple[int, ...] = SHAPE) -> np.ndarray:
    """Images in uint8 that hold 0 and 255."""
    array = np.random.default_rng(0).integers(0, 256, (n, *shape), dtype=np.uint8)
    array.flat[0], array.flat[-1] = 0, 255
    return array


def expected(array: np.ndarray) -> torch.Tensor:
    return torch.tensor(array.astype(np.float64) / 255, dtype=torch.float32)


class TestAccepted:
    @pytest.mark.parametrize("kind", [np.array, torch.tensor, list])
    def test_uint8_is_divided_by_255(self, kind):
        x = as_images(kind(pixels()), SHAPE)
        assert (x.dtype, x.shape) == (torch.float32, (5, *SHAPE))
        assert (float(x.min()), float(x.max())) == (0.0, 1.0)
        assert torch.allclose(x, expected(pixels()), atol=1e-7)

    @pytest.mark.parametrize("dtype", ["float16", "float32", "float64", ">f4", "<f8", ">f8"])
    def test_floats(self, dtype):
        array = (pixels() / 255).astype(dtype)
        x = as_images(array, SHAPE)
        assert x.dtype == torch.float32
        assert torch.equal(x, torch.tensor(array.astype(np.float32)))

    @pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
    def test_torch_floats(self, dtype):
        tensor = expected(pixels()).to(dtype)
        assert torch.equal(as_images(tensor, SHAPE), tensor.float())

    @pytest.mark.parametrize("shape", [SHAPE, COLOUR])
    @pytest.mark.parametrize("kind", [np.array, torch.tensor])
    def test_channels_first_or_last(self, shape, kind):
        first = pixels(shape=shape)
        last = first.transpose(0, 2, 3, 1)
        assert torch.equal(as_images(kind(first), shape), as_images(kind(last), shape))

    def test_without_a_channel(self):
        assert torch.equal(as_images(pixels()[:, 0], SHAPE), as_images(pixels(), SHAPE))

    @pytest.mark.parametrize(
        "view",
        [
            lambda a: a[::2],
            lambda a: a[::-1],
            lambda a: a[..., ::-1],
            lambda a: np.asfortranarray(a),
            lambda a: np.broadcast_to(a[:1], a.shape),
            lambda a: a.swapaxes(2, 3).copy().swapaxes(2, 3),
        ],
        ids=["every second", "reversed", "mirrored", "Fortran", "broadcast", "transposed"],
    )
    @pytest.mark.parametrize("dtype", [np.uint8, np.float32])
    def test_any_memory_layout(self, view, dtype):
        array = pixels() if dtype is np.uint8 else (pixels() / 255).astype(dtype)
        odd = view(array)
        x = as_images(odd, SHAPE)
        assert x.is_contiguous()
        assert torch.equal(x, as_images(np.ascontiguousarray(odd), SHAPE))

    def test_non_contiguous_tensor(self):
        tensor = torch.tensor(pixels()).permute(0, 2, 3, 1)
        assert torch.equal(as_images(tensor, SHAPE), as_images(pixels(), SHAPE))

    def test_read_only_array(self):
        array = pixels()
        array.flags.writeable = False
        assert as_images(array, SHAPE).shape == (5, *SHAPE)

    @pytest.mark.parametrize("value", [0, 128, 255])
    def test_constant_images(self, value):
        x = as_images(np.full((3, *SHAPE), value, np.uint8), SHAPE)
        assert torch.equal(x, torch.full((3, *SHAPE), value / 255))

    def test_flat_rows_as_scikit_learn_has_them(self):
        assert torch.equal(
            as_images(pixels(shape=COLOUR).reshape(5, -1), COLOUR), as_images(pixels(shape=COLOUR), COLOUR)
        )

    @pytest.mark.parametrize("kind", [np.array, torch.tensor])
    @pytest.mark.parametrize("move", [lambda a: a, lambda a: a.transpose(0, 2, 3, 1), lambda a: a / 255])
    def test_another_size_is_cropped_and_resized_by_area(self, kind, move):
        large = np.repeat(np.repeat(pixels(shape=COLOUR), 3, 2), 3, 3)  # 12×18 of 3×3 blocks
        edges = np.concatenate([np.zeros((5, 3, 12, 4), np.uint8), large, np.full((5, 3, 12, 4), 255, np.uint8)], 3)
        torch.testing.assert_close(as_images(kind(move(edges)), COLOUR), expected(pixels(shape=COLOUR)))

    def test_values_out_of_range_are_not_hidden_by_resizing(self):
        with pytest.raises(ValueError, match=r"image values from .* must lie in \[0, 1\]; divide by 255"):
            as_images(np.repeat(pixels(), 2, 3).astype(np.float32), SHAPE)

    def test_pictures_of_several_sizes_and_modes(self):
        drawn = [Image.new("RGB", (6, 4), (255, 0, 0)), Image.new("L", (20, 8), 51), Image.new("RGBA", (3, 2), "white")]
        x = as_images(drawn, COLOUR)
        assert x.shape == (3, *COLOUR)
        assert x.mean((2, 3)).tolist() == [[1, 0, 0], pytest.approx([0.2] * 3), [1, 1, 1]]
        assert as_images(drawn[:1] * 2, SHAPE).shape == (2, *SHAPE)

    def test_one_image_is_enough_where_nothing_is_learnt(self):
        assert as_images(pixels(1), SHAPE).shape == (1, *SHAPE)

    def test_a_tensor_with_gradient_is_detached(self):
        assert not as_images(expected(pixels()).requires_grad_(), SHAPE).requires_grad

    @pytest.mark.parametrize(
        "images",
        [pixels(), pixels() / 255, (pixels() / 255).astype(np.float32), torch.tensor(pixels()), expected(pixels())],
        ids=["uint8", "float64", "float32", "torch uint8", "torch float32"],
    )
    def test_the_result_is_independent_of_the_callers_memory(self, images):
        # A batch may be held and learnt later, while the caller fills the same buffer with the next one.
        before = images.clone() if isinstance(images, torch.Tensor) else images.copy()
        x = as_images(images, SHAPE)
        kept = x.clone()
        images[:] = 0
        assert torch.equal(x, kept)
        images[:] = before
        x.zero_()
        assert bool((images == before).all())


def says(*parts: str) -> str:
    return ".*".join(re.escape(part) for part in parts)


class TestRefused:
    def test_empty(self):
        with pytest.raises(ValueError, match=says("an empty batch", "at least 1 needed")):
            as_images(np.zeros((0, *SHAPE), np.uint8), SHAPE)

    def test_empty_list(self):
        with pytest.raises(ValueError, match=says("shape (0,)", "(B,C,H,W)")):
            as_images([], SHAPE)

    def test_one_image_when_learning(self):
        with pytest.raises(ValueError, match=says("a batch of 1 image:", "at least 2 needed", "Eq. 4", "collect more")):
            as_images(pixels(1), SHAPE, minimum=2)

    @pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
    @pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
    def test_nan_and_infinity(self, bad, dtype):
        array = (pixels() / 255).astype(dtype)
        array[1, 0, 2, 2] = array[3, 0, 0, 0] = array[3, 0, 0, 1] = bad
        with pytest.raises(ValueError, match=says("2 of 5 images contain NaN or infinity", "clean them")):
            as_images(array, SHAPE)

    @pytest.mark.parametrize(
        ("scale", "offset", "values", "remedy"),
        [
            (255.0, 0.0, "from 0 to 255", "divide by 255 or pass uint8"),
            (2.0, -1.0, "from -1 to 1", "(x + 1) / 2"),
            (1.0, 0.25, "from 0.25 to 1.25", "rescale them"),
            (1.0, -0.5, "from -0.5 to 0.5", "rescale them"),
        ],
    )
    def test_out_of_range(self, scale, offset, values, remedy):
        array = (pixels() / 255) * scale + offset
        with pytest.raises(ValueError, match=says(f"image values {values}", "must lie in [0, 1]", remedy)):
            as_images(array, SHAPE)

    @pytest.mark.parametrize(
        "shape",
        [
            (5, 3, 4, 6),
            (5, 4, 6, 3),
            (4, 6),
            (5, 25),
            (24,),
            (),
            (5, 1, 1, 4, 6),
        ],
    )
    def test_wrong_channels_or_layout(self, shape):
        with pytest.raises(
            ValueError, match=says(f"images of shape {shape}", "C,H,W = 1,4,6", "convert them", "image_shape")
        ):
            as_images(np.zeros(shape, np.uint8), SHAPE)

    def test_flat_rows_of_another_size_name_the_shape_to_build(self):
        with pytest.raises(ValueError, match=says("(5, 64)", "(rows of 64 values: VASEConfig.laptop((1, 8, 8)))")):
            as_images(np.zeros((5, 64), np.float32), SHAPE)

    def test_grey_images_for_a_learner_of_colours(self):
        with pytest.raises(ValueError, match=says("images of shape (5, 4, 6)", "C,H,W = 3,4,6")):
            as_images(pixels()[:, 0], COLOUR)

    @pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint16", "uint32", "uint64", "complex64", "bool"])
    def test_wrong_dtype(self, dtype):
        with pytest.raises(
            TypeError, match=says(f"images of dtype {dtype}", "pass uint8 in 0..255 or floats in [0, 1]")
        ):
            as_images(pixels().astype(dtype), SHAPE)

    @pytest.mark.parametrize("dtype", [torch.int64, torch.bool, torch.int32, torch.complex64])
    def test_wrong_torch_dtype(self, dtype):
        with pytest.raises(TypeError, match=says(f"images of dtype {str(dtype)[6:]}", "pass uint8")):
            as_images(torch.tensor(pixels()).to(dtype), SHAPE)

    @pytest.mark.parametrize(
        "images",
        [
            pixels().astype(object),
            np.array([None, None]),
            None,
            {"images": 3},
            "images.png",
            ["a.png", "b.png"],
            object(),
        ],
    )
    def test_not_numbers(self, images):
        with pytest.raises(
            TypeError, match=says("images of dtype", "pass one rectangular array of numbers", "(B,C,H,W)")
        ):
            as_images(images, SHAPE)

    def test_ragged_list(self):
        with pytest.raises(TypeError, match=says("images of type list", "pass a NumPy array or a torch tensor")):
            as_images([np.zeros((4, 6)), np.zeros((5, 6))], SHAPE)

    @pytest.mark.parametrize(
        "array", [pixels().astype("datetime64[s]"), pixels().astype("m8[s]"), pixels().astype(np.longdouble)]
    )
    def test_exotic_numbers(self, array):
        with pytest.raises(TypeError, match=says(f"images of dtype {array.dtype}", "pass")):
            as_images(array, SHAPE)


def test_numpy_conversions_by_hand():
    levels, shares = np.array([0, 51, 255], np.uint8), np.array([0, 0.2, 1], np.float32)
    np.testing.assert_array_equal(as_floats(levels), shares)
    np.testing.assert_array_equal(as_floats(shares.astype(np.float64)), shares)
    assert as_floats(levels).dtype == as_floats(np.array([0.5])).dtype == np.float32
    for convert in (as_bytes, as_pixels):
        assert convert(levels) is levels
        np.testing.assert_array_equal(convert(shares), levels)
    np.testing.assert_array_equal(as_bytes(np.array([-0.5, 1.5])), [0, 255])  # a learner's are clipped
    with pytest.raises(ValueError, match=r"images hold the value 1\.5: floats must lie in"):  # a user's are refused
        as_pixels(np.array([0.5, 1.5]))
