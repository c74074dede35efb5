"""Where packets wait, from round trips alone: on which side of the monitor they grow. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from vermilion.files.document import document

if TYPE_CHECKING:
    from vermilion.monitor.summary import CaptureSummary, DirectionSummary

_FEWEST: Final = 20
_WORTH_MS: Final = 5.0


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
        numbers = f"{self.behind_ms:.1f} ms behind this point, {self.before_ms:.1f} ms before it"
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
    if max(behind, before) < _WORTH_MS:
        place = "nowhere"
    return Waits(place, behind, before, flows, round_trips)


def _waits(side: DirectionSummary) -> tuple[int, float, float] | None:
    far, whole = side.beyond_ms, side.whole_ms
    if far is None or far.count < _FEWEST:
        return None
    behind = far.mean - far.min
    near = 0.0 if whole is None else max(0.0, whole.mean - whole.min - behind)
    return far.count, behind, near
