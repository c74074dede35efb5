"""Where an answer stops being true, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vermilion.advise.conditions import around, probes
from vermilion.advise.number_words import megabits, milliseconds

if TYPE_CHECKING:
    from vermilion.advise.advice import Advice
    from vermilion.advise.conditions import Condition


def limits(advice: Advice) -> list[str]:
    """Where the answer stops being true, a sentence each, and where it does not."""
    question = advice.question
    bound = question.bound_ms
    said = [
        _beside(advice, at)
        for at in advice.after.runs
        if advice.settled and at.robustness and advice.after.p95_ms(at) > bound
    ]
    held = []
    for at in advice.around_after.runs:
        before, after = advice.around_before.p95_ms(at), advice.around_after.p95_ms(at)
        had, has = advice.around_before.goodput(at), advice.around_after.goodput(at)
        if after > bound:
            now = f"; now {milliseconds(before)}" if _compares(advice) else ""
            said.append(
                f"Outside your range, with {at.name}, it is {milliseconds(after)} (p95){now}."
            )
        elif _compares(advice) and has < 0.95 * had:
            said.append(
                f"Outside your range, with {at.name}, goodput falls to {megabits(has)} "
                f"from {megabits(had)}."
            )
        else:
            held.append(at.name)
    tried = advice.around_after.runs
    why = "time was up" if advice.time_was_up else "that takes too long on this line"
    if not tried:
        said.append(f"Whether it holds with half and twice of what you gave was not tried: {why}.")
        return said
    if held:
        said.append(f"It still holds with {'; '.join(held)}.")
    if left_out := not_tried(advice):
        said.append(f"Not tried, because {why}: {'; '.join(left_out)}.")
    return said


def not_tried(advice: Advice) -> list[str]:
    """What lies around the range and was not tried: "twice the round trip (3 flows, 120 ms)"."""
    known = {(at.flows, at.round_trip_s) for at in advice.around_after.runs}
    places = zip(around(advice.question), probes(advice.question, 0.0), strict=True)
    return [
        f"{words} ({at.name})" for words, at in places if (at.flows, at.round_trip_s) not in known
    ]


def _compares(advice: Advice) -> bool:
    """Whether what is there now is told beside what is to be then."""
    return not advice.keep and advice.present.known


def _beside(advice: Advice, at: Condition) -> str:
    after, before = (milliseconds(each.p95_ms(at)) for each in (advice.after, advice.before))
    now = f"; now {before}" if _compares(advice) else ""
    return f"With {at.name}, packets wait up to {after} (p95){now}."
