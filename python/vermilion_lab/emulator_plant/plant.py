"""Scenarios through an emulated link: run to their end, or under a controller meanwhile."""

from __future__ import annotations

import json
import os
import signal
import socket
import time
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np

from vermilion.link import kernel
from vermilion.link.device import LinkError
from vermilion.link.emulation import Surroundings, emulate
from vermilion.link.plan import DOWNLINK, UPLINK, Options, plan_of_scenario
from vermilion.link.recorder import Recorder
from vermilion.routers.base import RouterError
from vermilion.routers.emulated import EmulatedRouter
from vermilion.scenario.core_scenario import windows
from vermilion.scenario.errors import errors_of
from vermilion.simulate.accepted import check_seed
from vermilion.simulate.result import Result
from vermilion_lab.emulator_plant.acceptance import ways_of
from vermilion_lab.emulator_plant.traffic import BEGIN, READY, TrafficProgram
from vermilion_lab.kernel_plant.hosts import hosts_of
from vermilion_lab.kernel_plant.measurement import Measurements, measured_flows
from vermilion_lab.kernel_plant.traffic_plan import planned_flows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from vermilion import _core
    from vermilion.routers.base import Knowledge, ManagedQueue
    from vermilion.scenario import Scenario
    from vermilion.scenario.core_scenario import CoreScenario
    from vermilion_lab.kernel_plant.traffic_plan import PlannedFlow

_FRAME_BYTES: Final = 0
"""A packet has nothing before its IP header on this link."""

_START_S: Final = 30.0
_ASK_S: Final = 0.05
_SMALLEST_MTU: Final = 1500
_NS_PER_S: Final = 1_000_000_000


def run_on_emulator(
    scenario: Scenario,
    seed: int = 1,
    probe_interval_s: float | None = None,
    *,
    progress: Callable[[float], object] | None = None,
) -> Result:
    """Runs a scenario once with this machine's TCP through an emulated link, in real time.

    Args:
        scenario: what to run: all flows cross one link, and their acknowledgements one or none.
        seed: of all that is drawn. Packets are real, so that no two runs are the same.
        probe_interval_s: between the points of the result's time series; ``None`` for none.
        progress: called with the part that is done, 0 to 1.

    Raises:
        ScenarioError: the scenario has what one emulated link cannot carry.
        LinkError: no link can be emulated here.
    """
    run = _Run(scenario, seed)

    def look(link: _core.Link) -> None:
        if progress is not None:
            progress(min(1.0, link.now_ns / run.core.duration_ns))

    return run.result(run.carried(probe_interval_s, look))


@dataclass(frozen=True)
class _Outcome:
    """Outcome of a run: the links, the traffic, and the time series."""

    data: dict[str, Any]
    traffic: dict[str, Any]
    series: dict[str, Any]


class _Run:
    """One scenario, one seed."""

    def __init__(self, scenario: Scenario, seed: int) -> None:
        seed = check_seed(seed, scenario.origin)
        self.scenario, self.seed = scenario, seed
        self.core: CoreScenario = scenario.core()
        with errors_of(scenario.origin):
            self._there, self._back = ways_of(self.core)
            self._hosts, members = hosts_of(self.core, seed)
        self._flows: list[PlannedFlow] = planned_flows(
            self.core, self._hosts, members, seed, frame_bytes=_FRAME_BYTES
        )
        # All of a round trip that no link takes lies beyond the end of the way back.
        bare = () if self._back else ("delay=0 ms",)
        self._plan = plan_of_scenario(scenario, self._there, Options(downlink=bare), reverse=False)
        self.names = {UPLINK: self._there} | ({DOWNLINK: self._back} if self._back else {})

    def carried(
        self,
        interval_s: float | None,
        each_look: Callable[[_core.Link], object] = lambda _link: None,
        *,
        control: str | None = None,
        released: Callable[[], bool] = lambda: True,
    ) -> _Outcome:
        """Runs it.

        Args:
            interval_s: between the points of the time series.
            each_look: called about ten times a second.
            control: a name under which the queues can be read and changed.
            released: whether the link may go, once the scenario has ended.

        Raises:
            LinkError: no link can be emulated here.
        """
        total, phases = windows(self.core)
        boundaries = sorted({*total, *(edge for phase in phases for edge in phase)})
        duration_ns = self.core.duration_ns
        with ExitStack() as ends:
            agent, theirs = socket.socketpair()
            ends.callback(agent.close)
            ends.callback(theirs.close)
            notes = os.memfd_create("traffic")
            ends.callback(os.close, notes)
            orders = [dict(flow.orders) for flow in self._flows]
            program = TrafficProgram(self._hosts, orders, boundaries, theirs, notes)
            largest = max(_SMALLEST_MTU, *(each.packet_size_bytes for each in self.core.flows))
            surroundings = Surroundings(
                isolated=True,
                seed=self.seed,
                mtu=largest,
                offload=False,
                control=control,
                program=program,
                distances_ns=self._distances_ns(),
                spans=(total, phases),
            )

            def begin(link: _core.Link) -> None:
                agent.settimeout(_START_S)
                try:
                    told = agent.recv(len(READY))
                except TimeoutError:
                    told = b""
                if told != READY:
                    message = "the senders and receivers of the scenario could not be started"
                    raise LinkError(message)
                link.begin()
                agent.sendall(BEGIN.pack(time.monotonic_ns()))

            over = False

            def look(link: _core.Link) -> None:
                nonlocal over
                each_look(link)
                if not over and link.now_ns > duration_ns and released():
                    over = True
                    # Who has failed has closed it, and is told of by its exit code.
                    with suppress(OSError):
                        agent.sendall(b"e")

            emulation = emulate(
                self._plan,
                [],
                surroundings,
                recorder=Recorder(interval_s),
                at_start=begin,
                each_look=look,
            )
            size = os.fstat(notes).st_size
            text = os.pread(notes, size, 0)
        if emulation.exit_code != 0 or not text:
            message = f"the scenario's traffic ended early (exit code {emulation.exit_code})"
            raise LinkError(message)
        return _Outcome(emulation.data, json.loads(text), emulation.series)

    def result(self, carried: _Outcome) -> Result:
        """Return the measurements under the simulator's keys."""
        total, phases = windows(self.core)
        counted = {
            at_ns: np.array(flows, dtype=np.int64).reshape(-1, 3)
            for at_ns, flows in carried.traffic["traffic"]
        }
        transfers = [(flow, begin, end) for flow, begin, end in carried.traffic["transfers"]]
        of = Measurements([], counted, transfers)
        data = dict(carried.data)
        del data["exit_code"]
        data["links"] = {name: data["links"][way] for way, name in self.names.items()}
        data["packets_forwarded"] = sum(
            each["ledger"]["forwarded"] for each in data["links"].values()
        )
        data["flows"] = measured_flows(self.core, self._flows, total, phases, of)
        series = {
            name: carried.series[way] for way, name in self.names.items() if way in carried.series
        }
        return Result(data, series)  # type: ignore[arg-type] # read from JSON, with more keys

    def _distances_ns(self) -> dict[str, int]:
        """Extra delay of acknowledgements beyond the links, by destination address."""
        delays = {link.name: link.delay_ns for link in self.core.links}
        known = delays[self._there] + (delays[self._back] if self._back else 0)
        return {host.source: max(0, host.rtt_ns - known) for host in self._hosts}


class EmulatedNetwork:
    """A scenario behind an emulated link that another process carries, with a queue to control.

    Attributes:
        router: that queue.
    """

    def __init__(self, run: _Run, router: ManagedQueue, ended: Callable[[], _Outcome]) -> None:
        self.router = router
        self._run = run
        self._ended = ended

    def result(self, probe_interval_s: float) -> Result:  # noqa: ARG002 - told at the beginning
        """Return the measurements at the end."""
        return self._run.result(self._ended())


class EmulatorPlant:
    """Networks for the on-line controller: real TCP through emulated links, in real time.

    Args:
        probe_interval_s: between the points of the time series.
    """

    def __init__(self, probe_interval_s: float) -> None:
        self._probe_interval_s = probe_interval_s

    @contextmanager
    def under_control(
        self, scenario: Scenario, links: Sequence[str], seed: int, knowledge: Knowledge
    ) -> Iterator[EmulatedNetwork]:
        """A network at its beginning, with the queue of a link to be controlled.

        Raises:
            ScenarioError: the scenario has what one emulated link cannot carry.
            LinkError: no link can be emulated here.
            RouterError: several queues at once.
        """
        run = _Run(scenario, seed)
        ways = {name: way for way, name in run.names.items()}
        if len(links) != 1 or links[0] not in ways:
            message = f"{', '.join(links)} is not accepted; expected one of: {', '.join(ways)}"
            raise RouterError(message)
        name = f"plant-{os.getpid()}-{time.monotonic_ns()}"
        with _Carrier(run, name, self._probe_interval_s) as carrier:
            router = carrier.router(f"link:{name}/{ways[links[0]]}", knowledge, links[0])
            try:
                yield EmulatedNetwork(run, router, carrier.ended)
            finally:
                router.close()

    def left_alone(self, scenario: Scenario, seed: int, probe_interval_s: float) -> Result:
        """The outcome of the same network that nobody touches, carried in the same way."""
        run = _Run(scenario, seed)
        with _Carrier(run, None, probe_interval_s) as carrier:
            return run.result(carrier.ended())


class _Carrier:
    """A process that emulates the link of a run, so that packets do not wait for a controller."""

    def __init__(self, run: _Run, control: str | None, interval_s: float) -> None:
        self._told = os.memfd_create("result")
        released, self._release = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        parent = os.getpid()
        self._child = os.fork()
        if self._child == 0:
            try:
                os.close(self._release)
                kernel.die_with(parent)
                self._carry(run, control, interval_s, released)
            finally:
                os._exit(1)
        os.close(released)

    def _carry(self, run: _Run, control: str | None, interval_s: float, released: int) -> None:
        with suppress(PermissionError):
            # A controller that searches for settings is not to keep packets and senders waiting.
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))

        def is_released() -> bool:
            try:
                return os.read(released, 1) == b""
            except BlockingIOError:
                return False

        try:
            carried = run.carried(interval_s, control=control, released=is_released)
        except (LinkError, RouterError) as error:
            told: dict[str, Any] = {"error": str(error)}
        else:
            series = {
                name: {column: values.tolist() for column, values in columns.items()}
                for name, columns in carried.series.items()
            }
            told = {"data": carried.data, "traffic": carried.traffic, "series": series}
        with os.fdopen(self._told, "w", encoding="ascii") as file:
            json.dump(told, file)
        os._exit(0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._child:
            # The emulator ends its link by itself when nobody holds the pipe any more.
            os.kill(self._child, signal.SIGKILL)
            os.waitpid(self._child, 0)
            self._child = 0
        self._release_guest()
        os.close(self._told)

    def router(self, address: str, knowledge: Knowledge, link: str) -> EmulatedRouter:
        """The queue, once it answers.

        Raises:
            LinkError: the link has ended before.
        """
        end = time.monotonic() + _START_S
        while True:
            try:
                return EmulatedRouter(address, knowledge, link)
            except RouterError as error:
                if os.waitpid(self._child, os.WNOHANG)[0]:
                    self._child = 0
                    raise LinkError(self._read().get("error", str(error))) from None
                if time.monotonic() > end:
                    raise LinkError(str(error)) from None
                time.sleep(_ASK_S)

    def ended(self) -> _Outcome:
        """Return the outcome once the run has ended.

        Raises:
            LinkError: it failed.
        """
        self._release_guest()
        os.waitpid(self._child, 0)
        self._child = 0
        told = self._read()
        if "data" not in told:
            raise LinkError(told.get("error", "the emulator has ended early"))
        series = {
            name: {column: np.array(values) for column, values in columns.items()}
            for name, columns in told["series"].items()
        }
        return _Outcome(told["data"], told["traffic"], series)

    def _release_guest(self) -> None:
        if self._release >= 0:
            os.close(self._release)
            self._release = -1

    def _read(self) -> dict[str, Any]:
        text = os.pread(self._told, os.fstat(self._told).st_size, 0)
        told: dict[str, Any] = json.loads(text) if text else {}
        return told
