"""Addresses of this machine's queues, and which queues there are and can be controlled. Pure.

``linux:eth0`` is the queue at the root of an interface, ``linux:eth0/1:10`` the one below a class
of a shaper or of ``mq``. Handles are written as tc does (tc(8), "classid"): two hexadecimal numbers
of 16 bits.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from vermilion.files.document import document
from vermilion.routers.base import RouterError
from vermilion.routers.linux.kinds import SHAPERS
from vermilion.routers.linux.message import INGRESS, ROOT
from vermilion.routers.linux.options import Surroundings
from vermilion.scenario.errors import printable, value_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from vermilion.routers.linux.options import Parameters
    from vermilion.routers.linux.state import Interface, QueueState

SCHEME: Final = "linux:"
LONGEST_NAME: Final = 15
"""Bytes of an interface's name: IFNAMSIZ - 1."""

_PARENT = re.compile(r"([0-9a-fA-F]{1,4}):([0-9a-fA-F]{1,4})")
EXAMPLE: Final = '"linux:INTERFACE" or "linux:INTERFACE/CLASS", like "linux:eth0/1:10"'
_LOW: Final = 0xFFFF


@dataclass(frozen=True, slots=True)
class QueueAddress:
    """Address of a queue.

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


_MAJOR: Final = 0xFFFF0000
_DEEPEST: Final = 64


@document(
    "router=name kind=state.kind handle parent can_be_controlled why_not?"
    " discipline?=state.options.discipline settable? parameters?=known_parameters"
    " settings??=state.options.words options=state.options.numbers statistics"
)
@dataclass(frozen=True, slots=True)
class FoundQueue:
    """One queue and what can be done with it.

    Attributes:
        interface: that it belongs to.
        state: the queue.
        depth: how many queues are above it.
        around: what its place means for it.
        why_not: why Vermilion cannot control it, and what would help; ``None`` if it can.
    """

    interface: Interface
    state: QueueState
    depth: int
    around: Surroundings
    why_not: str | None

    @property
    def address(self) -> QueueAddress:
        """Name of the queue."""
        return QueueAddress(self.interface.name, self.state.parent)

    @property
    def parameters(self) -> Parameters:
        """Parameters of Vermilion's discipline of this kind; empty where there is none."""
        return self.state.options.parameters(self.around)

    @property
    def name(self) -> str:
        """Text of the address."""
        return str(self.address)

    @property
    def handle(self) -> str:
        """Handle as tc writes it."""
        return handle_text(self.state.handle)

    @property
    def parent(self) -> str:
        """Class as tc writes it."""
        return parent_text(self.state.parent)

    @property
    def can_be_controlled(self) -> bool:
        """True if Vermilion can control it."""
        return self.why_not is None

    @property
    def settable(self) -> tuple[str, ...] | None:
        """Parameters that can be set; ``None`` where there is no discipline of this kind."""
        options = self.state.options
        if options.discipline is None:
            return None
        return tuple(options.settable) if self.can_be_controlled else ()

    @property
    def known_parameters(self) -> Parameters | None:
        """Parameters whose values are known; ``None`` likewise."""
        if self.state.options.discipline is None:
            return None
        return {name: value for name, value in self.parameters.items() if value is not None}

    @property
    def statistics(self) -> dict[str, Any]:
        """Counters of the kernel, with marks where they are counted and the discipline's own."""
        counted: dict[str, Any] = dict(self.state.statistics.numbers())
        marks = self.state.options.marked(self.state.counters)
        return counted | ({} if marks is None else {"marks": marks}) | {"own": self.state.counters}


@document("name=interface.name up=interface.up mtu?=interface.mtu queues")
@dataclass(frozen=True, slots=True)
class FoundInterface:
    """One interface and its queues, each after the one above it."""

    interface: Interface
    queues: Sequence[FoundQueue]


def discover(
    interfaces: Sequence[Interface],
    queues: Sequence[QueueState],
    rate_bit_per_s: float | None = None,
) -> list[FoundInterface]:
    """Return every interface with its queues.

    Args:
        interfaces: as the kernel lists them.
        queues: likewise, of all interfaces.
        rate_bit_per_s: of the link, if the operator has said it.
    """
    found = []
    for interface in interfaces:
        own = [each for each in queues if each.interface == interface.index]
        placed = list(_place_queues(interface, own, rate_bit_per_s))
        found.append(FoundInterface(interface, placed))
    return found


def _place_queues(
    interface: Interface, queues: Sequence[QueueState], rate_bit_per_s: float | None
) -> Iterator[FoundQueue]:
    """The queues, each after the one above it, without those inside of another."""
    handles = {each.handle: each for each in queues if each.handle}
    top = next((each for each in queues if each.parent == ROOT), None)

    def above(queue: QueueState) -> list[QueueState]:
        chain: list[QueueState] = []
        while queue.parent not in {ROOT, INGRESS} and len(chain) < _DEEPEST:
            found = handles.get(queue.parent & _MAJOR)
            if found is None and top is not None and top is not queue and not queue.parent & _MAJOR:
                found = top  # below an mq that the kernel has put there by itself
            if found is None or found is queue or found in chain:
                break
            chain.append(found)
            queue = found
        return chain

    def order(queue: QueueState) -> list[tuple[int, int]]:
        return [(each.parent, each.handle) for each in [*reversed(above(queue)), queue]]

    ranked = sorted(queues, key=lambda queue: (queue.parent == INGRESS, _path_key(order(queue))))
    for queue in ranked:
        chain = above(queue)
        if chain and not chain[0].options.container and queue.handle == 0:
            continue  # what red keeps its packets in
        shaped = any(each.kind in SHAPERS for each in chain)
        around = Surroundings(interface.maximum_packet_bytes, shaped, rate_bit_per_s)
        yield FoundQueue(interface, queue, len(chain), around, _why_not(interface, queue))


def _path_key(path: list[tuple[int, int]]) -> list[tuple[int, int]]:
    return [(-1 if parent == ROOT else parent, handle) for parent, handle in path]


def _why_not(interface: Interface, queue: QueueState) -> str | None:
    """Reason why a queue cannot be controlled; ``None`` if it can."""
    options = queue.options
    if options.container:
        return f"{queue.kind} holds other queues; control one of those"
    if queue.kind == "noqueue":
        return f"there is no queue here; {_tc_remedy(interface, queue)}"
    if queue.parent == INGRESS:
        return "it is for what arrives, and nothing waits in it"
    if queue.handle == 0:
        cure = _tc_remedy(interface, queue)
        kind = printable(queue.kind)
        return f"the kernel's own {kind} cannot be changed; {cure}"
    return None if options.discipline is not None else _why_only_read(interface, queue)


def _why_only_read(interface: Interface, queue: QueueState) -> str:
    if queue.kind == "cake":
        name = printable(shlex.quote(str(QueueAddress(interface.name, queue.parent))))
        return f"only its rate can be kept: vermilion control {name} --line auto"
    return f"Vermilion does not change queues of the kind {printable(queue.kind)}"


def _tc_remedy(interface: Interface, queue: QueueState) -> str:
    """Calls of tc that make a queue which can be controlled."""
    name = printable(shlex.quote(interface.name))
    if queue.parent == ROOT:
        return f"put one here first: tc qdisc replace dev {name} root fq_codel"
    if not queue.parent & _MAJOR:
        return (
            "the mq above has no handle; give it one, then a queue below: "
            f"tc qdisc replace dev {name} root handle 1: mq; "
            f"tc qdisc replace dev {name} parent 1:{queue.parent:x} fq_codel"
        )
    at = parent_text(queue.parent)
    return f"put one here first: tc qdisc replace dev {name} parent {at} fq_codel"
