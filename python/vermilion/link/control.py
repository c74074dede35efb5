"""Answering questions about a link that is emulated: counters, parameters, and changes of them.

Who asks is :class:`vermilion.routers.emulated.EmulatedRouter`. Every question is one datagram, and
the kernel says whose it is: only the emulator's own user and root are answered.
"""

from __future__ import annotations

import json
import os
import socket
import struct
from typing import TYPE_CHECKING, Any, Final

from vermilion import _core
from vermilion.link.errors import LinkError
from vermilion.link.plan import WAYS
from vermilion.routers import RouterError
from vermilion.routers.emulated import LARGEST_MESSAGE, socket_address

if TYPE_CHECKING:
    from vermilion.scenario import Scenario

_CREDENTIALS: Final = struct.Struct("=iII")
_QUESTIONS_AT_ONCE: Final = 64
"""Before packets have their turn again."""


class Control:
    """The socket at which a link is asked; it goes with this, or with the process.

    Args:
        name: of the link.
        scenario: with its two ways.

    Raises:
        LinkError: the name is taken, or no name.
    """

    def __init__(self, name: str, scenario: Scenario) -> None:
        self._links = {each.name: each for each in scenario.core().links}
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self._socket.settimeout(0.0)
        try:
            self._socket.bind(socket_address(name))
        except RouterError as error:
            message = f"--control: {error}"
            raise LinkError(message) from None
        except OSError:
            message = f'--control: "{name}" is taken by another link that runs here'
            raise LinkError(message) from None

    def fileno(self) -> int:
        """The descriptor that can be read when somebody asks."""
        return self._socket.fileno()

    def close(self) -> None:
        """Nobody is answered any more."""
        self._socket.close()

    def answer(self, link: _core.Link) -> None:
        """Answers what has been asked."""
        for _ in range(_QUESTIONS_AT_ONCE):
            try:
                room = socket.CMSG_SPACE(_CREDENTIALS.size)
                data, told, _, sender = self._socket.recvmsg(LARGEST_MESSAGE, room)
            except OSError:
                return
            if sender and _is_allowed(told):
                try:
                    self._socket.sendto(json.dumps(self._answer(data, link)).encode(), sender)
                except OSError:
                    continue  # who has asked has gone, or does not read

    def _answer(self, data: bytes, link: _core.Link) -> dict[str, Any]:
        number = None
        try:
            question = json.loads(data)
            number = question["number"]
            answer = self._done(question, link)
        except _core.ParameterError as refusal:
            field, value, accepted = refusal.args
            message = f"{field}: {value} is not accepted; expected {accepted}"
            return {"number": number, "refused": message}
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return {"number": number, "refused": "the question makes no sense"}
        return {"number": number, "answer": answer}

    def _done(self, question: dict[str, Any], link: _core.Link) -> object:
        way = WAYS.index(question["way"])
        match question["ask"]:
            case "configuration":
                described = self._links[WAYS[way]]
                return {
                    "discipline": described.queue.discipline,
                    "delay_s": described.delay_ns / 1e9,
                    "now_ns": link.now_ns,
                }
            case "counters":
                return link.counters(way)
            case "parameters":
                return json.loads(link.queue_parameters(way))
            case "apply":
                link.set_queue(way, json.dumps(question["parameters"]))
                return {}
        raise ValueError(question["ask"])


def _is_allowed(told: list[tuple[int, int, bytes]]) -> bool:
    """Whether the kernel says that the question is from this user, or from root."""
    for level, kind, data in told:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS):
            user = _CREDENTIALS.unpack(data[: _CREDENTIALS.size])[1]
            return user in {0, os.geteuid()}
    return False
