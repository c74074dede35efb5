r"""Reading what ``tc -s -j qdisc show`` writes.

Format: iproute2 6.1, tc/tc_qdisc.c and the ``print_opt`` of each tc/q_\*.c: an array with an object
for each queue discipline; times are whole microseconds, rates bytes a second, sizes bytes. The
kernel counts CoDel's times in units of 1.024 us, so that 5 ms come back as 4999 us: what is that
near to whole milliseconds is meant to be.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, Final

from vermilion.advise.tc_queue import LARGEST_TEXT, OptionValue, TcQueue
from vermilion.scenario.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Mapping

OPTION: Final = "--now-json"

_ACCEPTED: Final = 'the output of "tc -s -j qdisc show dev INTERFACE"'

_TIMES: Final = frozenset(
    {
        "target", "interval", "ce_threshold", "tupdate", "lat", "rtt", "refill_delay", "horizon",
        "offload_horizon",
    }
)  # fmt: skip
_NANOSECONDS: Final = frozenset({"timer_slack"})
_RATES: Final = frozenset({"rate", "peakrate", "bandwidth", "maxrate", "low_rate_threshold"})
_STATISTICS: Final = {
    "bytes": "bytes",
    "packets": "packets",
    "drops": "dropped",
    "qlen": "backlog_packets",
    "backlog": "backlog_bytes",
    "ecn_mark": "marked",
    "marked": "marked",
    "avg_hdr_offset": "header_bytes",
}
_LARGEST: Final = 1e18
_WORD_LENGTH: Final = 40
_MICROSECOND: Final = 1e-6
_NANOSECOND: Final = 1e-9
_LIST_LENGTH: Final = 32
_KERNEL_UNIT: Final = 2.0
"""Microseconds by which the kernel's units of time may miss."""

_MILLISECOND_US: Final = 1000.0


def read_tc_json(text: str) -> list[TcQueue]:
    """The queue disciplines in what tc has written, in its order.

    Raises:
        ScenarioError: it is not what tc writes.
    """
    shown = " ".join(text.split())[:60]
    refusal = ScenarioError(OPTION, shown or "an empty file", _ACCEPTED)
    if len(text) > LARGEST_TEXT:
        raise refusal
    try:
        entries = json.loads(text)
    except (ValueError, RecursionError):
        raise refusal from None
    if not isinstance(entries, list) or not entries:
        raise refusal
    found = []
    for entry in entries:
        if not isinstance(entry, dict) or not _is_word(entry.get("kind")):
            raise refusal
        handle = entry.get("handle", "0:")
        if not _is_word(handle):
            raise refusal
        found.append(_queue(entry, handle))
    return found


def _queue(entry: Mapping[str, Any], handle: str) -> TcQueue:
    options = entry.get("options")
    own = options if isinstance(options, dict) else {}
    return TcQueue(
        entry["kind"],
        handle,
        parent=entry["parent"] if _is_word(entry.get("parent")) else None,
        device=entry["dev"] if _is_word(entry.get("dev")) else None,
        options={
            name: value
            for shown, given in own.items()
            # tc 6.1 to 7.1 has "priomap " with a space.
            if (value := _value(name := str(shown).strip(), given)) is not None
        },
        statistics={
            ours: float(number)
            for theirs, ours in _STATISTICS.items()
            if (number := _number(entry.get(theirs))) is not None
        },
    )


def _value(name: str, given: object) -> OptionValue | None:
    """An option as :class:`TcQueue` has it."""
    if isinstance(given, bool):
        return given
    if given is None:
        return True  # tc writes switches of some kinds as null
    number = _number(given)
    if number is None:
        return _text(given)
    if name in _TIMES:
        whole = round(number / _MILLISECOND_US) * _MILLISECOND_US
        return (whole if abs(whole - number) < _KERNEL_UNIT else number) * _MICROSECOND
    if name in _NANOSECONDS:
        return number * _NANOSECOND
    return 8.0 * number if name in _RATES else number


def _text(given: object) -> str | None:
    """A word, or several numbers as tc's text has them, like a map of priorities."""
    if isinstance(given, str):
        return given[:_WORD_LENGTH]
    if not isinstance(given, list):
        return None
    numbers = [_number(each) for each in given[:_LIST_LENGTH]]
    known = [f"{each:.0f}" for each in numbers if each is not None]
    return " ".join(known) if known and len(known) == len(given) else None


def _number(given: object) -> float | None:
    if isinstance(given, bool) or not isinstance(given, int | float):
        return None
    if not math.isfinite(given) or not 0 <= given <= _LARGEST:
        return None
    return float(given)


def _is_word(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= _WORD_LENGTH and value.isprintable()
