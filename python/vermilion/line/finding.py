"""Where packets wait: here, behind, before, or nowhere, with numbers. Pure."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from statistics import quantiles
from typing import Final, Literal

from vermilion.files.document import document
from vermilion.scenario.quantities import TIME, format_quantity

Direction = Literal["up", "down"]
Place = Literal["here", "behind", "before", "nowhere", "unseen"]

_WINDOW_S: Final = 2.0
_FEWEST: Final = 8
_WORTH_S: Final = 0.005


@document()
@dataclass(frozen=True, slots=True)
class Finding:
    """Place where packets wait.

    Attributes:
        place: "here", in the shaper; "behind" it, since its rate is too high; "before" it, where
            the provider sends; "nowhere"; or "unseen".
        here_s: median wait in the shaper.
        line_s: median wait in the line's own queue.
        low_s: lower quartile of that.
        high_s: upper quartile of that.
        probes: answers that say so.
    """

    place: Place
    here_s: float
    line_s: float
    low_s: float
    high_s: float
    probes: int

    def words(self) -> str:
        """Return the finding as one sentence."""
        here = _time(self.here_s)
        line = f"{_time(self.line_s)} ({_time(self.low_s)} to {_time(self.high_s)})"
        match self.place:
            case "here":
                return f"packets wait here, where the shaper sorts them: {here}; on the line {line}"
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
                why = "too few answers" if self.probes < _FEWEST else "busy from the beginning"
                return f"where packets wait is not known: {why}"


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
        if place in {"here", "nowhere"} and not self.knows_empty:
            place = "unseen"
        return Finding(place, here, line, low, high, len(self._line))


def _quartiles(values: list[float]) -> tuple[float, float, float]:
    if len(values) < 2:  # noqa: PLR2004 - quartiles need two
        only = values[0] if values else 0.0
        return only, only, only
    low, middle, high = quantiles(values, n=4, method="inclusive")
    return low, middle, high


def _time(seconds: float) -> str:
    return format_quantity(float(f"{seconds:.2g}"), TIME)
