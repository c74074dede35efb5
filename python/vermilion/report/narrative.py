"""What happened in an on-line run, in plain words that follow from its numbers alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vermilion.report.events import events_of
from vermilion.report.numbers import seconds, significant
from vermilion.scenario import RATE, format_quantity
from vermilion.scenario.how_many import how_many
from vermilion.scenario.wire import nominal_rate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.online.entries import OnlineRun
    from vermilion.simulate.statistics import RatioInterval


def sentences(runs: Sequence[OnlineRun]) -> list[str]:
    """What was done, one sentence per thing worth saying, in the order in which a reader asks.

    Args:
        runs: one scenario over several seeds; the first is the one that is drawn.
    """
    return [_set_up(runs[0]), _controller(runs)]


def gain_in_words(gain: RatioInterval | None) -> str:
    """How the deviations compare: "7.1 times smaller (6.2 to 8)".

    An interval that contains 1 is said not to be significant.
    """
    if gain is None:
        return "not comparable"
    larger = gain.mean < 1
    times = 1 / gain.mean if larger else gain.mean
    words = f"{significant(times, 2)} times {'larger' if larger else 'smaller'}"
    if gain.low is None or gain.high is None:
        return words
    ends = sorted((1 / gain.low, 1 / gain.high) if larger else (gain.low, gain.high))
    caveat = ", not significant" if gain.low <= 1 <= gain.high else ""
    return f"{words} ({significant(ends[0], 2)} to {significant(ends[1], 2)}{caveat})"


def _set_up(run: OnlineRun) -> str:
    link = run.scenario.links[run.link]
    rate = nominal_rate(run.scenario, run.link)
    return (
        f"The queue before the link {run.link} ({format_quantity(rate, RATE)}) is managed by "
        f"{link.queue.discipline}. Two copies of the network carry the same traffic from the same "
        f"seed. In one nobody touches the setting of the queue. In the other Vermilion watches "
        f"what a router can export and changes the setting where that {_aim(run)}."
    )


def _aim(run: OnlineRun) -> str:
    """What a change is good for: "brings the queue nearer to 30 packets"."""
    if run.target_packets is not None:
        return f"brings the queue nearer to {how_many(run.target_packets, 'packet')}"
    return f"{'raises' if run.objective.maximised else 'lowers'} {run.objective.label}"


def _controller(runs: Sequence[OnlineRun]) -> str:
    events = events_of(runs[0])
    words = (
        f"In the run drawn here (seed {runs[0].seed}) it noticed "
        f"{_counted(len(events.detected), 'change of conditions', 'changes of conditions')} and "
        f"put {_counted(len(events.applied), 'new setting', 'new settings')} in force"
    )
    if events.applied:
        words += f", the first at {seconds(events.applied[0])}"
    back = len(events.rolled_back)
    if back:
        return f"{words}; {_counted(back, 'was', 'were')} rolled back."
    return f"{words}; none had to be rolled back." if events.applied else f"{words}."


def _counted(number: int, one: str, several: str) -> str:
    return f"{number} {one if number == 1 else several}"
