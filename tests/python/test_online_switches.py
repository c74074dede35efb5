"""The one switch that a controller turns: whether a queue drops in earnest what it could mark."""

from dataclasses import replace

import pytest

from test_online_model import IN_FORCE, picture, traffic
from test_online_plan import task
from vermilion import load_scenario
from vermilion.online.drive.run import run_online
from vermilion.online.model.senders import SenderModel
from vermilion.online.plan.problem import first_guesses, searched_parameters, searched_values
from vermilion.online.plan.solve import solve
from vermilion.online.policy import Policy
from vermilion.online.router_policy import ManagedLink, policy_for, read_policy
from vermilion.report.queue_figure import parameter_figure
from vermilion.scenario import disciplines

SWITCH = "drop_above_maximum"
KNOBS = ("min_threshold", "max_threshold", "max_probability", "weight")
OFF = IN_FORCE | {SWITCH: False, "ecn": True}
ON = OFF | {SWITCH: True}
CROWD = traffic(flows=64, base_rtts_s=(0.028,) * 64, marked_share=1.0)
FEW = traffic(flows=16, base_rtts_s=(0.028,) * 16, marked_share=1.0)


OBJECTIVE = 'objective = { name = "queue-deviation", link = "bottleneck", target = "30 packets" }'


def that_lists_nothing(*changes):
    """A network that becomes a crowd, whose operator names an objective and no parameters."""
    return load_scenario("varying-load", [f"tuning={{ {OBJECTIVE} }}", *changes])


def by_default():
    return Policy.of_scenario(that_lists_nothing())


def asked(**changes):
    return task(policy=by_default(), **({"in_force": OFF, "original": OFF} | changes))


def test_who_lists_what_may_be_changed_has_nothing_else_changed():
    assert by_default().parameters == KNOBS
    assert by_default().switches == (SWITCH,)
    assert Policy.of_scenario(load_scenario("varying-load")).switches == ()


def test_a_discipline_without_the_switch_has_none_turned():
    scenario = that_lists_nothing("links.bottleneck.queue={ discipline='pie' }")
    assert Policy.of_scenario(scenario).switches == ()


@pytest.mark.parametrize(
    ("text", "settable", "switches", "parameters"),
    [
        ("", (*KNOBS[:3], "weight_log", SWITCH), (SWITCH,), (*KNOBS[:3], "weight_log")),
        ("", (*KNOBS[:3], "weight_log"), (), (*KNOBS[:3], "weight_log")),
        (
            '[tuning]\nparameters = ["max_probability"]',
            ("max_probability", SWITCH),
            (),
            ("max_probability",),
        ),
        (
            f'[tuning]\nparameters = ["max_probability", "{SWITCH}"]',
            ("max_probability", SWITCH),
            (),
            ("max_probability", SWITCH),
        ),
    ],
)
def test_on_a_router_it_is_turned_where_it_can_be_and_nobody_lists_anything(
    text, settable, switches, parameters
):
    table = disciplines()["linux-red"].parameters
    in_force = {name: row.default for name, row in table.items()} | {
        "min_threshold": 15_000,
        "max_threshold": 45_000,
        "weight_log": 9,
    }
    queue = ManagedLink("eth0", "linux-red", in_force, settable)
    found = policy_for(queue, read_policy(text))
    assert (found.switches, found.parameters) == (switches, parameters)


def test_it_is_searched_where_marks_alone_leave_too_long_a_queue():
    """Two packets of each of 64 flows are 93 more than the round trip holds, and 30 are wanted."""
    assert searched_parameters(asked(), CROWD) == (*KNOBS, SWITCH)
    assert searched_parameters(asked(), FEW) == KNOBS
    # Where nothing is marked, it means nothing.
    deaf = OFF | {"ecn": False}
    assert searched_parameters(asked(in_force=deaf, original=deaf), CROWD) == KNOBS


def test_what_was_turned_is_searched_until_it_is_turned_back():
    assert searched_parameters(asked(in_force=ON), FEW) == (*KNOBS, SWITCH)
    # It was on when the controller came: that is the operator's word.
    assert searched_parameters(asked(in_force=ON, original=ON), FEW) == KNOBS


def test_a_search_begins_with_numbers_and_switches_as_they_are():
    known = {"level": 3, "weight": None, SWITCH: True, "mode": "x"}
    found = searched_values(known, known)
    assert found == {"level": 3.0, SWITCH: True}
    assert found[SWITCH] is True


def test_first_guesses_drop_in_earnest_where_that_is_searched():
    guesses = first_guesses("red", (*KNOBS, SWITCH), CROWD, 30.0)
    assert guesses
    assert all(guess[SWITCH] is True for guess in guesses)
    without = first_guesses("red", KNOBS, CROWD, 30.0)
    assert without == [{name: guess[name] for name in KNOBS} for guess in guesses]


@pytest.mark.evidence
def test_an_answer_for_a_crowd_has_the_switch_and_holds_the_queue():
    """By marks alone 64 flows leave 93 packets in the queue or starve; 30 are wanted."""
    crowd = picture(flows=64, base_rtts_s=(0.028,) * 64, marked_share=1.0)
    slope = OFF | {"max_threshold": 90.0, "max_probability": 0.12, "weight": 0.25}
    wanted = asked(picture=crowd, in_force=slope, evaluations=120, comparisons=6)
    answer = solve(wanted).answer
    assert answer.setting[SWITCH] is True
    assert set(answer.setting) == {*KNOBS, SWITCH}
    assert answer.candidate.mean.mean == pytest.approx(30.0, abs=8.0)
    assert answer.incumbent.setting[SWITCH] is False
    # With numbers alone the least harmful is far from it.
    numbers = solve(replace(wanted, policy=replace(wanted.policy, switches=()))).answer
    assert set(numbers.setting) == set(KNOBS)
    assert answer.candidate.value.mean < 0.1 * numbers.candidate.value.mean


def test_an_earlier_answer_without_the_switch_is_begun_with_as_it_stands():
    start = {"min_threshold": 9.0, "max_threshold": 33.0, "max_probability": 0.2, "weight": 0.05}
    crowd = picture(flows=64, base_rtts_s=(0.028,) * 64, marked_share=1.0)
    assert solve(asked(picture=crowd, starts=(start,), evaluations=30)).answer is not None
    # And one that has it where it is not searched is begun with all the same.
    few = asked(starts=(start | {SWITCH: True},), evaluations=30)
    assert SWITCH not in solve(few).answer.setting


@pytest.mark.evidence
def test_a_network_of_marked_flows_is_held_by_turning_it():
    """Sixteen flows become sixty-four, all of Linux and marked: the log and the record say it."""
    scenario = that_lists_nothing(
        "duration=45 s",
        "flows.*.sender={ congestion_control='cubic', option_set='linux', ecn=true }",
    )
    run = run_online(scenario, seed=2, clock="fixed", evaluations=120)
    start = run.decisions[0]
    assert start.reason.endswith(f"; where marks alone cannot, by {SWITCH} as well")
    assert start.details["parameters"] == [*KNOBS, SWITCH]
    said = " ".join(each.reason for each in run.decisions)
    assert "marks alone leave" in said
    assert f"(so {SWITCH} is searched as well)" in said
    assert f"{SWITCH} true" in said
    assert run.parameters == (*KNOBS, SWITCH)
    assert run.settings[0][1][SWITCH] is False
    assert run.settings[-1][1][SWITCH] is True
    late = [
        result.link("bottleneck").phases[-1]["queue_packets"]
        for result in (run.tuned, run.reference)
    ]
    tuned, alone = (queue["sd"] ** 2 + (queue["mean"] - 30.0) ** 2 for queue in late)
    assert tuned < 0.5 * alone


def test_who_acknowledges_selectively_and_is_marked_has_no_window_of_the_standards():
    """A mark makes a window of theirs smaller than Linux's least, so it would explain too much."""
    plain, linux = SenderModel("cubic"), SenderModel("cubic", option_set="linux")
    assert linux.may_be(marked=True, selective=True)
    assert not plain.may_be(marked=True, selective=True)
    assert plain.may_be(marked=False, selective=True)
    assert plain.may_be(marked=True, selective=False)
    marked_alone = SenderModel("dctcp", option_set="linux")
    assert marked_alone.may_be(marked=True, selective=True)
    assert not marked_alone.may_be(marked=False, selective=True)


def test_a_switch_is_drawn_as_off_and_on():
    row = disciplines()["red"].parameters[SWITCH]
    drawn = parameter_figure(row, [(0.0, False), (20.0, True)], 60.0, name="switch")
    assert "drop above maximum over time: off at first, on at the end, 1 change." in drawn
