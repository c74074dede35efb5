"""The table of transitions, row by row: a state and an event by hand, and what has to follow."""

from dataclasses import replace
from functools import cache

import pytest

from online_world import FIRST, TICK_S, World, best, controller_of, finding
from vermilion.online.decide.controller import ChangeBudget
from vermilion.online.decide.detection import ConditionWatch, Persistence, QueueWatch
from vermilion.online.decide.states import (
    Applying,
    Blind,
    Ended,
    HandsOff,
    Observing,
    Owed,
    Paused,
    Proposing,
    RouterChange,
    Schedule,
    Searching,
    Verifying,
    Waiting,
    Watching,
)
from vermilion.online.decide.step import EVENTS, IGNORED, STATES, TRANSITIONS, step
from vermilion.online.decide.verification import Expectation
from vermilion.online.events import (
    Apply,
    Began,
    Command,
    Done,
    End,
    Found,
    Lost,
    Overtaken,
    Refused,
    Search,
    SearchFailed,
    Silent,
)

NUMBER = 7
AFTER = {"level": 30.0, "weight": 0.4, "gentle": False}
PARAMETERS = {"level": 30.0, "weight": 0.4}
NOW_S = 12.1


@cache
def seen():
    """A controller that has looked at sixteen steady flows for twelve seconds, and its task."""
    world, controller = World(), controller_of()
    controller, _ = step(controller, Began(dict(FIRST)), 0.0)
    task = None
    for tick in range(120):
        controller, effects = step(controller, world.observe(tick * TICK_S), tick * TICK_S)
        task = next((each.task for each in effects if isinstance(each, Search)), task)
    return controller, task


def schedule(verified_s=100.0):
    return Schedule(0.0, 1.0, min(verified_s, 90.0), 1.0, verified_s)


def verifying(verified_s=100.0, cost=225.0):
    return Verifying(
        picture=seen()[0].traffic.pictures[-1],
        expected=Expectation(cost, cost, 45.0),
        noise=1.0,
        previous={**FIRST, "level": 60.0},
        before=None,
        schedule=schedule(verified_s),
        learned_s=NOW_S,
    )


def answer(purpose="answer", **more):
    return RouterChange(purpose, PARAMETERS, "because", verifying=verifying(), **more)


def applying(purpose="answer", *, lost=False, since_s=12.0, **more):
    return Applying(NUMBER, answer(purpose, **more), since_s, dict(FIRST), lost=lost)


def watching(**more):
    return Watching(1.0, 45.0, 1.0, None, NOW_S, **more)


def searching(**more):
    return Searching(NUMBER, 1.0, "why", **more)


def nonsense(**fields):
    """A finding that no search should come to."""
    found = best(seen()[1])
    return replace(found, answer=replace(found.answer, **fields))


WAITING = Waiting(1.0, 1.0, "why")
OBSERVING = Observing(schedule(), verifying())
OWED = Owed(RouterChange("roll back", FIRST, "it was bad"), 3.0, 1)

UNANSWERED = {"unanswered": ({"level": 30.0, "weight": 0.4},)}

LOOK = "an observation"
HAND = {"level": 60.0, "weight": 0.5, "gentle": False}
READ = "an observation with the parameters that were asked for"
HALF = "an observation with the half of the parameters that were asked for"
BESIDE = "an observation with what was asked for, and with what nobody has asked for"
OLD = "an observation with the parameters before"
FLOWS = "an observation, of other flows than those modelled"
LONG = "the last straw of a silence"
SHORT = "the beginning of a silence"
TASK = seen()[1]


# Where conditions have changed and are steady already, the search begins in the same step.
ROWS = [
    # state, event, further fields of the controller, the state that follows
    (WAITING, Began(FIRST), {}, Waiting),
    (WAITING, LOOK, {}, Searching),
    (Waiting(12.0, 12.0, "why"), LOOK, {"pictures": seen()[0].traffic.pictures[:1]}, Waiting),
    (WAITING, SHORT, {}, Waiting),
    (WAITING, LONG, {}, Blind),
    (WAITING, Command("stop"), {}, Ended),
    (WAITING, Command("resume"), {}, Waiting),
    (searching(), LOOK, {}, Searching),
    (Searching(NUMBER, -9.0, "why"), LOOK, {}, Watching),
    (Searching(NUMBER, -9.0, "why", stale="64 flows"), LOOK, {}, Waiting),
    (searching(), FLOWS, {}, Searching),
    (searching(refining=True), FLOWS, {}, Searching),
    (searching(), LONG, {}, Blind),
    (searching(), Found(NUMBER, best(TASK), 1.0), {}, Applying),
    (searching(), Found(NUMBER, best(TASK), 1.0), {"policy": "propose"}, Proposing),
    (searching(), Found(NUMBER, best(TASK), 1.0), {"policy": "observe"}, Watching),
    (searching(), Found(NUMBER, best(TASK), 1.0), {"paused_by_person": True}, Watching),
    (searching(), Found(NUMBER, best(TASK), 1.0), {"budget": ChangeBudget(1, (12.0,))}, Watching),
    (searching(), Found(NUMBER, best(TASK, offset=-15.0), 1.0), {}, Observing),
    (searching(refining=True), Found(NUMBER, best(TASK, offset=-15.0), 1.0), {}, Watching),
    (
        searching(refining=True, unverified=verifying()),
        Found(NUMBER, best(TASK, offset=-15.0), 1.0),
        {},
        Verifying,
    ),
    (searching(stale="64 flows"), Found(NUMBER, best(TASK, offset=-15.0), 1.0), {}, Waiting),
    (searching(), Found(NUMBER, finding(TASK), 1.0), {}, Watching),
    *(
        (searching(), Found(NUMBER, nonsense(**what), 1.0), {}, Watching)
        for what in (
            {"setting": {"level": float("nan"), "weight": 0.5}},
            {"setting": {"level": float("inf"), "weight": 0.5}},
            {"setting": {"level": 30.0}},
            {"setting": {**PARAMETERS, "limit": 100.0}},
            {"setting": {"level": "30 packets", "weight": 0.5}},
            {"setting": {"level": True, "weight": 0.5}},
            {"picture": replace(seen()[0].traffic.pictures[-1], flows=0)},
        )
    ),
    (searching(), Found(NUMBER + 1, best(TASK), 1.0), {}, Searching),
    (searching(), SearchFailed(NUMBER, "it died"), {}, Watching),
    (searching(stale="64 flows"), SearchFailed(NUMBER, "it died"), {}, Waiting),
    (searching(unverified=verifying()), SearchFailed(NUMBER, "it died"), {}, Verifying),
    (searching(), SearchFailed(NUMBER - 1, "it died"), {}, Searching),
    (searching(), Command("stop"), {}, Ended),
    (Proposing(NUMBER, answer()), FLOWS, {}, Searching),
    (Proposing(NUMBER, answer()), LONG, {}, Blind),
    (Proposing(NUMBER, answer()), Command("accept", NUMBER), {}, Applying),
    (Proposing(NUMBER, answer()), Command("accept", NUMBER + 1), {}, Proposing),
    (Proposing(NUMBER, answer()), Command("decline", NUMBER), {}, Watching),
    (Proposing(NUMBER, answer()), Command("stop"), {}, Ended),
    (applying(), LOOK, {}, Applying),
    (applying(since_s=3.0), LOOK, {}, Applying),
    (applying(lost=True), LOOK, {}, Applying),
    (applying(lost=True), READ, {}, Observing),
    (applying(lost=True), OLD, {}, Watching),
    (applying(lost=True), HALF, {}, Applying),
    (applying(), Done(NUMBER, AFTER), {}, Observing),
    (applying(refining=True), Done(NUMBER, AFTER), {}, Verifying),
    (applying(stale="64 flows"), Done(NUMBER, AFTER), {}, Waiting),
    (applying("roll back"), Done(NUMBER, AFTER), {}, Watching),
    (applying("restore"), Done(NUMBER, AFTER), {}, Ended),
    (applying(), Done(NUMBER + 1, AFTER), {}, Applying),
    (applying(), Refused(NUMBER, "too low"), {}, Watching),
    (applying("roll back"), Refused(NUMBER, "too low"), {}, Watching),
    (applying("restore"), Refused(NUMBER, "too low"), {}, Ended),
    (applying("restore"), LONG, {}, Applying),
    (applying("restore", since_s=1.0), LONG, {}, Ended),
    (applying("restore"), Command("stop"), {}, Ended),
    (applying(), Overtaken(NUMBER, HAND), {}, HandsOff),
    (applying("roll back"), Overtaken(NUMBER, HAND), {}, HandsOff),
    (applying("restore"), Overtaken(NUMBER, HAND), {}, Ended),
    (applying(), Overtaken(NUMBER, FIRST), {"in_force": AFTER}, HandsOff),
    (applying(), Overtaken(NUMBER, FIRST), {"in_force": AFTER, "restarted": {""}}, Waiting),
    (applying(), Overtaken(NUMBER + 1, HAND), {}, Applying),
    (applying(lost=True), BESIDE, UNANSWERED, HandsOff),
    (applying("restore", lost=True), BESIDE, UNANSWERED, Ended),
    (applying("restore", lost=True), HALF, {}, Applying),
    (replace(applying("restore", lost=True), attempts=2), HALF, {}, Ended),
    (applying("roll back", lost=True), HALF, {}, Watching),
    (applying(lost=True), Command("stop"), {"policy": "restore", **UNANSWERED}, Applying),
    (applying(), Lost(NUMBER, "no answer"), {}, Applying),
    (applying(), LONG, {}, Blind),
    (applying(), Command("stop"), {}, Ended),
    (OBSERVING, LOOK, {}, Observing),
    (Observing(schedule(2.0), None), LOOK, {}, Searching),
    (OBSERVING, FLOWS, {}, Searching),
    (OBSERVING, LONG, {}, Blind),
    (OBSERVING, Command("stop"), {}, Ended),
    (verifying(), LOOK, {}, Verifying),
    (verifying(3.0), LOOK, {}, Watching),
    (verifying(3.0, cost=1.0), LOOK, {}, Applying),
    (verifying(), FLOWS, {}, Searching),
    (verifying(), LONG, {}, Blind),
    (verifying(), Command("stop"), {}, Ended),
    (watching(), LOOK, {}, Watching),
    (watching(ask_again_s=3.0), LOOK, {}, Searching),
    (watching(owed=OWED), LOOK, {}, Applying),
    (watching(), FLOWS, {}, Searching),
    (watching(owed=replace(OWED, not_before_s=20.0)), FLOWS, {}, Watching),
    (watching(), LONG, {}, Blind),
    (watching(), Command("stop"), {}, Ended),
    (watching(), Command("stop"), {"policy": "restore", "in_force": AFTER}, Applying),
    *(
        (state, Command("undo"), {"replaced": FIRST, "policy": mode}, Applying)
        for mode in ("control", "propose")
        for state in (
            WAITING,
            searching(),
            Proposing(NUMBER, answer()),
            OBSERVING,
            verifying(),
            watching(),
            Paused(1.0, WAITING),
        )
    ),
    (watching(), Command("undo"), {}, Watching),
    (watching(), Command("undo"), {"replaced": FIRST, "policy": "observe"}, Watching),
    (applying(), Command("undo"), {"replaced": FIRST}, Applying),
    (Blind(1.0, NUMBER), Command("undo"), {"replaced": FIRST}, Blind),
    (HandsOff(1.0, "why"), Command("undo"), {"replaced": FIRST}, HandsOff),
    (Paused(1.0, watching()), LOOK, {}, Watching),
    (Paused(1.0, verifying()), LOOK, {}, Verifying),
    (Paused(1.0, WAITING), LOOK, {}, Waiting),
    (Paused(1.0, watching()), FLOWS, {}, Waiting),
    (Paused(1.0, watching()), LONG, {}, Blind),
    (Paused(1.0, watching()), Command("stop"), {}, Ended),
    (Blind(1.0, NUMBER), LOOK, {}, Waiting),
    (Blind(1.0, NUMBER), READ, UNANSWERED, Waiting),
    (Blind(1.0, NUMBER), HALF, UNANSWERED, Applying),
    (WAITING, HALF, {**UNANSWERED, "policy": "observe"}, Searching),
    (WAITING, READ, UNANSWERED, Searching),
    (WAITING, READ, {}, HandsOff),
    (Blind(1.0, NUMBER), Done(NUMBER, AFTER), {}, Blind),
    (Blind(1.0, NUMBER), Refused(NUMBER, "no"), {}, Blind),
    (Blind(1.0, NUMBER), Lost(NUMBER, "no"), {}, Blind),
    (Blind(1.0, NUMBER), Overtaken(NUMBER, HAND), {}, Blind),
    (Blind(1.0, NUMBER), LONG, {}, Blind),
    (Blind(1.0, NUMBER), Command("stop"), {}, Ended),
    (watching(), Command("stop"), {"policy": "nothing", "in_force": AFTER}, Ended),
    (HandsOff(1.0, "why"), Began(FIRST), {}, HandsOff),
    (HandsOff(1.0, "why"), LOOK, {}, HandsOff),
    (HandsOff(1.0, "why"), READ, {}, HandsOff),
    (HandsOff(1.0, "why"), LONG, {}, HandsOff),
    (HandsOff(1.0, "why"), Command("resume"), {}, Waiting),
    (HandsOff(1.0, "why"), Command("accept", NUMBER), {}, HandsOff),
    (HandsOff(1.0, "why"), Command("stop"), {"policy": "restore", "in_force": AFTER}, Ended),
    *(
        (state, Command("stop"), {"policy": "restore", "in_force": AFTER}, Applying)
        for state in (
            WAITING,
            searching(),
            Proposing(NUMBER, answer()),
            OBSERVING,
            verifying(),
            Paused(1.0, WAITING),
            Blind(1.0, NUMBER),
        )
    ),
    (Ended(), LOOK, {}, Ended),
    (Ended(), LONG, {}, Ended),
    (Ended(), Command("stop"), {}, Ended),
]


def controller_in(state, fields):
    fields = dict(fields)
    controller = seen()[0].changed(state=state, next_number=NUMBER + 5)
    how = fields.pop("policy", "control")
    changes = {
        "restore": {"at_exit": "restore"},
        "nothing": {"at_exit": "restore", "mode": "observe"},
    }.get(how, {"mode": how})
    return controller.changed(policy=replace(controller.policy, **changes), **fields)


def happening(controller, event):
    """The controller and the event, where the event is one of those in words."""
    world = World()
    world.forwarded = 120 * 125  # as the controller has seen the counters last
    if event == FLOWS:
        modelled = replace(controller.traffic.pictures[-1], flows=64)
        watch = ConditionWatch(modelled, 0.024, flows=Persistence(3, run=2))
        return controller.changed(conditions=watch), world.observe(NOW_S)
    if isinstance(event, str) and event in {LONG, SHORT}:
        unheard_s = NOW_S - 5.0 if event == LONG else None
        return controller.changed(unheard_since_s=unheard_s), Silent("no answer")
    if not isinstance(event, str):
        return controller, event
    in_force = {LOOK: None, READ: AFTER, HALF: {**FIRST, "weight": 0.4}, OLD: FIRST}.get(event)
    if event == BESIDE:
        in_force = {**AFTER, "gentle": True}
    return controller, replace(world.observe(NOW_S), in_force=in_force)


def words(row):
    state, event, fields, follows = row
    what = event if isinstance(event, str) else f"{type(event).__name__}"
    more = "" if not fields else f", {', '.join(fields)}"
    return f"{type(state).__name__} on {what}{more}: {follows.__name__}"


@pytest.mark.parametrize("row", ROWS, ids=words)
def test_a_state_and_an_event_lead_where_they_should(row):
    state, event, fields, follows = row
    controller, event = happening(controller_in(state, fields), event)
    after, effects = step(controller, event, NOW_S)
    assert type(after.state) is follows
    assert sum(isinstance(each, End) for each in effects) == (
        follows is Ended and not isinstance(state, Ended)
    )
    pushes = [each for each in effects if isinstance(each, Apply)]
    fallen_back = follows is Blind and not isinstance(state, Blind)
    assert len(pushes) <= (follows is Applying) + fallen_back


def test_a_person_takes_back_the_last_change_and_it_stays_taken_back():
    controller = controller_in(applying(), {})
    controller, _ = step(controller, Done(NUMBER, AFTER), NOW_S)
    assert controller.router.replaced == FIRST
    controller, effects = step(controller, Command("undo"), NOW_S + 1.0)
    [push] = [each for each in effects if isinstance(each, Apply)]
    assert dict(push.parameters) == FIRST
    assert controller.paused_by_person  # or a controller that need not ask would change it again
    controller, _ = step(controller, Done(push.number, FIRST), NOW_S + 1.1)
    assert (controller.router.replaced, type(controller.state)) == (None, Watching)
    controller, effects = step(controller, Command("undo"), NOW_S + 2.0)
    assert not effects


def test_who_is_asked_every_time_is_asked_again_after_a_minute():
    fields = {"policy": "propose", "replaced": FIRST}
    controller, effects = step(controller_in(watching(), fields), Command("undo"), NOW_S)
    [push] = [each for each in effects if isinstance(each, Apply)]
    controller, _ = step(controller, Done(push.number, FIRST), NOW_S)
    assert not controller.paused_by_person
    assert controller.state.ask_again_s == NOW_S + 60.0


# From 5 to 20 s nothing gets through; what was due in that time waits until enough is seen again.
@pytest.mark.parametrize(("due_s", "latest_s"), [(37.0, 37.05), (12.0, 22.0)])
def test_a_pause_does_not_make_a_controller_forget_that_it_tries_again(due_s, latest_s):
    world, states, tried_s = World(), [], []
    world.forwarded = 120 * 125  # as the controller has seen the counters last
    watched = replace(watching(ask_again_s=NOW_S + due_s), queue=QueueWatch.begin(45.0, 2.0, 1.0))
    controller = controller_in(watched, {"calibrated_s": NOW_S})
    for tick in range(400):
        after_s = tick * TICK_S
        world.packets = 0 if 5.0 <= after_s < 20.0 else 125
        controller, effects = step(controller, world.observe(NOW_S + after_s), NOW_S + after_s)
        states.append(type(controller.state))
        tried_s += [after_s for each in effects if isinstance(each, Search)]
    assert Paused in states
    assert max(due_s, 20.0) - 0.05 <= tried_s[0] <= latest_s


def test_every_listed_pair_has_a_row():
    kinds = {
        LOOK: "Observed",
        READ: "Observed",
        HALF: "Observed",
        OLD: "Observed",
        BESIDE: "Observed",
    }
    kinds |= {FLOWS: "Alarm", LONG: "Silent", SHORT: "Silent"}
    rows = {
        (type(state), kinds[event] if isinstance(event, str) else type(event).__name__)
        for state, event, _, _ in ROWS
    }
    listed = {
        (state, event.__name__)
        for state in STATES
        for event in EVENTS
        if TRANSITIONS[state][event] is not IGNORED
    }
    assert listed <= rows, listed - rows
