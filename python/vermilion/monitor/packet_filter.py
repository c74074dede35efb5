"""Packet filter of a socket: the first bytes of each packet, of all flows or a sample.

A program of the classic Berkeley packet filter (McCanne and Jacobson 1993; Linux's
``Documentation/networking/filter.rst``), which the kernel runs before it copies anything. All flows
or a share of them: a flow is kept or left out as a whole, in both directions, by a hash of its
addresses and ports. Sampling single packets instead would tear round trips and losses apart.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

SNAPSHOT_BYTES: Final = 160
"""Bytes kept of each packet: Ethernet, IPv6 with an extension header, TCP with all options."""

MOST_LEFT_OUT: Final = 1024
"""One flow in so many is looked at, at least."""

# include/uapi/linux/bpf_common.h and filter.h
_LD, _LDX, _ST, _ALU, _JMP, _RET, _MISC = 0, 1, 2, 4, 5, 6, 7
_W, _H, _B = 0x00, 0x08, 0x10
_ABS, _IND, _IMM, _MEM = 0x20, 0x40, 0x00, 0x60
_MUL, _AND, _LSH, _RSH, _XOR = 0x20, 0x50, 0x60, 0x70, 0xA0
_JEQ, _JSET = 0x10, 0x40
_K, _X = 0x00, 0x08
_TAX = 0x00
_PROTOCOL = 0xFFFFF000  # SKF_AD_OFF + SKF_AD_PROTOCOL
_KIND_OF_PACKET = 0xFFFFF000 + 4  # SKF_AD_PKTTYPE
_INTERFACE = 0xFFFFF000 + 8  # SKF_AD_IFINDEX
_LEAVING = 4  # PACKET_OUTGOING, include/uapi/linux/if_packet.h
_INTERNET = 0xFFF00000  # SKF_NET_OFF: from the IP header on

_IPV4, _IPV6 = 0x0800, 0x86DD
_TCP, _UDP = 6, 17
_FRAGMENT_OFFSET = 0x1FFF
_GOLDEN = 0x9E3779B1  # the odd number nearest to 2^32 divided by the golden ratio

Instruction = tuple[int, int, int, int]
"""Operation, jump if true, jump if false, constant."""


def filter_program(
    one_in: int = 1, *, secret: int = 0, snapshot: int = SNAPSHOT_BYTES
) -> list[Instruction]:
    """Return the program that keeps one flow in ``one_in``, a power of two.

    Args:
        one_in: 1 keeps all of them.
        secret: makes it unknown to others which flows are kept.
        snapshot: how many bytes of each packet are kept.
    """
    keep: Instruction = (_RET | _K, 0, 0, snapshot)
    if one_in == 1:
        return [keep]
    if one_in & (one_in - 1) or not 1 < one_in <= MOST_LEFT_OUT:
        message = f"one_in: {one_in}; expected a power of two from 1 to {MOST_LEFT_OUT}"
        raise ValueError(message)
    body = _hash_of_ipv4(), _hash_of_ipv6()
    decide: list[Instruction] = [
        (_ALU | _XOR | _K, 0, 0, secret & 0xFFFFFFFF),
        (_ALU | _MUL | _K, 0, 0, _GOLDEN),
        (_ALU | _RSH | _K, 0, 0, 32 - (one_in.bit_length() - 1)),
        (_JMP | _JEQ | _K, 0, 1, 0),
        keep,
        (_RET | _K, 0, 0, 0),
    ]
    over_ipv6 = len(body[1])
    return [
        (_LD | _H | _ABS, 0, 0, _PROTOCOL),
        (_JMP | _JEQ | _K, 0, len(body[0]) + 1, _IPV4),
        *body[0],
        (_JMP | 0x00, 0, 0, over_ipv6 + 2),
        (_JMP | _JEQ | _K, 1, 0, _IPV6),
        keep,  # neither: ARP and the like, of which there is little
        *body[1],
        *decide,
    ]


def passing(
    interface: int, entrances: Sequence[int], program: list[Instruction]
) -> list[Instruction]:
    """Return the program for packets of one interface, and those received at others.

    Args:
        interface: the number of the one, whose packets are kept in both directions.
        entrances: the numbers of the others.
        program: which of these packets are kept.
    """
    others: list[Instruction] = [
        (_JMP | _JEQ | _K, left, 0, number)
        for left, number in zip(range(len(entrances), 0, -1), entrances, strict=True)
    ]
    return [
        (_LD | _W | _ABS, 0, 0, _INTERFACE),
        (_JMP | _JEQ | _K, len(others) + 4, 0, interface),
        (_LD | _W | _ABS, 0, 0, _KIND_OF_PACKET),
        (_JMP | _JEQ | _K, len(others) + 1, 0, _LEAVING),
        (_LD | _W | _ABS, 0, 0, _INTERFACE),
        *others,
        (_RET | _K, 0, 0, 0),
        *program,
    ]


def _hash_of_ipv4() -> list[Instruction]:
    """A := addresses and ports, the same for both directions. Fragments have no ports."""
    ports: list[Instruction] = [
        (_LD | _B | _ABS, 0, 0, _INTERNET),
        (_ALU | _AND | _K, 0, 0, 0x0F),
        (_ALU | _LSH | _K, 0, 0, 2),
        (_MISC | _TAX, 0, 0, 0),
        (_LD | _H | _IND, 0, 0, _INTERNET),
        (_ST, 0, 0, 1),
        (_LD | _H | _IND, 0, 0, _INTERNET + 2),
        (_LDX | _MEM, 0, 0, 1),
        (_ALU | _XOR | _X, 0, 0, 0),
        (_LDX | _MEM, 0, 0, 0),
        (_ALU | _XOR | _X, 0, 0, 0),
    ]
    return [
        (_LD | _W | _ABS, 0, 0, _INTERNET + 12),
        (_MISC | _TAX, 0, 0, 0),
        (_LD | _W | _ABS, 0, 0, _INTERNET + 16),
        (_ALU | _XOR | _X, 0, 0, 0),
        (_ST, 0, 0, 0),
        (_LD | _H | _ABS, 0, 0, _INTERNET + 6),
        (_JMP | _JSET | _K, len(ports) + 4, 0, _FRAGMENT_OFFSET),
        (_LD | _B | _ABS, 0, 0, _INTERNET + 9),
        (_JMP | _JEQ | _K, 1, 0, _TCP),
        (_JMP | _JEQ | _K, 0, len(ports) + 1, _UDP),
        *ports,
        (_JMP | 0x00, 0, 0, 1),
        (_LD | _MEM, 0, 0, 0),
    ]


def _hash_of_ipv6() -> list[Instruction]:
    """A := the words of both addresses, and the ports where they follow at once."""
    program: list[Instruction] = [(_LD | _W | _ABS, 0, 0, _INTERNET + 8)]
    for word in range(1, 8):
        program += [
            (_MISC | _TAX, 0, 0, 0),
            (_LD | _W | _ABS, 0, 0, _INTERNET + 8 + 4 * word),
            (_ALU | _XOR | _X, 0, 0, 0),
        ]
    ports: list[Instruction] = [
        (_LD | _H | _ABS, 0, 0, _INTERNET + 40),
        (_MISC | _TAX, 0, 0, 0),
        (_LD | _H | _ABS, 0, 0, _INTERNET + 42),
        (_ALU | _XOR | _X, 0, 0, 0),
        (_LDX | _MEM, 0, 0, 0),
        (_ALU | _XOR | _X, 0, 0, 0),
    ]
    return [
        *program,
        (_ST, 0, 0, 0),
        (_LD | _B | _ABS, 0, 0, _INTERNET + 6),
        (_JMP | _JEQ | _K, 1, 0, _TCP),
        (_JMP | _JEQ | _K, 0, len(ports) + 1, _UDP),
        *ports,
        (_JMP | 0x00, 0, 0, 1),
        (_LD | _MEM, 0, 0, 0),
    ]


def encoded(program: list[Instruction]) -> bytes:
    """The program as an array of ``struct sock_filter``."""
    return b"".join(struct.pack("=HBBI", *each) for each in program)


QUIET_S: Final = 10.0
"""Time for which the ring is nearly empty before more flows are monitored."""

_FULL: Final = 0.5  # of the ring: it is about to lose packets
_NEARLY_EMPTY: Final = 0.1


@dataclass(frozen=True, slots=True)
class Sampling:
    """Share of the flows that is monitored.

    Attributes:
        one_in: one flow in so many.
        quiet_since_s: since when the ring has been nearly empty.
    """

    one_in: int = 1
    quiet_since_s: float | None = None

    def after(self, now_s: float, lost: int, filled: float) -> Sampling:
        """After the ring was emptied.

        Args:
            now_s: when, seconds of any clock that is never set back.
            lost: packets that it had no room for since it was emptied before.
            filled: which share of it was full.
        """
        if lost > 0 or filled > _FULL:
            return Sampling(min(self.one_in * 2, MOST_LEFT_OUT))
        if self.one_in == 1 or filled > _NEARLY_EMPTY:
            return replace(self, quiet_since_s=None)
        if self.quiet_since_s is None:
            return replace(self, quiet_since_s=now_s)
        if now_s - self.quiet_since_s < QUIET_S:
            return self
        return Sampling(self.one_in // 2)
