"""One step of the controller: what happened goes in, what to do about it comes out.

Pure: no clock, no router, no file, no chance. The same controller, event and time give the same
step, so that a run can be replayed from its journal and every pair of state and event tested.

Every state, every event, and what becomes of the one by the other: the controller in one table.

A pair that is not listed is ignored: the event says nothing to that state (an answer to a question
that nobody asks any more, a person's word where none was asked for). ``docs/online.md`` has the
picture that is drawn from this table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, get_args

from vermilion.online.decide import (
    applying,
    bounds,
    ownership,
    searching,
    silence,
    waiting,
    watching,
)
from vermilion.online.decide.controller import Turn
from vermilion.online.decide.detection import Alarm, watch_of
from vermilion.online.decide.states import (
    Applying,
    Blind,
    Ended,
    HandsOff,
    Observing,
    Paused,
    Proposing,
    Searching,
    State,
    Verifying,
    Waiting,
    Watching,
)
from vermilion.online.decide.waiting import PICTURES_KEPT, STEADY_FLOWS
from vermilion.online.entries import DecisionKind
from vermilion.online.events import (
    Began,
    Command,
    Done,
    Event,
    Found,
    Lost,
    Observed,
    Overtaken,
    Refused,
    SearchFailed,
    Silent,
)
from vermilion.online.sense.sampler import is_due

if TYPE_CHECKING:
    from vermilion.online.decide.controller import Controller
    from vermilion.online.events import Effect
    from vermilion.online.sense.traffic_estimate import TrafficEstimate


Handler: TypeAlias = Callable[[Turn, Any, Any], None]
"""Takes the turn, the state and the event; both are of the types under which it is listed."""


@dataclass(frozen=True, slots=True)
class Transition:
    """Handler of an event in a state.

    Attributes:
        handle: does it.
        leads_to: the states that may follow, besides staying.
    """

    handle: Handler
    leads_to: frozenset[type[State]]


def _ignore(_turn: Turn, _state: State, _event: Event | Alarm) -> None:
    """The event says nothing to the state."""


def _to(handle: Handler, *leads_to: type[State]) -> Transition:
    return Transition(handle, frozenset(leads_to))


IGNORED = _to(_ignore)
"""The transition of every pair that is not listed."""

STATES: tuple[type[State], ...] = get_args(State)
EVENTS: tuple[type[Event | Alarm], ...] = (*get_args(Event), Alarm)
"""What reaches a state; an :class:`Alarm` comes with an observation, from the conditions' watch."""

_CHANGES = (Applying, Proposing, Watching)  # what a wish for a change leads to
_GONE_BLIND = _to(silence.on_silent, Blind)
_CHANGED = _to(waiting.on_alarm, Waiting, Applying)
_STOPPED = _to(ownership.on_command, Applying, Ended)

_LISTED: Mapping[type[State], Mapping[type[Event | Alarm], Transition]] = {
    Waiting: {
        Began: _to(ownership.on_began, Applying, HandsOff),
        Observed: _to(waiting.on_observed, Searching, Applying, Observing, Watching),
        Silent: _GONE_BLIND,
        Command: _STOPPED,
    },
    Searching: {
        Observed: _to(searching.on_observed, Waiting, Verifying, Watching),
        Alarm: _to(searching.on_alarm, Waiting),
        Silent: _GONE_BLIND,
        Found: _to(searching.on_found, Waiting, Observing, Verifying, Paused, *_CHANGES),
        SearchFailed: _to(searching.on_failed, Waiting, Verifying, Watching),
        Command: _STOPPED,
    },
    Proposing: {
        Alarm: _to(applying.on_alarm_while_proposing, Waiting),
        Silent: _GONE_BLIND,
        Command: _to(applying.on_answer, Applying, Watching, Ended),
    },
    Applying: {
        Observed: _to(
            applying.on_observed, Waiting, Observing, Verifying, Watching, HandsOff, Ended
        ),
        Done: _to(applying.on_done, Waiting, Observing, Verifying, Watching, Ended),
        Refused: _to(applying.on_refused, Waiting, Watching, Ended),
        Lost: _to(applying.on_lost),
        Overtaken: _to(applying.on_overtaken, Waiting, HandsOff, Ended),
        Silent: _to(applying.on_silent, Blind, Ended),
        Command: _STOPPED,
    },
    Observing: {
        Observed: _to(waiting.on_observed_while_observing, Searching, Verifying, Watching),
        Alarm: _CHANGED,
        Silent: _GONE_BLIND,
        Command: _STOPPED,
    },
    Verifying: {
        Observed: _to(watching.on_observed_while_verifying, Watching, Applying),
        Alarm: _CHANGED,
        Silent: _GONE_BLIND,
        Command: _STOPPED,
    },
    Watching: {
        Observed: _to(watching.on_observed, Searching, Applying, Observing),
        Alarm: _CHANGED,
        Silent: _GONE_BLIND,
        Command: _STOPPED,
    },
    Paused: {
        Observed: _to(silence.on_observed_while_paused, Waiting, Verifying, Watching),
        Alarm: _to(waiting.on_alarm_while_paused),
        Silent: _GONE_BLIND,
        Command: _STOPPED,
    },
    Blind: {
        Observed: _to(silence.on_observed_again, Waiting),
        Done: _to(silence.on_done),
        Refused: _to(silence.on_refused),
        Lost: _to(silence.on_refused),
        Overtaken: _to(silence.on_overtaken),
        Command: _STOPPED,
    },
    HandsOff: {
        Began: _to(ownership.on_began_hands_off),
        Command: _to(ownership.on_command_hands_off, Waiting, Ended),
    },
    Ended: {},
}

TRANSITIONS: Mapping[type[State], Mapping[type[Event | Alarm], Transition]] = {
    state: {event: _LISTED[state].get(event, IGNORED) for event in EVENTS} for state in STATES
}
"""What becomes of every state by every event."""

_JUDGING = (Waiting, Searching, Observing, Verifying, Watching, Paused)  # a blackout is answered

BESIDES: Mapping[type[State], frozenset[type[State]]] = {
    state: frozenset(
        (
            *((Applying, HandsOff, Waiting) if state not in {Applying, HandsOff, Ended} else ()),
            *((Paused,) if state in _JUDGING and state is not Paused else ()),
            *((Proposing,) if state in _JUDGING else ()),
        )
    )
    for state in STATES
}
"""Where an observation may lead before the state makes anything of it: a lost change has arrived in
part, somebody else has changed the queue, the router has restarted, or the queue tells nothing or
drops everything."""


_PERSON = "a person"  # in the journal, where a later run finds it
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
    turn.record(sample)
    if is_due(sample):
        for shares in senses.flow_shares():
            turn.record(shares)
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
    if controller.alarms.behind == (place.kind == "behind") or not place.lasts(turn.now_s):
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
        case "accept" if (
            turn.controller.paused_by_person
            and isinstance(state := turn.controller.state, Proposing)
            and state.number == command.number
        ):
            turn.change(paused_by_person=False)
            turn.decide(
                DecisionKind.RESUMED,
                "a person has accepted a proposal, and so allows changes again",
                by=_PERSON,
            )
        case _:
            pass
