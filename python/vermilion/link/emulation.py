"""Running a command behind an emulated link, and its result."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import sys
import time
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from vermilion import _core
from vermilion.link import kernel
from vermilion.link.control import Control
from vermilion.link.device import Addresses, LinkError, name_of, open_device, set_up
from vermilion.link.inside import Orders, fork_inside
from vermilion.link.masquerade import Masquerade, check_forwarding
from vermilion.link.plan import WAYS
from vermilion.link.recorder import Recorder
from vermilion.monitor.privileges import CAP_NET_ADMIN, CAP_SYS_ADMIN, has_capabilities
from vermilion.scenario.core_scenario import windows

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from ipaddress import IPv4Address
    from types import FrameType

    import numpy as np
    from numpy.typing import NDArray

    from vermilion.scenario import Scenario
    from vermilion.scenario.core_scenario import Window

INTERFACE: Final = "vermilion%d"
"""Name of the link's outer device; the kernel puts a number in."""

_LOOK_NS: Final = 100_000_000
"""Between two looks at what is not a packet."""

_START_S: Final = 30.0
"""The longest that namespaces may take to be set up."""

_END_S: Final = 2.0
_END_LOOKS: Final = 200
"""Time for its namespaces to end by themselves, and the interval of checks, seconds."""

NANOSECONDS: Final = 1_000_000_000
_LARGEST_MESSAGE: Final = 1 << 16
_FORWARDED: Final = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)
_FROM_TERMINALS: Final = (signal.SIGINT, signal.SIGQUIT)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Settings of an emulation apart from the link itself.

    Attributes:
        isolated: the other end is a namespace of its own, and nothing leads out of it.
        peer: a command that runs there.
        seed: from which every random number derives.
        jitter_s: by how much packets take longer at most, of each way.
        reorder: whether one may overtake another because of it.
        mtu: bytes of the largest packet.
        offload: whether kernels may hand over many segments in one.
        busy: whether a core is kept busy for the sake of exact times.
        room: packets that a way holds at most.
        control: a name under which others may ask for counters and change the queues.
        program: in place of the command, something of this program's own
            (:class:`.inside.Orders`).
        distances_ns: by how much IPv4 addresses are farther away than the end of the downlink.
        spans: the whole time and the phases that are measured; ``None`` for the scenario's.
    """

    isolated: bool = False
    peer: Sequence[str] | None = None
    seed: int = 1
    jitter_s: tuple[float, float] = (0.0, 0.0)
    reorder: bool = False
    mtu: int = 1500
    offload: bool = True
    busy: bool = False
    room: int = 65_536
    control: str | None = None
    program: Callable[[int, int], int] | None = None
    distances_ns: Mapping[str, int] = field(default_factory=dict)
    spans: tuple[Window, Sequence[Window]] | None = None


@dataclass(frozen=True, slots=True)
class Emulation:
    """Outcome of an emulation.

    Attributes:
        exit_code: of the command, as a shell has it.
        data: what was measured, under the keys of a result of the simulator and some more.
        series: the time series of each way, if they were wanted.
    """

    exit_code: int
    data: dict[str, Any]
    series: dict[str, dict[str, NDArray[np.float64]]] = field(default_factory=dict)


def emulate(
    scenario: Scenario,
    command: Sequence[str],
    surroundings: Surroundings,
    *,
    recorder: Recorder | None = None,
    at_start: Callable[[_core.Link], object] = lambda _link: None,
    each_look: Callable[[_core.Link], object] = lambda _link: None,
) -> Emulation:
    """Run a command in a network namespace whose only way out is the link.

    Args:
        scenario: with the links of :data:`.plan.WAYS`; its warm-up is not measured, and what
            happens after its duration neither.
        command: the program and its arguments.
        surroundings: how.
        recorder: what is written down meanwhile.
        at_start: called when the command has been started, before the first packet.
        each_look: called about ten times a second, to look at the link and to change it.

    Raises:
        LinkError: the link cannot be emulated here.
        ScenarioError: something of the link is refused by the core.
    """
    recorder = Recorder() if recorder is None else recorder
    with ExitStack() as stack:
        running = _Running(scenario, command, surroundings, recorder, stack)
        return running.to_its_end(at_start, each_look)


class _Running:
    """A command behind a link."""

    def __init__(
        self,
        scenario: Scenario,
        command: Sequence[str],
        surroundings: Surroundings,
        recorder: Recorder,
        stack: ExitStack,
    ) -> None:
        self._scenario = scenario
        self._recorder = recorder
        self._surroundings = surroundings
        self._signals: list[int] = []
        self._interrupted = False
        self._control = None
        if surroundings.control is not None:
            self._control = Control(surroundings.control, scenario, recorder, surroundings.mtu)
            stack.callback(self._control.close)
        if not surroundings.isolated:
            _check_capabilities()
        addresses = Addresses()
        stack.callback(addresses.close)
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        stack.callback(self._channel.close)
        orders = Orders(
            user_namespace=not _may_make_namespaces(),
            inner=addresses.inner,
            isolated=surroundings.isolated,
            peer=surroundings.peer,
            mtu=surroundings.mtu,
            offload=surroundings.offload,
            command=list(command),
            program=surroundings.program,
        )
        with theirs:
            self._inside = fork_inside(orders, theirs)
        stack.callback(self._remove_namespaces)
        devices = self._devices(stack)
        if not surroundings.isolated:
            outer = open_device(INTERFACE, offload=surroundings.offload)
            stack.callback(os.close, outer)
            name = name_of(outer)
            set_up(name, addresses.outer[:1], surroundings.mtu, default_route=False)
            ends = addresses.inner[0]
            # The first pair of addresses is IPv4's, which is what the rule is about.
            rule = Masquerade(f"vermilion-link-{addresses.number}", cast("IPv4Address", ends.own))
            stack.callback(rule.close)
            devices = [outer, *devices]
        wakers = [self._channel.fileno(), self._wake_on_signals(stack)]
        if self._control is not None:
            wakers.append(self._control.fileno())
        outer, inner = devices
        self._link = self._core_link((inner, outer), wakers)

    def _core_link(self, devices: tuple[int, int], wakers: Sequence[int]) -> _core.Link:
        chosen = self._surroundings
        core = self._scenario.core()
        up, down = (round(each * NANOSECONDS) for each in chosen.jitter_s)
        try:
            link = _core.Link(
                (core.link(WAYS[0]).text, core.link(WAYS[1]).text),
                devices,
                seed=chosen.seed,
                jitters=((up, chosen.reorder), (down, chosen.reorder)),
                largest=chosen.mtu,
                room=chosen.room,
                busy=chosen.busy,
                wakers=list(wakers),
                merge=chosen.offload,
            )
        except OSError as error:
            message = f"the link's devices cannot be taken over ({error.strerror})"
            raise LinkError(message) from None
        for change in core.changes:
            told = {key: value for key, value in asdict(change).items() if value is not None}
            link.change_at(WAYS.index(change.link), json.dumps(told))
        total, phases = windows(core) if chosen.spans is None else chosen.spans
        link.measure(total, phases)
        if chosen.distances_ns:
            distances = chosen.distances_ns.items()
            far = {socket.inet_aton(address): nanoseconds for address, nanoseconds in distances}
            link.set_distances(1, far)
        return link

    def _devices(self, stack: ExitStack) -> list[int]:
        """The devices of the namespaces, which are to be closed."""
        self._channel.settimeout(_START_S)
        try:
            text, files, _, _ = socket.recv_fds(self._channel, _LARGEST_MESSAGE, 2)
        except TimeoutError:
            message = f"the link's namespaces were not there within {_START_S:g} s"
            raise LinkError(message) from None
        finally:
            self._channel.settimeout(None)
        for each in files:
            stack.callback(os.close, each)
        told = json.loads(text) if text else {"error": "the link's namespaces cannot be made"}
        if "error" in told:
            raise LinkError(told["error"])
        return files

    def to_its_end(
        self, at_start: Callable[[_core.Link], object], each_look: Callable[[_core.Link], object]
    ) -> Emulation:
        """Carries packets until the command has ended."""
        link, recorder = self._link, self._recorder
        kernel.wake_on_time()
        self._channel.send(b"{}")
        at_start(link)
        wall, cpu = time.monotonic(), time.process_time()
        end_ns = round(self._scenario.duration * NANOSECONDS)
        found: dict[str, Any] | None = None
        recorder.begin(link, end_ns)
        ended: Mapping[str, Any] | None = None
        while ended is None:
            now = link.now_ns
            next_look = now + _LOOK_NS
            if found is None:
                next_look = min(next_look, end_ns)
            link.run(max(0, next_look - now))
            if found is None:
                is_over = link.now_ns >= end_ns  # asked first: then the look has all until the end
                recorder.look(link)
                found = self._reports() if is_over else None
            each_look(link)
            if self._control is not None:
                self._control.answer(link)
                self._control.move(link)
            self._pass_signals_on()
            ended = self._exit_message()
        timing = {"wall_s": time.monotonic() - wall, "cpu_s": time.process_time() - cpu}
        if found is None:
            recorder.look(link)
            found = self._reports()
            recorder.look_at_packets(link)
        try:
            recorder.end()
        except OSError as error:
            message = f"--packets: the file cannot be written ({error.strerror})"
            raise LinkError(message) from None
        return self._emulation(found, ended, timing)

    def _reports(self) -> dict[str, Any]:
        return {name: json.loads(self._link.report(way)) for way, name in enumerate(WAYS)}

    def _emulation(
        self, links: dict[str, Any], ended: Mapping[str, Any], timing: Mapping[str, float]
    ) -> Emulation:
        for name, counts, way in zip(
            WAYS, [*ended.get("interfaces", []), {}], (0, 1), strict=False
        ):
            emulator = links[name]["emulator"]
            emulator["interface_removed"] = not self._link.is_there(way)
            if counts:
                emulator["interface"] = counts
        forwarded = sum(each["ledger"]["forwarded"] for each in links.values())
        code = int(ended["exit_code"])
        data = {
            "seed": self._surroundings.seed,
            "version": _core.VERSION,
            **timing,
            "packets_forwarded": forwarded,
            "links": links,
            "flows": {},
            "exit_code": code,
        }
        if self._recorder.jobs_lost:
            data["notes_thrown_away"] = self._recorder.jobs_lost
        return Emulation(code, data, self._recorder.series())

    def _exit_message(self) -> Mapping[str, Any] | None:
        """Return the message about the command's end, if it came."""
        if not select.select([self._channel], [], [], 0)[0]:
            return None
        text = self._channel.recv(_LARGEST_MESSAGE)
        if not text:
            # Whatever held the namespaces has been killed, and the command with it.
            return {"exit_code": 128 + signal.SIGKILL}
        told: Mapping[str, Any] = json.loads(text)
        if "error" in told:
            raise LinkError(told["error"])
        return told

    def _wake_on_signals(self, stack: ExitStack) -> int:
        """A descriptor that can be read once a signal has come; signals are for the command."""
        woken, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        stack.callback(os.close, woken)
        stack.callback(os.close, wake)
        before = signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        stack.callback(signal.set_wakeup_fd, before)
        self._woken = woken
        for number in _FORWARDED:
            stack.callback(signal.signal, number, signal.signal(number, self._note_signal))
        return woken

    def _note_signal(self, number: int, _frame: FrameType | None) -> None:
        self._signals.append(number)

    def _pass_signals_on(self) -> None:
        """Forward signals to the command, except those that its terminal sends itself.

        Raises:
            KeyboardInterrupt: it was interrupted a second time and has not ended.
        """
        with suppress(BlockingIOError):
            os.read(self._woken, 4096)
        while self._signals:
            number = self._signals.pop(0)
            if self._was_interrupted(number):
                raise KeyboardInterrupt
            if number not in _FROM_TERMINALS or not _is_at_terminal():
                self._channel.send(json.dumps({"signal": number}).encode())

    def _was_interrupted(self, number: int) -> bool:
        before = self._interrupted
        self._interrupted = before or number in _FROM_TERMINALS
        return before and number in _FROM_TERMINALS

    def _remove_namespaces(self) -> None:
        """Remove the namespaces and everything in them."""
        with suppress(OSError):
            self._channel.shutdown(socket.SHUT_RDWR)
        for _ in range(_END_LOOKS):
            if os.waitpid(self._inside, os.WNOHANG)[0]:
                return
            time.sleep(_END_S / _END_LOOKS)
        os.kill(self._inside, signal.SIGKILL)
        os.waitpid(self._inside, 0)


def _is_at_terminal() -> bool:
    """Return whether a terminal signals this program and the command together."""
    try:
        return os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except (OSError, ValueError, AttributeError):
        return False


def _has_in_force(*capabilities: int) -> bool:
    status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    return has_capabilities(status, *capabilities) is True


def _may_make_namespaces() -> bool:
    """Return whether namespaces can be made without a user namespace first."""
    return _has_in_force(CAP_SYS_ADMIN, CAP_NET_ADMIN)


def _check_capabilities() -> None:
    if not _has_in_force(CAP_NET_ADMIN):
        message = (
            "a link out of this machine needs the capability CAP_NET_ADMIN; run it as "
            "root, or use --isolated"
        )
        raise LinkError(message)
    check_forwarding()
