"""A scenario's network in a guest: set up, run step by step, measured."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np

from vermilion import _core
from vermilion.routers.base import RouterError
from vermilion.scenario.core_scenario import windows
from vermilion.scenario.errors import FieldError
from vermilion_lab.kernel_plant.acceptance import check_scenario
from vermilion_lab.kernel_plant.guest import Guest
from vermilion_lab.kernel_plant.hosts import hosts_of
from vermilion_lab.kernel_plant.measurement import SAMPLE_NS, Measurements, measured, series
from vermilion_lab.kernel_plant.queues import made_by, settings
from vermilion_lab.kernel_plant.timetable import rate_at_start, rates_over_time, timetable
from vermilion_lab.kernel_plant.topology import commands
from vermilion_lab.kernel_plant.traffic_plan import planned_flows

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from numpy.typing import NDArray

    from vermilion.routers.snmp.credentials import UserCredentials
    from vermilion.scenario.core_scenario import CoreScenario
    from vermilion.simulate.result_data import Measured

_AGENT: Final = "vermilion_lab.kernel_plant.agent"


class RunningNetwork:
    """One scenario in one guest. A context manager: the guest ends with it.

    Attributes:
        scenario: what runs.
        now_ns: how far it has come.
    """

    def __init__(
        self,
        scenario: CoreScenario,
        seed: int,
        watched: Sequence[str] = (),
        managed: Sequence[str] = (),
        user: UserCredentials | None = None,
    ) -> None:
        """Boot the kernel, set the network up, and start its traffic.

        Args:
            scenario: what to run.
            seed: of everything that is drawn, the kernel's own random numbers included.
            watched: the links beside whose queues there is a monitor.
            managed: the links whose routers are asked and told over SNMP.
            user: who may do so.

        Raises:
            FieldError: the scenario has what a kernel's network cannot be.
            KernelPlantError: there is no kernel, or it failed.
        """
        check_scenario(scenario)
        self.scenario = scenario
        self.now_ns = 0
        hosts, members = hosts_of(scenario, seed)
        self._flows = planned_flows(scenario, hosts, members, seed)
        self._total, self._phases = windows(scenario)
        self._samples: list[list[list[int]]] = []
        self._traffic: dict[int, NDArray[np.int64]] = {}
        self._transfers: list[tuple[int, int, int | None]] = []
        numbers = range(len(scenario.links))
        self._rates = [rates_over_time(scenario, number) for number in numbers]
        changes = timetable(scenario, hosts)
        rates = [rate_at_start(scenario, number) for number in numbers]
        queues = [made_by(link.queue) for link in scenario.links]
        made = commands(rates, queues, hosts, managed=bool(managed))
        self._one_at_a_time = Lock()
        self._guest = Guest(module=_AGENT, seed=seed)
        try:
            self.call(
                "build",
                namespaces=made.namespaces,
                wires=made.wires,
                ip=made.ip,
                tc=made.tc,
                rates_bit_per_s=rates,
            )
            self._set_queues(seed)
            if managed and user is not None:
                self.call(
                    "manage",
                    links=[self.number_of(link) for link in managed],
                    user=user.user,
                    authentication=user.authentication_password,
                    privacy=user.privacy_password,
                )
            if watched:
                self.call("watch", links=[self.number_of(link) for link in watched])
            every = {*self._total, *(edge for phase in self._phases for edge in phase)}
            self.call(
                "begin",
                flows=[dict(flow.orders) for flow in self._flows],
                timetable=changes,
                boundaries_ns=sorted(every),
                sample_ns=SAMPLE_NS,
            )
            self.advance(0)
        except BaseException:
            self._guest.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._guest.close()

    def number_of(self, link: str) -> int:
        """The number of a link.

        Raises:
            RouterError: there is none of this name.
        """
        names = [each.name for each in self.scenario.links]
        if link not in names:
            message = f'link "{link}" is not accepted; expected one of: {", ".join(names)}'
            raise RouterError(message)
        return names.index(link)

    def call(self, verb: str, **arguments: Any) -> Any:  # noqa: ANN401 - whatever the verb returns
        """Have the agent do something.

        Raises:
            RouterError: a queue refused.
            KernelPlantError: the guest failed.
        """
        with self._one_at_a_time:
            return self._guest.call(verb, **arguments)

    def traffic(self, link: int) -> dict[str, Any]:
        """Return the observations of the monitor beside a link's queue since the last call."""
        found: dict[str, Any] = self.call("traffic", link=link)
        return found

    def relay(self, link: int, datagram: bytes) -> bytes | None:
        """Ask the SNMP agent of a link's router; ``None`` where no answer comes.

        May be called from another thread: the guest takes one call after the other.
        """
        answer = self.call("relay", link=link, datagram=datagram.hex())
        return None if answer is None else bytes.fromhex(answer)

    def advance(self, until_ns: int) -> None:
        """Let the network's time pass, at most to the end of the scenario."""
        until_ns = min(until_ns, self.scenario.duration_ns)
        if self._samples and until_ns <= self.now_ns:
            return
        told = self.call("advance", until_ns=until_ns)
        self.now_ns = max(self.now_ns, until_ns)
        self._samples += told["samples"]
        for each in told["traffic"]:
            self._traffic[each["at_ns"]] = np.array(each["flows"], dtype=np.int64).reshape(-1, 3)
            self._transfers = [(flow, begin, end) for flow, begin, end in each["transfers"]]

    def measured(self) -> Measured:
        """Measurements of the whole run, under the simulator's keys."""
        columns = self._columns()
        of = Measurements(columns, self._traffic, self._transfers)
        return measured(self.scenario, self._flows, self._rates, self._total, self._phases, of)

    def series(self, interval_s: float) -> dict[str, dict[str, NDArray[np.float64]]]:
        """The time series of every link."""
        return {
            link.name: series(column, round(interval_s * 1e9))
            for link, column in zip(self.scenario.links, self._columns(), strict=True)
        }

    def _columns(self) -> list[NDArray[np.int64]]:
        every = np.array(self._samples, dtype=np.int64)
        return [every[:, number, :] for number in range(len(self.scenario.links))]

    def _set_queues(self, seed: int) -> None:
        """Tell every queue what the scenario says of it.

        Raises:
            FieldError: a setting that the kernel does not have.
        """
        import json

        simulation = _core.Simulation(self.scenario.to_json(), seed)
        for number, link in enumerate(self.scenario.links):
            in_force = json.loads(simulation.queue_parameters(link.name))
            settable = self.call("described", link=number)["settable"]
            try:
                told = settings(link.queue, in_force, settable)
                self.call("apply", link=number, parameters=told)
            except FieldError as error:
                raise error.under(f"links.{link.name}.queue") from None
            except RouterError as error:
                discipline = link.queue.discipline
                accepted = f"a setting that the kernel takes ({error})"
                raise FieldError(f"links.{link.name}.queue", discipline, accepted) from None
