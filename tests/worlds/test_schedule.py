import json

import numpy as np
import pytest

from vase.worlds import Schedule, Stage, from_array, make_world
from vase.worlds.timeline import Timeline


def make(text="moving-digits*3,glyphs*2,moving-digits*4", **options):
    return Schedule.parse(text, batch_size=8, **options)


def same(a, b):
    np.testing.assert_array_equal(a.images, b.images)
    assert a.factors.keys() == b.factors.keys()
    for key in a.factors:
        np.testing.assert_array_equal(a.factors[key], b.factors[key])


def test_parse_names_lengths_and_returns():
    schedule = make(" moving-digits , glyphs*2,moving-digits*4", steps=3)
    assert [(stage.world.name, stage.steps) for stage in schedule.stages] == [
        ("moving-digits", 3),
        ("glyphs", 2),
        ("moving-digits", 4),
    ]
    assert schedule.stages[0].world is schedule.stages[2].world
    assert len(schedule) == 9
    assert schedule.switches == (3, 5)
    assert [schedule.stage_of(t) for t in range(9)] == [0, 0, 0, 1, 1, 2, 2, 2, 2]
    assert schedule.image_shape == (1, 32, 32)


def test_a_world_is_identified_by_its_name():
    assert make("digits*2,digits*2,glyphs*2").switches == (4,)
    assert make("mnist*2,digits*2,glyphs*2", fallback=True).switches == (4,)  # digits stand in for mnist
    assert make("glyphs*2,glyphs:20*2,digits*2").switches == (2, 4)  # two names, although a sprite has 20 pixels


def test_two_different_worlds_of_one_name_are_refused():
    black, white = (from_array(np.full((2, 8, 8), value, np.uint8)) for value in (0, 255))
    with pytest.raises(ValueError, match=r"two different worlds are called 'array'.*give each its own name"):
        Schedule([Stage(black, 1), Stage(white, 1)])
    again = Schedule([Stage(black, 1), Stage(from_array(white.images, name="white"), 1), Stage(black, 1)])
    assert again.switches == (1, 2)
    assert Schedule([Stage(make_world("digits"), 1), Stage(make_world("digits"), 1)]).switches == ()


def test_the_timeline_is_that_of_the_worlds():
    schedule = make("mnist*3,glyphs*2", fallback=True)
    assert schedule.timeline == Timeline((("digits", 3), ("glyphs", 2)))


def test_iteration_hands_out_every_batch_once_in_order():
    schedule = make()
    batches = list(schedule)
    assert len(batches) == 9
    for t, batch in enumerate(batches):
        assert len(batch) == 8
        same(batch, make().batch(t))
    assert schedule.step == 9
    assert list(schedule) == []


def test_batch_depends_only_on_seed_and_step():
    same(make().batch(7), make().batch(7))
    other = Schedule([Stage(make_world("moving-digits"), 100)], batch_size=8)
    same(make().batch(1), other.batch(1))  # the same world at the same step of another schedule
    expected = make_world("moving-digits").sample(8, np.random.default_rng([0, 1]))
    same(make().batch(1), expected)
    assert (make().batch(0).images != make().batch(1).images).any()
    assert (make().batch(1).images != make(seed=1).batch(1).images).any()


@pytest.mark.parametrize("pause", range(10))
def test_resume_is_exact_wherever_it_was_interrupted(pause):
    first = make(seed=5)
    for _ in range(pause):
        next(first)
    state = json.loads(json.dumps(first.state_dict()))
    second = make(seed=5)
    second.load_state_dict(state)
    assert second.step == pause
    rest, again = list(first), list(second)
    assert len(rest) == len(again) == 9 - pause
    for a, b in zip(rest, again, strict=True):
        same(a, b)


def test_breaking_out_of_a_loop_continues_where_it_stopped():
    schedule = make()
    for _ in schedule:
        if schedule.step == 4:
            break
    same(next(schedule), make().batch(4))


@pytest.mark.parametrize(
    ("other", "word"),
    [
        ({"seed": 1}, "seed"),
        ({"text": "moving-digits*3,glyphs*2,digits*4"}, "worlds"),
        ({"sprite": 16}, "worlds"),
        ({"canvas": 40}, "image_shape"),
    ],
)
def test_the_state_of_another_schedule_is_refused(other, word):
    schedule = make(**other)
    with pytest.raises(ValueError, match=f"saved schedule has {word}"):
        schedule.load_state_dict(make().state_dict())
    assert schedule.step == 0


def test_stages_to_come_may_change_their_length_and_past_ones_may_not():
    state = {**make("moving-digits*3,glyphs*2,moving-digits*4").state_dict(), "step": 4}
    longer = make("moving-digits*3,glyphs*7,moving-digits*9")
    longer.load_state_dict(state)
    assert longer.step == 4
    with pytest.raises(ValueError, match="they differ before step 4; build a schedule with the same past"):
        make("moving-digits*4,glyphs*2,moving-digits*4").load_state_dict(state)
    with pytest.raises(ValueError, match="differ before step 5"):  # where glyphs ended in one of them only
        longer.load_state_dict({**state, "step": 5})


@pytest.mark.parametrize("step", [-1, 10, None, 1.5, "3"])
def test_a_damaged_state_is_refused(step):
    schedule = make()
    with pytest.raises((ValueError, TypeError), match="saved step"):
        schedule.load_state_dict({**schedule.state_dict(), "step": step})
    with pytest.raises(ValueError, match="seed"):
        schedule.load_state_dict({})
    assert schedule.step == 0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "entry 1 is empty"),
        ("digits,,glyphs", "entry 2 is empty"),
        ("digits,", "entry 2 is empty"),
        ("digits*0", "steps >= 1"),
        ("digits*-4", "steps >= 1"),
        ("digits*many", "steps >= 1"),
        ("digits*", "steps >= 1"),
        ("*500", "unknown"),
        ("digits,movin-glyphs*5", "did you mean 'moving-glyphs'"),
        ("digits glyphs", "unknown"),
    ],
)
def test_parse_errors_name_the_entry(text, words):
    with pytest.raises(ValueError, match=words):
        make(text)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"steps": 0}, "steps = 0"),
        ({"steps": -1}, "steps = -1"),
        ({"seed": -1}, "seed = -1"),
        ({"sprite": 99}, "canvas = 32 is"),
    ],
)
def test_bad_values_are_named(options, words):
    with pytest.raises(ValueError, match=words):
        make("digits", **options)


def test_constructor_errors():
    digits = make_world("digits")
    with pytest.raises(ValueError, match="at least one stage"):
        Schedule(())
    with pytest.raises(ValueError, match="batch_size = 0"):
        Schedule([Stage(digits, 1)], batch_size=0)
    with pytest.raises(ValueError, match="steps = 0"):
        Stage(digits, 0)
    with pytest.raises(TypeError, match=r"steps = 2\.5"):
        Stage(digits, 2.5)
    with pytest.raises(TypeError, match="lacks name, image_shape or sample"):
        Stage("digits", 5)
    with pytest.raises(ValueError, match="image shapes differ"):
        Schedule([Stage(digits, 1), Stage(from_array(np.zeros((2, 8, 8), np.uint8)), 1)])
    for t in (-1, 9):
        with pytest.raises(IndexError, match=rf"t = {t}: this schedule has batches 0\.\.8"):
            make().batch(t)


def test_twelve_worlds_of_your_own_and_of_names():
    sizes = ",".join(
        f"{m}{i}{d}:{s}*2"
        for d in ("digits", "glyphs")
        for s in (12, 20)
        for m, i in (("", ""), ("moving-", ""), ("", "inverse-"))
    )
    schedule = make(sizes)
    assert (len(schedule.stages), len(schedule.switches)) == (12, 11)
    assert len(list(schedule)) == 24
    mixed = Schedule(
        [Stage(make_world("digits"), 2), Stage(from_array(np.zeros((2, 32, 32), np.uint8)), 2)], batch_size=3
    )
    assert [batch.images.max() > 0 for batch in mixed] == [True, True, False, False]


def test_repr_shows_where_it_is():
    schedule = make("digits*2")
    next(schedule)
    assert repr(schedule) == "Schedule('digits*2', batch_size=8, seed=0, step=1)"
