"""``vermilion online``: keeps a changing network tuned, beside the same network left alone.

With ``--router`` the network is a real one: :mod:`vermilion.cli.online_router`.
"""

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from vermilion.cli import options
from vermilion.cli.closed_pipe import finish_anyway
from vermilion.cli.entry import UserError
from vermilion.cli.output import STANDARD_OUTPUT, check_outputs, output_file

if TYPE_CHECKING:
    from vermilion.online.drive.plant import Plant
    from vermilion.online.effects import Propose
    from vermilion.online.events import Command
    from vermilion.online.record.entries import Decision, OnlineRun
    from vermilion.report.short_queue import Rival
    from vermilion.scenario import Scenario


def online(
    context: typer.Context,
    scenarios: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SCENARIO...",
            help="Scenario files (TOML) or names of shipped ones, each with a [tuning] table. "
            "None with --router.",
            show_default=False,
        ),
    ] = None,
    *,
    router: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="A queue of this machine instead of a simulation, like linux:eth0 or "
            "linux:eth0/1:10; see: vermilion routers",
            show_default=False,
        ),
    ] = None,
    policy: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.toml",
            help="What you want of the router's queue, and how freely. Default: the knee, by the "
            "parameters that are worth a search.",
            show_default=False,
        ),
    ] = None,
    for_: Annotated[
        str | None,
        typer.Option(
            "--for",
            metavar="TIME",
            help="How long to control the router. Default: until Ctrl-C or SIGTERM.",
            show_default=False,
        ),
    ] = None,
    seeds: options.Seeds = 1,
    first_seed: options.FirstSeed = 1,
    overrides: options.Overrides = None,
    plugins: options.Plugins = None,
    deadline: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="How long a search may take, in the network's time.",
            show_default=False,
        ),
    ] = None,
    clock: Annotated[
        Literal["measured", "fixed"],
        typer.Option(
            help='"measured" charges the network the time that searches really take; "fixed" '
            "charges the deadline and tries a fixed number of settings, which repeats exactly."
        ),
    ] = "measured",
    mode: Annotated[
        Literal["observe", "propose", "control"] | None,
        typer.Option(
            help='"control" changes the setting; "propose" asks on the terminal first; "observe" '
            "only says what it would do. Default: control of a simulation, observe of a router.",
            show_default=False,
        ),
    ] = None,
    changes_per_minute: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=0,
            help="How often the setting may be changed; what proved to be bad is taken back at "
            "any time. Default: 6.",
            show_default=False,
        ),
    ] = None,
    at_exit: Annotated[
        Literal["keep", "restore"] | None,
        typer.Option(
            help='What stays in force at the end: the last setting ("keep"), or the one before '
            'the first change ("restore"). Default: keep.',
            show_default=False,
        ),
    ] = None,
    knowledge: Annotated[
        Literal["full", "flow count", "counters"],
        typer.Option(
            help="What the controller is told of the traffic: flows and round trips, how many "
            "flows, or nothing but the router's counters."
        ),
    ] = "full",
    plant: options.Plant = "simulator",
    journal: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Keep every sample, decision and setting in this SQLite file. Of a router there "
            "is always one: by default $STATE_DIRECTORY/journal.sqlite or below "
            "~/.local/state/vermilion.",
            show_default=False,
        ),
    ] = None,
    report: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Write a page (HTML) about what happened.", show_default=False
        ),
    ] = None,
    target: options.Json = None,
) -> None:
    """Keep a changing network tuned.

    The network is a running simulation (or a kernel: --plant) with a hidden seed, or with --router
    the one at a queue of this machine, which is only observed unless told otherwise. The
    controller sees what a router can export; it notices changes, rebuilds a model, tunes it,
    applies what is significantly better, verifies and rolls back. Every decision is shown with its
    reason.
    """
    if router is not None:
        from vermilion.cli.online_router import RouterRequest, online_router

        _refuse_given(context, _OF_SIMULATIONS, "is for a simulation; leave it away with --router")
        online_router(
            RouterRequest(
                address=router,
                policy=policy,
                mode=mode,
                changes_per_minute=changes_per_minute,
                at_exit=at_exit,
                deadline_s=None if deadline is None else options.seconds("--deadline", deadline),
                for_s=None if for_ is None else options.seconds("--for", for_),
                journal=journal,
                json=target,
            )
        )
        return
    _refuse_given(context, _OF_ROUTERS, "is for a real router; expected --router beside it")
    if not scenarios:
        message = "SCENARIO is missing; expected a scenario, or --router; see vermilion online -h"
        raise UserError(message)
    from vermilion.online.policy import CHANGES_PER_MINUTE, Policy
    from vermilion.report.short_queue import short_queue
    from vermilion.scenario import load_scenario

    check_outputs(json=target, report=report)
    options.load_plugins(plugins)
    loaded = [load_scenario(name, overrides or ()) for name in scenarios]
    for scenario in loaded:
        Policy.of_scenario(scenario)
    freedom = _Freedom(
        mode or "control",
        CHANGES_PER_MINUTE if changes_per_minute is None else changes_per_minute,
        at_exit or "keep",
        knowledge,
        plant,
    )
    limit = None if deadline is None else options.seconds("--deadline", deadline)
    shown = STANDARD_OUTPUT not in {target, report}
    if journal is not None:
        finish_anyway()
    with ExitStack() as outputs:
        json_file = target and outputs.enter_context(output_file("--json", target))
        report_file = report and outputs.enter_context(output_file("--report", report))
        runs: list[list[OnlineRun]] = []
        rivals: list[list[Rival]] = []
        for scenario in loaded:
            runs.append(
                [
                    _run(scenario, seed, journal, clock, limit, freedom, shown=shown)
                    for seed in range(first_seed, first_seed + seeds)
                ]
            )
            # A drop-tail queue in the simulator is no rival of one in a kernel.
            rival = None if plant == "kernel" else short_queue(runs[-1])
            rivals.append([] if rival is None else [rival])
            if shown:
                from vermilion.cli.online_tables import print_outcome, print_price

                print_outcome(runs[-1])
                print_price(runs[-1], rivals[-1])
        if json_file:
            import json

            from vermilion import _core

            document = {
                "version": _core.VERSION,
                "runs": [_document(run) for group in runs for run in group],
                "price": [
                    _price(group, others) for group, others in zip(runs, rivals, strict=True)
                ],
            }
            json_file.write(f"{json.dumps(document, indent=2, allow_nan=False)}\n")
        if report_file:
            from vermilion.report import online_report

            report_file.write(online_report(runs, rivals))


_OF_SIMULATIONS = {
    "scenarios": "SCENARIO",
    "seeds": "--seeds",
    "first_seed": "--seed",
    "overrides": "--set",
    "plugins": "--plugin",
    "clock": "--clock",
    "knowledge": "--knowledge",
    "plant": "--plant",
    "report": "--report",
}
_OF_ROUTERS = {"policy": "--policy", "for_": "--for"}


def _refuse_given(context: typer.Context, names: dict[str, str], why: str) -> None:
    """Refuses what was given on the command line and would have no effect."""
    for parameter, name in names.items():
        source = context.get_parameter_source(parameter)
        if source is not None and source.name != "DEFAULT":
            message = f"{name} {why}"
            raise UserError(message)


@dataclass(frozen=True)
class _Freedom:
    """What a controller may do, and what it is told."""

    mode: Literal["observe", "propose", "control"]
    changes_per_minute: int
    at_exit: Literal["keep", "restore"]
    knowledge: Literal["full", "flow count", "counters"]
    plant: Literal["simulator", "kernel"]


def _ask(proposal: "Propose") -> "Command":
    """Asks the person at the terminal; no answer is a no."""
    from vermilion.online.events import Command

    try:
        accepted = typer.confirm(f"{'':13}apply proposal {proposal.number}?", err=True)
    except typer.Abort:
        accepted = False
    return Command("accept" if accepted else "decline", proposal.number)


def _run(
    scenario: "Scenario",
    seed: int,
    journal: Path | None,
    clock: Literal["measured", "fixed"],
    deadline_s: float | None,
    freedom: "_Freedom",
    *,
    shown: bool,
) -> "OnlineRun":
    from vermilion.kernel_plant.errors import KernelPlantError
    from vermilion.online.drive.run import run_online
    from vermilion.online.policy import DEADLINE_S
    from vermilion.online.record.journal import JournalError

    def show(decision: "Decision") -> None:
        if decision.kind == "start":
            typer.echo(f"{scenario.title or scenario.origin}  (seed {seed})")
        typer.echo(f"{decision.time_s:9.2f} s  {decision.kind:<15}  {decision.reason}")

    try:
        return run_online(
            scenario,
            seed=seed,
            journal_path=journal,
            on_event=show if shown else None,
            clock=clock,
            deadline_s=DEADLINE_S if deadline_s is None else deadline_s,
            mode=freedom.mode,
            changes_per_minute=freedom.changes_per_minute,
            at_exit=freedom.at_exit,
            knowledge=freedom.knowledge,
            answer_proposal=_ask,
            plant=_plant(freedom.plant),
        )
    except JournalError as error:
        raise UserError(str(error)) from None
    except KernelPlantError as error:
        message = f"--plant kernel: {error}"
        raise UserError(message) from None


def _plant(name: Literal["simulator", "kernel"]) -> "Plant | None":
    if name == "simulator":
        return None
    from vermilion.kernel_plant import KernelPlant

    return KernelPlant()


def _price(runs: "list[OnlineRun]", rivals: "list[Rival]") -> dict[str, object]:
    """The price of a scenario over its seeds, for JSON."""
    from vermilion.report.price_line import as_document, price_lines

    return {
        "scenario": runs[0].scenario.origin,
        "link": runs[0].link,
        "phases": [as_document(line) for line in price_lines(runs, rivals)],
    }


def _document(run: "OnlineRun") -> dict[str, object]:
    """A run for JSON."""
    return {
        "scenario": run.scenario.origin,
        "seed": run.seed,
        "link": run.link,
        "target_packets": run.target_packets,
        "objective": run.objective.label,
        "parameters": list(run.parameters),
        "decisions": [
            {
                "time_s": decision.time_s,
                "kind": decision.kind,
                "reason": decision.reason,
                "details": decision.details,
            }
            for decision in run.decisions
        ],
        "settings": [
            {"time_s": time_s, "parameters": parameters} for time_s, parameters in run.settings
        ],
        "tuned": run.tuned.data,
        "untouched": run.reference.data,
    }
