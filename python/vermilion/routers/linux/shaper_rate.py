"""Live rate of a shaper of this machine, read, set and read back."""

from __future__ import annotations

import errno
import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

from vermilion.routers.base import (
    HeldValues,
    LinkConfiguration,
    OperatedRouter,
    ParameterValue,
    Reach,
    Reading,
    RouterError,
    RouterSilent,
)
from vermilion.routers.linux.discovery import EXAMPLE, QueueAddress, parse_address
from vermilion.routers.linux.message import INGRESS
from vermilion.routers.linux.route_socket import HOW_TO_ALLOW, KernelError, RouteSocket
from vermilion.routers.linux.router import may_change_queues
from vermilion.routers.linux.shaper import (
    LEAST_RATE,
    MOST_RATE,
    PARAMETER,
    ShaperState,
    rate_command,
    rate_request,
    rebuilt_rate_command,
    redirect_target,
    shaper_at,
)
from vermilion.routers.linux.state import Unwrapped
from vermilion.scenario.errors import printable
from vermilion.scenario.quantities import RATE, format_quantity

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Self

_INGRESS_QUEUE: Final = 0xFFFF0000
_CLSACT_ARRIVALS: Final = INGRESS + 1


def ifb_commands(interface: str, rate: str = "10mbit") -> tuple[str, ...]:
    """Return the calls that shape what arrives at an interface, whose name is quoted."""
    ifb = f"ifb4{interface}"[:15]
    redirect = f"action mirred egress redirect dev {ifb}"
    return (
        f"ip link add {ifb} type ifb",
        f"ip link set {ifb} up",
        f"tc qdisc replace dev {ifb} root cake bandwidth {rate} ingress",
        f"tc qdisc add dev {interface} handle ffff: ingress",
        f"tc filter add dev {interface} parent ffff: matchall {redirect}",
    )


class LinuxShaper(OperatedRouter):
    """Rate of one shaper of this machine.

    Args:
        address: like "linux:eth0", or "linux:eth0/1:1" for a class of ``htb``.
        kernel: whom to ask; by default the kernel of this machine.
        clock: seconds, never going back.

    Raises:
        RouterError: there is no shaper.
    """

    kind: ClassVar[str] = "linux"
    example: ClassVar[str] = EXAMPLE
    held: HeldValues = HeldValues(tolerance=0.001)

    def __init__(
        self,
        address: str,
        *,
        kernel: RouteSocket | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.address: QueueAddress = parse_address(address)
        self._kernel = RouteSocket() if kernel is None else kernel
        self._clock = clock
        self._began = clock()
        self._unwrapped = Unwrapped()
        self._found = self.state()
        self._configuration = LinkConfiguration(str(self.address), self._found.kind, 0.0)

    @classmethod
    def reached(cls, address: str, reach: Reach) -> Self:
        """Return the shaper of an address."""
        del reach
        return cls(address)

    @classmethod
    def of_arrivals(cls, interface: str, kernel: RouteSocket | None = None) -> Self:
        """Return the shaper of what arrives at an interface: on the ifb it is redirected to.

        Raises:
            RouterError: nothing is redirected, or there is no shaper.
        """
        asked = RouteSocket() if kernel is None else kernel
        interfaces = {each.index: each.name for each in asked.interfaces()}
        index = next((n for n, name in interfaces.items() if name == interface), None)
        target = None
        if index is not None:
            for parent in (_INGRESS_QUEUE, _CLSACT_ARRIVALS):
                target = target or redirect_target(asked.filters(index, parent))
        if target not in interfaces:
            calls = "; ".join(ifb_commands(printable(shlex.quote(interface))))
            message = (
                f"linux:{printable(interface)}: what arrives is not shaped; expected a shaper on "
                f"an ifb. To make it: {calls}"
            )
            raise RouterError(message)
        return cls(f"linux:{interfaces[target]}", kernel=asked)

    def why_not_changed(self) -> str | None:
        """Capability that this process lacks."""
        try:
            status = Path("/proc/self/status").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return None  # the kernel will say it itself
        return HOW_TO_ALLOW if may_change_queues(status) is False else None

    @property
    def settable(self) -> tuple[str, ...]:
        """The rate."""
        return (PARAMETER,)

    def now_s(self) -> float:
        """The time of a reading that is taken now, seconds."""
        return self._clock() - self._began

    def close(self) -> None:
        """Closes the socket to the kernel."""
        self._kernel.close()

    def state(self) -> ShaperState:
        """The shaper as it is now.

        Raises:
            RouterError: it cannot be read, or is gone.
        """
        name = self.address.interface
        try:
            index = self._kernel.interface(name).index
        except KernelError as error:
            if error.refusal.number != errno.ENODEV:
                raise
            known = ", ".join(each.name for each in self._kernel.interfaces())
            message = (
                f'{self.address}: there is no interface "{printable(name)}"; there are {known}'
            )
            raise RouterError(message) from None
        queues, classes = self._kernel.shapers(index)
        return shaper_at(self.address, index, queues, classes)

    def read(self) -> Reading:
        """The counters now."""
        return self.reading_of(self.state())

    def reading_of(self, now: ShaperState) -> Reading:
        """Return the counters of a state that was read just now."""
        told = now.statistics
        raw = {"drops": told.drops or 0}
        if told.packets_wrap:
            raw["packets"] = told.packets or 0
        whole = self._unwrapped.take(raw, told.sent_bytes or 0, now.handle)
        return Reading(
            time_s=self.now_s(),
            backlog_packets=told.backlog_packets or 0,
            backlog_bytes=told.backlog_bytes or 0,
            forwarded_packets=whole.get("packets", told.packets or 0),
            forwarded_bytes=told.sent_bytes or 0,
            drops=whole["drops"],
            marks=0,
        )

    def parameters(self) -> dict[str, ParameterValue]:
        """The rate in force."""
        return {PARAMETER: self.state().rate_bit_per_s}

    def undo_command(self) -> str:
        """The rate in force as a call of tc."""
        now = self.state()
        return rate_command(self.address.interface, now, now.rate_bit_per_s)

    @classmethod
    def rebuild_undo_command(
        cls, address: str, parameters: Mapping[str, ParameterValue], recorded: str
    ) -> str | None:
        """The call of tc that sets a recorded rate."""
        return rebuilt_rate_command(parse_address(address), parameters, recorded)

    def apply(self, parameters: Mapping[str, ParameterValue]) -> None:
        """Set the rate and read it back.

        Raises:
            RouterError: the kernel refused; the rate is what it was.
            RouterSilent: the rate in force is not known.
        """
        rate = parameters.get(PARAMETER)
        if set(parameters) - {PARAMETER} or isinstance(rate, bool | str | None):
            message = f"{self.address}: expected {PARAMETER} alone, bits a second"
            raise RouterError(message)
        self.set_rate(rate)
        try:
            now = self.state()
        except RouterError as error:
            message = f"{error}; the change was sent, and may be in force"
            raise RouterSilent(message) from None
        if not self.held.is_same(rate, now.rate_bit_per_s):
            found = format_quantity(now.rate_bit_per_s, RATE)
            message = f"{self.address}: the kernel took {found} instead"
            raise RouterSilent(message)

    def set_rate(self, bit_per_s: float, now: ShaperState | None = None) -> None:
        """Set the rate; the kernel's acknowledgement is all the proof.

        Args:
            bit_per_s: the rate.
            now: the shaper as it was last read; by default it is read where its block counts.

        Raises:
            RouterError: the kernel refused, or the rate is none.
        """
        shapes_nothing = bit_per_s == 0 and self._found.kind == "cake"  # as it may be found
        if not (LEAST_RATE <= bit_per_s <= MOST_RATE or shapes_nothing):
            accepted = f"{format_quantity(LEAST_RATE, RATE)} .. {format_quantity(MOST_RATE, RATE)}"
            message = f"{self.address}: {PARAMETER}: {bit_per_s:g} bit/s; expected {accepted}"
            raise RouterError(message)
        before = now or (self._found if self._found.kind == "cake" else self.state())
        kind, body = rate_request(before, bit_per_s, self._found)
        try:
            self._kernel.tell(kind, 0, body)
        except RouterError as error:
            kept = RouterSilent if isinstance(error, RouterSilent) else RouterError
            message = f"{self.address}: {error}"
            raise kept(message) from None

    def traffic(self, interface: str) -> tuple[int, int]:
        """Bytes that an interface has received and sent."""
        return self._kernel.traffic(interface)
