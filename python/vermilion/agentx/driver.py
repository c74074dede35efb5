"""The socket of a subagent: connects to a master, and again after it has gone.

The only file of this room that touches the machine. Nothing that the master does ends it; what
ends it is the caller, or a refusal that would be the same next time.
"""

from __future__ import annotations

import errno
import select
import socket
import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from vermilion.agentx.subagent import Reaction, Subagent

LONGEST_PAUSE_S: Final = 15.0
"""Between two attempts to reach the master."""

_RECEIVE_BYTES: Final = 1 << 16
_LOOK_S: Final = 0.25
_SEND_WITHIN_S: Final = 5.0


class MasterRefused(Exception):  # noqa: N818 - reads as what it says
    """The master does not want this subagent; trying again would end in the same way."""


class SubagentDriver:
    """Keeps a subagent connected.

    Args:
        path: of the master's socket.
        make: a subagent for each connection.
        say: is told what a person may want to know; the same thing is said once in a row.
        is_wanted: asked several times a second whether to go on.
        clock: seconds, never going back.
        sleep: waits for so many seconds.
    """

    def __init__(
        self,
        path: str,
        make: Callable[[], Subagent],
        *,
        say: Callable[[str], object],
        is_wanted: Callable[[], bool],
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._path = path
        self._make = make
        self._tell = say
        self._is_wanted = is_wanted
        self._clock = clock
        self._sleep = sleep
        self._said = ""

    def run(self) -> None:
        """Serve until nobody wants it any more.

        Raises:
            MasterRefused: the master takes nothing of what is offered.
        """
        pause_s = 1.0
        while self._is_wanted():
            try:
                connection = self._connect()
            except OSError as error:
                self._report_state(f"{why_not(self._path, error)}. Trying again")
            else:
                with connection:
                    served = self._serve_connection(connection)
                if served:
                    pause_s = 1.0
            self._wait(pause_s)
            pause_s = min(2.0 * pause_s, LONGEST_PAUSE_S)

    def _connect(self) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.settimeout(_SEND_WITHIN_S)
            connection.connect(self._path)
        except BaseException:
            connection.close()
            raise
        return connection

    def _serve_connection(self, connection: socket.socket) -> bool:
        """Serve one connection to its end; return whether anything was served."""
        subagent = self._make()
        served = False
        try:
            ended = self._apply_outcome(connection, subagent.begin(self._clock()))
            while not ended and self._is_wanted():
                readable, _, _ = select.select([connection], [], [], _LOOK_S)
                if readable:
                    octets = connection.recv(_RECEIVE_BYTES)
                    if not octets:
                        self._report_state(f"{self._path}: the master has gone. Trying again")
                        return served
                    ended = self._apply_outcome(
                        connection, subagent.received(octets, self._clock())
                    )
                if not ended:
                    ended = self._apply_outcome(connection, subagent.tick(self._clock()))
                if subagent.is_serving and not served:
                    served = True
                    self._report_state(f"{self._path}: connected; the master passes questions on")
            if not ended:
                connection.sendall(subagent.end())
        except OSError as error:
            self._report_state(f"{self._path}: the connection is lost ({error.strerror or error})")
        return served

    def _apply_outcome(self, connection: socket.socket, outcome: Reaction) -> bool:
        """Sends and says what there is; whether that was the end of the connection."""
        for each in outcome.notes:
            self._report_state(each)
        if outcome.send:
            connection.sendall(outcome.send)
        if outcome.ended is None:
            return False
        if outcome.final:
            message = f"{self._path}: {outcome.ended}"
            raise MasterRefused(message)
        self._report_state(f"{self._path}: {outcome.ended}. Trying again")
        return True

    def _wait(self, seconds: float) -> None:
        until_s = self._clock() + seconds
        while self._is_wanted() and self._clock() < until_s:
            self._sleep(min(_LOOK_S, max(until_s - self._clock(), 0.0)))

    def _report_state(self, text: str) -> None:
        if text != self._said:
            self._tell(text)
        self._said = text


def why_not(path: str, error: OSError) -> str:
    """Reason why a master cannot be reached, and the cure."""
    match error.errno:
        case errno.ENOENT:
            return (
                f"{path} is not there: snmpd does not run, or has no AgentX; expected "
                '"master agentx" in snmpd.conf (another place: "agentXSocket PATH")'
            )
        case errno.EACCES | errno.EPERM:
            return (
                f'{path} may not be used by this user; expected root, or "agentXPerms '
                '0660 0755 root GROUP" in snmpd.conf with a group of this user'
            )
        case errno.ECONNREFUSED:
            return f"{path}: nobody listens there any more; expected snmpd to run"
        case _:
            return f"{path} cannot be reached ({error.strerror or error})"
