"""The box that is searched: scales, whole numbers, ordered pairs, and the way back."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vermilion.search import CountedFromBelow
from vermilion.search.space import GAP, Dimension, Space

coordinates = st.floats(0.0, 1.0, allow_subnormal=False)

DIMENSIONS = [
    Dimension("weight", 1e-4, 1e-1, log=True),
    Dimension("max_threshold", 6.0, 100.0, above="min_threshold", gap=0.94),
    Dimension("min_threshold", 1.0, 50.0),
    Dimension("limit", 10, 20, integer=True),
]
RED, FROM_BELOW = Space(DIMENSIONS), CountedFromBelow(DIMENSIONS)
both_ways = pytest.mark.parametrize("red", [RED, FROM_BELOW], ids=["from above", "from below"])
either_way = pytest.mark.parametrize("kind", [Space, CountedFromBelow])


def test_a_linear_scale_is_walked_evenly():
    dimension = Dimension("x", 10.0, 30.0)
    assert [dimension.value(u) for u in (0.0, 0.25, 1.0)] == [10.0, 15.0, 30.0]


def test_on_a_logarithmic_scale_each_decade_has_an_equal_share():
    dimension = Dimension("x", 1e-4, 1e-1, log=True)
    for coordinate, value in ((0.0, 1e-4), (1 / 3, 1e-3), (2 / 3, 1e-2), (1.0, 1e-1)):
        assert dimension.value(coordinate) == pytest.approx(value)


def test_every_whole_number_has_an_equal_share_the_ends_too():
    dimension = Dimension("x", 1, 4, integer=True)
    values = [dimension.value((k + 0.5) / 4000) for k in range(4000)]
    for whole in (1, 2, 3, 4):
        assert values.count(whole) == pytest.approx(1000, abs=2)


def test_whole_numbers_on_a_logarithmic_scale_stay_within_their_ends():
    dimension = Dimension("x", 1, 1000, log=True, integer=True)
    values = {dimension.value(k / 1000) for k in range(1001)}
    assert min(values) == 1
    assert max(values) == 1000
    assert all(value == int(value) for value in values)


@both_ways
@given(st.tuples(*[coordinates] * 4))
def test_every_point_gives_values_in_the_box_and_in_order(red, point):
    values = red.values(point)
    assert list(values) == ["weight", "max_threshold", "min_threshold", "limit"]
    assert 1e-4 <= values["weight"] <= 1e-1
    assert 1.0 <= values["min_threshold"] <= 50.0
    assert values["min_threshold"] + 0.94 <= values["max_threshold"] <= 100.0
    assert values["max_threshold"] >= 6.0
    assert values["limit"] in range(10, 21)


@both_ways
@given(st.tuples(*[coordinates] * 4))
def test_the_way_back_gives_the_same_values(red, point):
    values = red.values(point)
    assert red.values(red.point(values)) == pytest.approx(values, rel=1e-9)


@both_ways
def test_standard_red_is_a_point_of_the_box(red):
    standard = {"weight": 0.002, "max_threshold": 45.0, "min_threshold": 15.0, "limit": 12.0}
    point = red.point(standard)
    assert all(0.0 < u < 1.0 for u in point)
    assert red.values(point) == pytest.approx(standard)


@both_ways
def test_values_outside_the_box_have_the_nearest_point(red):
    outside = {"weight": 0.9, "max_threshold": 500.0, "min_threshold": 0.0, "limit": 3}
    assert red.point(outside) == (1.0, 1.0, 0.0, pytest.approx(0.5 / 11))


def test_a_pair_in_the_wrong_order_has_the_nearest_ordered_point():
    values = {"weight": 0.002, "max_threshold": 20.0, "min_threshold": 30.0, "limit": 12}
    nearest = RED.values(RED.point(values))
    assert nearest["max_threshold"] == pytest.approx(20.0)
    assert nearest["min_threshold"] == pytest.approx(19.06)
    assert FROM_BELOW.values(FROM_BELOW.point(values))["max_threshold"] == pytest.approx(30.94)


def test_the_first_of_a_pair_leaves_room_for_the_second():
    space = Space(
        [Dimension("low", 0.0, 100.0), Dimension("high", 0.0, 50.0, above="low", gap=5.0)]
    )
    ends = [(dimension.lower, dimension.upper) for dimension in space.dimensions]
    assert ends == [(0.0, 45.0), (5.0, 50.0)]
    assert space.values((1.0, 1.0)) == {"low": 45.0, "high": 50.0}
    assert space.values((0.0, 1.0)) == {"low": 0.0, "high": 50.0}
    assert space.values((1.0, 0.0)) == space.values((0.0, 0.0)) == {"low": 0.0, "high": 5.0}
    below = CountedFromBelow(space.dimensions)
    assert below.values((1.0, 1.0)) == {"low": 45.0, "high": 50.0}
    assert below.values((1.0, 0.0)) == {"low": 45.0, "high": 50.0}
    assert below.values((0.0, 0.0)) == {"low": 0.0, "high": 5.0}


@given(coordinates, coordinates)
def test_the_higher_of_a_pair_is_walked_whatever_the_lower(low, high):
    values = RED.values((0.5, high, low, 0.5))
    assert values["max_threshold"] == pytest.approx(6.0 + high * 94.0)
    room = min(50.0, values["max_threshold"] - 0.94)
    assert values["min_threshold"] == pytest.approx(1.0 + low * (room - 1.0))


def test_every_whole_number_below_the_higher_of_a_pair_has_an_equal_share():
    space = Space(
        [
            Dimension("low", 1, 9, integer=True),
            Dimension("high", 1, 9, integer=True, above="low", gap=1),
        ]
    )
    found = [space.values(((k + 0.5) / 4000, 0.5)) for k in range(4000)]
    assert {values["high"] for values in found} == {6.0}
    for whole in (1, 2, 3, 4, 5):
        assert [values["low"] for values in found].count(whole) == pytest.approx(800, abs=2)


@either_way
def test_whole_numbers_stay_whole_where_the_gap_is_not(kind):
    space = kind(
        [
            Dimension("low", 0, 90, integer=True),
            Dimension("high", 0, 90, integer=True, above="low", gap=1.5),
        ]
    )
    for k in range(21**2):
        values = space.values(((k % 21) / 20, (k // 21) / 20))
        assert all(value == int(value) for value in values.values())
        assert values["low"] + 1.5 <= values["high"] <= 90


@pytest.mark.parametrize("log", [False, True])
@given(low=coordinates, high=coordinates, other=coordinates)
def test_one_parameter_can_be_below_two(log, low, high, other):
    space = Space(
        [
            Dimension("low", 0.1, 7.3, log=log),
            Dimension("high", 0.2, 9.1, log=log, above="low", gap=0.3),
            Dimension("other", 0.05, 3.7, above="low", gap=0.1),
        ]
    )
    values = space.values((low, high, other))
    assert values["low"] >= 0.1
    assert values["low"] + 0.3 <= values["high"] <= 9.1
    assert values["low"] + 0.1 <= values["other"] <= 3.7
    assert space.values(space.point(values)) == pytest.approx(values, rel=1e-9)


def test_a_box_of_boxes_is_the_same_box():
    assert Space(RED.dimensions).dimensions == RED.dimensions


@either_way
def test_three_parameters_can_be_ordered(kind):
    space = kind(
        [
            Dimension("c", 0, 10, integer=True, above="b", gap=1),
            Dimension("b", 0, 10, integer=True, above="a", gap=1),
            Dimension("a", 0, 10, integer=True),
        ]
    )
    for k in range(11**3):
        values = space.values(((k % 11) / 10, (k // 11 % 11) / 10, (k // 121) / 10))
        assert values["a"] < values["b"] < values["c"] <= 10
        assert space.values(space.point(values)) == values


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Dimension("x", 2.0, 1.0), "x: the box 2 .. 1"),
        (lambda: Dimension("x", 1.0, 1.0), "below the upper end"),
        (lambda: Dimension("x", 0.0, math.inf), "finite"),
        (lambda: Dimension("x", math.nan, 1.0), "finite"),
        (lambda: Dimension("x", 0.0, 1.0, log=True), "above 0"),
        (lambda: Space([]), "at least one"),
        (lambda: Space([Dimension("x", 0.0, 1.0)] * 2), "only once"),
        (lambda: Space([Dimension("x", 0.0, 1.0, above="y")]), "not a dimension"),
        (
            lambda: Space(
                [Dimension("x", 0.0, 1.0, above="y"), Dimension("y", 0.0, 1.0, above="x")]
            ),
            "above each other",
        ),
        (
            lambda: Space([Dimension("x", 8.0, 9.0), Dimension("y", 0.0, 8.0, above="x")]),
            "x: the box 8 .. 8",
        ),
        (
            lambda: Space([Dimension("x", 1.0, 9.0), Dimension("y", 0.0, 3.0, above="x", gap=2.0)]),
            "x: the box 1 .. 1",
        ),
    ],
)
def test_a_box_that_is_none_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_the_gap_is_a_hundredth_of_the_range():
    assert GAP == 0.01


def test_the_two_ways_of_counting_are_not_taken_for_each_other():
    assert RED.edition != FROM_BELOW.edition
