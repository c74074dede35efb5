"""The host's end of a guest's management network.

For each router a port of the loopback, at which whoever speaks SNMP finds that router's snmpd: what
comes there is handed into the guest, and the answer handed back. While a question is in the guest,
its time stands still but for what the answer takes, so that a slow machine loses no question.
"""

from __future__ import annotations

import selectors
import socket
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import TracebackType

LOOPBACK: Final = "127.0.0.1"
_LARGEST_DATAGRAM: Final = 65_535


class ManagementChannel:
    """A thread that hands datagrams over. A context manager: it ends with it.

    Args:
        links: the numbers of the links whose routers can be asked.
        relay: hands a datagram to a router and returns its answer; ``None`` for none.
    """

    def __init__(self, links: Sequence[int], relay: Callable[[int, bytes], bytes | None]) -> None:
        self._relay = relay
        self._selector = selectors.DefaultSelector()
        self._ports: dict[int, int] = {}
        self._ends = socket.socketpair()
        self._selector.register(self._ends[0], selectors.EVENT_READ, None)
        for link in links:
            own = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            own.bind((LOOPBACK, 0))
            self._ports[link] = own.getsockname()[1]
            self._selector.register(own, selectors.EVENT_READ, link)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    @property
    def ports(self) -> Mapping[int, int]:
        """Ports on the loopback, by the number of the link."""
        return dict(self._ports)

    def close(self) -> None:
        """End it."""
        self._ends[1].close()
        self._thread.join()
        for key in list(self._selector.get_map().values()):
            if isinstance(key.fileobj, socket.socket):
                key.fileobj.close()
        self._selector.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _serve(self) -> None:
        while True:
            for key, _ in self._selector.select():
                if key.data is None:
                    return
                own = key.fileobj
                assert isinstance(own, socket.socket)  # noqa: S101 - nothing else is registered
                datagram, asker = own.recvfrom(_LARGEST_DATAGRAM)
                # A guest that has failed says so to whoever calls it next; here it is silent.
                with suppress(Exception):
                    answer = self._relay(key.data, datagram)
                    if answer is not None:
                        own.sendto(answer, asker)
