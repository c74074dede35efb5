"""One queue discipline of a Linux interface as tc shows it, whether in text or in JSON.

Shapers at the root (cake, tbf), multi-queue roots (mq) and red, whose weight and idle table tc
derives from other words. Sources: ``cake_change`` of net/sched/sch_cake.c and ``tbf_change`` of
sch_tbf.c, which leave alone what is not given; tc/q_cake.c and tc/q_tbf.c; ``tc_red_eval_ewma`` and
``tc_red_eval_idle_damping`` of tc/tc_red.c, ``tc_calc_xmittime`` of tc/tc_core.c (iproute2 6.1 to
7.1), ``parse_opt`` of tc/q_red.c; include/net/pkt_sched.h (``PSCHED_SHIFT``: a tick is 64 ns).

red's idle table (Scell_log) follows from the weight and the ticks that a packet of avpkt takes at
"bandwidth". The command has a bandwidth from which tc makes the same Scell_log. Up to 6.14 tc drops
parts of a microsecond, then of a tick; since 6.15 it rounds up to whole ticks.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from vermilion.profiles.red_setting import weight_log_of_burst

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping


OptionValue = float | bool | str

LARGEST_TEXT: Final = 1_000_000
"""Characters; whatever is longer is not what tc has shown of one machine."""


@dataclass(frozen=True, slots=True)
class TcQueue:
    """A queue discipline.

    Attributes:
        kind: tc's word, like "fq_codel".
        handle: like "8001:"; "0:" for one that the kernel has put there by itself.
        parent: like "1:10"; ``None`` at the root.
        device: the interface; ``None`` where that is not shown.
        options: by tc's word: times in seconds, sizes in bytes, rates in bit/s, numbers, switches;
            of several numbers, a text.
        statistics: ``bytes``, ``packets``, ``dropped``, ``marked``, ``backlog_packets``,
            ``backlog_bytes`` and cake's ``header_bytes``, where they are shown.
    """

    kind: str
    handle: str
    parent: str | None = None
    device: str | None = None
    options: Mapping[str, OptionValue] = field(default_factory=dict)
    statistics: Mapping[str, float] = field(default_factory=dict)

    def number(self, name: str) -> float | None:
        """An option that is a number; ``None`` where it is not shown."""
        value = self.options.get(name)
        return None if value is None or isinstance(value, str | bool) else float(value)

    def is_on(self, name: str) -> bool:
        """Check whether a switch is on."""
        return self.options.get(name) is True


@dataclass(frozen=True, slots=True)
class ShaperRate:
    """The rate of a cake or a tbf.

    Attributes:
        kind: "cake" or "tbf".
        bit_per_s: its rate; ``None`` for none.
        rest: words that a change of the rate has to repeat.
    """

    kind: str
    bit_per_s: float | None
    rest: str = ""

    def words(self, bit_per_s: float | None) -> str:
        """Arguments of tc for another rate: "cake bandwidth 50000000bit"."""
        if bit_per_s is None:
            return f"{self.kind} unlimited"
        name = "bandwidth" if self.kind == "cake" else "rate"
        words = f"{self.kind} {name} {bit_per_s:.0f}bit"
        return f"{words} {self.rest}" if self.rest else words


def shaper_rate(root: TcQueue) -> ShaperRate | None:
    """The rate of the root; ``None`` where it has none of its own, or more than is read here."""
    if root.kind == "cake":
        return ShaperRate("cake", root.number("bandwidth") or None)
    rate, burst = root.number("rate"), root.number("burst")
    latency, limit = root.number("lat"), root.number("limit")
    if root.kind != "tbf" or not rate or not burst or "peakrate" in root.options:
        return None
    if latency is not None:
        size = f"latency {1e6 * latency:.0f}us"
    elif limit is not None:
        size = f"limit {limit:.0f}"
    else:
        return None
    return ShaperRate("tbf", rate, f"burst {burst:.0f} {size}")


@dataclass(frozen=True, slots=True)
class TransmitQueue:
    """One of them.

    Attributes:
        minor: its number below the root, hexadecimal as in tc.
        restore: tc's words for the queue that stands there.
        changed_back: the same where one of its kind is set in its place.
        by_kernel: whether the kernel has put it there by itself.
    """

    minor: str
    restore: str
    changed_back: str
    by_kernel: bool


@dataclass(frozen=True, slots=True)
class TransmitQueues:
    """Transmit queues of an interface that has several (mq).

    Attributes:
        kind: "mq" or "mqprio".
        handle: of the root; "0:" for one that the kernel has put there by itself, to which nothing
            can be attached.
        each: in the order of their numbers.
    """

    kind: str
    handle: str
    each: tuple[TransmitQueue, ...]

    @property
    def by_kernel(self) -> bool:
        """True if the kernel puts the same there again when what stands at the root is deleted."""
        return self.handle == "0:"


_TICKS_PER_US: Final = 15.625
_US_PER_S: Final = 1e6
_BITS_PER_BYTE: Final = 8
_CELLS: Final = 512.0
_IDLE: Final = 31.0
"""2^-31 of the average is nothing: the longest idle time in the table is that to there."""

_LARGEST_LOG: Final = 31
_LARGEST_RATE: Final = 2**32 * _BITS_PER_BYTE
"""tc up to 6.1 reads bytes per second into 32 bits."""

_LARGEST_TICKS: Final = 2**32 - 1

_WORDS: Final = re.compile(
    r"min (?P<min>\d+) max (?P<max>\d+) avpkt (?P<avpkt>\d+) burst (?P<burst>\d+) "
    r"bandwidth (?P<rate>\d+)bit"
)


def restore_red(queue: TcQueue, words: str, told: Collection[str]) -> tuple[str, Collection[str]]:
    """The words with the bandwidth that has its Scell_log, and what these tell of it.

    Args:
        queue: as tc shows it.
        words: that put it back but for that.
        told: the options that words of red tell where tc can be brought to them.
    """
    match = _WORDS.search(words)
    if match is None:
        return words, told
    packet, burst, low = (int(match[name]) for name in ("avpkt", "burst", "min"))
    weight_log = weight_log_of_burst(low, burst, packet)
    lost = {
        name
        for name, made in (("min", low), ("max", int(match["max"])), ("ewma", weight_log))
        if queue.number(name) not in {None, made}
    }
    wanted = queue.number("Scell_log")
    if wanted is not None and weight_log is not None:
        rate = bandwidth_for(round(wanted), weight_log, packet)
        if rate is None:
            lost.add("Scell_log")
        else:
            start, end = match.span("rate")
            words = f"{words[:start]}{rate}{words[end:]}"
    return words, set(told) - lost


def bandwidth_for(scell_log: int, weight_log: int, packet_bytes: int) -> int | None:
    """A bandwidth, in bit/s, from which tc makes this Scell_log; ``None`` where there is none.

    About in the middle of those that do. For a packet of less than a microsecond the newer tc is
    asked alone: no older one can have made such a table.
    """
    decay = _decay(weight_log)
    middle = _CELLS * 2.0 ** (scell_log - 0.5)
    ticks = max(round(middle * decay / _IDLE), 1)
    if ticks > _LARGEST_TICKS or scell_log_of(ticks, weight_log) != scell_log:
        return None
    middle_us = ticks / _TICKS_PER_US
    whole_us = math.floor(middle_us), math.ceil(middle_us)
    times_us = *filter(None, whole_us), middle_us - 0.5 / _TICKS_PER_US
    rates = [round(_US_PER_S * _BITS_PER_BYTE * packet_bytes / each) for each in times_us]
    accepted = [each for each in rates if _BITS_PER_BYTE <= each < _LARGEST_RATE]
    return next(
        (rate for rate in accepted if _scell_log(rate, weight_log, packet_bytes) == scell_log), None
    )


def _scell_log(bit_per_s: int, weight_log: int, packet_bytes: int) -> int | None:
    """Scell_log that the newer tc derives from a bandwidth."""
    seconds = packet_bytes / (bit_per_s // _BITS_PER_BYTE)
    return scell_log_of(math.ceil(_US_PER_S * seconds * _TICKS_PER_US), weight_log)


def _decay(weight_log: int) -> float:
    """Decay of the average in a packet's time, as a power of e."""
    return -math.log1p(-(2.0**-weight_log))


def scell_log_of(ticks: int, weight_log: int) -> int | None:
    """Scell_log that tc derives from so many ticks; ``None`` where it refuses them."""
    longest = _IDLE * ticks / _decay(weight_log)
    for log in range(_LARGEST_LOG + 1):
        if longest / 2.0**log < _CELLS:
            return log
    return None
