"""cake as tc shows it: the words that put it back, and its framing of the line.

Sources: ``cake_print_opt`` and ``cake_parse_opt`` of tc/q_cake.c (iproute2 6.1 to 7.1). Text has
most options as words without a value; the JSON has some of them as values ("diffserv", "flowmode",
"atm", "autorate", "ack-filter") and some as booleans.

What packets take on the line, where cake was told: ATM cells, PTM's code, headers of the modem.

Sources: ``cake_calc_overhead`` of net/sched/sch_cake.c, ``psched_l2t_ns`` of
include/net/sch_generic.h (Linux 6.12), tc/q_htb.c and ``get_linklayer`` of tc/tc_util.c (iproute2
6.1 to 7.1).

- cake adds its overhead to the IP packet: it leaves out the header of the interface, 14 bytes of
  Ethernet, unless it is "raw". htb adds its overhead to what the kernel counts, which has that
  header. So htb needs less, by the header that cake has seen. Where that is not shown, htb is told
  the whole overhead: it then counts a few bytes too many, and never too few.
- ATM sends 48 bytes in a cell of 53; the last cell is filled up. htb knows that too.
- PTM sends 64 bytes as 65. htb has no word for that.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vermilion.advise.tc_queue import TcQueue


LinkLayer = Literal["atm", "ptm"]

_ETHERNET: Final = 14
_CELL_HOLDS: Final = 48
_CELL: Final = 53
_CODED: Final = 64

PTM_SHARE: Final = 64.0 / 65.0
"""The part of a PTM line that is packets."""


@dataclass(frozen=True, slots=True)
class LineFraming:
    """Framing of the line: how many bytes a packet takes.

    Attributes:
        layer: how it is cut or coded; ``None`` for neither.
        overhead: bytes in addition to the IP packet; ``None`` where cake takes what the kernel
            counts ("raw").
        least: bytes that a packet takes at least, before cells; cake's "mpu".
        header: bytes of the interface's own header, as cake has seen it; 0 where that is not shown.
    """

    layer: LinkLayer | None = None
    overhead: int | None = None
    least: int = 0
    header: int = 0

    def bytes_of(self, packet: int) -> int:
        """Bytes that an Ethernet packet of this size takes on the line."""
        size = packet if self.overhead is None else packet - _ETHERNET + self.overhead
        size = max(size, self.least)
        if self.layer == "atm":
            return -(-size // _CELL_HOLDS) * _CELL
        return size + -(-size // _CODED) if self.layer == "ptm" else size

    def htb_words(self) -> list[str]:
        """The same for a class of htb, as far as it has words for it."""
        overhead = max((self.overhead or 0) - self.header, 0)
        words = [f"overhead {overhead}"] if overhead else []
        words += [f"mpu {self.least}"] if self.least else []
        return words + (["linklayer atm"] if self.layer == "atm" else [])

    def words(self) -> str:
        """Cake's own words: "atm overhead 44"."""
        overhead = "raw" if self.overhead is None else f"overhead {self.overhead}"
        least = f"mpu {self.least}" if self.least else None
        return " ".join(each for each in (self.layer, overhead, least) if each)


_SWITCHES: Final = (
    "autorate-ingress", "besteffort", "precedence", "diffserv3", "diffserv4", "diffserv8",
    "flowblind", "srchost", "dsthost", "hosts", "flows", "dual-srchost", "dual-dsthost",
    "triple-isolate", "nat", "wash", "ack-filter", "ack-filter-aggressive", "no-split-gso",
    "ingress",
)  # fmt: skip
"""Words without a value, as tc prints and takes them."""

_LAYERS: Final = ("atm", "ptm")
_DEFAULTS: Final = frozenset({"raw", "noatm", "no-ack-filter", "split-gso"})
"""Words that need not be said again."""

CAKE_WORDS: Final = frozenset({*_SWITCHES, *_LAYERS, *_DEFAULTS}) - {"flows"}
"""All words without a value, but for one that has a number elsewhere."""

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
    """Framing that cake is configured with; ``None`` where it counts as the kernel does."""
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
