"""What packets take on the line, where cake was told: ATM cells, PTM's code, headers of the modem.

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

from dataclasses import dataclass
from typing import Final, Literal

LinkLayer = Literal["atm", "ptm"]

_ETHERNET: Final = 14
_CELL_HOLDS: Final = 48
_CELL: Final = 53
_CODED: Final = 64

PTM_SHARE: Final = 64.0 / 65.0
"""The part of a PTM line that is packets."""


@dataclass(frozen=True, slots=True)
class LineFraming:
    """How the line counts a packet.

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
        """What an Ethernet packet of so many bytes takes on the line."""
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
        """In cake's words: "atm overhead 44"."""
        overhead = "raw" if self.overhead is None else f"overhead {self.overhead}"
        least = f"mpu {self.least}" if self.least else None
        return " ".join(each for each in (self.layer, overhead, least) if each)
