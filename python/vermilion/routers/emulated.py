"""A queue of an emulated link (``vermilion link --control NAME``), asked by its own process.

Questions and answers are single datagrams of JSON over a socket of this network namespace's own
(unix(7), an abstract address): it goes with the emulator, which answers its own user and root.
"""

from __future__ import annotations

import json
import re
import socket
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np

from vermilion.routers.adaptive_red import ADAPTIVE, HeldBesideLaw
from vermilion.routers.base import (
    FlowTraffic,
    HeldValues,
    Knowledge,
    LinkConfiguration,
    Observation,
    OperatedRouter,
    ParameterValue,
    PushPrice,
    Reach,
    Reading,
    RouterError,
    RouterSilent,
    RttSamples,
)
from vermilion.scenario.errors import printable, value_text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from numpy.typing import NDArray

SCHEME: Final = "link:"
WAYS: Final = ("uplink", "downlink")
LARGEST_MESSAGE: Final = 1 << 18

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
EXAMPLE: Final = '"link:NAME" or "link:NAME/downlink", with the name given to --control'
_TIMEOUT_S: Final = 5.0
_NS_PER_S: Final = 1_000_000_000
_LINUX_RED: Final = "linux-red"


def socket_address(name: str) -> str:
    """The abstract address at which the emulator of this name answers.

    Raises:
        RouterError: it is no such name.
    """
    if not _NAME.fullmatch(name):
        shown = printable(value_text(name))
        message = f'{shown} is not accepted; expected letters, digits, "_" and "-", at most 64'
        raise RouterError(message)
    return f"\0vermilion-link-control-{name}"


@dataclass(frozen=True, slots=True)
class EmulatedAddress:
    """Address of an emulated queue.

    Attributes:
        name: of the link.
        way: "uplink" or "downlink".
    """

    name: str
    way: str = WAYS[0]

    def __str__(self) -> str:
        return f"{SCHEME}{self.name}/{self.way}"

    @property
    def interface(self) -> str:
        """The way: it is what a policy calls the link."""
        return self.way


def parse_address(text: str) -> EmulatedAddress:
    """The queue that a name means.

    Raises:
        RouterError: it is no such name.
    """
    name, slash, way = text.removeprefix(SCHEME).partition("/")
    if not _NAME.fullmatch(name) or (slash and way not in WAYS):
        message = f"router: {printable(value_text(text))} is not accepted; expected {EXAMPLE}"
        raise RouterError(message)
    return EmulatedAddress(name, way or WAYS[0])


class EmulatedRouter(OperatedRouter):
    """A queue of a link that another process emulates.

    Args:
        address: like "link:NAME/uplink".
        knowledge: what is asked of the monitor beside the queue. It begins when it is first asked.
        link: how the link is called; by default "uplink" or "downlink".

    Raises:
        RouterError: there is no such link.
    """

    kind: ClassVar[str] = "emulated"
    example: ClassVar[str] = EXAMPLE
    held = HeldValues()

    def __init__(
        self, address: str, knowledge: Knowledge = "full", link: str | None = None
    ) -> None:
        self._knowledge = knowledge
        self.address: EmulatedAddress = parse_address(address)
        self._number = 0
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.settimeout(_TIMEOUT_S)
        try:
            self._socket.bind("")  # a name of its own, for the answers
            self._socket.connect(socket_address(self.address.name))
        except OSError:
            self._socket.close()
            message = (
                f"{self.address}: no such link is emulated; expected a running vermilion "
                f"link --control {self.address.name} ..."
            )
            raise RouterError(message) from None
        try:
            told = self._call("configuration")
        except RouterError:
            self._socket.close()
            raise
        self._configuration = LinkConfiguration(
            link=link or self.address.way,
            discipline=told["discipline"],
            delay_s=told["delay_s"],
            adaptive=told.get("adaptive") is True,
        )
        if self._configuration.adaptive:
            self.held = HeldBesideLaw()
        self._ahead_s: float = told["now_ns"] / _NS_PER_S - time.monotonic()
        if self._configuration.discipline == _LINUX_RED:
            keeps = self.parameters()["keep_packets"] is True
            self.push_price = PushPrice(flushes_queue=not keeps, forgets_average=True)

    @classmethod
    def reached(cls, address: str, reach: Reach) -> Self:
        """The queue of an address like "link:NAME"; the emulator knows the link itself."""
        del reach
        return cls(address)

    @property
    def settable(self) -> tuple[str, ...]:
        """Settable parameters: all; the core refuses what cannot change in a run."""
        names = tuple(self.parameters())
        adds = self._configuration.adaptive and ADAPTIVE not in names
        return (*names, ADAPTIVE) if adds else names

    def read(self) -> Reading:
        """The counters now."""
        told = self._call("counters")
        time_s = told.pop("now_ns") / _NS_PER_S
        return Reading(time_s=time_s, **told)

    def observe(self) -> Observation:
        """The counters, and what the monitor has seen since the last call."""
        if self._knowledge == "counters":
            return Observation(self.read())
        told = self._call("observe")
        round_trips, traffic = told["round_trips"], told["traffic"]
        more = told
        while more["more"]:
            more = self._call("observe")
            round_trips += more["round_trips"]
            traffic += more["traffic"]
        counters = told["counters"]
        reading = Reading(time_s=counters.pop("now_ns") / _NS_PER_S, **counters)
        if self._knowledge == "flow count":
            return Observation(reading, told["active_flows"])
        flows, nanoseconds = _columns(round_trips, 2)
        numbers, packets, sizes, data, responsive, selective, capable = _columns(traffic, 7)
        return Observation(
            reading,
            told["active_flows"],
            RttSamples(flows, nanoseconds / _NS_PER_S),
            FlowTraffic(
                # Flows of which only acknowledgements leave have numbers below 0, as on a router.
                np.where(data != 0, numbers, -numbers - 1),
                packets,
                sizes,
                responsive != 0,
                selective != 0,
                capable != 0,
            ),
        )

    def active_flows(self) -> int | None:
        """Number of flows that have begun and not ended."""
        return self.observe().active_flows

    def rtt_samples(self) -> RttSamples | None:
        """Round trips since the last call."""
        return self.observe().round_trips

    def flow_traffic(self) -> FlowTraffic | None:
        """Packets and bytes of each flow since the last call."""
        return self.observe().traffic

    def parameters(self) -> dict[str, ParameterValue]:
        """Every discipline parameter now in force."""
        in_force: dict[str, ParameterValue] = self._call("parameters")
        return in_force

    def apply(self, parameters: Mapping[str, ParameterValue]) -> None:
        """Put ``parameters`` in force, all of them or none."""
        self._call("apply", dict(parameters))

    def now_s(self) -> float:
        """The time of a reading that is taken now, seconds."""
        return time.monotonic() + self._ahead_s

    def undo_command(self) -> str | None:
        """Return no command: the link ends with its command."""
        return None

    def close(self) -> None:
        """Ends the conversation."""
        self._socket.close()

    def _call(self, what: str, parameters: Mapping[str, ParameterValue] | None = None) -> Any:  # noqa: ANN401 - JSON
        self._number += 1
        question = {"number": self._number, "way": self.address.way, "ask": what}
        if parameters is not None:
            question["parameters"] = parameters
        try:
            self._socket.send(json.dumps(question).encode())
            while True:
                told = json.loads(self._socket.recv(LARGEST_MESSAGE))
                if told["number"] == self._number:
                    break  # others answer questions that were given up
        except TimeoutError:
            message = f"{self.address}: the emulator has not answered within {_TIMEOUT_S:g} s"
            raise RouterSilent(message) from None
        except OSError as error:
            message = f"{self.address}: the link has ended ({error.strerror or error})"
            raise RouterSilent(message) from None
        except (ValueError, KeyError, TypeError):
            message = f"{self.address}: the answer makes no sense"
            raise RouterError(message) from None
        if "refused" in told:
            raise RouterError(str(told["refused"]))
        return told["answer"]


def _columns(rows: list[list[int]], width: int) -> NDArray[np.int64]:
    return np.array(rows, dtype=np.int64).reshape(-1, width).T
