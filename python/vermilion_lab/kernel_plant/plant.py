"""Scenarios on the kernel: run to their end, or step by step under a controller."""

from __future__ import annotations

import resource
import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Final, Literal

from vermilion import _core
from vermilion.routers.queue_set import QueueSet
from vermilion.routers.snmp.credentials import UserCredentials
from vermilion.scenario.errors import errors_of
from vermilion.simulate.accepted import check_seed
from vermilion.simulate.result import Result
from vermilion_lab.kernel_plant.management_channel import ManagementChannel
from vermilion_lab.kernel_plant.network import RunningNetwork
from vermilion_lab.kernel_plant.router import KernelRouter
from vermilion_lab.kernel_plant.snmp_router import SnmpKernelRouter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from vermilion.routers.base import Knowledge, ManagedQueue
    from vermilion.scenario import Scenario
    from vermilion.simulate.result_data import ResultData, Timing

_STEPS: Final = 100

Management = Literal["netlink", "snmp"]
"""How queues of a guest are read and changed."""


def run_on_kernel(
    scenario: Scenario,
    seed: int = 1,
    probe_interval_s: float | None = None,
    *,
    progress: Callable[[float], object] | None = None,
) -> Result:
    """Runs a scenario once on a real Linux kernel in virtual time.

    The same scenario and seed give the same result with the same kernel and programs.

    Args:
        scenario: what to run.
        seed: of all that is drawn, the kernel's own random numbers included.
        probe_interval_s: between the points of the result's time series; ``None`` for none.
        progress: called with the part that is done, 0 to 1.

    Raises:
        ScenarioError: the scenario has what a kernel's network cannot be.
        KernelPlantError: there is no kernel, or it failed.
    """
    wall_s, cpu_s = time.perf_counter(), _cpu_s()
    with _running(scenario, seed) as network:
        duration_ns = network.scenario.duration_ns
        for step in range(1, _STEPS + 1):
            network.advance(duration_ns * step // _STEPS)
            if progress is not None:
                progress(step / _STEPS)
    timing: Timing = {"wall_s": time.perf_counter() - wall_s, "cpu_s": _cpu_s() - cpu_s}
    return _result(network, seed, probe_interval_s, timing)


def _cpu_s() -> float:
    """Processor time of this process and of those that have ended below it, seconds."""
    below = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + below.ru_utime + below.ru_stime


class KernelNetwork:
    """A scenario's network on the kernel, with one queue or several under control.

    Attributes:
        router: that queue, or the set.
    """

    def __init__(self, network: RunningNetwork, router: ManagedQueue, seed: int) -> None:
        self.router = router
        self._network = network
        self._seed = seed

    def result(self, probe_interval_s: float) -> Result:
        """Return the measurements at the end."""
        self._network.advance(self._network.scenario.duration_ns)
        return _result(self._network, self._seed, probe_interval_s, {})


class KernelPlant:
    """Plant of the on-line controller: networks of kernels in virtual time.

    Args:
        management: how queues are read and changed: by netlink in the guest, at once; or over SNMP,
            once a second, through snmpd and Vermilion's agent in each router.
    """

    def __init__(self, management: Management = "netlink") -> None:
        self._management = management

    @contextmanager
    def under_control(
        self, scenario: Scenario, links: Sequence[str], seed: int, knowledge: Knowledge
    ) -> Iterator[KernelNetwork]:
        """A network at its beginning, with the queues of links to be controlled.

        Raises:
            ScenarioError: the scenario has what a kernel's network cannot be.
            KernelPlantError: there is no kernel, or it failed.
        """
        watched = () if knowledge == "counters" else tuple(links)
        if self._management == "netlink":
            with _running(scenario, seed, watched) as network:
                queues = [KernelRouter(network, link, knowledge) for link in links]
                yield KernelNetwork(network, _as_queue(queues), seed)
            return
        # Nobody else can reach the guest's agents, so that its user's pass phrases are no secret.
        user = UserCredentials("vermilion", "kernel-plant-1", "kernel-plant-2")
        with ExitStack() as ends:
            network = ends.enter_context(_running(scenario, seed, watched, tuple(links), user))
            numbers = {link: network.number_of(link) for link in links}
            channel = ManagementChannel(tuple(numbers.values()), network.relay)
            ports = ends.enter_context(channel).ports
            remote = []
            for link in links:
                queue = SnmpKernelRouter(network, link, knowledge, ports[numbers[link]], user)
                ends.callback(queue.close)
                remote.append(queue)
            yield KernelNetwork(network, _as_queue(remote), seed)

    def left_alone(self, scenario: Scenario, seed: int, probe_interval_s: float) -> Result:
        """The outcome of the same network that nobody touches."""
        return run_on_kernel(scenario, seed, probe_interval_s)


def _as_queue(queues: Sequence[ManagedQueue]) -> ManagedQueue:
    return queues[0] if len(queues) == 1 else QueueSet(queues)


@contextmanager
def _running(
    scenario: Scenario,
    seed: int,
    watched: Sequence[str] = (),
    managed: Sequence[str] = (),
    user: UserCredentials | None = None,
) -> Iterator[RunningNetwork]:
    seed = check_seed(seed, scenario.origin)
    with errors_of(scenario.origin):
        network = RunningNetwork(scenario.core(), seed, watched, managed, user)
    with network:
        yield network


def _result(
    network: RunningNetwork, seed: int, probe_interval_s: float | None, timing: Timing
) -> Result:
    data: ResultData = {"seed": seed, "version": _core.VERSION, **timing, **network.measured()}
    found = {} if probe_interval_s is None else network.series(probe_interval_s)
    return Result(data, found)
