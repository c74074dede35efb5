"""Summary of a capture. A number that cannot be computed is ``None``."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from pydantic import AliasPath, Field

from vermilion.files.document import read_as


def _at(*path: str) -> Any:  # noqa: ANN401 - what pydantic takes
    return Field(validation_alias=AliasPath(*path))


@dataclass(frozen=True, slots=True)
class Amount:
    """Packets as they were captured, and their bytes from the IP header on."""

    packets: int
    bytes: int


@dataclass(frozen=True, slots=True)
class SizeBin:
    """Packets that are larger than the bin before and at most so large; the last has no bound."""

    packets: int
    up_to_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class RoundTripTimes:
    """Round trips in milliseconds.

    Attributes:
        count: how many were taken.
        mean: their mean.
        min: the shortest.
        max: the longest.
        p5: a twentieth is shorter; ``None`` for a single flow, like the other percentiles.
        p50: half are shorter.
        p95: a twentieth is longer.
        p99: a hundredth is longer.
        latest: the last; ``None`` for all flows together.
    """

    count: int
    mean: float
    min: float
    max: float
    p5: float | None = None
    p50: float | None = None
    p95: float | None = None
    p99: float | None = None
    latest: float | None = None


@dataclass(frozen=True, slots=True)
class End:
    """One end of a flow."""

    address: str
    port: int

    def __str__(self) -> str:
        """Format it as in a URL: IPv6 addresses in brackets."""
        host = f"[{self.address}]" if ":" in self.address else self.address
        return f"{host}:{self.port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectionSummary:
    """Traffic of one direction of a flow.

    Attributes:
        packets: packets, as they were captured.
        bytes: their bytes from the IP header on.
        payload_bytes: bytes of data of TCP; what was sent again counts again.
        ecn: packets by ECN field: ``not-ect``, ``ect-1``, ``ect-0``, ``ce``.
        ece: segments that say that congestion was experienced.
        cwr: segments that say that the window was reduced.
        merged_packets: packets that are several, captured as one.
        merged_carried_at_least: how many packets those were on the link, at least.
        order: TCP segments with data by what they are.
        acknowledged_unseen: how often data was acknowledged that the monitor had not seen.
        most_in_flight_bytes: the most data under way at once, as the monitor saw it.
        beyond_ms: round trips between the monitor and the receiver.
        whole_ms: whole round trips.
        first_flight_packets: packets sent before anything was acknowledged.
        first_flight: how: ``at-once``, ``spread`` or ``unknown``.
    """

    packets: int
    bytes: int
    payload_bytes: int
    ecn: dict[str, int]
    ece: int
    cwr: int
    merged_packets: Annotated[int, _at("merged", "packets")]
    merged_carried_at_least: Annotated[int, _at("merged", "carried_at_least")]
    order: dict[str, int]
    acknowledged_unseen: int
    most_in_flight_bytes: int
    beyond_ms: RoundTripTimes | None = None
    whole_ms: RoundTripTimes | None = None
    first_flight_packets: int | None = None
    first_flight: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowSummary:
    """Summary of one flow.

    Attributes:
        number: in order of first sight, from 0.
        protocol: ``tcp`` or ``udp``.
        traffic: ``tcp``, ``udp-may-respond`` or ``udp``.
        initiator: who opened it; who sent the first packet seen, if that is not known.
        responder: the other end.
        initiator_known: whether the initiator is known.
        first_ns: when its first packet passed, in nanoseconds since 1970.
        last_ns: when its last packet passed, likewise.
        ended: ``closed``, ``reset``, ``silent``, ``replaced`` or ``input-ended``.
        ecn: ``unknown``, ``not-offered``, ``refused``, ``classic`` or ``accurate``.
        timed_by: ``timestamps``, ``sequence-numbers`` or ``unknown``.
        handshake_ms: the round trip of its handshake, in milliseconds.
        not_timed: segments that gave no round trip, by reason.
        from_initiator: what the initiator sent.
        from_responder: what the responder sent.
    """

    number: int
    protocol: str
    traffic: str
    initiator: End
    responder: End
    initiator_known: bool
    first_ns: int
    last_ns: int
    ended: str | None = None
    ecn: str
    timed_by: str
    handshake_ms: float | None = None
    not_timed: dict[str, int]
    from_initiator: DirectionSummary
    from_responder: DirectionSummary

    @property
    def bytes(self) -> int:
        """Bytes of both directions, from the IP header on."""
        return self.from_initiator.bytes + self.from_responder.bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureSummary:
    """Summary of a capture.

    Attributes:
        first_ns: when the first packet passed, in nanoseconds since 1970.
        last_ns: when the last packet passed, likewise.
        duration_s: from the first to the last, in seconds.
        packets: packets, as they were captured.
        wire_bytes: their bytes on the wire, with the link's header.
        cut: packets of which less was captured than there was.
        time_backwards: packets whose time is before that of an earlier one.
        without_time: packets without a time.
        traffic: IP packets and bytes by kind: ``tcp``, ``udp-may-respond``, ``udp``, ``other-ip``.
        unresponsive_share: the share of bytes of IP that nothing is known to slow down.
        undecoded: packets of which no more was read, by reason.
        fragments: pieces of IP packets.
        ecn: IP packets by ECN field: ``not-ect``, ``ect-1``, ``ect-0``, ``ce``.
        ece: TCP segments that say that congestion was experienced.
        cwr: TCP segments that say that the window was reduced.
        mean_packet_bytes: the mean size of IP packets.
        packet_bytes_sd: its standard deviation.
        largest_packet_bytes: the largest.
        sizes: how many packets are how large.
        merged_packets: packets that are several, captured as one.
        merged_carried_at_least: how many packets those were on the link, at least.
        segments: TCP segments of flows that were followed.
        order: those with data by what they are.
        acknowledged_unseen: how often data was acknowledged that the monitor had not seen.
        beyond_ms: round trips between the monitor and the receivers of data.
        whole_ms: whole round trips.
        handshake_ms: whole round trips of handshakes.
        not_timed: segments that gave no round trip, by reason.
        not_whole: round trips beyond the monitor that became no whole one, by reason.
        flows_seen: flows that were followed.
        openings: TCP connections whose opening was seen.
        ended: why flows are no longer followed.
        not_tracked: packets of flows that there was no room to follow, by reason.
        flows: the largest flows, the largest first.
        flows_left_out: how many flows were smaller.
        document: all of this as the core gives it, for ``--json``.
    """

    first_ns: int | None = None
    last_ns: int | None = None
    duration_s: float | None = None
    packets: int
    wire_bytes: int
    cut: int
    time_backwards: int
    without_time: int
    traffic: dict[str, Amount]
    unresponsive_share: float | None = None
    undecoded: dict[str, int]
    fragments: int
    ecn: dict[str, int]
    ece: int
    cwr: int
    mean_packet_bytes: Annotated[float | None, _at("sizes", "mean_bytes")] = None
    packet_bytes_sd: Annotated[float | None, _at("sizes", "sd_bytes")] = None
    largest_packet_bytes: Annotated[int, _at("sizes", "max_bytes")]
    sizes: Annotated[tuple[SizeBin, ...], _at("sizes", "bins")]
    merged_packets: Annotated[int, _at("merged", "packets")]
    merged_carried_at_least: Annotated[int, _at("merged", "carried_at_least")]
    segments: int
    order: dict[str, int]
    acknowledged_unseen: int
    beyond_ms: Annotated[RoundTripTimes | None, _at("round_trips_ms", "beyond")] = None
    whole_ms: Annotated[RoundTripTimes | None, _at("round_trips_ms", "whole")] = None
    handshake_ms: Annotated[RoundTripTimes | None, _at("round_trips_ms", "handshake")] = None
    not_timed: dict[str, int]
    not_whole: dict[str, int]
    flows_seen: int
    openings: int
    ended: dict[str, int]
    not_tracked: dict[str, int]
    flows: tuple[FlowSummary, ...]
    flows_left_out: int
    document: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def from_json(cls, text: str) -> CaptureSummary:
        """Read it from the core's document."""
        found: CaptureSummary = read_as(cls, text)
        return replace(found, document=json.loads(text))
