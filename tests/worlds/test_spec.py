"""The grammar of worlds and streams."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import vase
from vase.worlds import make_world
from vase.worlds.spec import (
    COLOUR,
    NAMES,
    SPRITES,
    StreamSpec,
    WorldSpec,
    canonical,
    title,
    world_names,
)
from vase.worlds.timeline import Timeline

flags, sizes = st.booleans(), st.none() | st.integers(1, 999)
paths = st.text(min_size=1).filter(lambda path: path == path.strip() and not set(path) & set(",*"))
classes = st.none() | st.sets(st.integers(0, 9), min_size=1).map(tuple)
worlds = st.one_of(
    st.builds(WorldSpec, st.sampled_from(SPRITES), flags, flags, flags, sizes),
    st.builds(WorldSpec, st.just("faces"), st.just(False), flags, flags),
    st.builds(WorldSpec, st.sampled_from(("outdoors", "indoors"))),
    st.builds(WorldSpec, st.sampled_from(tuple(COLOUR)), st.just(False), flags, flags, classes=classes),
    st.builds(WorldSpec, st.just("folder"), folder=paths),
)
streams = st.builds(
    StreamSpec,
    st.lists(st.tuples(worlds, st.none() | st.integers(1, 10**6)), min_size=1, max_size=5).map(tuple),
    st.integers(1, 10**6),
)


class TestRoundTrip:
    @given(worlds)
    def test_of_worlds(self, world):
        assert WorldSpec.parse(str(world)) == world

    @given(streams)
    def test_of_streams(self, stream):
        assert StreamSpec.parse(str(stream), stream.steps) == stream
        assert StreamSpec.of((str(world), steps) for world, steps in stream.stages).timeline == stream.timeline

    @pytest.mark.parametrize(
        "text",
        [
            "mnist",
            "moving-soft-inverse-fashion:12",
            "soft-inverse-faces",
            "outdoors*500",
            "folder:/a b/c-d:12>e",
            "soft-inverse-cifar10:classes=0-1+4+7-9*500",
            "moving-fashion,mnist*500,moving-mnist",
            *world_names(),
        ],
    )
    def test_canonical_text_stays_as_it_is(self, text):
        assert str(StreamSpec.parse(text)) == text

    def test_spaces_and_leading_zeros_go(self):
        assert str(StreamSpec.parse(" mnist:012 , folder: a/b * 07,\tindoors ")) == "mnist:12,folder:a/b*7,indoors"


class TestWorlds:
    def test_fields_by_hand(self):
        assert WorldSpec.parse("moving-soft-inverse-mnist:14") == WorldSpec("mnist", True, True, True, 14)
        assert WorldSpec.parse("inverse-faces") == WorldSpec("faces", inverse=True)
        assert WorldSpec.parse("indoors") == WorldSpec("indoors")
        assert WorldSpec.parse("folder:~/cats") == WorldSpec("folder", folder="~/cats")
        assert WorldSpec.parse("soft-emoji-google") == WorldSpec("emoji-google", soft=True)

    def test_classes_by_hand(self):
        world = WorldSpec.parse("cifar10:classes=8+0-2+1+9")
        assert world.classes == (0, 1, 2, 8, 9)
        assert str(world) == "cifar10:classes=0-2+8-9"
        assert world == WorldSpec("cifar10", classes=(9, 8, 2, 1, 0, 0))
        assert StreamSpec.parse("cifar10:classes=0-4,mnist").slug == "cifar10_classes_0-4+mnist"

    def test_names(self):
        assert len(world_names()) == len(set(world_names())) == 4 * 8 + 4 + 4 * 3 + 2
        assert set(NAMES) <= set(world_names())

    @pytest.mark.parametrize(
        ("name", "shown"),
        [
            ("moving-inverse-fashion:12", "moving inverse Fashion 12 px"),
            ("soft-mnist", "soft MNIST"),
            ("faces", "faces"),
            ("inverse-cifar10:classes=0+1", "inverse CIFAR-10 classes 0-1"),
            ("emoji-twitter", "Twitter emoji"),
            ("folder:pictures/my-cats", "my-cats"),
            ("folder:/", "folder:/"),
            ("red-squares", "red-squares"),  # a world of the user's, outside the grammar
        ],
    )
    def test_title(self, name, shown):
        assert title(name) == shown

    def test_background_by_hand(self):
        names = ("moving-mnist", "inverse-mnist:12", "soft-mnist", "soft-inverse-mnist")
        # 127.5 ± 0.8·127.5 = 25.5 and 229.5, rounded to even
        assert [WorldSpec.parse(name).background for name in names] == [0.0, 1.0, 26 / 255, 230 / 255]

    @pytest.mark.parametrize("prefix", ["", "inverse-", "soft-", "soft-inverse-", "moving-", "moving-soft-inverse-"])
    def test_background_is_what_surrounds_the_sprites(self, prefix):
        world = make_world(f"{prefix}digits:10", canvas=32)
        images = world.sample(64, np.random.default_rng(0)).images
        assert WorldSpec.parse(world.name).background == np.bincount(images.ravel()).argmax() / 255

    def test_picture_folder(self):
        names = ("soft-faces", "outdoors", "moving-digits", "folder:faces")
        assert [WorldSpec.parse(name).picture_folder for name in names] == ["faces", "frames", None, None]

    def test_canonical(self):
        assert [canonical(name) for name in (" mnist:08", "mnst ", "")] == ["mnist:8", "mnst", ""]

    @pytest.mark.parametrize(
        ("name", "words"),
        [
            ("moving-mnits", r"world 'moving-mnits' is unknown; did you mean 'moving-mnist'\? A world is \[moving-\]"),
            ("xyz", r"world 'xyz' is unknown\. A world is .*DATASET one of mnist, fashion, digits, glyphs; .*PATH\.$"),
            ("inverse-moving-mnist", "did you mean '(moving-)?inverse-mnist'"),
            ("mnist:", "world 'mnist:' is unknown"),
            ("mnist:big", "did you mean 'mnist'"),
            ("folder", "or folder:PATH"),
            ("moving-faces", "'moving-faces': a face fills the canvas and stands still; write .soft-..inverse-.faces"),
            ("faces:20", "'faces:20': a face fills the canvas"),
            ("soft-outdoors", "'soft-outdoors': a 3D world has no prefix and no size; write outdoors"),
            (
                "moving-cifar10",
                "'moving-cifar10': an image in colour fills the canvas .* one of cifar10, emoji-google, ",
            ),
            ("cifar10:20", r"'cifar10:20': an image .*; write \[soft-\]\[inverse-\]DATASET\[:classes=0-4\+7\] with"),
            ("cifar10:classes=9-10", r"classes = \(9, 10\): cifar10 has classes 0 to 9; name at least one of them"),
            ("cifar10:classes=5-4", r"classes = \(\): cifar10 has classes 0 to 9"),
            ("cifar10:classes=", r"'cifar10:classes=' is unknown; did you mean 'cifar10'\?"),
            ("cifar10:classes=1++2", "is unknown"),
            ("mnist:classes=1", r"'mnist:classes=1': write \[moving-\]"),
            ("folder:", "'folder:': write folder:PATH, e.g. folder:pictures/cats"),
            ("mnist:0", "sprite = 0: must be a whole number of at least 1"),
        ],
    )
    def test_errors_name_value_rule_and_remedy(self, name, words):
        with pytest.raises(ValueError, match=words):
            WorldSpec.parse(name)

    @pytest.mark.parametrize(
        ("fields", "words"),
        [
            ({"dataset": "cifar"}, "world 'cifar' is unknown"),
            ({"dataset": "folder", "folder": "a", "inverse": True}, "write folder:PATH"),
            ({"dataset": "folder", "folder": " a"}, "write folder:PATH"),
            ({"dataset": "mnist", "folder": "a"}, r"write \[moving-\]"),
            ({"dataset": "cifar10", "classes": (-1,)}, "class = -1: must be a whole number of at least 0"),
            ({"dataset": "faces", "classes": (1,)}, "'faces:classes=1': a face fills the canvas"),
        ],
    )
    def test_what_cannot_be_written_cannot_be_made(self, fields, words):
        with pytest.raises(ValueError, match=words):
            WorldSpec(**fields)

    def test_the_type_is_checked(self):
        with pytest.raises(TypeError, match="world 3: expected a name"):
            WorldSpec.parse(3)

    def test_an_existing_folder_is_recognised(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        Path("data/day").mkdir(parents=True)
        with pytest.raises(ValueError, match=r"there is a folder of this name; write folder:data/day to"):
            StreamSpec.parse("mnist,data/day*500")
        monkeypatch.setenv("HOME", str(tmp_path))
        with pytest.raises(ValueError, match=r"write folder:~/data to"):
            WorldSpec.parse("~/data")


class TestStreams:
    def test_stages_by_hand(self):
        stream = StreamSpec.parse("mnist,soft-faces*20,mnist", steps=5)
        mnist, faces = WorldSpec("mnist"), WorldSpec("faces", soft=True)
        assert stream.entries == ((mnist, None), (faces, 20), (mnist, None))
        assert stream.stages == ((mnist, 5), (faces, 20), (mnist, 5))
        assert stream.timeline == Timeline((("mnist", 5), ("soft-faces", 20), ("mnist", 5)))
        assert stream.timeline.switches == (5, 25)
        assert stream.picture_folders == {"faces"}

    def test_absolute_folders(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("HOME", "/home/me")
        found = StreamSpec.parse("mnist,folder:a/../b*5,folder:~/c,folder:/d").with_absolute_folders()
        assert str(found) == f"mnist,folder:{os.getcwd()}/b*5,folder:/home/me/c,folder:/d"
        assert found.with_absolute_folders() == found

    def test_slug(self):
        assert StreamSpec.parse("moving-mnist, folder:/my cats*500").slug == "moving-mnist+folder_my_cats_500"

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("", r"stream '': entry 1 is empty; write names with single commas between"),
            ("mnist, ,fashion", "entry 2 is empty"),
            ("mnist*0", r"stream entry 'mnist\*0': after \* comes a number of steps >= 1, e\.g\. mnist\*500"),
            ("mnist*", "after"),
            ("mnist*-5", "after"),
            ("mnist*5*5", "after"),
            ("folder:a*b", r"'folder:a\*b': after"),
            ("mnist,fasion*5", "'fasion' is unknown; did you mean 'fashion'"),
        ],
    )
    def test_errors_name_value_rule_and_remedy(self, text, words):
        with pytest.raises(ValueError, match=words):
            StreamSpec.parse(text)

    def test_what_cannot_be_written_cannot_be_made(self):
        mnist = WorldSpec("mnist")
        with pytest.raises(ValueError, match="at least one stage"):
            StreamSpec(())
        with pytest.raises(ValueError, match="steps = 0"):
            StreamSpec(((mnist, None),), 0)
        with pytest.raises(ValueError, match="steps = 0"):
            StreamSpec(((mnist, 0),))
        with pytest.raises(ValueError, match=r"'folder:a,b': in a stream .* must not contain , or .*rename the folder"):
            StreamSpec(((WorldSpec("folder", folder="a,b"), None),))


def test_the_grammar_is_light():
    """Nothing heavy is imported, whatever the package `vase` itself imports."""
    code = f"""
import sys, types
sys.modules["vase"] = types.ModuleType("vase")
sys.modules["vase"].__path__ = {list(vase.__path__)!r}
import vase.worlds.spec, vase.worlds.timeline
print(*sorted({{"numpy", "torch", "PIL", "sklearn", "matplotlib"}} & sys.modules.keys()))
print("Schedule" in dir(vase.worlds), vase.worlds.StreamSpec is vase.worlds.spec.StreamSpec)
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "\nTrue True\n"
