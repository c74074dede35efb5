"""Where packets wait: here, behind, before, or nowhere, with numbers and doubt. Pure.

From probes of a line (:class:`WaitWindow`), from a queue's backlog and round trips of this
machine's connections (:func:`waits_now`), or from round trips that pass a monitor
(:func:`where_packets_wait`).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from statistics import quantiles
from typing import TYPE_CHECKING, Final, Literal

from vermilion.files.document import document

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.monitor.summary import CaptureSummary, DirectionSummary

Direction = Literal["up", "down"]
Place = Literal["here", "behind", "before", "nowhere", "unseen"]

_WINDOW_S: Final = 2.0
_FEWEST: Final = 8
_FEWEST_ROUND_TRIPS: Final = 20
_WORTH_S: Final = 0.005


@document()
@dataclass(frozen=True, slots=True)
class Finding:
    """Place where packets wait.

    Attributes:
        place: "here", in the shaper or queue; "behind" it, since its rate is too high; "before"
            it, where the provider sends; "nowhere"; or "unseen".
        here_s: median wait in the shaper or queue.
        line_s: median wait in the line's own queue.
        low_s: lower quartile of that.
        high_s: upper quartile of that.
        probes: answers, or connections, that say so.
        why: reason of "unseen".
    """

    place: Place
    here_s: float
    line_s: float
    low_s: float
    high_s: float
    probes: int
    why: str = ""

    def words(self) -> str:
        """Return the finding as one sentence."""
        here = _time(self.here_s)
        line = f"{_time(self.line_s)} ({_time(self.low_s)} to {_time(self.high_s)})"
        match self.place:
            case "here":
                beyond = f"; on the line {line}" if self.probes else ""
                return f"packets wait here, in this machine's queue: {here}{beyond}"
            case "behind":
                return (
                    f"packets wait behind the shaper, whose rate is too high: {line} in the "
                    f"modem's queue, {here} here"
                )
            case "before":
                return (
                    f"packets wait before they arrive, since the shaper's rate is too high: {line} "
                    f"in the provider's queue, {here} here"
                )
            case "nowhere":
                return f"packets wait nowhere: {here} here, {line} on the line"
            case _:
                return f"where packets wait is not known: {self.why}"


class WaitWindow:
    """Waits of the last two seconds.

    Args:
        direction: of the packets that the shaper holds back.
        worth_s: wait from which packets count as waiting.

    Attributes:
        knows_empty: whether the line was ever seen without load. Else a queue that has stood from
            the beginning is taken for the way itself.
    """

    def __init__(self, direction: Direction, worth_s: float = _WORTH_S) -> None:
        self._direction = direction
        self._worth_s = worth_s
        self._line: deque[tuple[float, float]] = deque()
        self._here: deque[tuple[float, float]] = deque()
        self.knows_empty = False

    def probe(self, now_s: float, wait_s: float) -> None:
        """Take in what an answer says of the line."""
        self._line.append((now_s, wait_s))

    def backlog(self, now_s: float, wait_s: float) -> None:
        """Take in the wait in the shaper: its backlog by its rate."""
        self._here.append((now_s, wait_s))

    def finding(self, now_s: float) -> Finding:
        """Return where packets wait."""
        for each in (self._line, self._here):
            while each and each[0][0] < now_s - _WINDOW_S:
                each.popleft()
        here = _quartiles([wait for _, wait in self._here])[1]
        low, line, high = _quartiles([wait for _, wait in self._line])
        place: Place = "nowhere"
        if len(self._line) < _FEWEST:
            place = "unseen"
        elif line > self._worth_s and low > self._worth_s / 2:
            place = "behind" if self._direction == "up" else "before"
        elif here > self._worth_s:
            place = "here"
        why = "too few answers" if place == "unseen" else ""
        if place in {"here", "nowhere"} and not self.knows_empty:
            place, why = "unseen", "busy from the beginning"
        return Finding(place, here, line, low, high, len(self._line), why)


def waits_now(here_s: float | None, round_trips: Sequence[tuple[float, float]]) -> Finding:
    """Return where packets wait from what one look at a machine shows.

    Args:
        here_s: wait in its queue, the backlog by the rate; ``None``: not known.
        round_trips: of its connections that are sending, each with its least of the last minutes,
            which is what the way itself takes.
    """
    here = here_s or 0.0
    low, line, high = _quartiles([max(0.0, now - least - here) for now, least in round_trips])
    place: Place = "nowhere"
    why = ""
    if line > _WORTH_S and low > _WORTH_S / 2 and here_s is not None:
        place = "behind"
    elif here > _WORTH_S:
        place = "here"
    elif not round_trips:
        place, why = "unseen", "no connection of this machine is sending"
    elif here_s is None:
        place, why = "unseen", "packets wait in this queue, whose rate is not known"
    return Finding(place, here, line, low, high, len(round_trips), why)


@document()
@dataclass(frozen=True, slots=True)
class Waits:
    """Mean waits above each flow's least round trip.

    Attributes:
        place: "behind" the monitor, towards the receivers; "before" it, towards the senders, where
            an interface's own queue is too; or "nowhere".
        behind_ms: mean of the round trips between monitor and receivers, above their least.
        before_ms: the same of what is left of whole round trips.
        flows: directions of flows with round trips enough.
        round_trips: how many those are.
    """

    place: str
    behind_ms: float
    before_ms: float
    flows: int
    round_trips: int

    def words(self) -> str:
        """Return it as a phrase."""
        numbers = f"{_time(1e-3 * self.behind_ms)} behind this point"
        numbers += f", {_time(1e-3 * self.before_ms)} before it"
        return f"{self.place}: {numbers} on average, of {self.flows} flows"


def where_packets_wait(summary: CaptureSummary) -> Waits | None:
    """Return where packets wait; ``None`` where too few round trips tell."""
    behind = before = 0.0
    flows = round_trips = 0
    for flow in summary.flows:
        for side in (flow.from_initiator, flow.from_responder):
            found = _waits(side)
            if found is not None:
                count, far, near = found
                flows, round_trips = flows + 1, round_trips + count
                behind, before = behind + count * far, before + count * near
    if not round_trips:
        return None
    behind, before = behind / round_trips, before / round_trips
    place = "behind" if behind >= before else "before"
    if max(behind, before) < 1e3 * _WORTH_S:
        place = "nowhere"
    return Waits(place, behind, before, flows, round_trips)


def _waits(side: DirectionSummary) -> tuple[int, float, float] | None:
    far, whole = side.beyond_ms, side.whole_ms
    if far is None or far.count < _FEWEST_ROUND_TRIPS:
        return None
    behind = far.mean - far.min
    near = 0.0 if whole is None else max(0.0, whole.mean - whole.min - behind)
    return far.count, behind, near


def _quartiles(values: list[float]) -> tuple[float, float, float]:
    if len(values) < 2:  # noqa: PLR2004 - quartiles need two
        only = values[0] if values else 0.0
        return only, only, only
    low, middle, high = quantiles(values, n=4, method="inclusive")
    return low, middle, high


def _time(seconds: float) -> str:
    if not seconds:
        return "0 s"
    unit, factor = ("s", 1.0) if seconds >= 1.0 else ("ms", 1e3)
    if seconds < 1e-3:  # noqa: PLR2004 - a millisecond
        unit, factor = "µs", 1e6
    return f"{float(f'{factor * seconds:.2g}'):g} {unit}"
