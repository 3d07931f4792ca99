from __future__ import annotations

import base64
import io
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from vase.explorer import questions
from vase.report.pictures import data_uri

GREY, COLOUR = (1, 16, 24), (3, 16, 24)


def file_of(picture: Image.Image, kind: str = "PNG") -> bytes:
    file = io.BytesIO()
    picture.save(file, kind)
    return file.getvalue()


@pytest.mark.parametrize("shape", [GREY, COLOUR])
def test_an_image_survives_the_way_to_the_page_and_back(shape: tuple[int, int, int]) -> None:
    x = np.random.default_rng(0).integers(0, 256, shape, np.uint8)
    assert np.array_equal(questions.image({"image": data_uri(x)}, "image", shape), x)


def test_the_middle_of_a_picture_is_what_the_learner_sees() -> None:
    wide = np.zeros((100, 300), np.uint8)
    wide[:, 75:225] = 255  # the middle 150 columns are what a shape of 16×24 keeps
    found = questions.picture_of_file(file_of(Image.fromarray(wide)), GREY)
    assert found.shape == GREY
    assert (found[:, :, 1:-1] == 255).all()
    colour = questions.picture_of_file(file_of(Image.new("RGB", (50, 60), (10, 20, 30)), "BMP"), COLOUR)
    assert colour[:, 0, 0].tolist() == [10, 20, 30]


@pytest.mark.parametrize(
    "value",
    [
        None,
        3,
        "",
        "data:image/png;base64,",
        "data:image/png;base64,%%%",
        "data:image/png;base64,AAAA",
        "data:image/svg+xml;base64,AAAA",
        "file:///etc/passwd",
        data_uri(np.zeros((1, 16, 16), np.uint8)),
        data_uri(np.zeros((1, 2000, 2000), np.uint8)),
    ],
)
def test_other_images_are_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r"image|picture|learner"):
        questions.image({"image": value}, "image", GREY)


@pytest.mark.parametrize("data", [b"", b"GIF89a", b"<svg/>", b"\x89PNG\r\n\x1a\n" + bytes(50), bytes(1000)])
def test_what_is_no_picture_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="cannot be read"):
        questions.picture_of_file(data, GREY)


def test_a_decompression_bomb_is_refused_before_it_is_decoded() -> None:
    bomb = file_of(Image.new("1", (6_000, 6_000)))  # 36 million pixels in a few kilobytes
    assert len(bomb) < 10_000
    with pytest.raises(ValueError, match="6000×6000 pixels, more than 25,000,000; shrink it"):
        questions.picture_of_file(bomb, GREY)


def test_codes_become_an_array() -> None:
    assert questions.codes([[1, 2.5], [0, -1]], 2).tolist() == [[1, 2.5], [0, -1]]


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        [[]],
        [1, 2],
        [[1, 2, 3]],
        [[1, 2], [3]],
        [["a", "b"]],
        [[1, None]],
        [[float("nan"), 0]],
        [[1e300, 0]],
        [[10**400, 0]],
        [[{}, 0]],
        "12",
        [[0, 0]] * 1_025,
    ],
)
def test_other_codes_are_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="codes"):
        questions.codes(value, 2)


def test_one_environment_stands_for_all() -> None:
    assert questions.environments(1, 3, 2).tolist() == [1, 1, 1]
    assert questions.environments([0, 1], 2, 2).tolist() == [0, 1]


@pytest.mark.parametrize("value", [None, -1, 2, True, 0.5, "0", [0], [0, 2], [0, True], {}])
def test_other_environments_are_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="2 whole numbers from 0 to 1"):
        questions.environments(value, 2, 2)


@pytest.mark.parametrize("value", [None, True, "0.5", -0.1, 1.1, float("nan"), []])
def test_numbers_out_of_range_are_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r"share = .*must be a number from 0 to 1"):
        questions.number({"share": value}, "share", 0, 1)


def test_names_are_trimmed_and_empty_ones_dropped() -> None:
    assert questions.latent_names({"names": {"3": " stroke width ", "4": " "}}, 5) == {3: "stroke width"}


@pytest.mark.parametrize(
    "names",
    [None, [], {"5": "a"}, {"-1": "a"}, {"x": "a"}, {"1": 3}, {"1": "a" * 61}, {"1": "a\nb"}, {"1" * 5000: "a"}],
)
def test_other_names_are_refused(names: Any) -> None:
    with pytest.raises(ValueError, match=r"names|latent"):
        questions.latent_names({"names": names}, 5)


json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=20)
@given(json)
def test_any_json_is_read_or_refused(value: Any) -> None:
    question = {"share": value, "names": value, "image": value}
    for read in (
        lambda: questions.codes(value, 2),
        lambda: questions.environments(value, 1, 1),
        lambda: questions.number(question, "share", 0, 1),
        lambda: questions.latent_names(question, 4),
        lambda: questions.image(question, "image", GREY),
    ):
        with suppress(ValueError):
            read()


def test_base64_of_the_page_is_strict() -> None:
    text = "data:image/png;base64," + base64.b64encode(file_of(Image.new("L", (24, 16)))).decode()
    assert questions.image({"a": text}, "a", GREY).shape == GREY
    with pytest.raises(ValueError, match="a: not base64"):
        questions.image({"a": text + "\n*"}, "a", GREY)
