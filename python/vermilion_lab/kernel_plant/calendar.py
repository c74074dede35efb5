"""The clock of a kernel that runs in virtual time.

User-Mode Linux that was started with ``time-travel=ext:SOCKET`` asks a *calendar* at the other end
of the socket before its time moves on. Nothing passes while it computes; where it would sleep, it
asks to be woken at a time, and is told when that time has come. Here that is at once: there is
nobody else to wait for, and the kernel is told to go on by itself for as long as it likes.

A program in the guest stops all of it by writing to ``/sys/kernel/um-ext-time/bc-message``: the
kernel sends a *broadcast* and stands still, every program in it included, until that is
acknowledged. So the guest can ask the host something, or be told what to do next, at no time at
all.

Source: include/uapi/linux/um_timetravel.h and arch/um/kernel/time.c of Linux 6.12. Messages are 16
bytes: what, a number that the acknowledgement repeats, and a time in nanoseconds.
"""

from __future__ import annotations

import os
import socket
import struct
from enum import IntEnum
from typing import TYPE_CHECKING, Final

from vermilion_lab.kernel_plant.errors import GuestError

if TYPE_CHECKING:
    from pathlib import Path

_MESSAGE: Final = struct.Struct("=IIQ")
_FOREVER_NS: Final = 2**63 - 2
"""A guest that is granted one more takes it for never."""

_BEGINNING_NS: Final = 10**18
_STRANGE_MEMORY_BYTES: Final = 8192
_MOST_SEQUENCE: Final = 2**32


class _Operation(IntEnum):
    """Type of a message (``enum um_timetravel_ops``)."""

    ACK = 0
    START = 1
    REQUEST = 2
    WAIT = 3
    GET = 4
    UPDATE = 5
    RUN = 6
    FREE_UNTIL = 7
    GET_TIME_OF_DAY = 8
    BROADCAST = 9


class Calendar:
    """The other end of one guest's clock.

    Args:
        path: of the socket, to be made.
        patience_s: wall seconds after which a guest that says nothing counts as hung.
    """

    def __init__(self, path: Path, patience_s: float) -> None:
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(path))
        self._listener.listen(1)
        self._listener.settimeout(patience_s)
        self._patience_s = patience_s
        self._guest: socket.socket | None = None
        self._received = b""
        self._sequence = 0
        self._wakes_at_ns = 0
        self._now_ns = 0
        self._waits = False
        self._call: int | None = None

    def accept(self) -> None:
        """Wait until the guest has found the socket.

        Raises:
            GuestError: it has not.
        """
        try:
            self._guest, _ = self._listener.accept()
        except TimeoutError:
            message = f"the kernel has not asked for its clock within {self._patience_s:g} s"
            raise GuestError(message) from None
        self._guest.settimeout(self._patience_s)

    def serve(self) -> None:
        """Let the guest's time pass until it calls.

        Raises:
            GuestError: it ended, or never will call again.
        """
        while self._call is None:
            if self._waits:
                if self._wakes_at_ns >= _FOREVER_NS:
                    message = "the kernel sleeps and nothing will wake it"
                    raise GuestError(message)
                self._wake()
            else:
                self._handle(*self._receive())

    def answer(self) -> None:
        """End the guest's call: its time may go on."""
        if self._call is not None:
            self._send(_Operation.ACK, self._call, 0)
            self._call = None

    def close(self) -> None:
        """Ends the conversation; a guest that is still there dies of it."""
        self._listener.close()
        if self._guest is not None:
            self._guest.close()

    def _wake(self) -> None:
        self._waits = False
        self._send_message(_Operation.FREE_UNTIL, _FOREVER_NS)
        self._now_ns = self._wakes_at_ns
        self._send_message(_Operation.RUN, self._wakes_at_ns)

    def _send_message(self, operation: _Operation, time_ns: int) -> None:
        """Send a message of our own; the guest may say other things before it acknowledges."""
        self._sequence = (self._sequence + 1) % _MOST_SEQUENCE
        self._send(operation, self._sequence, time_ns)
        while True:
            told = self._receive()
            if told[0] == _Operation.ACK:
                return
            self._handle(*told)

    def _handle(self, operation: int, sequence: int, time_ns: int) -> None:
        answer = 0
        match operation:
            case _Operation.START:
                self._acknowledge_start(sequence)
                return
            case _Operation.BROADCAST:
                self._call = sequence
                return
            case _Operation.REQUEST:
                self._wakes_at_ns = time_ns
            case _Operation.WAIT:
                self._waits = True
            case _Operation.GET:
                answer = self._now_ns
            case _Operation.UPDATE:
                self._now_ns = time_ns
            case _Operation.GET_TIME_OF_DAY:
                answer = _BEGINNING_NS
            case _:
                message = f"the kernel speaks of something unknown to its clock: {operation}"
                raise GuestError(message)
        self._send(_Operation.ACK, sequence, answer)

    def _acknowledge_start(self, sequence: int) -> None:
        """Acknowledge the start, with two descriptors.

        Linux 6.12 reads them from an uninitialised array where there are none. Of memory whose
        version it does not know (here: zeros) it makes no use.
        """
        if self._guest is None:
            return
        memory = os.memfd_create("calendar")
        nothing = os.open(os.devnull, os.O_RDWR)
        try:
            os.ftruncate(memory, _STRANGE_MEMORY_BYTES)
            acknowledgement = _MESSAGE.pack(_Operation.ACK, sequence, 0)
            socket.send_fds(self._guest, [acknowledgement], [memory, nothing])
        finally:
            os.close(memory)
            os.close(nothing)

    def _receive(self) -> tuple[int, int, int]:
        while len(self._received) < _MESSAGE.size:
            try:
                more = b"" if self._guest is None else self._guest.recv(4096)
            except TimeoutError:
                message = f"the kernel has said nothing for {self._patience_s:g} s; it hangs"
                raise GuestError(message) from None
            except OSError:
                more = b""
            if not more:
                message = "the kernel has ended"
                raise GuestError(message)
            self._received += more
        told, self._received = self._received[: _MESSAGE.size], self._received[_MESSAGE.size :]
        operation, sequence, time_ns = _MESSAGE.unpack(told)
        return operation, sequence, time_ns

    def _send(self, operation: int, sequence: int, time_ns: int) -> None:
        if self._guest is None:
            return
        try:
            self._guest.sendall(_MESSAGE.pack(operation, sequence, time_ns))
        except OSError:
            message = "the kernel has ended"
            raise GuestError(message) from None
