"""How a queue of this machine is named: ``linux:eth0`` or ``linux:eth0/1:10``.

The first is the queue at the root of an interface, the second the one below a class of a shaper or
of ``mq``. Handles are written as tc does (tc(8), "classid"): two hexadecimal numbers of 16 bits.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from vermilion.routers.base import RouterError
from vermilion.routers.linux.message import INGRESS, ROOT
from vermilion.scenario.errors import printable, value_text

SCHEME: Final = "linux:"
LONGEST_NAME: Final = 15
"""Bytes of an interface's name: IFNAMSIZ - 1."""

_PARENT = re.compile(r"([0-9a-fA-F]{1,4}):([0-9a-fA-F]{1,4})")
EXAMPLE: Final = '"linux:INTERFACE" or "linux:INTERFACE/CLASS", like "linux:eth0/1:10"'
_LOW: Final = 0xFFFF


@dataclass(frozen=True, slots=True)
class QueueAddress:
    """Which queue.

    Attributes:
        interface: its name. It goes to the kernel as data, and into no command.
        parent: the class that the queue is below; ``ROOT`` for the root.
    """

    interface: str
    parent: int = ROOT

    def __str__(self) -> str:
        below = "" if self.parent == ROOT else f"/{parent_text(self.parent)}"
        return f"{SCHEME}{printable(self.interface)}{below}"


def parse_address(text: str) -> QueueAddress:
    """The queue that a name means.

    Raises:
        RouterError: it is no such name.
    """
    name, slash, parent = text.removeprefix(SCHEME).partition("/")
    match = _PARENT.fullmatch(parent)
    usable = 0 < len(name.encode("utf-8", errors="replace")) <= LONGEST_NAME and name.isprintable()
    if not text.startswith(SCHEME) or not usable or (slash and match is None) or " " in name:
        message = f"router: {printable(value_text(text))} is not accepted; expected {EXAMPLE}"
        raise RouterError(message)
    if match is None:
        return QueueAddress(name)
    return QueueAddress(name, int(match[1], 16) << 16 | int(match[2], 16))


def handle_text(handle: int) -> str:
    """A queue's handle as tc writes it: ``8001:``."""
    return f"{handle >> 16:x}:"


def parent_text(parent: int) -> str:
    """A class as tc writes it: ``1:10``; "root" for none, "ingress" for what arrives."""
    if parent == ROOT:
        return "root"
    return "ingress" if parent == INGRESS else f"{parent >> 16:x}:{parent & _LOW:x}"
