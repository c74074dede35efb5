"""Watching, or controlling, a queue of a real router until a person says stop.

What stands before the first change is in the journal before the controller begins: as parameters,
and as the command that puts them back by hand. Where it cannot be written down and something might
be changed, nothing begins. Nor does anything where somebody else controls the queue.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from vermilion.online.decide.controller import Controller
from vermilion.online.drive.locks import only_controller, only_run
from vermilion.online.drive.operated_queues import OperatedQueue, OperatedSet
from vermilion.online.drive.wall_clock import WallClockDriver
from vermilion.online.entries import Decision, DecisionKind, format_setting
from vermilion.online.plan.solve import solve as solve_task
from vermilion.online.record.journal import Journal, JournalError, Log
from vermilion.online.sense.set_senses import SetSenses

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from vermilion.online.drive.network_time import Solve
    from vermilion.online.entries import SettingInForce
    from vermilion.online.events import Propose
    from vermilion.online.policy import Policy
    from vermilion.online.record.restart import Remembered
    from vermilion.routers.base import HeldValues, Observation, OperatedRouter, ParameterValue


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
    configuration = replace(router.configuration, link=policy.link, delay_s=delay_s)
    senses = None
    if policy.links:
        configuration = router.configuration
        senses = SetSenses.begin(policy.links, policy.paths)
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
            partial(format_setting, configuration=configuration),
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
            senses=senses,
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
    describe: Callable[[Mapping[str, ParameterValue]], str],
    undo: str | None,
    left_behind: Remembered | None,
    policy: Policy,
    held: HeldValues,
) -> Decision:
    """Decision that records the setting found at the start."""
    by_hand = "no command puts it back" if undo is None else f"to put it back: {undo}"
    reason = f"{address} stands at {describe(_without_none(found))}; {by_hand}"
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
            f"the queue at {describe(_without_none(left_behind.original))}"
        )
        if left_behind.command is not None:
            reason += f"; to put that back: {left_behind.command}"
        details["left_behind_by_run"] = left_behind.run
    return Decision(now_s, DecisionKind.FOUND, reason, details)


def _without_none(parameters: Mapping[str, ParameterValue]) -> dict[str, ParameterValue]:
    return {name: value for name, value in parameters.items() if value is not None}
