"""One queue of a Linux interface under control.

``LinuxRouter("linux:eth0")`` is the queue at the root of an interface, ``"linux:eth0/1:10"`` one
below a shaper. The kernel has numbers for interfaces; the number is asked for with every question,
because an interface that goes and comes back (PPPoE) gets another one.

Reading needs no privileges. :meth:`LinuxRouter.apply` checks before it sends,
sends one message that changes the queue (and never makes another), reads back what the kernel
says, and, if that is not what was meant, puts back what was there. It counts as refused only where
what was there is read again afterwards.

The kernel knows neither flows nor round-trip times: a passive monitor beside it may
(:class:`PacketMonitor`). It sees **the whole interface**: for a queue below a shaper, the other
classes' traffic too.
"""

from __future__ import annotations

import errno
import time
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final, Protocol

from vermilion.routers.base import (
    FlowTraffic,
    LinkConfiguration,
    Observation,
    OperatedRouter,
    ParameterValue,
    Reach,
    Reading,
    RouterError,
    RouterSilent,
    RttSamples,
)
from vermilion.routers.linux.change import (
    LinuxValues,
    PlannedChange,
    change_body,
    plan_change,
    push_price,
)
from vermilion.routers.linux.discovery import (
    EXAMPLE,
    FoundQueue,
    QueueAddress,
    discover,
    parse_address,
)
from vermilion.routers.linux.message import NEW_QUEUE
from vermilion.routers.linux.route_socket import HOW_TO_ALLOW, Kernel, KernelError, RouteSocket
from vermilion.routers.linux.state import Unwrapped, reading_of
from vermilion.scenario.errors import did_you_mean, one_of, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Self

    from vermilion.monitor import InterfaceWatch
    from vermilion.routers.linux.options import Price
    from vermilion.routers.linux.state import QueueState

_SIBLINGS: Final = 1 << 10
"""Numbers between those of two flows: room for the flows that a sampled one stands for."""


class PacketMonitor:
    """Traffic of the queue's interface for a managed queue.

    Where the watch looks at one flow in so many, each stands for as many: the number of flows is
    multiplied, and so is what each sends. Round trips are those of the flows that are looked at.
    """

    def __init__(self, watch: InterfaceWatch) -> None:
        self._watch = watch
        self._one_in = watch.one_in

    def take_in(self) -> None:
        """Take in what has passed since the last call.

        Raises:
            RouterError: the interface cannot be listened to any more.
        """
        from vermilion.monitor import InterfaceError

        self._one_in = self._watch.one_in  # of what has passed; then it may become another
        try:
            self._watch.take_in()
        except InterfaceError as error:
            raise RouterError(str(error)) from None

    def active_flows(self) -> int | None:
        """The number of flows that have begun and not ended; ``None`` while it is not known."""
        return self._watch.open_flows()

    def rtt_samples(self) -> RttSamples:
        """The round trips since the last call, with the wait in the queue."""
        flows, nanoseconds = self._watch.round_trips()
        return RttSamples(flows * _SIBLINGS, nanoseconds / 1e9)

    def flow_traffic(self) -> FlowTraffic:
        """Packets and bytes of each flow through the queue since the last call.

        Flows of which only acknowledgements leave have numbers below 0.
        """
        import numpy as np

        sent = self._watch.departing()
        numbers = sent.flow * _SIBLINGS
        flows = np.where(sent.data, numbers, -numbers - 1)
        one_in = self._one_in
        if one_in > 1:
            siblings = np.tile(np.arange(one_in), len(flows))
            flows = np.repeat(flows, one_in) + np.where(
                np.repeat(sent.data, one_in), siblings, -siblings
            )
        return FlowTraffic(
            flows=flows,
            packets=np.repeat(sent.packets, one_in),
            bytes=np.repeat(sent.bytes, one_in),
            responsive=np.repeat(sent.responsive, one_in),
            selective=np.repeat(sent.selective, one_in),
            ecn_capable=np.repeat(sent.ecn_capable, one_in),
            one_in=one_in,
        )


def may_change_queues(status: str) -> bool | None:
    """Return whether a process has CAP_NET_ADMIN; ``None`` where that is not told.

    Args:
        status: what ``/proc/PID/status`` says of it.
    """
    from vermilion.monitor.privileges import CAP_NET_ADMIN, has_capabilities

    return has_capabilities(status, CAP_NET_ADMIN)


class TrafficMonitor(Protocol):
    """Passive monitor beside the queue."""

    def take_in(self) -> None:
        """Take in what has passed since the last call."""

    def active_flows(self) -> int | None:
        """The number of flows that have begun and not ended; ``None`` while it is not known."""

    def rtt_samples(self) -> RttSamples:
        """The round-trip samples since the last call."""

    def flow_traffic(self) -> FlowTraffic:
        """Packets and bytes of each flow through the queue since the last call."""


class LinuxRouter(OperatedRouter):
    """One queue of an interface of this machine.

    Args:
        address: like "linux:eth0" or "linux:eth0/1:10".
        kernel: whom to ask; by default the kernel of this machine.
        monitor: of the traffic; without it, neither flows nor round trips are known.
        rate_bit_per_s: of the link, which RED's table of decay needs where it is to be another.
        delay_s: the link's propagation delay, as the operator knows it.
        before_change: told of every change before it is sent, with what would undo it.
        clock: seconds, never going back.
        sleep: waits for so many seconds.

    Raises:
        RouterError: there is no such queue, or it cannot be controlled.
    """

    kind: ClassVar[str] = "linux"
    example: ClassVar[str] = EXAMPLE

    def __init__(
        self,
        address: str,
        *,
        kernel: Kernel | None = None,
        monitor: TrafficMonitor | None = None,
        rate_bit_per_s: float | None = None,
        delay_s: float = 0.0,
        before_change: Callable[[PlannedChange], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.address: QueueAddress = parse_address(address)
        self._kernel = RouteSocket() if kernel is None else kernel
        self._monitor = monitor
        self._before_change = before_change
        self._clock = clock
        self._sleep = sleep
        self._began = clock()
        self._unwrapped = Unwrapped()
        self._rate_bit_per_s = rate_bit_per_s
        self._found = _find(self._kernel, self.address, rate_bit_per_s)
        discipline = self._found.state.options.discipline
        if self._found.why_not is not None or discipline is None:
            message = f"{self.address}: {self._found.why_not}"
            raise RouterError(message)
        self._configuration = LinkConfiguration(str(self.address), discipline, delay_s)
        self.push_price = push_price(self._found.state, self._found.around)
        self.held = LinuxValues(discipline=discipline)

    @classmethod
    def reached(cls, address: str, reach: Reach) -> Self:
        """The queue of an address like "linux:eth0/1:10"."""
        return cls(
            address,
            monitor=None if reach.watch is None else PacketMonitor(reach.watch),
            rate_bit_per_s=reach.rate_bit_per_s,
            delay_s=reach.delay_s,
        )

    def why_not_changed(self) -> str | None:
        """Capability that this process lacks."""
        try:
            status = Path("/proc/self/status").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return None  # the kernel will say it itself
        return HOW_TO_ALLOW if may_change_queues(status) is False else None

    @property
    def settable(self) -> tuple[str, ...]:
        """The names of the parameters that can be changed."""
        return tuple(self._found.state.options.settable)

    def now_s(self) -> float:
        """The time of a reading that is taken now, seconds."""
        return self._clock() - self._began

    def close(self) -> None:
        """Closes the socket to the kernel."""
        self._kernel.close()

    def state(self) -> QueueState:
        """The queue as it is now.

        One whose interface has come back under another number counts from 0 again.

        Raises:
            RouterError: it cannot be read, or another one has taken its place.
        """
        known = self._found.state
        try:
            number = self._number()
            now = self._kernel.queue(number, known.parent)
        except RouterError as error:
            raise self._named(error) from None
        if now.kind != known.kind or now.handle == 0:
            another = printable(now.kind)
            message = f"{self.address}: the {known.kind} that was here is gone; now it is {another}"
            raise RouterError(message)
        if number != known.interface:
            self._found = _find(self._kernel, self.address, self._rate_bit_per_s)
            self._unwrapped = Unwrapped()
        return now

    def read(self) -> Reading:
        """The counters now; those of 32 bits go on where the kernel's begin again at 0."""
        return reading_of(self.state(), self._unwrapped, self.now_s())

    def active_flows(self) -> int | None:
        """The number of flows, from the monitor; ``None`` where there is none."""
        return None if self._monitor is None else self._monitor.active_flows()

    def rtt_samples(self) -> RttSamples | None:
        """The round-trip samples since the last call, from the monitor; ``None`` without one."""
        return None if self._monitor is None else self._monitor.rtt_samples()

    def flow_traffic(self) -> FlowTraffic | None:
        """Traffic of each flow since the last call, from the monitor; ``None`` without one."""
        return None if self._monitor is None else self._monitor.flow_traffic()

    def observe(self) -> Observation:
        """The counters, and what the monitor has seen up to now."""
        if self._monitor is not None:
            self._monitor.take_in()
        return super().observe()

    def parameters(self) -> dict[str, ParameterValue]:
        """Parameters that the kernel reports, by their names in the discipline's table."""
        return self.state().options.parameters(self._found.around)

    def price(self, parameters: Mapping[str, ParameterValue]) -> Price | None:
        """Price of putting parameters in force now; ``None``: they are already.

        Raises:
            RouterError: they are not accepted.
        """
        planned = self._plan(parameters)
        return None if planned is None else planned.price

    def undo_command(self) -> str | None:
        """The present setting as a call of tc, to be kept before a change; ``None``: no such."""
        from vermilion.routers.linux.tc_command import tc_command

        state, around = self.state(), self._found.around
        values = state.options.parameters(around)
        return tc_command(self.address, state.kind, state.handle, values, around.rate_bit_per_s)

    tc_command = undo_command

    @classmethod
    def rebuild_undo_command(
        cls, address: str, parameters: Mapping[str, ParameterValue], recorded: str
    ) -> str | None:
        """The call of tc with the recorded kind, handle and rate, and these parameters."""
        from vermilion.routers.linux.shaper import rebuilt_rate_command
        from vermilion.routers.linux.tc_command import rebuilt_tc_command

        queue = parse_address(address)
        rate = rebuilt_rate_command(queue, parameters, recorded)
        return rate or rebuilt_tc_command(queue, parameters, recorded)

    def apply(self, parameters: Mapping[str, ParameterValue]) -> None:
        """Put ``parameters`` in force, merged over the present ones: all of them or none.

        Nothing is sent if they are in force already.

        Raises:
            RouterError: the kernel refused or did something else; what was there is in force.
            RouterSilent: the kernel was told, and what was there is not known to be in force.
        """
        planned = self._plan(parameters)
        if planned is None:
            return
        if self._before_change is not None:
            self._before_change(planned)
        try:
            self._kernel.tell(NEW_QUEUE, 0, change_body(planned.before, planned.request))
        except KernelError as error:
            raise self._failed(planned, str(error)) from None
        except RouterError as error:
            raise self._named(error) from None
        try:
            now = self.state()
        except RouterError as error:
            message = f"{error}; the change was sent, and may be in force"
            raise RouterSilent(message) from None
        wrong = planned.disagreements(now.options)
        if wrong:
            message = f"the kernel took other values: {'; '.join(wrong)}"
            raise self._failed(planned, message)

    def _number(self) -> int:
        """Return the number of the interface that has the name now.

        Raises:
            RouterError: none has, or the kernel does not say it.
        """
        name = self.address.interface
        try:
            return self._kernel.interface(name).index
        except KernelError as error:
            if error.refusal.number != errno.ENODEV:
                raise
            message = (
                f'the interface "{printable(name)}" is gone; expected it with a '
                f"{self._found.state.kind}"
            )
            raise RouterError(message) from None

    def _plan(self, parameters: Mapping[str, ParameterValue]) -> PlannedChange | None:
        now = self.state()
        try:
            return plan_change(now, parameters, self._found.around)
        except RouterError as error:
            raise self._named(error) from None

    def _named(self, error: RouterError) -> RouterError:
        """The same, with the queue's name before it."""
        kind = RouterSilent if isinstance(error, RouterSilent) else RouterError
        return kind(f"{self.address}: {error}")

    def _failed(self, planned: PlannedChange, why: str) -> RouterError:
        """Roll back a change that was not made as asked, and return the error to raise.

        Some kinds have changed a part when they refuse. So the queue is read, and it is a refusal
        only where nothing has changed any more.
        """
        why = f"{self.address}: {why}"
        try:
            if not self._changed(planned):
                return RouterError(why)
        except RouterError as error:
            return RouterSilent(f"{why}. The setting in force cannot be read: {error}")
        try:
            self._kernel.tell(NEW_QUEUE, 0, change_body(planned.before, planned.undo))
            left = self._changed(planned)
        except RouterError as error:
            return RouterSilent(f"{why}. Restoring the old setting failed too: {error}")
        if left:
            left_in_words = "; ".join(left)
            return RouterSilent(
                f"{why}. Some of the old setting could not be restored: {left_in_words}"
            )
        return RouterError(f"{why}. What was there is in force again")

    def _changed(self, planned: PlannedChange) -> list[str]:
        """Differences from the state before a change, in words."""
        return planned.undo_disagreements(self.state().options)


def _find(kernel: Kernel, address: QueueAddress, rate_bit_per_s: float | None) -> FoundQueue:
    """The queue that an address means.

    Raises:
        RouterError: there is none; the message names those that there are.
    """
    interfaces = discover(kernel.interfaces(), kernel.queues(), rate_bit_per_s)
    named = {each.interface.name: each for each in interfaces}
    if address.interface not in named:
        known = did_you_mean(address.interface, named)
        message = (
            f'{address}: there is no interface "{printable(address.interface)}"; expected {known}'
        )
        raise RouterError(message)
    queues = named[address.interface].queues
    usable = [str(each.address) for each in queues if each.why_not is None]
    for each in queues:
        if each.state.parent == address.parent:
            if each.why_not is not None and usable:
                message = f"{address}: {each.why_not}; expected {one_of(usable)}"
                raise RouterError(message)
            return each
    known = f"expected {one_of(usable)}" if usable else "the interface has none to be controlled"
    message = f"{address}: there is no queue at this place; {known}"
    raise RouterError(message)
