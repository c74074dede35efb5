"""How a queue of another machine is named: ``snmp:HOST/INTERFACE`` or ``snmp:HOST/INTERFACE/1:10``.

The host is a name or an address (IPv6 in brackets), with ``:PORT`` where its agent does not listen
at 161. What comes after it is named as for the kind "linux".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from vermilion.routers.base import RouterError
from vermilion.routers.linux.address import LONGEST_NAME, parent_text
from vermilion.routers.linux.message import ROOT
from vermilion.scenario.errors import printable, value_text

SCHEME: Final = "snmp:"
STANDARD_PORT: Final = 161

_HOST = re.compile(r"(?:\[([0-9A-Fa-f:.%a-z]{2,60})\]|([A-Za-z0-9._-]{1,253}))(?::([0-9]{1,5}))?")
_CLASS = re.compile(r"([0-9a-fA-F]{1,4}):([0-9a-fA-F]{1,4})")
_LARGEST_PORT: Final = 65_535
EXAMPLE: Final = (
    '"snmp:HOST/INTERFACE" or "snmp:HOST:PORT/INTERFACE/CLASS", like "snmp:192.0.2.1/eth0/1:10"'
)


@dataclass(frozen=True, slots=True)
class RemoteAddress:
    """Which queue of which machine.

    Attributes:
        host: a name or an address.
        interface: its name there.
        parent: the class that the queue is below; ``ROOT`` for the root.
        port: of the agent.
    """

    host: str
    interface: str
    parent: int = ROOT
    port: int = STANDARD_PORT

    def __str__(self) -> str:
        below = "" if self.parent == ROOT else f"/{parent_text(self.parent)}"
        return f"{SCHEME}{self.agent}/{printable(self.interface)}{below}"

    @property
    def agent(self) -> str:
        """The agent alone."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == STANDARD_PORT else f"{host}:{self.port}"


def parse_remote_address(text: str) -> RemoteAddress:
    """The queue that a name means.

    Raises:
        RouterError: it is no such name.
    """
    agent, slash, queue = text.removeprefix(SCHEME).partition("/")
    interface, below, parent = queue.partition("/")
    host, place = _HOST.fullmatch(agent), _CLASS.fullmatch(parent)
    usable = 0 < len(interface.encode("utf-8", errors="replace")) <= LONGEST_NAME
    port = int(host[3] or STANDARD_PORT) if host else 0
    if (
        not text.startswith(SCHEME)
        or not slash
        or host is None
        or not 0 < port <= _LARGEST_PORT
        or not usable
        or not interface.isprintable()
        or " " in interface
        or (below and place is None)
    ):
        message = f"router: {printable(value_text(text))} is not accepted; expected {EXAMPLE}"
        raise RouterError(message)
    at = ROOT if place is None else int(place[1], 16) << 16 | int(place[2], 16)
    return RemoteAddress(host[1] or host[2], interface, at, port)
