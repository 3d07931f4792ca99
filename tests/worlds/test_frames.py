import io
import math
import subprocess
import sys
import types

import numpy as np
import pytest
from PIL import Image

from vase.training.plan import make_plan
from vase.training.settings import RunSettings
from vase.training.trainer import train
from vase.worlds import DataUnavailable, Schedule, frame_world, lab_frames, make_world
from vase.worlds.rooms import render, scenes
from vase.worlds.rooms.scenes import Scene, Thing
from vase.worlds.sources import fetch, status

COUNTS = {"train": 7, "test": 4}


def rng():
    return np.random.default_rng(0)


class Painter:
    """Instead of MiniWorld: frames of one colour, made of the room's size; only the nearest ball is seen."""

    def __init__(self, world, stop_after=None):
        self.blue = {"outdoors": 200, "indoors": 100}[world]
        self.left = stop_after
        self.drawn = 0

    def draw(self, scene):
        if self.drawn == self.left:
            raise KeyboardInterrupt
        self.drawn += 1
        frame = np.full((64, 64, 3), (int(20 * scene.side), int(250 * scene.x / scene.side), self.blue), np.uint8)
        return frame, [True, False][: len(scene.balls)]


@pytest.fixture
def painted(monkeypatch):
    """Worlds of few frames, painted; the list tells who painted."""
    painters = []

    def opened(world, scene):
        painters.append(Painter(world))
        return painters[-1]

    monkeypatch.setattr(render, "COUNTS", COUNTS)
    monkeypatch.setattr(render, "PART", 3)
    monkeypatch.setattr(render, "open_stage", opened)
    return painters


class TestLabFrames:
    """84 pixels become 64: one new pixel is 21/16 old ones wide, so weights are multiples of 1/21."""

    def test_the_right_most_27_columns_are_dropped(self):
        frames = np.zeros((2, 84, 111, 3), np.uint8)
        frames[:, :, 84:] = 255
        frames[1, :, 83] = (210, 105, 21)
        small = lab_frames(frames)
        assert small.shape == (2, 64, 64, 3)
        assert small[0].max() == 0
        assert small[1, :, :63].max() == 0
        # the last new column spans 82.6875..84: 5/16 of column 82 and all of column 83
        assert small[1, 30, 63].tolist() == [160, 80, 16]

    def test_areas_of_one_pixel(self):
        frames = np.zeros((1, 84, 111, 3), np.uint8)
        frames[0, 4, 1] = 245
        # rows: 3.9375..5.25 holds all of row 4, weight 16/21; columns: 5/21 in the first, 11/21 in the second
        expected = np.zeros((64, 64))
        expected[3, 0] = round(245 * 16 * 5 / 441)
        expected[3, 1] = round(245 * 16 * 11 / 441)
        np.testing.assert_array_equal(lab_frames(frames)[0, :, :, 2], expected)

    def test_a_pixel_that_two_new_rows_share(self):
        frames = np.zeros((1, 84, 111, 3), np.uint8)
        frames[0, 3, :, 0] = 210
        # row 3: 15/16 of it end the third new row, 1/16 begins the fourth
        assert lab_frames(frames)[0, 1:5, 9, 0].tolist() == [0, 150, 10, 0]

    def test_channels_first_floats_and_many_chunks(self, monkeypatch):
        frames = rng().integers(0, 256, (5, 84, 111, 3)).astype(np.uint8)
        usual = lab_frames(frames)
        monkeypatch.setattr("vase.worlds.frames._CHUNK", 2)
        np.testing.assert_array_equal(lab_frames(np.moveaxis(frames, 3, 1)), usual)
        np.testing.assert_array_equal(lab_frames(frames / 255), usual)

    def test_square_frames_need_no_crop(self):
        frames = np.zeros((1, 128, 128, 3), np.uint8)
        frames[0, 1, 1] = 200
        assert lab_frames(frames)[0, 0, 0].tolist() == [50, 50, 50]

    @pytest.mark.parametrize(
        ("shape", "words"),
        [
            ((2, 111, 84, 3), "111 high and 84 wide, must be 84 high and 111 wide, or square"),
            ((2, 84, 111), r"shape \(2, 84, 111\)"),
            ((2, 84, 111, 4), r"shape \(2, 84, 111, 4\)"),
            ((0, 84, 111, 3), r"shape \(0, 84"),
        ],
    )
    def test_other_shapes_are_refused(self, shape, words):
        with pytest.raises(ValueError, match=words):
            lab_frames(np.zeros(shape, np.uint8))


class TestOwnFrames:
    def test_an_array_of_both_splits(self, tmp_path):
        frames = np.repeat(np.arange(10, dtype=np.uint8), 84 * 111 * 3).reshape(10, 84, 111, 3)
        np.save(tmp_path / "outdoors.npy", frames)
        np.savez(tmp_path / "outdoors.npz", heading=np.arange(10) / 10)
        train_world, test_world = (
            make_world("outdoors", canvas=64, frames=tmp_path, split=split) for split in ("train", "test")
        )
        assert train_world.frames[:, 5, 5, 1].tolist() == [0, 1, 2, 3, 5, 6, 7, 8]
        assert test_world.frames[:, 5, 5, 1].tolist() == [4, 9]
        assert test_world.factors["heading"].tolist() == [0.4, 0.9]
        batch = train_world.sample(20, rng())
        assert (batch.images.shape, train_world.image_shape) == ((20, 3, 64, 64), (3, 64, 64))
        np.testing.assert_allclose(batch.images[:, 0, 0, 0] / 10, batch.factors["heading"])

    def test_an_array_for_each_split(self, tmp_path):
        (tmp_path / "indoors").mkdir()
        for split, value in (("train", 7), ("test", 9)):
            np.save(tmp_path / "indoors" / f"{split}.npy", np.full((3, 3, 84, 111), value, np.uint8))
            world = make_world("indoors", frames=tmp_path, split=split)
            np.testing.assert_array_equal(world.frames, np.full((3, 32, 32, 3), value))
        (tmp_path / "indoors" / "test.npy").unlink()
        with pytest.raises(FileNotFoundError, match="no test frames of the world 'indoors'"):
            make_world("indoors", frames=tmp_path, split="test")

    def test_pictures(self, tmp_path):
        (tmp_path / "outdoors").mkdir()
        for i in range(5):
            picture = Image.new("RGB", (111, 84), (10 * i, 0, 3))
            picture.paste((255, 255, 255), (84, 0, 111, 84))
            picture.save(tmp_path / "outdoors" / f"{i}.png")
        world = make_world("outdoors", canvas=64, frames=tmp_path)
        assert (world.frames.shape, world.frames[..., 0].max(), world.frames[..., 2].max()) == ((4, 64, 64, 3), 30, 3)
        Image.new("RGB", (84, 111)).save(tmp_path / "outdoors" / "odd.png")
        with pytest.raises(ValueError, match=r"odd\.png: 111 high and 84 wide"):
            make_world("outdoors", frames=tmp_path, split="train")

    def test_yes_and_no_are_classes(self, tmp_path):
        np.save(tmp_path / "indoors.npy", np.zeros((6, 84, 84, 3), np.uint8))
        np.savez(tmp_path / "indoors.npz", seen=np.array([True, False] * 3))
        assert make_world("indoors", frames=tmp_path).factors["seen"].tolist() == [
            1,
            0,
            1,
            0,
            0,
        ]  # no fifth

    def test_what_is_wrong_is_named(self, tmp_path):
        with pytest.raises(FileNotFoundError, match=r"has no train frames of the world 'indoors'; put indoors\.npy"):
            make_world("indoors", frames=tmp_path)
        np.save(tmp_path / "indoors.npy", np.zeros((6, 84, 111, 3), np.uint8))
        np.savez(tmp_path / "indoors.npz", heading=np.zeros(5))
        with pytest.raises(ValueError, match=r"'heading' has dtype float64 and shape \(5,\), must be \(6,\)"):
            make_world("indoors", frames=tmp_path)
        np.savez(tmp_path / "indoors.npz", heading=np.array(["north"] * 6))
        with pytest.raises(ValueError, match=r"'heading' has dtype <U5"):
            make_world("indoors", frames=tmp_path)
        (tmp_path / "indoors.npz").write_bytes(b"PK not an archive")
        with pytest.raises(ValueError, match=r"indoors\.npy cannot be read"):
            make_world("indoors", frames=tmp_path)
        (tmp_path / "indoors.npy").write_bytes(b"not an array")
        with pytest.raises(ValueError, match=r"indoors\.npy cannot be read"):
            make_world("indoors", frames=tmp_path)

    def test_a_learner_trains_on_two_of_them(self, tmp_path):
        for world, value in (("outdoors", 40), ("indoors", 200)):
            np.save(tmp_path / f"{world}.npy", np.full((10, 84, 111, 3), value, np.uint8))
        settings = RunSettings.of(
            "smoke",
            stream="outdoors,indoors",
            steps=2,
            batch_size=4,
            probe_every=2,
            canvas=64,
            frames=str(tmp_path),
            overrides={"network.likelihood": "gaussian", "network.channels": "4,4,4,4", "network.hidden": "8"},
        )
        assert make_plan(settings).config.image_shape == (3, 64, 64)
        found = train(tmp_path / "run", settings)
        assert [stage["world"] for stage in found["stages"]] == ["outdoors", "indoors"]


class TestScenes:
    def scene(self, **changes):
        balls = (Thing(7.0, 3.0, 0.0, 2), Thing(5.0, 9.0, 0.0, 1))
        values = {"side": 9.0, "x": 5.0, "z": 5.0, "heading": 0.0, "pitch": 0.0, "balls": balls, "props": ()}
        return Scene(**{**values, **changes})

    @pytest.mark.parametrize(
        ("heading", "distance"),
        [(0, 8), (math.pi / 2, 3), (math.pi, 2), (1.5 * math.pi, 7), (math.pi / 4, 3 * math.sqrt(2))],
    )
    def test_distance_to_the_wall_ahead(self, heading, distance):
        assert scenes.distance_to_wall(10, 2, 3, heading) == pytest.approx(distance)

    def test_bearings_grow_to_the_right(self):
        south = Thing(5.0, 7.0, 0.0, 0)
        assert scenes.bearing(self.scene(), south) == pytest.approx(math.pi / 2)
        assert scenes.bearing(self.scene(heading=math.pi), south) == pytest.approx(-math.pi / 2)
        assert scenes.bearing(self.scene(heading=1.5 * math.pi), south) == pytest.approx(0)

    def test_horizon(self):
        assert scenes.horizon(0) == 0.5
        assert scenes.horizon(scenes.FIELD / 2) == pytest.approx(1)
        assert scenes.horizon(-scenes.FIELD / 2) == pytest.approx(0)

    def test_factors_by_hand(self):
        found = scenes.factors(self.scene(heading=math.pi / 2), [True, True])
        diagonal = 12 * math.sqrt(2)
        expected = {
            "heading_sin": 1.0,
            "heading_cos": 0.5,
            "wall_distance": 5 / diagonal,
            "horizon": 0.5,
            "ball_visible": 1,
            "ball_colour": 2,
            "ball_bearing": 0.5 + 1 / 8,  # north-east for one who looks north
            "ball_distance": 2 * math.sqrt(2) / diagonal,
            "room_size": 0.5,
            "x": 5 / 9,
            "z": 5 / 9,
        }
        assert found == pytest.approx(expected)

    def test_the_nearest_visible_ball_counts_and_without_one_the_nearest(self):
        hidden, none = (scenes.factors(self.scene(), seen) for seen in ([False, True], [False, False]))
        assert (hidden["ball_visible"], hidden["ball_colour"], hidden["ball_bearing"]) == (1, 1, 0.75)
        assert (none["ball_visible"], none["ball_colour"]) == (0, 2)

    def test_scenes_keep_the_rules_and_fill_the_ranges(self):
        made = [scenes.make_scene(0, "train", i) for i in range(300)]
        values = [scenes.factors(scene, [False] * len(scene.balls)) for scene in made]
        for scene in made:
            assert scenes.distance_to_wall(scene.side, scene.x, scene.z, scene.heading) >= scenes.NEAR
            for ball in scene.balls:
                assert min(ball.x, ball.z) >= 0.5
                assert max(ball.x, ball.z) <= scene.side - 0.5
            distances = [math.hypot(ball.x - scene.x, ball.z - scene.z) for ball in scene.balls]
            assert distances == sorted(distances)
            assert distances[0] >= 1.5
            assert len({ball.kind for ball in scene.balls}) == len(scene.balls)
        for name in values[0]:
            column = np.array([value[name] for value in values])
            assert column.min() >= 0
            assert column.max() <= (3 if name == "ball_colour" else 1)
        for name in ("heading_sin", "heading_cos", "room_size"):
            assert np.ptp([value[name] for value in values]) > 0.95
        ahead = [any(abs(scenes.bearing(s, ball)) < scenes.FIELD / 2 for ball in s.balls) for s in made]
        assert 0.75 < np.mean(ahead) < 0.95

    def test_a_scene_depends_on_seed_split_and_index(self):
        first = scenes.make_scene(0, "train", 5)
        assert first == scenes.make_scene(0, "train", 5)
        others = [scenes.make_scene(1, "train", 5), scenes.make_scene(0, "test", 5), scenes.make_scene(0, "train", 6)]
        assert len({first.side, *(other.side for other in others)}) == 4


class TestRendered:
    def test_two_worlds_show_the_same_scenes(self, painted):
        worlds = [make_world(name, canvas=64) for name in ("outdoors", "indoors")]
        batches = [world.take(np.array([6, 0])) for world in worlds]
        assert worlds[0].image_shape == (3, 64, 64)
        assert len(worlds[0]) == 7
        assert [batch.images[:, 2, 9, 9].tolist() for batch in batches] == [[200, 200], [100, 100]]
        np.testing.assert_array_equal(batches[0].images[:, :2], batches[1].images[:, :2])
        for name, values in batches[0].factors.items():
            np.testing.assert_array_equal(values, batches[1].factors[name])
        assert batches[0].factors["x"][1] == pytest.approx(batches[0].images[1, 1, 0, 0] / 250, abs=0.005)
        assert batches[0].factors["ball_visible"].tolist() == [1, 1]
        assert batches[0].factors["ball_colour"].dtype.kind == "i"

    def test_frames_are_drawn_once_and_splits_differ(self, painted):
        first = make_world("outdoors", canvas=64)
        again, test = make_world("outdoors", canvas=64), make_world("outdoors", canvas=64, split="test")
        assert [painter.drawn for painter in painted] == [7, 4]
        np.testing.assert_array_equal(first.frames, again.frames)
        assert not np.isin(test.factors["room_size"], first.factors["room_size"]).any()

    def test_an_interrupted_rendering_goes_on(self, painted, monkeypatch):
        whole = render.rendered("indoors", "train", seed=0)
        stopped = Painter("indoors", stop_after=5)
        usual = render.open_stage
        monkeypatch.setattr(render, "VERSION", "other")
        monkeypatch.setattr(render, "open_stage", lambda world, scene: stopped)
        with pytest.raises(KeyboardInterrupt):
            render.rendered("indoors", "train")
        assert not render.is_rendered("indoors", "train")
        monkeypatch.setattr(render, "open_stage", usual)
        found = render.rendered("indoors", "train")
        assert painted[-1].drawn == 4  # 3 of 7 were kept
        np.testing.assert_array_equal(found.images, whole.images)
        for name, values in found.factors.items():
            np.testing.assert_array_equal(values, whole.factors[name])
        names = sorted(path.name for path in render.where("indoors", "train").parent.iterdir())
        assert [name for name in names if "vother" in name] == ["train-7-seed0-vother.npy", "train-7-seed0-vother.npz"]

    def test_another_canvas_takes_area_averages(self, painted):
        world = make_world("outdoors", canvas=32)
        assert world.image_shape == (3, 32, 32)
        np.testing.assert_array_equal(world.frames[:, 0, 0], make_world("outdoors", canvas=64).frames[:, 0, 0])

    def test_fetch_and_list(self, painted, capsys):
        assert {row.state for row in status() if row.name in ("outdoors", "indoors")} == {"missing"}
        lines = []
        fetch(["outdoors", "indoors"], report=lines.append)
        assert lines[0].startswith("outdoors train: rendered 3 of 7 frames, ")
        assert lines[0].endswith(" s left")
        assert lines[-1] == "indoors: rendered, 7 frames to learn from and 4 held out"
        assert {row.state for row in status() if row.name in ("outdoors", "indoors")} == {"rendered"}
        with pytest.raises(ValueError, match="did you mean 'outdoors'"):
            fetch(["outdoor"])

    def test_a_stream_of_them(self, painted):
        schedule = Schedule.parse("outdoors,indoors,outdoors", 2, batch_size=3, canvas=64)
        assert (schedule.image_shape, schedule.switches) == ((3, 64, 64), (2, 4))
        assert [batch.images[0, 2, 0, 0].item() for batch in schedule] == [200, 200, 100, 100, 200, 200]

    def test_unknown_worlds_are_refused(self):
        with pytest.raises(ValueError, match="known: outdoors, indoors"):
            frame_world("underground")
        with pytest.raises(ValueError, match="did you mean 'outdoors'"):
            make_world("outdors")

    def test_a_damaged_file_is_named(self, painted):
        render.rendered("outdoors", "train")
        path = render.where("outdoors", "train")
        path.write_bytes(path.read_bytes()[:2000])
        with pytest.raises(DataUnavailable, match=r"v1\.npy cannot be read .*delete it"):
            make_world("outdoors")

    def test_a_cache_that_cannot_be_written(self, painted, tmp_path, monkeypatch):
        (tmp_path / "file").write_text("")
        monkeypatch.setenv("VASE_DATA", str(tmp_path / "file"))
        with pytest.raises(DataUnavailable, match=r"cannot be written .*VASE_DATA"):
            make_world("outdoors")


class TestMissingParts:
    def test_the_library_does_not_ask_for_the_renderer(self):
        code = "import sys, vase.worlds.frames; assert not {'miniworld', 'pyglet', 'gymnasium'} & set(sys.modules)"
        subprocess.run([sys.executable, "-c", code], check=True)

    def test_no_package(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "pyglet", None)
        with pytest.raises(DataUnavailable, match=r"'pyglet' is not installed: pip install miniworld==2"):
            make_world("outdoors", canvas=64)

    def test_no_library(self, monkeypatch):
        def broken(look, scene):
            raise ImportError('Library "EGL" not found.')

        monkeypatch.setitem(sys.modules, "pyglet", types.SimpleNamespace(options={}))
        stage = types.SimpleNamespace(LOOKS={"outdoors": None}, Stage=broken)
        monkeypatch.setitem(sys.modules, "vase.worlds.rooms.stage", stage)
        with pytest.raises(DataUnavailable, match=r'\(Library "EGL" not found\.\): apt-get install libegl1 ') as found:
            make_world("outdoors", canvas=64)
        assert "\n" not in str(found.value)

    def test_fetch_names_every_failure(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "pyglet", None)
        with pytest.raises(DataUnavailable) as found:
            fetch(["indoors", "outdoors"], report=io.StringIO().write)
        assert len(str(found.value).splitlines()) == 2
