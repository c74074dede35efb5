"""Cake as tc shows it: the words that put it back, and what it was told of the line.

Source: ``cake_print_opt`` and ``cake_parse_opt`` of tc/q_cake.c (iproute2 6.1 to 7.1). Its text has
most options as words without a value; its JSON has some of these as values ("diffserv",
"flowmode", "atm", "autorate", "ack-filter") and some as true and false.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from vermilion.advise.line_framing import LineFraming

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vermilion.advise.line_framing import LinkLayer
    from vermilion.advise.tc_queue import TcQueue

_SWITCHES: Final = (
    "autorate-ingress",
    "besteffort",
    "precedence",
    "diffserv3",
    "diffserv4",
    "diffserv8",
    "flowblind",
    "srchost",
    "dsthost",
    "hosts",
    "flows",
    "dual-srchost",
    "dual-dsthost",
    "triple-isolate",
    "nat",
    "wash",
    "ack-filter",
    "ack-filter-aggressive",
    "no-split-gso",
    "ingress",
)
"""Words without a value, as tc prints and takes them."""

_LAYERS: Final = ("atm", "ptm")
_DEFAULTS: Final = frozenset({"raw", "noatm", "no-ack-filter", "split-gso"})
"""Words that need not be said again."""

_ACK_FILTERS: Final[Mapping[str, str]] = {
    "enabled": "ack-filter",
    "aggressive": "ack-filter-aggressive",
    "disabled": "no-ack-filter",
}
_MASK: Final = re.compile(r"0x[0-9a-f]{1,8}")


def cake_words(queue: TcQueue) -> tuple[str, set[str]]:
    """The words that put it back, and the names of the options that these tell."""
    on = _switches(queue)
    rate, interval = queue.number("bandwidth"), queue.number("rtt")
    words = ["cake", f"bandwidth {rate:.0f}bit" if rate else "unlimited"]
    words += [name for name in _SWITCHES if name in on]
    words += [f"rtt {1e6 * interval:.0f}us"] if interval else []
    words += [name for name in _LAYERS if name in on]
    told = {on[name] for name in (*_SWITCHES, *_LAYERS, *_DEFAULTS) if name in on}
    told |= {"bandwidth", "rtt", "split_gso"}
    for name in ("overhead", "mpu", "memlimit"):
        number = queue.number(name)
        if number is not None:
            told.add(name)
            # "raw" prints an overhead, and telling it would end being raw.
            words += [] if name == "overhead" and "raw" in on else [f"{name} {number:.0f}"]
    mark = queue.options.get("fwmark")
    if isinstance(mark, str) and _MASK.fullmatch(mark):
        words.append(f"fwmark {mark}")
        told.add("fwmark")
    elif mark in {0.0, "0"}:  # tc's JSON has it also where there is none
        told.add("fwmark")
    return " ".join(words), told


def cake_framing(queue: TcQueue) -> LineFraming | None:
    """What it was told of the line; ``None`` where it counts as the kernel does."""
    on = _switches(queue)
    overhead = None if "raw" in on else round(queue.number("overhead") or 0.0)
    layer: LinkLayer | None = "atm" if "atm" in on else "ptm" if "ptm" in on else None
    least = round(queue.number("mpu") or 0.0)
    if layer is None and not overhead and not least:
        return None
    header = 0 if overhead is None else round(queue.statistics.get("header_bytes", 0.0))
    return LineFraming(layer, overhead, least, header)


def _switches(queue: TcQueue) -> dict[str, str]:
    """The words that are on, each with the name of its option."""
    found = {name: name for name, value in queue.options.items() if value is True}
    if queue.options.get("split_gso") is False:
        found["no-split-gso"] = "split_gso"
    for name in ("diffserv", "flowmode", "atm", "autorate", "ack-filter"):
        value = queue.options.get(name)
        if isinstance(value, str):
            found[_ACK_FILTERS.get(value, value) if name == "ack-filter" else value] = name
    return found
