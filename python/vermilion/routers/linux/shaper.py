"""Rate of a shaper of an interface: ``cake``, ``tbf``, or a class of ``htb``. Pure.

Source: net/sched/sch_cake.c, sch_tbf.c, sch_htb.c, include/uapi/linux/pkt_sched.h (Linux 6.12),
tried on a Linux 6.12 kernel. ``cake`` takes its rate alone and keeps the rest. ``tbf`` and ``htb``
take their whole block, so what the kernel says goes back with another rate; their bursts are told
as times, and are kept in bytes. A change of rate drops no packet.
"""

from __future__ import annotations

import re
import shlex
import struct
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from vermilion.routers.base import RouterError
from vermilion.routers.linux.message import (
    KIND,
    NEW_CLASS,
    NEW_QUEUE,
    OPTIONS,
    ROOT,
    STATISTICS,
    QueueMessage,
    attribute_bytes,
    by_type,
    check_length,
    number_of,
    parse_attributes,
    queue_body,
    queue_settings,
    text_of,
    u32_bytes,
)
from vermilion.routers.linux.state import QueueStatistics, parse_statistics
from vermilion.scenario.errors import printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vermilion.routers.base import ParameterValue
    from vermilion.routers.linux.discovery import QueueAddress

PARAMETER: Final = "bandwidth"
"""Name of the rate, bits a second, as tc has it for ``cake``."""

_CAKE_RATE: Final = 2
_BLOCK: Final = 1
_TBF_RATE64, _TBF_BURST = 4, 6
_HTB_RATE64, _HTB_CEIL64 = 6, 7
_RATE_SPEC: Final = struct.Struct("=BBHhHI")
_TBF: Final = struct.Struct("=12s12sIII")
_HTB: Final = struct.Struct("=12s12s5I")
_TICK_NS: Final = 64
_U32: Final = 2**32 - 1
_ETHERNET: Final = 1
_LEAST_BURST: Final = 1600
LEAST_RATE: Final = 8_000.0
MOST_RATE: Final = 1e12
"""Bits a second that a shaper can be set to."""

_MAJOR: Final = 0xFFFF0000
KINDS: Final = ("cake", "htb", "tbf")


@dataclass(frozen=True, slots=True)
class ShaperState:
    """A shaper as the kernel describes it.

    Attributes:
        kind: the kernel's word.
        interface: number of its interface.
        handle: of the qdisc, or the class.
        parent: what it is below.
        rate_bit_per_s: in force; 0: it does not shape.
        burst_bytes: sent at once at most; 0 for ``cake``.
        ceil_burst_bytes: the same of a class that borrows.
        block: options to be told again, without the rate.
        statistics: its counters; of a class, of the qdisc that holds it.
    """

    kind: str
    interface: int
    handle: int
    parent: int
    rate_bit_per_s: float
    burst_bytes: int = 0
    ceil_burst_bytes: int = 0
    block: bytes = b""
    statistics: QueueStatistics = field(default_factory=QueueStatistics)


def parse_shaper(told: QueueMessage) -> ShaperState | None:
    """Return the shaper that a message describes; ``None``: it describes none.

    Raises:
        AnswerError: it cannot be read.
    """
    kind = text_of(told.attributes.get(KIND, b"?"), "queue")
    if kind not in KINDS:
        return None
    options = by_type(parse_attributes(told.attributes.get(OPTIONS, b""), kind))
    statistics = QueueStatistics()
    if STATISTICS in told.attributes:
        statistics = parse_statistics(told.attributes[STATISTICS])
    place = (kind, told.interface, told.handle, told.parent)
    if kind == "cake":
        rate = number_of(options.get(_CAKE_RATE, bytes(8)), "cake rate")
        return ShaperState(*place, 8.0 * rate, statistics=statistics)
    block = options.get(_BLOCK)
    if block is None:  # an htb that holds classes
        return None
    form = _TBF if kind == "tbf" else _HTB
    check_length(block, form.size, f"{kind} options")
    first, second, *numbers = form.unpack_from(block)
    if kind == "tbf":
        rate = _rate_of(first, options.get(_TBF_RATE64))
        burst = numbers[1] * _TICK_NS * rate / 1e9
        return ShaperState(
            *place, 8.0 * rate, round(burst), block=block[: _TBF.size], statistics=statistics
        )
    low = _rate_of(first, options.get(_HTB_RATE64))
    rate = _rate_of(second, options.get(_HTB_CEIL64))
    bursts = (numbers[0] * _TICK_NS * low / 1e9, numbers[1] * _TICK_NS * rate / 1e9)
    return ShaperState(
        *place,
        8.0 * rate,
        round(bursts[0]),
        round(bursts[1]),
        block[: _HTB.size],
        statistics,
    )


def _rate_of(spec: bytes, more: bytes | None) -> int:
    """Bytes a second of a ``tc_ratespec``, and of the attribute for rates beyond 32 bits."""
    return int(_RATE_SPEC.unpack(spec)[5]) if more is None else number_of(more, "rate")


def rate_request(now: ShaperState, bit_per_s: float, found: ShaperState) -> tuple[int, bytes]:
    """Return type and body of the message that sets a rate.

    Args:
        now: the shaper.
        bit_per_s: the rate.
        found: the shaper before its first change, whose bursts are kept.
    """
    rate = round(bit_per_s / 8)
    head = queue_body(now.interface, now.handle, now.parent)
    if now.kind == "cake":
        options = attribute_bytes(_CAKE_RATE, struct.pack("=Q", rate))
        return NEW_QUEUE, head + queue_settings("cake", options)
    if now.kind == "tbf":
        spec, peak, limit, _, mtu = _TBF.unpack(now.block)
        block = _TBF.pack(_spec(spec, rate), peak, limit, _ticks(found.burst_bytes, rate), mtu)
        options = attribute_bytes(_BLOCK, block)
        options += attribute_bytes(_TBF_RATE64, struct.pack("=Q", rate)) if rate > _U32 else b""
        options += u32_bytes(_TBF_BURST, max(found.burst_bytes, _LEAST_BURST))
        return NEW_QUEUE, head + queue_settings("tbf", options)
    low, high, _, _, *rest = _HTB.unpack(now.block)
    least = max(1, round(_share(found) * rate))
    block = _HTB.pack(
        _spec(low, least),
        _spec(high, rate),
        _ticks(found.burst_bytes, least),
        _ticks(found.ceil_burst_bytes, rate),
        *rest,
    )
    options = attribute_bytes(_BLOCK, block)
    for number, value in ((_HTB_RATE64, least), (_HTB_CEIL64, rate)):
        options += attribute_bytes(number, struct.pack("=Q", value)) if value > _U32 else b""
    return NEW_CLASS, head + queue_settings("htb", options)


def _share(shaper: ShaperState) -> float:
    """Part of its rate that a class of ``htb`` is sure of."""
    if shaper.kind != "htb" or not shaper.rate_bit_per_s:
        return 1.0
    return min(1.0, 8.0 * _rate_of(_HTB.unpack(shaper.block)[0], None) / shaper.rate_bit_per_s)


def _spec(spec: bytes, rate: int) -> bytes:
    cell, layer, overhead, align, mpu, _ = _RATE_SPEC.unpack(spec)
    # A layer that is not told would have the kernel look for a table of times.
    return _RATE_SPEC.pack(cell, layer or _ETHERNET, overhead, align, mpu, min(rate, _U32))


def _ticks(burst_bytes: int, rate: int) -> int:
    return min(_U32, round(max(burst_bytes, _LEAST_BURST) * 1e9 / max(rate, 1) / _TICK_NS))


_WORD: Final = r"[0-9a-f]{0,4}:[0-9a-f]{0,4}"
_RECORDED: Final = re.compile(
    rf"tc (?:qdisc|class) change dev \S+ (?:root|parent {_WORD}) "
    rf"(?:handle (?P<handle>{_WORD}) |classid (?P<classid>{_WORD}) )?"
    r"(?P<kind>cake|tbf|htb) (?:bandwidth|rate) (?P<rate>[0-9]{1,15})bit"
    r"(?: ceil (?P<ceil>[0-9]{1,15})bit)?(?: burst (?P<burst>[0-9]+)b)?"
    r"(?: cburst (?P<cburst>[0-9]+)b)?(?: limit (?P<limit>[0-9]+)b)?"
)


def rate_command(interface: str, shaper: ShaperState, bit_per_s: float) -> str:
    """Return the call of tc that sets a shaper's rate."""
    limit = _TBF.unpack(shaper.block)[2] if shaper.kind == "tbf" else 0
    handle = f"{shaper.handle >> 16:x}:"
    if shaper.kind == "htb":
        handle += f"{shaper.handle & 0xFFFF:x}"
    bursts = (shaper.burst_bytes, shaper.ceil_burst_bytes)
    return _command(
        interface, shaper.kind, shaper.parent, handle, bit_per_s, _share(shaper), bursts, limit
    )


def rebuilt_rate_command(
    address: QueueAddress, parameters: Mapping[str, ParameterValue], recorded: str
) -> str | None:
    """Return the call of tc for a recorded rate; ``None`` where there is none.

    Nothing of the recorded call comes back but numbers.

    Args:
        address: of the shaper.
        parameters: the recorded rate.
        recorded: a call of :func:`rate_command`.
    """
    match = _RECORDED.fullmatch(recorded)
    rate = parameters.get(PARAMETER)
    if match is None or isinstance(rate, bool) or not isinstance(rate, int | float):
        return None
    if not 0 <= rate <= MOST_RATE:
        return None
    handle = match["handle"] or match["classid"] or ""
    at = re.search(rf"parent ({_WORD})", recorded)
    major, _, minor = (at[1] if at else "ffff:ffff").partition(":")
    parent = int(major or "0", 16) << 16 | int(minor or "0", 16)
    bursts = (int(match["burst"] or 0), int(match["cburst"] or 0))
    share = min(1.0, int(match["rate"]) / max(int(match["ceil"] or match["rate"]), 1))
    limit = int(match["limit"] or 0)
    return _command(address.interface, match["kind"], parent, handle, rate, share, bursts, limit)


def _text(number: int) -> str:
    """Return a class as tc writes it."""
    return f"{number >> 16:x}:{number & 0xFFFF:x}"


def _command(
    interface: str,
    kind: str,
    parent: int,
    handle: str,
    bit_per_s: float,
    share: float,
    bursts: tuple[int, int],
    limit: int,
) -> str:
    name, rate = shlex.quote(interface), round(bit_per_s)
    place = "root" if parent == ROOT else f"parent {_text(parent)}"
    if kind == "htb":
        return (
            f"tc class change dev {name} {place} classid {handle} htb "
            f"rate {round(share * rate)}bit ceil {rate}bit burst {bursts[0]}b cburst {bursts[1]}b"
        )
    where = f"tc qdisc change dev {name} {place} handle {handle} {kind}"
    if kind == "cake":
        return f"{where} bandwidth {rate}bit"
    return f"{where} rate {rate}bit burst {bursts[0]}b limit {limit}b"


def shaper_at(
    address: QueueAddress,
    index: int,
    queues: Sequence[QueueMessage],
    classes: Sequence[QueueMessage],
) -> ShaperState:
    """Return the shaper of an address: the qdisc at its place, or the class of its name.

    ``linux:eth0`` is the ``cake`` or ``tbf`` at the root, or the only class at the top of an
    ``htb``.

    Args:
        address: of the shaper.
        index: number of the interface.
        queues: of all interfaces.
        classes: of this one.

    Raises:
        RouterError: there is none; the message says how to make one.
    """
    own = [each for each in queues if each.interface == index]
    for each in own:
        shaper = parse_shaper(each) if each.parent == address.parent else None
        if shaper is not None:
            return shaper
    tops = [each for each in classes if each.parent == ROOT]
    named = [each for each in classes if each.handle == address.parent]
    for each in named or (tops if len(tops) == 1 and address.parent == ROOT else []):
        shaper = parse_shaper(each)
        holder = next((q for q in own if q.handle == each.handle & _MAJOR), None)
        if shaper is not None and holder is not None:
            statistics = parse_statistics(holder.attributes.get(STATISTICS, b""))
            return replace(shaper, statistics=statistics)
    name = printable(shlex.quote(address.interface))
    if len(tops) > 1 and address.parent == ROOT:
        found = ", ".join(f"{address}/{_text(each.handle)}" for each in tops)
        message = f"{address}: there are several classes; expected one of {found}"
    else:
        message = (
            f"{address}: there is no shaper here; put one here first: "
            f"tc qdisc replace dev {name} root cake bandwidth 10mbit"
        )
    raise RouterError(message)


_ACTIONS: Final = (2, 3, 7)
"""Attributes that hold the actions of matchall, flower and u32."""
_ACTION_KIND, _ACTION_OPTIONS, _MIRRED_BLOCK = 1, 2, 2
_MIRRED: Final = struct.Struct("=24xI")


def redirect_target(filters: Sequence[QueueMessage]) -> int | None:
    """Number of the interface (ifb) to which arriving packets go; ``None``: to none."""
    for each in filters:
        try:
            told = by_type(parse_attributes(each.attributes.get(OPTIONS, b""), "filter"))
        except RouterError:
            continue
        for number in _ACTIONS:
            try:
                for action in parse_attributes(told.get(number, b""), "actions"):
                    own = by_type(parse_attributes(action.payload, "action"))
                    if own.get(_ACTION_KIND, b"").rstrip(b"\0") != b"mirred":
                        continue
                    more = by_type(parse_attributes(own.get(_ACTION_OPTIONS, b""), "mirred"))
                    return int(_MIRRED.unpack_from(more[_MIRRED_BLOCK])[0])
            except (RouterError, KeyError, struct.error):
                continue  # an attribute of another meaning
    return None
