r"""Reading what ``tc -s qdisc show`` prints.

Format: iproute2 6.1, tc/tc_qdisc.c (``print_qdisc``), tc/tc_util.c (``print_tcstats_attr``) and the
``print_opt`` of each tc/q_\*.c. A queue begins with "qdisc KIND HANDLE", then where it is, then
words and numbers; statistics follow in lines that begin with a space.

- Rates are in powers of 1000 ("50Mbit", "1250Kbit"; "50MBps" are bytes); sizes and bursts in powers
  of 1024 ("32Mb", "1600b", "32Kb": lib/utils.c, ``sprint_size``); times "4.99ms", "999us", "10s",
  "10sec".
- Without ``-d``, red does not show its probability and weight.
"""

from __future__ import annotations

import math
import re
from typing import Final

from vermilion.advise.tc_cake import CAKE_WORDS
from vermilion.advise.tc_queue import LARGEST_TEXT, OptionValue, TcQueue
from vermilion.scenario.errors import ScenarioError

OPTION: Final = "--now"

_ACCEPTED: Final = 'the output of "tc -s qdisc show dev INTERFACE"'

_HEAD = re.compile(
    r"qdisc\s+(?P<kind>[a-z][a-z0-9_]{0,15})\s+(?P<handle>[0-9a-f]{1,4}:)(?P<rest>.*)"
)
_NUMBER = re.compile(r"(?P<number>[0-9]{1,15}(?:\.[0-9]{1,9})?)(?P<unit>[A-Za-z]{0,5})")
_SENT = re.compile(r"Sent (?P<bytes>[0-9]{1,20}) bytes (?P<packets>[0-9]{1,20}) pkt")
_DROPPED = re.compile(r"\(dropped (?P<dropped>[0-9]{1,20}),")
_BACKLOG = re.compile(r"backlog (?P<bytes>[0-9]{1,15})(?P<unit>[KMG]?)b (?P<packets>[0-9]{1,20})p")
_HEADER = re.compile(r"average network hdr offset: {1,40}(?P<bytes>[0-9]{1,5})")
_MARKED = re.compile(r"(?:ecn_mark|marked) (?P<marked>[0-9]{1,20})")

_SWITCHES: Final = frozenset(
    {
        "ecn", "noecn", "harddrop", "nodrop", "adaptive", "bytemode", "nobytemode",
        "dq_rate_estimator", "no_dq_rate_estimator", "headdrop", "horizon_drop", "horizon_cap",
        "offloaded", "nopacing", "pacing", "nonat", "nowash", "via-ethernet", *CAKE_WORDS,
    }
)  # fmt: skip
"""Words without a value after them."""

_OFF: Final = frozenset({"noecn", "nobytemode", "nonat", "nowash"})
"""Those that say that the switch without "no" is off."""

_LISTS: Final = frozenset({"priomap", "weights"})
"""Words with several numbers after them; they are kept as they are shown."""

_PLACES: Final = frozenset({"dev", "parent", "refcnt"})

_SIZES: Final = {"b": 1.0, "Kb": 1024.0, "Mb": 1024.0**2, "Gb": 1024.0**3}
_TIMES: Final = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "sec": 1.0, "ns": 1e-9}
_RATES: Final = {
    "bit": 1.0, "Kbit": 1e3, "Mbit": 1e6, "Gbit": 1e9, "Tbit": 1e12,
    "Bps": 8.0, "KBps": 8e3, "MBps": 8e6, "GBps": 8e9,
}  # fmt: skip
_COUNTS: Final = {"": 1.0, "p": 1.0}
_UNITS: Final = {**_SIZES, **_TIMES, **_RATES, **_COUNTS}


def read_tc_text(text: str) -> list[TcQueue]:
    """The queue disciplines in what tc has printed, in its order.

    Raises:
        ScenarioError: it is not what tc prints.
    """
    shown = " ".join(text.split())[:60]
    if len(text) > LARGEST_TEXT or "\0" in text:
        raise ScenarioError(OPTION, shown, _ACCEPTED)
    found: list[TcQueue] = []
    statistics: dict[str, float] = {}
    for line in text.splitlines():
        head = _HEAD.match(line.strip())
        if head is not None:
            statistics = {}
            found.append(_queue(head, statistics))
        elif line.strip() and not found:
            raise ScenarioError(OPTION, shown, _ACCEPTED)
        elif found:
            _read_statistics(line, statistics)
    if not found:
        raise ScenarioError(OPTION, shown or "an empty text", _ACCEPTED)
    return found


def _queue(head: re.Match[str], statistics: dict[str, float]) -> TcQueue:
    words = head["rest"].split()
    places: dict[str, str] = {}
    options: dict[str, OptionValue] = {}
    index = 0
    while index < len(words):
        word = words[index]
        value = words[index + 1] if index + 1 < len(words) else None
        if word in {"[Unknown", "root"}:
            index += 1
        elif word in _SWITCHES:
            off = word in _OFF
            options[word.removeprefix("no") if off else word] = not off
            index += 1
        elif word == "flows" and head["kind"] == "cake":  # elsewhere it is a number
            options["flowmode"] = word
            index += 1
        elif word in _LISTS:
            end = index + 1
            while end < len(words) and words[end].isdecimal():
                end += 1
            options[word] = " ".join(words[index + 1 : end])
            index = end
        elif word in _PLACES and value is not None:
            places[word] = value
            index += 2
        elif value is None or value in _SWITCHES or _value(word) is not None:
            options.setdefault(word, True)
            index += 1
        else:
            number = _value(value)
            options[word] = value if number is None else number
            index += 2
    return TcQueue(
        head["kind"],
        head["handle"],
        parent=places.get("parent"),
        device=places.get("dev"),
        options=options,
        statistics=statistics,
    )


def _value(text: str) -> float | None:
    """A number with one of tc's units, in bytes, seconds, bit/s or as it is."""
    match = _NUMBER.fullmatch(text.partition("/")[0])  # "32Kb/1" is a burst and its cell
    if match is None or match["unit"] not in _UNITS:
        return None
    value = float(match["number"]) * _UNITS[match["unit"]]
    return value if math.isfinite(value) else None


def _read_statistics(line: str, statistics: dict[str, float]) -> None:
    """Takes up what a line of statistics says."""
    if sent := _SENT.search(line):
        statistics["bytes"] = float(sent["bytes"])
        statistics["packets"] = float(sent["packets"])
    if dropped := _DROPPED.search(line):
        statistics["dropped"] = float(dropped["dropped"])
    if backlog := _BACKLOG.search(line):
        statistics["backlog_packets"] = float(backlog["packets"])
        factor = 1024 ** " KMG".index(backlog["unit"] or " ")
        statistics["backlog_bytes"] = float(backlog["bytes"]) * factor
    if header := _HEADER.search(line):
        statistics["header_bytes"] = float(header["bytes"])
    if marked := _MARKED.search(line):
        statistics["marked"] = float(marked["marked"])
