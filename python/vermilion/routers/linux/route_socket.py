"""The socket to the kernel (rtnetlink): sends requests, collects answers.

The only file here that touches the machine. Reading needs no privileges, changing needs the
capability CAP_NET_ADMIN in the user namespace that owns the network namespace.
"""

from __future__ import annotations

import errno
import socket
import struct
from typing import TYPE_CHECKING, Final, Protocol, Self

from vermilion.routers.base import RouterError, RouterSilent
from vermilion.routers.linux.message import (
    ACKNOWLEDGE,
    DONE,
    DUMP,
    DUMP_INVISIBLE,
    ERROR,
    GET_CLASS,
    GET_FILTER,
    GET_LINK,
    GET_QUEUE,
    AnswerError,
    Message,
    QueueMessage,
    Refusal,
    attribute_bytes,
    check_length,
    link_body,
    links_body,
    parse_end,
    parse_link,
    parse_messages,
    parse_queue,
    parse_refusal,
    queue_body,
    request,
)
from vermilion.routers.linux.state import (
    Interface,
    QueueState,
    parse_interface,
    queue_state,
    with_inner_limit,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

HOW_TO_ALLOW: Final = (
    "the capability CAP_NET_ADMIN is missing. Run it as root, or: sudo setpriv "
    "--reuid=USER --regid=GROUP --init-groups --inh-caps=+net_admin "
    "--ambient-caps=+net_admin vermilion ... (for a systemd service: "
    "AmbientCapabilities=CAP_NET_ADMIN)"
)

_OPTIONS_LEVEL: Final = 270
_SHORT_ACKNOWLEDGEMENTS: Final = 10
_TOLD_WHY: Final = 11
_INTERRUPTED: Final = 0x10
_RECEIVE_BYTES: Final = 1 << 18
_KERNEL: Final = 0
"""The port of the kernel itself."""

_LINK_STATISTICS: Final = 23
_TRAFFIC: Final = struct.Struct("=16xQQ")
"""Bytes received and sent in ``rtnl_link_stats64``."""

_TIMEOUT_S: Final = 5.0
_MOST_ATTEMPTS: Final = 5


class KernelError(RouterError):
    """The kernel refused a request.

    Attributes:
        refusal: its reasons.
    """

    def __init__(self, refusal: Refusal) -> None:
        words = refusal.words()
        if refusal.number == errno.EPERM:
            words = f"{words}: {HOW_TO_ALLOW}"
        super().__init__(f"the kernel refused: {words}")
        self.refusal = refusal


class Kernel(Protocol):
    """Questions to the kernel; :class:`RouteSocket` asks the real one."""

    def interfaces(self) -> list[Interface]:
        """Return every interface."""

    def interface(self, name: str) -> Interface:
        """The interface that has this name now."""

    def queues(self) -> list[QueueState]:
        """Return every queue, those included that the kernel puts below classes."""

    def queue(self, interface: int, parent: int) -> QueueState:
        """The queue at a place."""

    def tell(self, kind: int, flags: int, body: bytes) -> None:
        """Send a request and wait for its acknowledgement."""

    def close(self) -> None:
        """Ends the conversation."""


class RouteSocket:
    """A socket to the kernel, in the network namespace in which it is made.

    Raises:
        RouterError: the machine has none.
    """

    def __init__(self) -> None:
        try:
            self._socket = socket.socket(
                socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, socket.NETLINK_ROUTE
            )
            self._socket.bind((0, 0))
        except (AttributeError, OSError) as error:
            message = f"linux: no netlink socket can be opened ({error}); expected a Linux kernel"
            raise RouterError(message) from None
        for option in (_SHORT_ACKNOWLEDGEMENTS, _TOLD_WHY):
            try:
                self._socket.setsockopt(_OPTIONS_LEVEL, option, 1)
            except OSError:
                continue  # an old kernel: its refusals have no words
        self._socket.settimeout(_TIMEOUT_S)
        self._sequence = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the socket."""
        self._socket.close()

    def interfaces(self) -> list[Interface]:
        """Return every interface.

        Raises:
            RouterError: the kernel does not say them.
        """
        return [parse_interface(each.payload) for each in self._dump(GET_LINK, links_body())]

    def interface(self, name: str) -> Interface:
        """The interface that has this name now.

        Raises:
            KernelError: there is none.
            RouterError: the kernel does not answer.
        """
        self._send(GET_LINK, 0, link_body(name))
        told = next(self._answers())
        refusal = parse_refusal(told) if told.type == ERROR else None
        if refusal is not None:
            raise KernelError(refusal)
        return parse_interface(told.payload)

    def queues(self) -> list[QueueState]:
        """Return every queue, those included that the kernel puts below classes.

        Raises:
            RouterError: the kernel does not say them.
        """
        told = self._queues()
        return [with_inner_limit(queue_state(each), told) for each in told]

    def queue(self, interface: int, parent: int) -> QueueState:
        """The queue at a place.

        Raises:
            KernelError: there is none.
            RouterError: the kernel does not answer.
        """
        told = self._queues()
        for each in told:
            if each.interface == interface and each.parent == parent:
                return with_inner_limit(queue_state(each), told)
        raise KernelError(Refusal(errno.ENOENT, "there is no queue at this place", None))

    def _queues(self) -> list[QueueMessage]:
        # A question for one queue alone would be told to everybody who listens, up to Linux 6.12 at
        # least; so all are asked for, as tc does.
        body = queue_body(0, 0, 0) + attribute_bytes(DUMP_INVISIBLE, b"")
        return [parse_queue(each.payload) for each in self._dump(GET_QUEUE, body)]

    def shapers(self, interface: int) -> tuple[list[QueueMessage], list[QueueMessage]]:
        """Queues of all interfaces, and the classes of one.

        Raises:
            RouterError: the kernel does not say them.
        """
        body = queue_body(interface, 0, 0)
        return self._queues(), [parse_queue(each.payload) for each in self._dump(GET_CLASS, body)]

    def filters(self, interface: int, parent: int) -> list[QueueMessage]:
        """Filters of one interface below a queue; none where there is no such queue."""
        try:
            told = self._dump(GET_FILTER, queue_body(interface, 0, parent))
        except KernelError:
            return []
        return [parse_queue(each.payload) for each in told]

    def traffic(self, name: str) -> tuple[int, int]:
        """Bytes that the interface of a name has received and sent.

        Raises:
            KernelError: there is none.
            RouterError: the kernel does not answer.
        """
        self._send(GET_LINK, 0, link_body(name))
        told = next(self._answers())
        refusal = parse_refusal(told) if told.type == ERROR else None
        if refusal is not None:
            raise KernelError(refusal)
        counted = parse_link(told.payload).attributes.get(_LINK_STATISTICS, b"")
        check_length(counted, _TRAFFIC.size, "interface statistics")
        received, sent = _TRAFFIC.unpack_from(counted)
        return int(received), int(sent)

    def tell(self, kind: int, flags: int, body: bytes) -> None:
        """Send a request and wait for its acknowledgement.

        Raises:
            KernelError: the kernel refuses.
            RouterSilent: it gives no answer that can be read; it may have done it or not.
            RouterError: it takes no request.
        """
        self._send(kind, flags | ACKNOWLEDGE, body)
        try:
            refusal = self._read_acknowledgement()
        except AnswerError as error:
            raise RouterSilent(str(error)) from None
        if refusal is not None:
            raise KernelError(refusal)

    def _read_acknowledgement(self) -> Refusal | None:
        """Reason for which the last request was refused; ``None``: it was obeyed."""
        return next(parse_refusal(each) for each in self._answers() if each.type == ERROR)

    def _dump(self, kind: int, body: bytes) -> list[Message]:
        """A whole list; one that changes while it is read is asked for again.

        Raises:
            KernelError: the kernel refuses, or cannot go on with the list.
            RouterError: it does not answer, or the list changes each time.
        """
        for _ in range(_MOST_ATTEMPTS):
            self._send(kind, DUMP, body)
            found: list[Message] = []
            interrupted = False
            for message in self._answers():
                interrupted = interrupted or bool(message.flags & _INTERRUPTED)
                if message.type not in {ERROR, DONE}:
                    found.append(message)
                    continue
                is_end = message.type == DONE
                refusal = parse_end(message) if is_end else parse_refusal(message)
                if refusal is not None:
                    raise KernelError(refusal)
                break
            if not interrupted:
                return found
        message_text = "the kernel's list keeps changing while it is read"
        raise RouterError(message_text)

    def _send(self, kind: int, flags: int, body: bytes) -> None:
        self._sequence += 1
        try:
            self._socket.send(request(kind, flags, self._sequence, body))
        except OSError as error:
            message = f"the kernel takes no request ({error.strerror or error})"
            raise RouterError(message) from None

    def _answers(self) -> Iterator[Message]:
        """The answers to the last request, without end: the reader knows which is the last."""
        while True:
            try:
                data, _, flags, sender = self._socket.recvmsg(_RECEIVE_BYTES)
            except TimeoutError:
                message = f"the kernel has not answered within {_TIMEOUT_S:g} s"
                raise RouterSilent(message) from None
            except OSError as error:
                message = f"the kernel's answer is lost ({error.strerror or error})"
                raise RouterSilent(message) from None
            if flags & socket.MSG_TRUNC:
                message = f"the kernel's answer is longer than {_RECEIVE_BYTES} bytes"
                raise RouterSilent(message)
            if sender[0] != _KERNEL:
                continue  # another program can send here, too
            for each in parse_messages(data):
                if each.sequence == self._sequence:
                    yield each
