"""Watching, or controlling, a queue of a real router until a person says stop.

What stands before the first change is in the journal before the controller begins: as parameters,
and as the command that puts them back by hand. Where it cannot be written down and something might
be changed, nothing begins. Nor does anything where somebody else controls the queue.

A real queue as an operator hands it over: perhaps only to look at.

Several queues of real machines, handed over together.

They may be on one machine or on many, and each kind of router is asked in its own way. What all
have in common is the controller's clock: each reading is put on it by the driver.
"""

from __future__ import annotations

import re
from collections import Counter
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from vermilion.online.decide.controller import Controller
from vermilion.online.drive.locks import only_controller, only_run
from vermilion.online.drive.wall_clock import WallClockDriver
from vermilion.online.entries import Decision, DecisionKind, format_setting
from vermilion.online.plan.solve import solve as solve_task
from vermilion.online.record.journal import Journal, JournalError, Log
from vermilion.routers.base import ManagedQueue, OperatedRouter, RouterError
from vermilion.routers.queue_set import QueueSet, joint_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from vermilion.online.drive.driver import Solve
    from vermilion.online.entries import SettingInForce
    from vermilion.online.events import Propose
    from vermilion.online.policy import Policy
    from vermilion.online.record.restart import Remembered
    from vermilion.routers.base import (
        FlowTraffic,
        HeldValues,
        LinkConfiguration,
        Observation,
        ParameterValue,
        QueueName,
        Reading,
        RttSamples,
    )


class OperatedQueue(ManagedQueue):
    """Another queue, with what a controller may not do to it refused.

    The controller itself changes nothing in mode "observe". This is the second lock: whatever
    mistake is made above, nothing reaches the router.
    """

    kind = "operated"

    def __init__(
        self,
        queue: ManagedQueue,
        configuration: LinkConfiguration,
        *,
        may_change: bool,
        on_observation: Callable[[Observation], object] = lambda _: None,
    ) -> None:
        """Prepare.

        Args:
            queue: the queue itself.
            configuration: the link as the operator knows it.
            may_change: whether anything may ever be changed.
            on_observation: told of everything that is seen.
        """
        self._queue = queue
        self._configuration = configuration
        self._may_change = may_change
        self._on_observation = on_observation
        self.push_price = queue.push_price
        self.held = queue.held
        self.reading_interval_s = queue.reading_interval_s

    @property
    def configuration(self) -> LinkConfiguration:
        """The link as the operator knows it."""
        return self._configuration

    def read(self) -> Reading:
        """The counters now."""
        return self._queue.read()

    def active_flows(self) -> int | None:
        """The number of flows, where somebody counts them."""
        return self._queue.active_flows()

    def rtt_samples(self) -> RttSamples | None:
        """The round-trip samples since the last call, where somebody takes any."""
        return self._queue.rtt_samples()

    def flow_traffic(self) -> FlowTraffic | None:
        """Packets of each flow since the last call, where a monitor runs."""
        return self._queue.flow_traffic()

    def observe(self) -> Observation:
        """Everything that is seen now."""
        seen = self._queue.observe()
        self._on_observation(seen)
        return seen

    def parameters(self) -> dict[str, ParameterValue]:
        """Every discipline parameter now in force."""
        return self._queue.parameters()

    def apply(self, parameters: Mapping[str, ParameterValue]) -> None:
        """Put parameters in force.

        Raises:
            RouterError: nothing may be changed, or the router refused.
        """
        if not self._may_change:
            message = "the queue is only observed; nothing is sent to it"
            raise RouterError(message)
        self._queue.apply(parameters)

    def wait(self, until_s: float) -> None:
        """Return when the network's time has reached ``until_s``."""
        self._queue.wait(until_s)


_BETWEEN = "+"


@dataclass(frozen=True, slots=True)
class SetAddress:
    """The names of all queues of a set.

    Attributes:
        queues: each queue's own.
    """

    queues: tuple[QueueName, ...]

    @property
    def interface(self) -> str:
        """The interfaces of all."""
        return _BETWEEN.join(each.interface for each in self.queues)

    def __str__(self) -> str:
        return _BETWEEN.join(str(each) for each in self.queues)


class OperatedSet(QueueSet, OperatedRouter):
    """Queues of real machines that are controlled together.

    Attributes:
        routers: each of them, by the name of its link.
    """

    kind: ClassVar[str] = "set"

    def __init__(self, routers: Sequence[OperatedRouter]) -> None:
        """Prepare.

        Args:
            routers: at least two, of different queues.

        Raises:
            RouterError: two are the same queue.
        """
        names = link_names([each.address for each in routers])
        if len(set(names)) < len(names):
            given = ", ".join(str(each.address) for each in routers)
            message = f"queues {given}: expected different ones"
            raise RouterError(message)
        self.routers = dict(zip(names, routers, strict=True))
        super().__init__(
            OperatedQueue(router, replace(router.configuration, link=link), may_change=True)
            for link, router in self.routers.items()
        )
        self.address = SetAddress(tuple(each.address for each in routers))
        self._first = routers[0]

    @property
    def settable(self) -> tuple[str, ...]:
        """The joint names of the parameters that can be changed."""
        return tuple(
            joint_name(link, name)
            for link, router in self.routers.items()
            for name in router.settable
        )

    def now_s(self) -> float:
        """The time of the first queue's clock, seconds; all of them go alike."""
        return self._first.now_s()

    def wait(self, until_s: float) -> None:
        """Return when that clock has reached ``until_s``."""
        self._first.wait(until_s)

    def undo_commands(self) -> dict[str, str | None]:
        """The present setting of each queue as a command; ``None`` where there is none."""
        return {link: router.undo_command() for link, router in self.routers.items()}

    def undo_command(self) -> str | None:
        """The commands of all queues, one after the other; ``None``: one has no such."""
        commands = list(self.undo_commands().values())
        known = [each for each in commands if each is not None]
        return " && ".join(known) if len(known) == len(commands) else None

    def close(self) -> None:
        """Ends the conversation with every machine."""
        for router in self.routers.values():
            router.close()


def link_names(addresses: Sequence[QueueName]) -> list[str]:
    """Name the links of queues after their interfaces, made unique.

    They are parts of paths like ``links.eth0.queue.limit``, which hold no dots.
    """
    interfaces = [_clean(each.interface) for each in addresses]
    count = Counter(interfaces)
    return [
        interface if count[interface] == 1 else _clean(str(address))
        for interface, address in zip(interfaces, addresses, strict=True)
    ]


def _clean(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]", "-", name)


@dataclass(frozen=True)
class RouterRun:
    """Outcome of a run on a queue of a real router.

    Attributes:
        router: its address.
        discipline: Vermilion's name for it.
        policy: what was wanted.
        found: every parameter when it began.
        undo: the command that puts them back; ``None`` where there is none.
        decisions: everything that was decided, in order of time.
        settings: every setting in force, likewise.
        missed: observations that came too late to be taken.
        unwritten: entries that the journal could not take.
    """

    router: str
    discipline: str
    policy: Policy
    found: Mapping[str, ParameterValue]
    undo: str | None
    decisions: tuple[Decision, ...]
    settings: tuple[SettingInForce, ...]
    missed: int
    unwritten: int

    @property
    def is_not_restored(self) -> bool:
        """True where the first setting should have been restored and may not be."""
        return any(
            each.kind == DecisionKind.END and each.details.get("restored") is False
            for each in self.decisions
        )


def run_on_router(
    router: OperatedRouter,
    policy: Policy,
    *,
    delay_s: float = 0.0,
    journal_path: Path | None = None,
    on_event: Callable[[Decision], object] | None = None,
    on_proposal: Callable[[Propose], object] | None = None,
    on_observation: Callable[[Observation], object] = lambda _: None,
    attended: Callable[[WallClockDriver], AbstractContextManager[object]] = lambda _: nullcontext(),
    for_s: float | None = None,
    solve: Solve = solve_task,
) -> RouterRun:
    """Keep a real queue tuned, or say what would be done, until a person says stop.

    Args:
        router: the queue, or a set of queues.
        policy: what its operator wants; mode "observe" never changes anything.
        delay_s: the link's propagation delay, as far as it is known; those of a set's links are in
            its configuration.
        journal_path: where to keep the journal; ``None`` keeps none.
        on_event: told of every decision as it is made.
        on_proposal: told of every proposal; the answer comes as a command.
        on_observation: told of everything that is seen of the queue.
        attended: a context in which the driver runs: whoever may put commands into it.
        for_s: how long; ``None`` until somebody says stop.
        solve: does the searches, in another process: a function of a module.

    Raises:
        JournalError: the journal cannot be used, also because another run of the queue is under way
            in it, or what stands now cannot be written down.
        RouterError: the router does not answer at the very beginning, or somebody else controls it.
    """
    from vermilion import _core

    address, discipline = str(router.address), router.configuration.discipline
    configuration = router.configuration
    if not policy.links:
        configuration = replace(configuration, link=policy.link, delay_s=delay_s)
    queue = OperatedQueue(
        router,
        configuration,
        may_change=policy.mode != "observe",
        on_observation=on_observation,
    )
    each_one = router.routers.values() if isinstance(router, OperatedSet) else [router]
    steered = [] if policy.mode == "observe" else [str(each.address) for each in each_one]
    with ExitStack() as alone:
        alone.enter_context(only_controller(steered))
        alone.enter_context(only_run(journal_path, address, router.kind, discipline))
        found, undo = router.parameters(), router.undo_command()
        commands = router.undo_commands() if isinstance(router, OperatedSet) else {}
        journal = alone.enter_context(
            Journal(
                journal_path,
                version=_core.VERSION,
                title=address,
                router=router.kind,
                link=address,
                discipline=discipline,
                target_packets=policy.target_packets,
            )
        )
        log = Log(journal, on_event)
        left_behind = journal.remembered()
        stands = _initial_decision(
            router.now_s(),
            address,
            found,
            configuration,
            undo,
            left_behind,
            policy,
            queue.held,
        )
        if commands:
            stands = replace(stands, details={**stands.details, "commands": commands})
        log.keep(stands)
        if log.lost and policy.mode != "observe":
            raise JournalError(log.obstacle)
        controller = Controller.of(
            policy,
            queue.configuration,
            push_price=queue.push_price,
            held=queue.held,
            remembered=left_behind,
        )
        driver = WallClockDriver(
            queue,
            controller,
            log,
            solve=solve,
            on_proposal=on_proposal,
            clock=router.now_s,
            sleep=lambda seconds: router.wait(router.now_s() + seconds),
        )
        with attended(driver):
            driver.run(for_s)
    return RouterRun(
        router=address,
        discipline=discipline,
        policy=policy,
        found=found,
        undo=undo,
        decisions=tuple(log.decisions),
        settings=tuple(log.settings),
        missed=driver.missed,
        unwritten=log.lost,
    )


def _initial_decision(
    now_s: float,
    address: str,
    found: Mapping[str, ParameterValue],
    configuration: LinkConfiguration,
    undo: str | None,
    left_behind: Remembered | None,
    policy: Policy,
    held: HeldValues,
) -> Decision:
    """Decision that records the setting found at the start."""
    by_hand = "no command puts it back" if undo is None else f"to put it back: {undo}"
    reason = f"{address} stands at {_described(found, configuration)}; {by_hand}"
    details: dict[str, object] = {
        "parameters": dict(found),
        "command": undo,
        "mode": policy.mode,
        "changes_per_minute": policy.changes_per_minute,
        "at_exit": policy.at_exit,
    }
    moving = held.moving(found)
    if moving:
        details["moved_by_queue"] = sorted(moving)
    if left_behind is not None and not held.is_unchanged(found, left_behind.original):
        reason += (
            f". Run {left_behind.run} of this journal did not end in order; it had found "
            f"the queue at {_described(left_behind.original, configuration)}"
        )
        if left_behind.command is not None:
            reason += f"; to put that back: {left_behind.command}"
        details["left_behind_by_run"] = left_behind.run
    return Decision(now_s, DecisionKind.FOUND, reason, details)


def _described(parameters: Mapping[str, ParameterValue], configuration: LinkConfiguration) -> str:
    known = {name: value for name, value in parameters.items() if value is not None}
    return format_setting(known, configuration)
