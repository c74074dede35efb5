"""Networks in virtual time that a controller can run on.

Running the controller against a network on its own time, beside the same network left alone.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from threading import Thread
from typing import TYPE_CHECKING, Literal, Protocol

from vermilion.online.decide.controller import Controller
from vermilion.online.drive.driver import NetworkTimeDriver, fixed_pace, measured_pace
from vermilion.online.drive.locks import only_run
from vermilion.online.drive.wall_clock import WallClockDriver
from vermilion.online.entries import OnlineRun, SettingFrom
from vermilion.online.plan.problem import searched_values
from vermilion.online.plan.task import COMPARISONS, RE_EVALUATIONS
from vermilion.online.policy import CHANGES_PER_MINUTE, DEADLINE_S, stated_policy
from vermilion.online.record.journal import Journal, Log
from vermilion.routers.base import OperatedRouter
from vermilion.scenario import ScenarioError
from vermilion.simulate.accepted import check_seed, given_scenario

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from vermilion.online.entries import Decision
    from vermilion.online.events import Command, Propose
    from vermilion.online.policy import AtExit, Mode
    from vermilion.routers.base import Knowledge, ManagedQueue
    from vermilion.routers.simulated import SimulatedNetwork, SimulatedRouter
    from vermilion.scenario import Scenario
    from vermilion.simulate import Result


class ControlledNetwork(Protocol):
    """A network at its beginning, with a queue to be controlled, or several as one set."""

    @property
    def router(self) -> ManagedQueue:
        """The queue under control, or the set of queues."""

    def result(self, probe_interval_s: float) -> Result:
        """Measurements of the network, with a time series, at its end."""


class Plant(Protocol):
    """Factory of networks from a scenario."""

    def under_control(
        self, scenario: Scenario, links: Sequence[str], seed: int, knowledge: Knowledge
    ) -> AbstractContextManager[ControlledNetwork]:
        """A network with the queues of links to be controlled; it ends with the context."""

    def left_alone(self, scenario: Scenario, seed: int, probe_interval_s: float) -> Result:
        """The outcome of the same network that nobody touches."""


class SimulatedPlant:
    """Networks of the simulator.

    Args:
        probe_interval_s: between the points of the time series.
    """

    def __init__(self, probe_interval_s: float) -> None:
        self._probe_interval_s = probe_interval_s

    def under_control(
        self, scenario: Scenario, links: Sequence[str], seed: int, knowledge: Knowledge
    ) -> AbstractContextManager[ControlledNetwork]:
        """A simulation with the queues of links to be controlled.

        Raises:
            RouterError: this cannot be known of several queues.
        """
        from vermilion.routers.simulated import SimulatedNetwork, SimulatedRouter

        text = scenario.core_json(self._probe_interval_s)
        if len(links) > 1:
            several = SimulatedNetwork(text, tuple(links), seed, knowledge)
            return nullcontext(_Simulation(several, seed))
        [link] = links
        router = SimulatedRouter(text, link, seed, knowledge=knowledge)
        return nullcontext(_Simulation(router, seed))

    def left_alone(self, scenario: Scenario, seed: int, probe_interval_s: float) -> Result:
        """The outcome of the same simulation that nobody touches."""
        from vermilion import simulate

        return simulate.run(scenario, seed=seed, probe_interval_s=probe_interval_s)


class _Simulation:
    """One simulation under control."""

    def __init__(self, router: SimulatedRouter | SimulatedNetwork, seed: int) -> None:
        self.router = router
        self._seed = seed

    def result(self, probe_interval_s: float) -> Result:  # noqa: ARG002 - told at the beginning
        """Measurements of the simulation so far."""
        from vermilion import _core
        from vermilion.simulate.result import result_of

        text, series = self.router.result()
        return result_of(text, seed=self._seed, version=_core.VERSION, timing={}, series=series)


PROBE_INTERVAL_S = 0.05
"""Between the points of both networks' time series."""

FIXED_EVALUATIONS = 250
"""Settings tried per search where runs must repeat exactly, unless told otherwise."""


def run_online(
    scenario: Scenario | str | Path,
    *,
    seed: int = 1,
    journal_path: Path | None = None,
    on_event: Callable[[Decision], object] | None = None,
    clock: Literal["measured", "fixed"] = "measured",
    deadline_s: float = DEADLINE_S,
    evaluations: int = FIXED_EVALUATIONS,
    re_evaluations: int = RE_EVALUATIONS,
    comparisons: int = COMPARISONS,
    mode: Mode = "control",
    changes_per_minute: int = CHANGES_PER_MINUTE,
    at_exit: AtExit = "keep",
    knowledge: Knowledge = "full",
    answer_proposal: Callable[[Propose], Command | None] = lambda _: None,
    paths: Sequence[Sequence[str]] = (),
    plant: Plant | None = None,
    progress: Callable[[float], object] | None = None,
) -> OnlineRun:
    """Keep a network tuned, and run the same network untouched.

    Args:
        scenario: the network, or the name or path from which it is loaded, with a ``[tuning]``
            section: the operator's policy. Of the rest the controller gets the link's
            configuration and nothing else.
        seed: the networks' hidden seed.
        journal_path: where to keep the journal; ``None`` keeps none.
        on_event: told of every decision as it is made.
        clock: "measured" charges the network the wall time that searches really take;
            "fixed" charges the deadline and tries a fixed number of settings, so that the
            same call gives the same run on all machines of one platform. A network in real time
            goes on while a search is under way, so that it takes "measured" only.
        deadline_s: how long a search may take, in the network's time.
        evaluations: settings tried per search where ``clock`` is "fixed".
        re_evaluations: further seeds that the best few of a search may meet.
        comparisons: fresh seeds on which a search's best meets the setting in force, at least 3.
        mode: whether the controller changes anything, proposes it or only says what it would do.
        changes_per_minute: how often it may, at most.
        at_exit: whether the last setting stays at the end or the first one comes back.
        knowledge: what the controller is told of the traffic: flows and round trips ("full"), how
            many flows ("flow count"), or nothing but the router's counters ("counters").
        answer_proposal: what a person says to a proposal (mode "propose"); ``None`` for nothing.
        paths: which of several links under control traffic crosses, each path in its order, where
            the operator knows; without them it is inferred from what monitors see.
        plant: what makes the networks; ``None`` for the simulator.
        progress: told how many seconds of the network's time have passed.

    Raises:
        ScenarioError: the policy is missing or cannot be pursued on line.
        JournalError: the file cannot be used as a journal.
    """
    from vermilion import _core

    scenario = given_scenario(scenario)
    seed = check_seed(seed, scenario.origin)
    policy = replace(
        stated_policy(scenario, deadline_s),
        mode=mode,
        changes_per_minute=changes_per_minute,
        at_exit=at_exit,
    )
    if policy.links and knowledge == "flow count":
        accepted = '"full" or "counters" for several queues'
        raise ScenarioError("knowledge", knowledge, accepted, scenario.origin)
    policy = policy.with_paths(paths)
    links = policy.links or (policy.link,)
    made_by = SimulatedPlant(PROBE_INTERVAL_S) if plant is None else plant
    fixed = clock == "fixed"
    with made_by.under_control(scenario, links, seed, knowledge) as network:
        router = network.router
        if fixed and isinstance(router, OperatedRouter):
            accepted = '"measured", because this network runs during searches'
            raise ScenarioError("clock", "fixed", accepted, scenario.origin)
        discipline, network_name = router.configuration.discipline, f"seed {seed}"
        queue = (scenario.title, router.kind, policy.link, discipline, network_name)
        with (
            only_run(journal_path, *queue),
            Journal(
                journal_path,
                version=_core.VERSION,
                title=scenario.title,
                router=router.kind,
                link=policy.link,
                discipline=discipline,
                target_packets=policy.target_packets,
                network=network_name,
            ) as journal,
        ):
            log = Log(journal, on_event)
            controller = Controller.of(
                policy,
                router.configuration,
                push_price=router.push_price,
                held=router.held,
                evaluations=evaluations if fixed else None,
                re_evaluations=re_evaluations,
                comparisons=comparisons,
                remembered=journal.remembered(),
            )
            seen = progress or (lambda _: None)
            if isinstance(router, OperatedRouter):
                driver = _in_real_time(router, controller, log, answer_proposal)
                driver.run(scenario.duration - router.now_s(), seen)
            else:
                pace = fixed_pace if fixed else measured_pace
                NetworkTimeDriver(
                    router, controller, log, pace, answer_proposal=answer_proposal
                ).run(scenario.duration, seen)
        tuned = network.result(PROBE_INTERVAL_S)
    switches = [
        name
        for name in policy.switches
        if len({each.parameters[name] for each in log.settings if name in each.parameters}) > 1
    ]
    changed = (*policy.parameters, *switches)
    return OnlineRun(
        scenario=scenario,
        seed=seed,
        link=policy.link,
        objective=policy.objective,
        parameters=changed,
        decisions=tuple(log.decisions),
        settings=tuple(
            SettingFrom(
                each.time_s,
                {  # the numbers, and the switches that may change
                    name: value
                    for name, value in searched_values(each.parameters, each.parameters).items()
                    if name in changed or not isinstance(value, bool)
                },
            )
            for each in log.settings
        ),
        tuned=tuned,
        reference=made_by.left_alone(scenario, seed, PROBE_INTERVAL_S),
        links=policy.links,
    )


def _in_real_time(
    router: OperatedRouter,
    controller: Controller,
    log: Log,
    answer_proposal: Callable[[Propose], Command | None],
) -> WallClockDriver:
    """Return a wall-clock driver."""

    def ask(proposal: Propose) -> None:
        command = answer_proposal(proposal)
        if command is not None:
            driver.commands.put(command)

    driver = WallClockDriver(
        router,
        controller,
        log,
        on_proposal=lambda proposal: Thread(target=ask, args=(proposal,), daemon=True).start(),
        clock=router.now_s,
        sleep=lambda seconds: router.wait(router.now_s() + seconds),
    )
    return driver
