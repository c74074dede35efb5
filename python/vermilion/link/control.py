"""Answering questions about a link that is emulated: counters, parameters, and changes of them.

Who asks is :class:`vermilion.routers.emulated.EmulatedRouter`. Every question is one datagram, and
the kernel says whose it is: only the emulator's own user and root are answered.
"""

from __future__ import annotations

import json
import os
import socket
import struct
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from vermilion import _core
from vermilion.link.device import LinkError
from vermilion.link.plan import WAYS
from vermilion.routers import RouterError
from vermilion.routers.adaptive_red import PLAIN_RED, LawBesideQueue
from vermilion.routers.emulated import LARGEST_MESSAGE, socket_address

if TYPE_CHECKING:
    from vermilion.link.recorder import Recorder, Witness
    from vermilion.scenario import Scenario

_CREDENTIALS: Final = struct.Struct("=iII")
_NS_PER_S: Final = 1_000_000_000
_QUESTIONS_AT_ONCE: Final = 64
"""Before packets have their turn again."""


Address = str | bytes | tuple[Any, ...]
"""Credentials of the peer, as ``recvmsg`` gives it."""


class Control:
    """Control socket of a link; it is closed with this object, or with the process.

    Args:
        name: of the link.
        scenario: with its two ways.
        recorder: that knows what a monitor beside a queue has seen.
        largest_packet: bytes.

    Raises:
        LinkError: the name is taken, or no name.
    """

    def __init__(
        self, name: str, scenario: Scenario, recorder: Recorder, largest_packet: int
    ) -> None:
        self._recorder = recorder
        self._largest_packet = largest_packet
        self._links = {each.name: each for each in scenario.core().links}
        self._laws: dict[int, LawBesideQueue] = {}
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self._socket.settimeout(0.0)
        try:
            self._socket.bind(socket_address(name))
        except RouterError as error:
            self._socket.close()
            message = f"--control: {error}"
            raise LinkError(message) from None
        except OSError:
            self._socket.close()
            message = f'--control: "{name}" is taken by another link that runs here'
            raise LinkError(message) from None

    def fileno(self) -> int:
        """Return the descriptor that becomes readable at a request."""
        return self._socket.fileno()

    def close(self) -> None:
        """Nobody is answered any more."""
        self._socket.close()

    def move(self, link: _core.Link) -> None:
        """Let the laws beside the queues have their turns; they need nobody who asks."""
        now_s = link.now_ns / _NS_PER_S
        for way, law in self._laws.items():
            if law.due_s <= now_s:
                law.move(link.counters(way)["backlog_packets"], now_s)

    def _law(self, way: int, link: _core.Link) -> LawBesideQueue | None:
        """The law that may run beside a queue."""
        if self._links[WAYS[way]].queue.discipline != PLAIN_RED:
            return None
        if way not in self._laws:
            self._laws[way] = LawBesideQueue(
                lambda: json.loads(link.queue_parameters(way)),
                lambda values: link.set_queue(way, json.dumps(dict(values))),
            )
        return self._laws[way]

    def answer(self, link: _core.Link) -> None:
        """Answer the waiting requests."""
        for _ in range(_QUESTIONS_AT_ONCE):
            try:
                room = socket.CMSG_SPACE(_CREDENTIALS.size)
                data, told, _, sender = self._socket.recvmsg(LARGEST_MESSAGE, room)
            except OSError:
                return
            if sender and _is_allowed(told):
                self._take_question(data, sender, link)

    def _take_question(self, data: bytes, sender: Address, link: _core.Link) -> None:
        number = None
        try:
            question = json.loads(data)
            number = question["number"]
            if question["ask"] == "observe":
                self._observe(number, WAYS.index(question["way"]), sender, link)
                return
            answer = self._answer(question, link)
        except _core.ParameterError as refusal:
            field, value, accepted = refusal.args
            message = f"{field}: {value} is not accepted; expected {accepted}"
            self._send({"number": number, "refused": message}, sender)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            self._send({"number": number, "refused": "the question makes no sense"}, sender)
        else:
            self._send({"number": number, "answer": answer}, sender)

    def _observe(self, number: object, way: int, sender: Address, link: _core.Link) -> None:
        """Read the counters; those of a monitor are added outside of the data path."""
        counters = link.counters(way)

        def answer(witness: Witness) -> None:
            told = {"counters": counters, **witness.told()}
            self._send({"number": number, "answer": told}, sender)

        self._recorder.witness(link, way, self._largest_packet, answer)

    def _send(self, message: dict[str, Any], sender: Address) -> None:
        # Who has asked may have gone, or does not read.
        with suppress(OSError):
            self._socket.sendto(json.dumps(message).encode(), sender)

    def _answer(self, question: dict[str, Any], link: _core.Link) -> object:
        way = WAYS.index(question["way"])
        law = self._law(way, link)
        match question["ask"]:
            case "configuration":
                described = self._links[WAYS[way]]
                return {
                    "discipline": described.queue.discipline,
                    "delay_s": described.delay_ns / _NS_PER_S,
                    "now_ns": link.now_ns,
                    "adaptive": law is not None,
                }
            case "counters":
                return link.counters(way)
            case "parameters":
                return json.loads(link.queue_parameters(way)) if law is None else law.parameters()
            case "apply":
                if law is None:
                    link.set_queue(way, json.dumps(question["parameters"]))
                else:
                    law.apply(question["parameters"], link.now_ns / _NS_PER_S)
                return {}
        raise ValueError(question["ask"])


def _is_allowed(told: list[tuple[int, int, bytes]]) -> bool:
    """Return whether the peer, by the kernel's credentials, is this user or root."""
    for level, kind, data in told:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS):
            user = _CREDENTIALS.unpack(data[: _CREDENTIALS.size])[1]
            return user in {0, os.geteuid()}
    return False
