"""What is done about a queue that lets nothing through, and how often."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from online_world import FIRST, controller_of
from test_online_transitions_table import OWED, schedule, verifying, watching
from vermilion.online.decide import silence
from vermilion.online.decide.controller import ChangeBudget, Turn
from vermilion.online.decide.states import Applying, Observing, Paused
from vermilion.online.entries import Decision, DecisionKind
from vermilion.online.events import Record
from vermilion.online.sense.link_state import Blackout
from vermilion.routers.linux.change import LinuxValues

NOW_S = 100.0
SLOW = {**FIRST, "weight": 0.0003}
SHUT = Blackout(since_s=90.0, seconds=10.0, came=20, drops=20, marks=0, packets_per_s=1250.0)
SHUT_BEFORE = replace(SHUT, since_s=40.0)
TAKEN_BACK = {**FIRST, "level": 60.0}  # what stood before the setting that is verified


def looked(state=None, *, shut=None, in_force=SLOW, now_s=NOW_S, **fields):
    """The turn of a look at queues that are shut, and what was said of them."""
    known = {
        "state": state or watching(),
        "senses": SimpleNamespace(blackouts=shut or {"": SHUT}),
        "in_force": in_force,
        "original": in_force,
        "proven": in_force,
        **fields,
    }
    turn = Turn(controller_of().changed(**known), now_s)
    silence.look_for_blackout(turn)
    return turn


def change_in(turn):
    state = turn.controller.state
    return state.change if isinstance(state, Applying) else None


def said_in(turn):
    entries = [each.entry for each in turn.effects if isinstance(each, Record)]
    return {each.kind: each for each in entries if isinstance(each, Decision)}


def test_a_quick_average_is_asked_for_once_a_minute_at_most():
    turn = looked()
    assert change_in(turn).parameters == {"weight": pytest.approx(0.04)}  # 1 / (1250 / s * 20 ms)
    assert turn.controller.router.blackout_again_s == NOW_S + 60.0
    for now_s, answered in ((NOW_S + 59.0, False), (NOW_S + 60.0, True)):
        again = looked(blackout_again_s=turn.controller.router.blackout_again_s, now_s=now_s)
        assert (change_in(again) is not None) == answered


def test_it_is_tried_again_as_soon_as_the_limit_of_changes_allows_it():
    turn = looked(budget=ChangeBudget(1, (NOW_S - 20.0,)))
    assert change_in(turn) is None
    assert DecisionKind.HELD_BACK in said_in(turn)
    assert turn.controller.router.blackout_again_s == NOW_S + 40.0


def test_what_puts_an_old_setting_back_needs_no_limit_and_is_looked_at_after_half_a_minute():
    spent = ChangeBudget(1, (NOW_S - 20.0,))
    turn = looked(in_force=FIRST, budget=spent)
    assert change_in(turn) is None  # its average is quick, and nothing else is trusted
    said = said_in(turn)[DecisionKind.BLACKOUT].reason
    assert said.endswith("no parameter that may be changed would end that")
    turn = looked(in_force=TAKEN_BACK, proven=FIRST, budget=spent)
    change = change_in(turn)
    assert (change.purpose, change.parameters["level"]) == ("roll back", FIRST["level"])
    assert change.ask_again_s == NOW_S + 30.0
    assert turn.controller.router.blackout_again_s == NOW_S + 60.0


@pytest.mark.parametrize("since_s", [50.0, 60.0])
def test_a_new_setting_goes_under_which_a_queue_was_shut_and_is_not_tried_again(since_s):
    new = replace(verifying(), schedule=replace(schedule(), begun_s=50.0))
    for state in (new, Paused(55.0, new), Observing(schedule(), new)):
        turn = looked(
            state,
            shut={"a": SHUT_BEFORE, "b": replace(SHUT, since_s=since_s)},
            blackout_again_s=1e9,  # it does not wait for its minute
        )
        change = change_in(turn)
        assert (change.purpose, change.parameters) == ("roll back", TAKEN_BACK)


def test_what_the_operator_chose_for_such_times_comes_first_and_is_what_the_kernel_has():
    """Linux has whole thresholds: 50.4 is 50."""
    policy = replace(controller_of().policy, fall_back={"min_threshold": 50.4})
    in_force = {"min_threshold": 45, "weight_log": 4}
    turn = looked(
        in_force=in_force,
        policy=policy,
        held=LinuxValues(discipline="linux-red"),
        proven={**in_force, "min_threshold": 60},
    )
    change = change_in(turn)
    assert (change.purpose, change.parameters) == ("end blackout", {"min_threshold": 50})


def test_a_setting_is_not_to_blame_under_which_the_queue_was_shut_already():
    new = replace(verifying(), schedule=replace(schedule(), begun_s=95.0))
    assert change_in(looked(new)).purpose == "end blackout"


def test_it_is_said_how_long_all_of_the_queues_have_been_shut_and_what_became_of_packets():
    long = replace(SHUT, seconds=30.0, marks=5, drops=15)
    turn = looked(shut={"a": long, "b": SHUT})
    assert said_in(turn)[DecisionKind.BLACKOUT].reason.startswith(
        "a, b have been empty for 10 s, and every packet that came was dropped or marked (35 and 5)"
    )
    one = replace(SHUT, drops=19)
    assert said_in(looked(shut={"a": one}))[DecisionKind.BLACKOUT].reason.startswith(
        "a has been empty for 10 s, and nearly every packet that came was dropped (19 of them)"
    )


def test_nothing_else_is_done_while_a_change_is_owed():
    turn = looked(watching(owed=OWED))
    assert change_in(turn) is None
    assert turn.effects == []
