"""What follows where a router is silent, refuses, or has lost what it was told."""

from dataclasses import replace

import pytest

from online_world import FIRST, SIXTEEN_FLOWS, World, controller_of
from test_online_transitions_table import AFTER, NOW_S, NUMBER, applying
from vermilion.online.decide import applying as applying_state
from vermilion.online.decide import silence
from vermilion.online.decide.controller import Turn
from vermilion.online.decide.detection import ConditionWatch
from vermilion.online.decide.states import Applying, Blind, Promise, Watching
from vermilion.online.events import Apply, Done, End, ReadBack, Refused, Silent

SILENT_S = 3.0
PROVEN = {**FIRST, "level": 50.0}


def turn_in(state, *, now_s=NOW_S, policy=None, **fields):
    begun = controller_of(blind_after_s=SILENT_S, **(policy or {}))
    known = {"state": state, "in_force": dict(FIRST), "original": dict(FIRST), **fields}
    return Turn(begun.changed(next_number=NUMBER + 1, **known), now_s)


def sent_in(turn):
    return [dict(each.parameters) for each in turn.effects if isinstance(each, Apply)]


def went_blind(**more):
    turn = turn_in(applying(), unheard_since_s=NOW_S - SILENT_S, in_force=AFTER, **more)
    silence.on_silent(turn, None, Silent("no answer"))
    assert turn.controller.state.since_s == NOW_S - SILENT_S
    return turn


def test_who_is_blind_puts_the_setting_in_force_that_was_verified_last():
    assert sent_in(went_blind(proven=PROVEN)) == [{"level": 50.0, "weight": 0.5}]
    assert sent_in(went_blind(proven={})) == [{"level": 45.0, "weight": 0.5}]
    chosen = {"policy": {"fall_back": {"level": 20.0}}, "proven": PROVEN}
    assert sent_in(went_blind(**chosen)) == [{"level": 20.0}]


def test_what_was_promised_is_not_held_against_what_nobody_has_seen():
    conditions = ConditionWatch(SIXTEEN_FLOWS, 0.024)
    turn = went_blind(promise=Promise(30.0, 1.0, 0.0), conditions=conditions)
    assert (turn.controller.learned.promise, turn.controller.traffic.conditions) == (None, None)


@pytest.mark.parametrize("mode", ["observe", "propose"])
def test_who_may_not_change_anything_does_not_do_so_blindly_either(mode):
    turn = went_blind(proven=PROVEN, policy={"mode": mode})
    assert sent_in(turn) == []
    assert turn.controller.state.number is None


def test_nor_does_who_is_paused_by_a_person():
    assert sent_in(went_blind(proven=PROVEN, paused_by_person=True)) == []


def test_who_sees_again_asks_what_is_in_force():
    turn = turn_in(Blind(1.0, NUMBER))
    silence.on_observed_again(turn, turn.controller.state, World().observe(NOW_S))
    assert any(isinstance(each, ReadBack) for each in turn.effects)


def test_an_answer_to_something_else_tells_nothing_of_the_setting_for_blind_times():
    turn = turn_in(Blind(1.0, NUMBER))
    silence.on_done(turn, turn.controller.state, Done(NUMBER + 1, AFTER))
    assert (turn.controller.in_force, turn.effects) == (FIRST, [])


@pytest.mark.parametrize(("waited_s", "lost"), [(5.0, False), (5.1, True)])
def test_an_answer_counts_as_lost_after_five_seconds(waited_s, lost):
    turn = turn_in(applying(since_s=10.0), now_s=10.0 + waited_s)
    applying_state.on_observed(turn, turn.controller.state, World().observe(10.0 + waited_s))
    assert turn.controller.state.lost == lost
    assert any(isinstance(each, ReadBack) for each in turn.effects) == lost


@pytest.mark.parametrize(
    ("attempts", "waits_s"), [(0, 2.0), (1, 4.0), (2, 8.0), (7, 256.0), (8, 300.0), (20, 300.0)]
)
def test_what_takes_something_back_is_tried_again_ever_more_rarely(attempts, waits_s):
    state = replace(applying("roll back"), attempts=attempts)
    turn = turn_in(state)
    applying_state.on_refused(turn, state, Refused(NUMBER, "no"))
    owed = turn.controller.state.owed
    assert (owed.not_before_s, owed.attempts) == (NOW_S + waits_s, attempts + 1)


def unarrived(state):
    """The turn after a change of which nothing is in force."""
    turn = turn_in(state)
    world = World()
    applying_state.on_observed(turn, state, world.observe(NOW_S, with_parameters=True))
    return turn


def test_a_change_that_never_arrived_may_be_tried_again_after_half_a_minute():
    state = unarrived(applying(lost=True)).controller.state
    assert isinstance(state, Watching)
    assert state.ask_again_s == NOW_S + 30.0


@pytest.mark.parametrize(("attempts", "ends"), [(0, False), (1, False), (2, True)])
def test_the_first_setting_is_put_back_three_times_at_most(attempts, ends):
    turn = unarrived(replace(applying("restore", lost=True), attempts=attempts))
    assert any(isinstance(each, End) for each in turn.effects) == ends
    assert isinstance(turn.controller.state, Applying) != ends


@pytest.mark.parametrize("proven", [FIRST, PROVEN])
def test_what_is_taken_back_has_not_proved_to_do_no_harm(proven):
    """The setting of before the change that takes back is the one that did harm."""
    turn = turn_in(applying("roll back"), proven=proven, replaced=AFTER)
    applying_state.on_done(turn, turn.controller.state, Done(NUMBER, AFTER))
    assert turn.controller.proven == (AFTER if proven == FIRST else PROVEN)
    assert turn.controller.router.replaced is None  # there is nothing to undo


def test_what_ended_one_blackout_is_remembered_beside_what_ended_another():
    turn = turn_in(applying("end blackout"), reopening={"a": 1.0}, blackout_again_s=70.0)
    applying_state.on_done(turn, turn.controller.state, Done(NUMBER, AFTER))
    assert turn.controller.router.reopening == {"a": 1.0, "level": 30.0, "weight": 0.4}
    assert turn.controller.router.blackout_again_s == 70.0  # it is held for its minute
    assert turn.controller.router.replaced == FIRST
