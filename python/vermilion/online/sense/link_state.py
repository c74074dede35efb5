"""Whether the queue under control is the bottleneck, and what its silence means.

A queue that holds nothing may be that of a link with nothing to carry, of one that another link
starves, or of one that is down. None of them can be tuned, and nothing can be learned from any.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vermilion.online.sense.sampler import Sample

LinkKind: TypeAlias = Literal["busy", "idle", "outage", "elsewhere", "unknown"]
"""``busy``: this queue is the bottleneck. ``idle``: there is nothing to carry. ``outage``: there
is, and it does not get through. ``elsewhere``: packets pass, but something else limits them.
``unknown``: too little has been seen."""

HOLD_S: Mapping[LinkKind, float] = {"busy": 0.3, "idle": 2.0, "outage": 1.0, "elsewhere": 3.0}
"""How long a state must last before it is believed."""
LOOKED_AT_S = 1.0
"""The stretch by which a state is judged at each sample, or ten packets' transmission if longer."""
SIGNALS_S = 5.0
"""A link that dropped or marked a packet within this time is not starved by another one."""

_FULL = 0.9  # of the link's rate
_MOSTLY_EMPTY = 0.9  # share of readings that find no packet
_MOSTLY_WAITING = 0.5  # share of readings that find one
_ALMOST_NOTHING = 0.005  # of the link's rate
_FEWEST_PACKETS = 10  # that a stretch should have room for
_LEAST_S = 0.25  # less than that says nothing
_EPSILON_S = 1e-6  # times are sums of tenths


@dataclass(frozen=True, slots=True)
class LinkState:
    """What the link is doing.

    Attributes:
        kind: in one word.
        since_s: since when, in the network's time.
        words: what was seen, in words and numbers.
    """

    kind: LinkKind = "unknown"
    since_s: float = 0.0
    words: str = "nothing has been seen yet"

    @property
    def is_bottleneck(self) -> bool:
        """Whether what is seen may be judged, and learned from."""
        return self.kind == "busy"


@dataclass(frozen=True, slots=True)
class LinkWatch:
    """Follows the state of a link; a value.

    Attributes:
        state: what is believed.
        seen: what was seen last.
        seen_since_s: since when without a break.
    """

    state: LinkState = LinkState()
    seen: LinkKind = "unknown"
    seen_since_s: float = 0.0

    def updated(
        self, samples: Sequence[Sample], rate_bit_per_s: float | None, flows: int | None
    ) -> LinkWatch:
        """After one more sample.

        Args:
            samples: the latest, oldest first, the new one last; :data:`SIGNALS_S` of them or more.
            rate_bit_per_s: the link's service rate, where it is known.
            flows: how many exist, where that is known.
        """
        now_s = samples[-1].time_s
        found = look(samples, rate_bit_per_s, flows)
        if found is None:
            return LinkWatch(self.state, "unknown", now_s)
        kind, words = found
        since_s = self.seen_since_s
        if kind != self.seen:
            since_s = now_s - samples[-1].interval_s
        if kind == self.state.kind:
            return LinkWatch(LinkState(kind, self.state.since_s, words), kind, since_s)
        if now_s - since_s >= HOLD_S[kind] - _EPSILON_S:
            return LinkWatch(LinkState(kind, since_s, words), kind, since_s)
        return LinkWatch(self.state, kind, since_s)


def look(  # noqa: PLR0911 - one for each thing that can be seen
    samples: Sequence[Sample], rate_bit_per_s: float | None, flows: int | None
) -> tuple[LinkKind, str] | None:
    """What the latest samples look like; ``None`` where they do not look like anything.

    The arguments are those of :meth:`LinkWatch.updated`.
    """
    now_s = samples[-1].time_s
    lately = _lately(samples, rate_bit_per_s)
    seconds = sum(sample.interval_s for sample in lately)
    if seconds < _LEAST_S:
        return None
    packets = sum(sample.packets for sample in lately)
    bit_per_s = 8.0 * sum(sample.bytes for sample in lately) / seconds
    load = None if rate_bit_per_s is None else bit_per_s / rate_bit_per_s
    waiting = samples[-1].backlog_packets
    empty = sum(sample.backlog_packets == 0 for sample in lately) / len(lately)
    exist = flows is not None and flows > 0
    if packets == 0 and seconds > LOOKED_AT_S - _EPSILON_S:
        if waiting > 0 and empty == 0.0:
            return "outage", f"{waiting} packets wait and none has left for {seconds:.1f} s"
        if exist:
            return "outage", f"there are {flows} flows and no packet has come for {seconds:.1f} s"
        return "idle", f"no packet has come for {seconds:.1f} s"
    almost_nothing = (
        load is not None and load < _ALMOST_NOTHING and packets < seconds * (flows or 0)
    )
    if exist and almost_nothing:
        return (
            "outage",
            f"there are {flows} flows and {packets} packets have got through in {seconds:.1f} s",
        )
    of_rate = "" if load is None else f", {load:.0%} of its rate"
    if 1.0 - empty > _MOSTLY_WAITING or (load is not None and load >= _FULL):
        words = (
            f"packets waited at {1.0 - empty:.0%} of the readings of {seconds:.1f} s and the link "
            f"carried {bit_per_s / 1e6:.4g} Mbit/s{of_rate}"
        )
        return "busy", words
    signals = sum(
        sample.drops + sample.marks for sample in samples if sample.time_s > now_s - SIGNALS_S
    )
    if packets > 0 and signals > 0:
        words = (
            f"{signals} packets were dropped or marked in {SIGNALS_S:.0f} s and the link carried "
            f"{bit_per_s / 1e6:.4g} Mbit/s{of_rate}"
        )
        return "busy", words
    if packets > 0 and empty >= _MOSTLY_EMPTY:
        words = (
            f"the link carried {bit_per_s / 1e6:.4g} Mbit/s{of_rate}, but no packet waited at "
            f"{empty:.0%} of the readings of {seconds:.1f} s"
        )
        return "elsewhere", words
    return None


def _lately(samples: Sequence[Sample], rate_bit_per_s: float | None) -> list[Sample]:
    """The samples by which the state is judged, the latest first."""
    stretch_s = LOOKED_AT_S
    if rate_bit_per_s is not None:
        largest = max(
            (sample.bytes / sample.packets for sample in samples[-20:] if sample.packets > 0),
            default=0.0,
        )
        stretch_s = max(stretch_s, _FEWEST_PACKETS * 8.0 * largest / rate_bit_per_s)
    lately: list[Sample] = []
    seconds = 0.0
    for sample in reversed(samples):
        if seconds > stretch_s - _EPSILON_S:
            break
        lately.append(sample)
        seconds += sample.interval_s
    return lately
