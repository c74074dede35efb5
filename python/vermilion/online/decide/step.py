"""One step of the controller: what happened goes in, what to do about it comes out.

Pure: no clock, no router, no file, no chance. The same controller, event and time give the same
step, so that a run can be replayed from its journal and every pair of state and event tested.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from vermilion.online.decide import bounds, ownership, silence
from vermilion.online.decide.detection import watch_of
from vermilion.online.decide.states import Applying, Ended, HandsOff, Proposing
from vermilion.online.decide.transitions import BESIDES, TRANSITIONS
from vermilion.online.decide.turn import Turn
from vermilion.online.decide.waiting import PICTURES_KEPT, STEADY_FLOWS
from vermilion.online.entries import DecisionKind
from vermilion.online.events import Command, Observed, Silent
from vermilion.online.sense.flow_activity import is_due

if TYPE_CHECKING:
    from vermilion.online.decide.controller import Controller
    from vermilion.online.decide.detection import Alarm
    from vermilion.online.decide.states import State
    from vermilion.online.events import Effect, Event
    from vermilion.online.sense.sampler import Sample
    from vermilion.online.sense.traffic_estimate import TrafficEstimate

_PERSON = "a person"  # in the journal, where a later run finds it
_BEHIND_S = 2.0  # so long packets must wait behind the queue before it is said
_SETTING_CHECK_SAMPLES = 10  # between two looks whether somebody else has changed the setting


def step(
    controller: Controller, event: Event, now_s: float
) -> tuple[Controller, tuple[Effect, ...]]:
    """Return the controller after an event, and the effects it requests.

    Args:
        controller: as it is; it is not changed.
        event: what happened.
        now_s: when, in the network's time.
    """
    turn = Turn(controller, now_s)
    if isinstance(event, Observed):
        if not _take_in(turn, event):
            return turn.controller, tuple(turn.effects)
    elif isinstance(event, Command) and not isinstance(controller.state, Ended):
        _obey(turn, event)
    _dispatch(turn, event)
    if isinstance(event, Observed):
        before = turn.controller.state
        latest = turn.controller.senses.latest
        if latest is not None and is_due(latest):
            bounds.look_at_newcomers(turn)
            _check(before, turn.controller.state, BESIDES[type(before)])
        bounds.look(turn)
    return turn.controller, tuple(turn.effects)


def _dispatch(turn: Turn, event: Event | Alarm) -> None:
    """Let the state of now make something of an event."""
    state = turn.controller.state
    transition = TRANSITIONS[type(state)][type(event)]
    transition.handle(turn, state, event)
    _check(state, turn.controller.state, transition.leads_to)


def _check(left: State, entered: State, leads_to: frozenset[type[State]]) -> None:
    """Hold the code against the table."""
    if type(entered) is not type(left) and type(entered) not in leads_to:
        message = f"{type(left).__name__} leads to {type(entered).__name__}, against the table"
        raise AssertionError(message)


def _take_in(turn: Turn, event: Observed) -> bool:
    """Update what is known by an observation; return whether it ended a sample."""
    state = turn.controller.state
    if isinstance(state, Ended):
        return False
    _compare(turn, event)
    senses, sample = turn.controller.senses.after(event.observation)
    turn.change(senses=senses)
    picture = senses.picture()
    if sample is None or picture is None:
        # One such answer is the beginning, or a router that has restarted; more of them tell as
        # little as silence does.
        if turn.controller.work.samples:
            _dispatch(turn, Silent("its counters stand still, or make no sense"))
        return False
    turn.change(unheard_since_s=None)
    _write_down(turn, sample)
    samples = turn.controller.work.samples + 1
    pictures = turn.controller.traffic.pictures
    counted = turn.controller.traffic.flows_counted
    if abs(picture.flows - counted) > STEADY_FLOWS * counted:
        turn.change(flows_changed_s=turn.now_s, flows_counted=picture.flows)
    turn.change(samples=samples, pictures=(*pictures, picture)[-PICTURES_KEPT:])
    if samples % _SETTING_CHECK_SAMPLES == 0:
        turn.read_back()
    _look_behind(turn)
    state = turn.controller.state
    silence.pause_if_silent(turn)
    _check(state, turn.controller.state, BESIDES[type(state)])
    state = turn.controller.state
    silence.look_for_blackout(turn)
    _check(state, turn.controller.state, BESIDES[type(state)])
    conditions = turn.controller.traffic.conditions
    if conditions is not None:
        watch, alarm = conditions.after(picture)
        turn.change(conditions=watch)
        if alarm is not None:
            _changed(turn, alarm, picture)
    return True


def _look_behind(turn: Turn) -> None:
    """Say where packets wait, if that is not here."""
    controller, place = turn.controller, turn.controller.senses.place
    lasts = turn.now_s - place.since_s >= _BEHIND_S
    if controller.alarms.behind == (place.kind == "behind") or not lasts:
        return
    turn.change(behind=not controller.alarms.behind)
    then = "no longer" if controller.alarms.behind else "nothing is searched while that lasts"
    turn.decide(
        DecisionKind.BEHIND,
        f"packets wait behind this queue {then}: {place.describe()}"
        if controller.alarms.behind
        else f"packets wait {place.describe()}; {then}",
        **place.as_details(),
    )


def _compare(turn: Turn, event: Observed) -> None:
    """Compare what is in force, where that was read, with what was; and see who has restarted."""
    restarted = turn.controller.senses.restarted(event.observation)
    if restarted:
        turn.change(restarted=turn.controller.router.restarted | restarted)
    state = turn.controller.state
    if event.in_force is None or isinstance(state, Applying):
        return
    if isinstance(state, HandsOff):
        ownership.follow(turn, state, event.in_force)
    else:
        ownership.check_in_force(turn, event.in_force)
        _check(state, turn.controller.state, BESIDES[type(state)])


def _write_down(turn: Turn, sample: Sample) -> None:
    """A sample, and once a second how the flows share what there is."""
    turn.record(sample)
    if is_due(sample):
        for shares in turn.controller.senses.flow_shares():
            turn.record(shares)


def _changed(turn: Turn, alarm: Alarm, picture: TrafficEstimate) -> None:
    """Conditions have changed; within the span of fluctuating ones that is nothing new."""
    fluctuation = turn.controller.traffic.fluctuation.calmed(turn.now_s)
    if fluctuation.spans(picture):
        turn.change(
            fluctuation=fluctuation.changed(turn.now_s),
            conditions=watch_of(picture, turn.queueing_s(picture)),
        )
    else:
        _dispatch(turn, alarm)


def _obey(turn: Turn, command: Command) -> None:
    """Carry out an operator's command that is valid in any state."""
    match command.verb:
        case "pause" if not turn.controller.paused_by_person:
            turn.change(paused_by_person=True)
            turn.decide(
                DecisionKind.PAUSED, "a person has asked that nothing be changed", by=_PERSON
            )
        case "resume" if turn.controller.paused_by_person:
            turn.change(paused_by_person=False)
            turn.decide(DecisionKind.RESUMED, "a person has allowed changes again", by=_PERSON)
        case "accept" if turn.controller.paused_by_person and _is_pending(turn, command):
            turn.change(paused_by_person=False)
            turn.decide(
                DecisionKind.RESUMED,
                "a person has accepted a proposal, and so allows changes again",
                by=_PERSON,
            )
        case _:
            pass


def _is_pending(turn: Turn, command: Command) -> bool:
    """Check whether the command's proposal is still pending."""
    state = turn.controller.state
    return isinstance(state, Proposing) and state.number == command.number
