"""The box of a scenario's parameters comes from the parameter tables."""

import pytest

from vermilion import ScenarioError, load_scenario
from vermilion.online.policy import Policy
from vermilion.scenario import scenario_from_document
from vermilion.search import Space
from vermilion.search.space import searchable

QUEUE = "links.bottleneck.queue"


@pytest.fixture(scope="module")
def scenario():
    return load_scenario("varying-load")


def box(space):
    return {
        dimension.name.removeprefix(f"{QUEUE}."): (dimension.lower, dimension.upper, dimension.log)
        for dimension in space.dimensions
    }


def test_the_scenario_s_own_parameters_have_the_boxes_of_their_table(scenario):
    space = Space.from_scenario(scenario)
    assert space.names == scenario.tuning.parameters
    for dimension in space.dimensions:
        parameter = scenario.parameter(dimension.name)
        assert (dimension.lower, dimension.upper) == parameter.search
        assert dimension.log == (parameter.scale == "log")


def test_a_switch_that_is_named_is_searched_off_and_on(scenario):
    names = (f"{QUEUE}.gentle", f"{QUEUE}.weight")
    space = Space.from_scenario(scenario, names)
    switch = space.dimensions[0]
    assert (switch.switch, switch.lower, switch.upper) == (True, 0.0, 1.0)
    assert [space.values((x, 0.5))[names[0]] for x in (0.0, 0.49, 0.51, 1.0)] == [
        False,
        False,
        True,
        True,
    ]
    for on in (False, True):
        values = {names[0]: on, names[1]: 0.002}
        assert space.values(space.point(values))[names[0]] is on
        lowered = scenario.with_values(values).core()
        assert lowered.text_with(values) == lowered.to_json()


def test_a_switch_has_no_ends(scenario):
    given = {f"{QUEUE}.gentle": [0.0, 1.0]}
    document = dict(scenario.document)
    document["tuning"] = {**document["tuning"], "parameters": [f"{QUEUE}.gentle"], "space": given}
    with pytest.raises(ScenarioError, match="a switch has none"):
        scenario_from_document(document)


def test_thresholds_stay_in_order_whatever_the_point(scenario):
    space = Space.from_scenario(scenario)
    for k in range(81):
        point = tuple((k // 3**axis % 3) / 2 for axis in range(4))
        values = space.values(point)
        assert values[f"{QUEUE}.min_threshold"] < values[f"{QUEUE}.max_threshold"]
        assert scenario.with_values(values).get(f"{QUEUE}.weight") == pytest.approx(
            values[f"{QUEUE}.weight"]
        )


def test_a_parameter_that_stays_limits_its_partner(scenario):
    lower_alone = Space.from_scenario(scenario, [f"{QUEUE}.min_threshold"])
    assert lower_alone.values((1.0,))[f"{QUEUE}.min_threshold"] < 45.0
    upper_alone = Space.from_scenario(scenario, [f"{QUEUE}.max_threshold"])
    assert upper_alone.values((0.0,))[f"{QUEUE}.max_threshold"] > 15.0


def controlled(**values):
    """A network whose queue a PI controller holds."""
    queue = {"discipline": "pi", **values}
    link = {"rate": "10 Mbit/s", "delay": "5 ms", "queue": queue}
    flows = {"all": {"path": ["bottleneck"], "rtt": "40 ms", "sender": "cubic", "count": 4}}
    return scenario_from_document(
        {"title": "PI", "duration": "10 s", "links": {"bottleneck": link}, "flows": flows}
    )


A, B = f"{QUEUE}.a", f"{QUEUE}.b"


def test_a_controller_falls_where_the_queue_is_short_whatever_the_point():
    # Hollot et al.: (a - b) / a is the time between samples by the controller's, 0.0033 there.
    space = Space.from_scenario(controlled(), (A, B))
    ends = (0.0, 0.3, 0.99, 1.0)
    for values in (space.values((x, y)) for x in ends for y in ends):
        assert 1e-6 <= values[B] < values[A] <= 1e-2
        assert controlled().with_values(values).get(A) == pytest.approx(values[A])
    papers = {A: 1.822e-5, B: 1.816e-5}
    assert space.values(space.point(papers)) == pytest.approx(papers, rel=1e-12)


def test_one_gain_alone_stays_on_its_side_of_the_other_and_near_it_too():
    first, second = (Space.from_scenario(controlled(), [path]) for path in (A, B))
    assert 1.816e-5 < first.values((0.0,))[A] < 1.822e-5
    assert 1.816e-5 < second.values((1.0,))[B] < 1.822e-5
    assert (first.values((1.0,))[A], second.values((0.0,))[B]) == pytest.approx((1e-2, 1e-6))


@pytest.mark.parametrize(("a", "b"), [(1e-5, 1e-5), (1e-5, 1e-4), (0, 0)])
def test_a_controller_that_rises_where_the_queue_is_short_is_refused(a, b):
    with pytest.raises(ScenarioError, match="above b, which is"):
        controlled(a=a, b=b)


def test_boxes_can_be_given(scenario):
    boxes = {f"{QUEUE}.weight": (0.001, 0.5), f"{QUEUE}.limit": (50.0, 200.0)}
    space = Space.from_scenario(scenario, boxes, boxes)
    assert box(space) == {"weight": (0.001, 0.5, True), "limit": (50.0, 200.0, False)}
    assert space.values((0.0, 0.5003))[f"{QUEUE}.limit"] == 125


def test_the_scenario_can_give_boxes():
    scenario = load_scenario("varying-load", [f"tuning.space.{QUEUE}.weight=[0.001, 0.01]"])
    assert box(Space.from_scenario(scenario))["weight"] == (0.001, 0.01, True)


@pytest.mark.parametrize(
    ("paths", "boxes", "field", "expected"),
    [
        ([], {}, "tuning.parameters", "at least one dimension"),
        ([f"{QUEUE}.wait"], {}, "path", "wait"),
        (
            [f"{QUEUE}.limit"],
            {},
            "tuning.parameters",
            (
                "with a box to search; give it one, with units: "
                f'[tuning.space] "{QUEUE}.limit" = [LOWEST, HIGHEST]'
            ),
        ),
        (
            ["flows.early.sender.loss_window"],
            {},
            "tuning.parameters",
            "a parameter that is a number or a switch",
        ),
        (["links.bottleneck.rate"], {}, "path", "links.bottleneck.rate"),
        ([f"{QUEUE}.weight"] * 2, {}, "tuning.parameters", "each name only once"),
        ([f"{QUEUE}.weight"], {f"{QUEUE}.weight": (0.1, 0.1)}, "tuning.parameters", "0.1 .. 0.1"),
        (
            [f"{QUEUE}.min_threshold"],
            {f"{QUEUE}.min_threshold": (60.0, 70.0)},
            "tuning.parameters",
            "min_threshold: the box 60 .. 44.9",
        ),
    ],
)
def test_what_cannot_be_searched_is_refused(scenario, paths, boxes, field, expected):
    with pytest.raises(ScenarioError) as refused:
        Space.from_scenario(scenario, paths, boxes)
    assert refused.value.field == field
    assert expected in str(refused.value)


def without_parameters(objective, **tuning):
    """A network of two queues that says what is wanted and not by what."""
    queues = {"uplink": {"discipline": "codel"}, "wan": {"discipline": "pie"}}
    links = {
        name: {"rate": "10 Mbit/s", "delay": "5 ms", "queue": queue}
        for name, queue in queues.items()
    }
    flows = {"all": {"path": ["uplink", "wan"], "rtt": "40 ms", "sender": "cubic", "count": 4}}
    return scenario_from_document(
        {
            "title": "two queues",
            "duration": "10 s",
            "links": links,
            "flows": flows,
            "tuning": {"objective": objective, **tuning},
        }
    )


def test_without_parameters_what_is_worth_a_search_at_the_objective_s_link_is_searched():
    space = Space.from_scenario(without_parameters("minimise links.wan.sojourn_ms.p95"))
    assert space.names == searchable(without_parameters("minimise links.wan.drop_rate"), "wan")
    of_uplink = without_parameters({"name": "drop-rate", "link": "uplink"})
    assert Space.from_scenario(of_uplink).names == searchable(of_uplink, "uplink")


def test_where_nothing_is_worth_a_search_that_is_said():
    scenario = without_parameters("minimise links.wan.drop_rate").with_values(
        {"links.wan.queue": {"discipline": "drop-tail"}}
    )
    with pytest.raises(ScenarioError, match="no parameter of drop-tail has a box"):
        Space.from_scenario(scenario)


def test_without_parameters_a_box_adds_its_parameter():
    path = "links.wan.queue.interval"
    scenario = without_parameters(
        "minimise links.wan.sojourn_ms.p95", space={path: ["5 ms", "50 ms"]}
    )
    assert path in Space.from_scenario(scenario).names
    assert "interval" in Policy.of_scenario(scenario).parameters


def test_a_list_of_no_parameters_is_refused():
    with pytest.raises(ScenarioError) as refused:
        without_parameters("minimise links.wan.drop_rate", parameters=[])
    assert "tuning.parameters" in str(refused.value)
    assert "at least one path" in str(refused.value)


def named(discipline, **flows):
    """What is searched of a discipline where nobody says what."""
    stated = without_parameters("minimise links.wan.sojourn_ms.p95").document
    groups = {**stated["flows"], **{name: {**stated["flows"]["all"], **more}
                                    for name, more in flows.items()}}  # fmt: skip
    links = {**stated["links"], "wan": {**stated["links"]["wan"], "queue": discipline}}
    space = Space.from_scenario(scenario_from_document({**stated, "links": links, "flows": groups}))
    return [name.removeprefix("links.wan.queue.") for name in space.names]


@pytest.mark.parametrize(
    ("measure", "searched"),
    [
        (None, "threshold"),
        ("packets", "threshold"),
        ("bytes", "threshold_bytes"),
        ("delay", "threshold_delay"),
    ],
)
def test_of_three_thresholds_only_the_one_that_is_read_is_searched(measure, searched):
    chosen = {} if measure is None else {"measure": measure}
    assert named({"discipline": "step", **chosen}) == [searched]


def test_thresholds_for_a_colour_are_searched_where_a_flow_has_it():
    kinds = ["min_threshold", "max_threshold", "max_probability"]
    green, yellow = ([f"{colour}_{kind}" for kind in kinds] for colour in ("green", "yellow"))
    assert named({"discipline": "wred"}) == ["weight", *green]
    assert named({"discipline": "wred"}, more={"colour": "yellow"}) == ["weight", *green, *yellow]
