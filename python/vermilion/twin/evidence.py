"""Measurements for a twin: flows with more data, round trips, the link's load."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from vermilion.monitor import read_capture

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from os import PathLike
    from typing import BinaryIO

    from numpy.typing import NDArray

    from vermilion.monitor import CaptureSummary, FlowSummary, RoundTrips, Volumes


class Sides:
    """Two-colouring of hosts by their flows so far (union-find with parity)."""

    def __init__(self) -> None:
        """No host is known."""
        self._parent: dict[str, str] = {}
        self._turned: dict[str, bool] = {}  # against the parent
        self.contradictions = 0

    def find(self, host: str) -> tuple[str, bool]:
        """The host that stands for its group, and whether this one is on the other side."""
        path = []
        while self._parent.setdefault(host, host) != host:
            path.append(host)
            host = self._parent[host]
        turned = False
        for each in reversed(path):
            turned ^= self._turned[each]
            self._parent[each], self._turned[each] = host, turned
        return host, turned

    def join(self, one: str, other: str) -> None:
        """A flow passes between these: they stand on different sides."""
        (root, turned), (other_root, other_turned) = self.find(one), self.find(other)
        if root == other_root:
            self.contradictions += turned == other_turned
            return
        self._parent[other_root] = root
        self._turned[other_root] = turned == other_turned


def directions(flows: Iterable[tuple[str, str, int, int]]) -> tuple[list[bool], int]:
    """Tell for each flow whether its first end is on the side that sends most.

    Args:
        flows: both ends, and the bytes that each has sent.

    Returns:
        The answers, and how many flows contradict the others: neither side fits them.
    """
    known = list(flows)
    sides = Sides()
    for one, other, _, _ in known:
        sides.join(one, other)
    balance: dict[str, int] = {}
    for one, _, sent, got in known:
        root, turned = sides.find(one)
        balance[root] = balance.get(root, 0) + ((got - sent) if turned else (sent - got))
    answers = []
    for one, _, _, _ in known:
        root, turned = sides.find(one)
        answers.append((balance[root] >= 0) != turned)
    return answers, sides.contradictions


STRETCH_S: Final = 0.1
"""Rates are told for stretches of so long."""

MOST_FLOWS: Final = 20_000
"""Number of largest flows that are examined one by one."""

_MEAN_S: Final = 0.2  # waits are averaged over so long first: where a queue overflows few are taken


@dataclass(frozen=True, slots=True)
class FlowEvidence:
    """One flow, seen the heavy way.

    Attributes:
        traffic: ``tcp``, ``udp-may-respond`` or ``udp``.
        begun_s: when its first packet passed, from the capture's beginning.
        ended_s: when its last one did.
        opening_seen: whether it was opened within the capture.
        closed: whether it was closed or broken off within the capture.
        payload_bytes: data it sent the heavy way; for UDP everything behind the IP header.
        packets: packets the heavy way, as many as the link carried at least.
        bytes: their bytes from the IP header on.
        resent: segments with data that were sent again.
        segments: segments with data.
        lost_behind: of those sent again, how many the monitor had seen before.
        base_rtt_s: the shortest whole round trip seen; ``None`` where none was.
        ecn: whether it negotiated ECN; ``None`` where that was not seen.
        initiated: whether its heavy end opened it.
    """

    traffic: str
    begun_s: float
    ended_s: float
    opening_seen: bool
    closed: bool
    payload_bytes: int
    packets: int
    bytes: int
    resent: int
    segments: int
    lost_behind: int
    base_rtt_s: float | None
    ecn: bool | None
    initiated: bool

    @property
    def lasted_s(self) -> float:
        """Time from its first packet to its last."""
        return self.ended_s - self.begun_s


@dataclass(frozen=True, slots=True)
class Evidence:
    """Measurements of a capture in the direction with more data.

    Attributes:
        name: of the capture.
        duration_s: from its first packet to its last.
        flows: those with data the heavy way.
        flows_left_out: flows too small to be looked at one by one.
        contradictions: flows that fit neither side of the link.
        other_way_share: the share of all bytes that goes the other way.
        link_header_bytes: of each packet, before its IP header.
        rates_bit_per_s: what passed in each stretch from the first that was busy to the last, with
            the link's headers.
        waits_s: the mean wait above the shortest round trip, by stretch with round trips.
        longest_wait_s: all but a hundredth of those were shorter.
        wait_before_s: the median wait before the monitor, above the shortest.
        wait_beyond_s: the same beyond it; a median, lest delayed acknowledgements make it.
        mean_rtt_s: mean whole round trip, by stretch.
        marked_share: of the packets the heavy way that can be marked, those that are.
        merged_share: of the captured packets, those that are several.
        ack_bytes: mean size of the packets the other way.
    """

    name: str
    duration_s: float
    flows: tuple[FlowEvidence, ...]
    flows_left_out: int
    contradictions: int
    other_way_share: float
    link_header_bytes: float
    rates_bit_per_s: NDArray[np.float64]
    waits_s: NDArray[np.float64]
    longest_wait_s: float | None
    wait_before_s: float | None
    wait_beyond_s: float | None
    mean_rtt_s: float | None
    marked_share: float | None
    merged_share: float
    ack_bytes: float | None

    @property
    def throughput_bit_per_s(self) -> float:
        """The mean rate the heavy way, with the link's headers."""
        return float(self.rates_bit_per_s.mean()) if len(self.rates_bit_per_s) else 0.0

    @property
    def mean_wait_s(self) -> float | None:
        """The mean over stretches of the wait above the shortest round trip."""
        return _mean(self.waits_s)

    @property
    def resent_share(self) -> float | None:
        """Share of data segments retransmitted in the direction with more data."""
        segments = sum(each.segments for each in self.flows)
        return sum(each.resent for each in self.flows) / segments if segments else None


def read_evidence(
    file: str | PathLike[str] | BinaryIO,
    *,
    cut_short: bool = False,
    progress: Callable[[float], object] | None = None,
) -> Evidence:
    """Read a capture.

    Args:
        file: as for :func:`vermilion.monitor.read_capture`.
        cut_short: likewise.
        progress: told which share of the file has been read.

    Raises:
        CaptureFileError: it cannot be read, or is no capture.
    """
    trips: list[RoundTrips] = []
    volumes: list[Volumes] = []
    summary = read_capture(
        file,
        kept_flows=MOST_FLOWS,
        cut_short=cut_short,
        round_trips=trips.append,
        volumes=volumes.append,
        stretch_s=STRETCH_S,
        progress=progress,
    )
    flows = summary.flows
    heavy, contradictions = directions(
        (
            each.initiator.address,
            each.responder.address,
            each.from_initiator.bytes,
            each.from_responder.bytes,
        )
        for each in flows
    )
    header = _link_header(summary)
    way = {each.number: is_heavy for each, is_heavy in zip(flows, heavy, strict=True)}
    rates, other_bytes = _rates(volumes, way, header, summary)
    waits = _Waits.of(trips, way)
    sides = [
        (each.from_initiator, each.from_responder)
        if is_heavy
        else (each.from_responder, each.from_initiator)
        for each, is_heavy in zip(flows, heavy, strict=True)
    ]
    sent = [side for side, _ in sides]
    able = sum(side.ecn["ect-0"] + side.ecn["ect-1"] + side.ecn["ce"] for side in sent)
    marked = sum(side.ecn["ce"] for side in sent)
    answers = sum(side.packets for _, side in sides)
    all_bytes = sum(each.bytes for each in flows)
    begun_ns = summary.first_ns or 0
    found = tuple(
        _flow(each, begun_ns, is_heavy=is_heavy, shortest_s=waits.base_s.get(each.number))
        for each, is_heavy in zip(flows, heavy, strict=True)
    )
    return Evidence(
        name=str(getattr(file, "name", file)),
        duration_s=summary.duration_s or 0.0,
        flows=tuple(each for each in found if each.payload_bytes > 0),
        flows_left_out=summary.flows_left_out,
        contradictions=contradictions,
        other_way_share=other_bytes / all_bytes if all_bytes else 0.0,
        link_header_bytes=header,
        rates_bit_per_s=rates,
        waits_s=waits.by_stretch(waits.whole_s),
        longest_wait_s=waits.longest_s,
        wait_before_s=waits.before_s,
        wait_beyond_s=waits.beyond_s,
        mean_rtt_s=waits.mean_rtt_s,
        marked_share=marked / able if able else None,
        merged_share=summary.merged_packets / summary.packets if summary.packets else 0.0,
        ack_bytes=sum(side.bytes for _, side in sides) / answers if answers else None,
    )


def _link_header(summary: CaptureSummary) -> float:
    """Bytes before the IP header, of a mean packet."""
    read = sum(each.packets for each in summary.traffic.values())
    if read != summary.packets or read == 0:
        return 14.0
    return (summary.wire_bytes - sum(each.bytes for each in summary.traffic.values())) / read


def _flow(
    flow: FlowSummary, begun_ns: int, *, is_heavy: bool, shortest_s: float | None
) -> FlowEvidence:
    """Evidence of one flow, in the direction of most data."""
    side = flow.from_initiator if is_heavy else flow.from_responder
    packets = side.packets - side.merged_packets + side.merged_carried_at_least
    resent = side.order["sent-again"] + side.order["sent-again-lost-before-monitor"]
    base = [each for each in (shortest_s,) if each is not None]
    if flow.handshake_ms is not None:
        base.append(flow.handshake_ms / 1e3)
    return FlowEvidence(
        traffic=flow.traffic,
        begun_s=(flow.first_ns - begun_ns) / 1e9,
        ended_s=(flow.last_ns - begun_ns) / 1e9,
        opening_seen=flow.initiator_known,
        closed=flow.ended in {"closed", "reset"},
        payload_bytes=side.payload_bytes if flow.protocol == "tcp" else side.bytes,
        packets=packets,
        bytes=side.bytes,
        resent=resent,
        segments=sum(side.order.values()) - side.order["copy"] - side.order["keep-alive"],
        lost_behind=side.order["sent-again"],
        base_rtt_s=min(base) if base else None,
        ecn=None if flow.ecn == "unknown" else flow.ecn in {"classic", "accurate"},
        initiated=is_heavy,
    )


def _rates(
    volumes: list[Volumes], way: dict[int, bool], header: float, summary: CaptureSummary
) -> tuple[NDArray[np.float64], int]:
    """Rate in the direction of most data in each whole interval; bytes in the other direction."""
    if not volumes or summary.first_ns is None or summary.last_ns is None:
        return np.empty(0), 0
    columns = {
        name: np.concatenate([getattr(each, name) for each in volumes])
        for name in ("stretch", "flow", "packets", "bytes", "from_initiator")
    }
    known = np.array([way.get(flow, True) for flow in columns["flow"].tolist()])
    heavy = known == columns["from_initiator"]
    length_ns = round(STRETCH_S * 1e9)
    first = summary.first_ns // length_ns
    count = int(summary.last_ns // length_ns - first + 1)
    places = columns["stretch"] - first
    inside = heavy & (places >= 0) & (places < count)
    carried = columns["bytes"][inside] + header * columns["packets"][inside]
    bits = 8.0 * np.bincount(places[inside], carried, count)
    # The first and the last stretch were seen in part.
    busy = np.flatnonzero(bits)
    bits = bits[busy[0] : busy[-1] + 1] if len(busy) else bits
    whole = bits[1:-1] if len(bits) > 2 else bits  # noqa: PLR2004 - those two
    rates: NDArray[np.float64] = (whole / STRETCH_S).astype(np.float64)
    return rates, int(columns["bytes"][~heavy].sum())


@dataclass(frozen=True, slots=True)
class _Waits:
    """Round trips in the direction of most data, with their excess over the shortest of their flow.

    Attributes:
        base_s: the shortest whole round trip of each flow.
        times_s: when whole ones ended.
        whole_s: what they were above it.
        longest_s: all but a hundredth of the means of a stretch were shorter.
        before_s: by how much the median of whole ones, above the shortest, is above ``beyond_s``.
        beyond_s: the median of those beyond, above the shortest.
        mean_rtt_s: the mean of whole ones by stretch.
    """

    base_s: dict[int, float]
    times_s: NDArray[np.float64]
    whole_s: NDArray[np.float64]
    longest_s: float | None
    before_s: float | None
    beyond_s: float | None
    mean_rtt_s: float | None

    @classmethod
    def of(cls, trips: list[RoundTrips], way: dict[int, bool]) -> _Waits:
        """Make it of round trips as they were measured."""
        columns = {
            name: np.concatenate([getattr(each, name) for each in trips] or [np.empty(0)])
            for name in ("time_ns", "flow", "round_trip_ns", "whole", "from_initiator")
        }
        heavy = np.array([way.get(int(flow), True) for flow in columns["flow"]], dtype=bool)
        heavy = heavy == columns["from_initiator"].astype(bool)
        whole, beyond = (
            heavy & (columns["whole"].astype(bool) == which) for which in (True, False)
        )
        seconds, flow = columns["round_trip_ns"] / 1e9, columns["flow"].astype(np.int64)
        base = _shortest(flow[whole], seconds[whole])
        least_beyond = _shortest(flow[beyond], seconds[beyond])
        above = _excess(flow[whole], seconds[whole], base)
        above_beyond = _excess(flow[beyond], seconds[beyond], least_beyond)
        times = columns["time_ns"][whole] / 1e9
        plain = cls(base, times, above, None, None, None, None)
        by_stretch = plain.by_stretch(above)
        middle, middle_beyond = (
            float(np.median(each)) if len(each) else None for each in (above, above_beyond)
        )
        return cls(
            base_s=base,
            times_s=times,
            whole_s=above,
            longest_s=float(np.percentile(by_stretch, 99)) if len(by_stretch) else None,
            before_s=(
                None
                if middle is None or middle_beyond is None
                else max(0.0, middle - middle_beyond)
            ),
            beyond_s=middle_beyond,
            mean_rtt_s=_mean(plain.by_stretch(seconds[whole])),
        )

    def by_stretch(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """The mean of the whole ones in each stretch that has some."""
        return _means(self.times_s, values)


def _mean(values: NDArray[np.float64]) -> float | None:
    return float(values.mean()) if len(values) else None


def _means(times_s: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    if len(values) == 0:
        return np.empty(0)
    _, places = np.unique((times_s / _MEAN_S).astype(np.int64), return_inverse=True)
    means: NDArray[np.float64] = np.bincount(places, values) / np.bincount(places)
    return means


def _shortest(flow: NDArray[np.int64], seconds: NDArray[np.float64]) -> dict[int, float]:
    found: dict[int, float] = {}
    for number, value in zip(flow.tolist(), seconds.tolist(), strict=True):
        found[number] = min(value, found.get(number, value))
    return found


def _excess(
    flow: NDArray[np.int64], seconds: NDArray[np.float64], base: dict[int, float]
) -> NDArray[np.float64]:
    return seconds - np.array([base[number] for number in flow.tolist()], dtype=np.float64)
