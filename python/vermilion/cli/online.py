"""``vermilion online``: keeps a changing network tuned, beside the same network left alone.

With ``--router`` the network is a real one: :mod:`vermilion.cli.online_router`.
"""

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill
from threading import Lock
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer

from vermilion.cli import completion, options
from vermilion.cli.careful_command import CarefulCommand
from vermilion.cli.endings import EXIT_INTERRUPTED, UserError, finish_anyway
from vermilion.cli.json_output import write_json
from vermilion.cli.laboratory import registered_plant
from vermilion.cli.online_figure import OnlineFigure
from vermilion.cli.online_page import SimulatedPage
from vermilion.cli.options import Plot
from vermilion.cli.output import (
    PIPE_WIDTH,
    STANDARD_OUTPUT,
    check_outputs,
    note,
    output_file,
    say,
)
from vermilion.cli.progress import ProgressBar

if TYPE_CHECKING:
    from vermilion.cli.online_router import RouterRequest
    from vermilion.online.entries import Decision, OnlineRun
    from vermilion.online.events import Command, Propose
    from vermilion.report.price_line import OtherQueue
    from vermilion.scenario import Scenario

_SIMULATED: Final[Mapping[str, object]] = {
    "router": None,
    "seeds": 1,
    "first_seed": 1,
    "overrides": None,
    "plugins": None,
    "clock": "measured",
    "knowledge": "full",
    "plant": "simulator",
    "report": None,
    "figure": None,
    "plot": False,
    "everything": False,
}
"""Options that ``control`` does not have, and their values."""

_REASON_AT: Final = 30
"""Column in which the reasons of the log begin."""


CONTROL: Final = """Keep a router's queue tuned, or a shaper at its line's rate.

It is only observed unless --mode says otherwise. The controller notices changes, rebuilds a model,
tunes it, applies what is significantly better, verifies and rolls back. Every decision is shown
with its reason.
"""


class ControlOfRouters(CarefulCommand):
    """``vermilion control ADDRESS...``: a real network; what is of simulations only is left out."""

    def __init__(self, *args: Any, **settings: Any) -> None:  # noqa: ANN401 - typer's
        super().__init__(*args, **settings)
        self.params = [each for each in self.params if each.name not in _SIMULATED]
        for each in self.params:
            if each.name == "scenarios":
                each.name, each.metavar = "router", "ADDRESS..."
                each.help = (  # type: ignore[attr-defined] # of typer's arguments
                    "Queue to control: linux:eth0, linux:eth0/1:10, snmp:192.0.2.1/eth0 or "
                    "link:NAME (see: vermilion routers)."
                )

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 - typer's
        """Control the queues that are named."""
        if not ctx.params["router"] and ctx.params["policy"] is None:
            message = "ADDRESS is missing; expected the address of a queue, like linux:eth0"
            raise UserError(message)
        ctx.params.update({**_SIMULATED, "scenarios": None, "router": ctx.params["router"]})
        return super().invoke(ctx)


def online(
    context: typer.Context,
    scenarios: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SCENARIO...",
            help="Scenario files or shipped names, each with [tuning].",
            show_default=False,
            autocompletion=completion.scenario_names,
        ),
    ] = None,
    *,
    router: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ADDRESS",
            help="Queue to control: linux:eth0, linux:eth0/1:10, snmp:192.0.2.1/eth0 or "
            "link:NAME (see: vermilion routers). Repeatable.",
            show_default=False,
        ),
    ] = None,
    line: Annotated[
        Literal["auto"] | None,
        typer.Option(
            help="Keep the rate of the router's shaper at that of its line, which nobody "
            "has to know.",
            show_default=False,
        ),
    ] = None,
    direction: Annotated[
        Literal["up", "down", "both"],
        typer.Option(help="With --line: packets that are held back."),
    ] = "up",
    excess: Annotated[
        str,
        typer.Option(
            metavar="TIME", help="With --line: longest wait wanted in the line's own queue."
        ),
    ] = "10 ms",
    reflectors: Annotated[
        list[str] | None,
        typer.Option(
            "--reflector",
            metavar="ADDRESS",
            help="With --line: host to probe, or irtt://ADDRESS[:PORT] of an IRTT server, "
            "instead of public ones. Repeatable.",
            show_default=False,
        ),
    ] = None,
    credentials: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.toml",
            help="SNMP user (mode 0600). Default: $VERMILION_SNMP_CREDENTIALS, or "
            "~/.config/vermilion/snmp.toml.",
            show_default=False,
        ),
    ] = None,
    policy: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.toml",
            help="Goal and limits of the controller (default: the knee).",
            show_default=False,
        ),
    ] = None,
    monitor: Annotated[
        bool | None,
        typer.Option(
            "--monitor/--no-monitor",
            help="Listen to the interface's packets (needs CAP_NET_RAW), not only to counters.",
            show_default=False,
        ),
    ] = None,
    entrances: Annotated[
        list[str] | None,
        typer.Option(
            "--entrance",
            metavar="INTERFACE",
            help="Ingress interface to monitor too, for paced senders (BBR). Repeatable.",
            show_default=False,
        ),
    ] = None,
    listen: Annotated[
        str | None,
        typer.Option(
            "--listen",
            "--page",
            metavar="ADDRESS:PORT",
            help="Serve the live page and /metrics, like 127.0.0.1:8447; port 0 takes any.",
            show_default=False,
        ),
    ] = None,
    listen_from_outside: Annotated[
        bool | None,
        typer.Option(
            "--listen-from-outside",
            "--page-from-outside",
            help="Allow other machines to connect; needs --listen-token.",
            show_default=False,
        ),
    ] = None,
    listen_token: Annotated[
        Path | None,
        typer.Option(
            "--listen-token",
            "--page-token",
            metavar="FILE",
            help="File with the page's token (default: random).",
            show_default=False,
        ),
    ] = None,
    metrics: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS:PORT", help="Former; --listen serves /metrics.", hidden=True),
    ] = None,
    metrics_from_outside: Annotated[
        bool | None, typer.Option("--metrics-from-outside", hidden=True)
    ] = None,
    metrics_token: Annotated[Path | None, typer.Option(metavar="FILE", hidden=True)] = None,
    answers: Annotated[
        bool | None,
        typer.Option(
            "--answers",
            help="Allow answers, undo and pause on the page.",
            show_default=False,
        ),
    ] = None,
    log_format: Annotated[
        Literal["text", "json"] | None,
        typer.Option(
            help="Log format: text or json. Default: text.",
            show_default=False,
        ),
    ] = None,
    for_: Annotated[
        str | None,
        typer.Option(
            "--for",
            metavar="TIME",
            help="Duration of control. Default: until Ctrl-C or SIGTERM.",
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
            help="Deadline of a search, in network time.",
            show_default=False,
        ),
    ] = None,
    clock: Annotated[
        Literal["measured", "fixed"],
        typer.Option(
            help="Charge the network the measured search time, or a fixed one, which "
            "repeats exactly."
        ),
    ] = "measured",
    mode: Annotated[
        Literal["observe", "propose", "control"] | None,
        typer.Option(
            help="control: change the setting; propose: ask first; observe: change "
            "nothing. Default: control of a simulation, observe of a router.",
            show_default=False,
        ),
    ] = None,
    changes_per_minute: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=0,
            help="Maximum rate of changes, rollbacks not counted. Default: 6.",
            show_default=False,
        ),
    ] = None,
    at_exit: Annotated[
        Literal["keep", "restore"] | None,
        typer.Option(
            help="Setting at the end: keep the last, or restore the first. Default: keep.",
            show_default=False,
        ),
    ] = None,
    atlas: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Has no effect any more.",
            show_default=False,
            hidden=True,
        ),
    ] = None,
    without_model: Annotated[
        Literal["stay", "step"] | None,
        typer.Option(
            help="Has no effect any more.",
            show_default=False,
            hidden=True,
        ),
    ] = None,
    knowledge: Annotated[
        Literal["full", "flow count", "counters"],
        typer.Option(
            help="Knowledge of the traffic: flows and round trips, number of flows, or "
            "counters only."
        ),
    ] = "full",
    paths: Annotated[
        list[str] | None,
        typer.Option(
            "--path",
            metavar="LINK,LINK...",
            help="Path of flows over several queues: links in order. Repeatable.",
            show_default=False,
        ),
    ] = None,
    plant: options.Plant = "simulator",
    journal: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Journal (SQLite). Default for routers: $STATE_DIRECTORY/journal.sqlite "
            "or below ~/.local/state/vermilion.",
            show_default=False,
        ),
    ] = None,
    report: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write a report page (HTML).", show_default=False),
    ] = None,
    figure: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Draw the queue alone and tuned: .svg, .png, .pdf or .html.",
            show_default=False,
        ),
    ] = None,
    plot: Plot = False,
    everything: Annotated[
        bool, typer.Option("--all", help="Show every metric at the end.")
    ] = False,
    target: options.Json = None,
) -> int:
    """Keep a changing network tuned.

    The network is a running simulation (or another plant: --plant) with a hidden seed; a real
    router is a matter of vermilion control. The controller sees what a router can export; it
    notices changes, rebuilds a model, tunes it, applies what is significantly better, verifies and
    rolls back. Every decision is shown with its reason.
    """
    _warn_of_former(("--atlas", atlas), ("--without-model", without_model))
    from vermilion.online.router_policy import Service

    service = Service(
        journal=None if journal is None else str(journal),
        monitor=monitor,
        entrances=tuple(entrances) if entrances else None,
        log_format=log_format,
        listen=listen,
        listen_from_outside=listen_from_outside,
        listen_token=None if listen_token is None else str(listen_token),
        metrics=metrics,
        metrics_from_outside=metrics_from_outside,
        metrics_token=None if metrics_token is None else str(metrics_token),
        answers=answers,
    )
    if router or (policy is not None and not scenarios):
        _refuse_given(context, _OF_SIMULATIONS, "needs a simulation; leave it out for a router")
        from vermilion.cli.online_router import RouterRequest

        request = RouterRequest(
            addresses=tuple(router or ()),
            paths=_paths(paths),
            credentials=credentials,
            policy=policy,
            mode=mode,
            changes_per_minute=changes_per_minute,
            at_exit=at_exit,
            deadline_s=None if deadline is None else options.seconds("--deadline", deadline),
            for_s=None if for_ is None else options.seconds("--for", for_),
            json=target,
            service=service,
        )
        _on_router(context, request, line, direction, excess, reflectors)
        return 0
    _refuse_given(
        context, {"line": "--line", **_OF_LINES}, "needs a real router; expected vermilion control"
    )
    _refuse_given(context, _OF_ROUTERS, "needs a real router; expected vermilion control")
    if not scenarios:
        message = "SCENARIO is missing; expected a scenario; of a router: vermilion control"
        raise UserError(message)
    from vermilion.online.policy import CHANGES_PER_MINUTE, stated_policy
    from vermilion.scenario import load_scenario

    check_outputs(json=target, report=report, figure=figure)
    options.load_plugins(plugins)
    loaded = [load_scenario(name, overrides or ()) for name in scenarios]
    for scenario in loaded:
        stated_policy(scenario)
    freedom = _Freedom(
        mode or "control",
        CHANGES_PER_MINUTE if changes_per_minute is None else changes_per_minute,
        at_exit or "keep",
        knowledge,
        _paths(paths),
        plant,
    )
    limit = None if deadline is None else options.seconds("--deadline", deadline)
    shown = STANDARD_OUTPUT not in {target, report, figure}
    drawn = OnlineFigure(figure, loaded, shown=shown, plot=plot)
    if journal is not None:
        finish_anyway()
    with ExitStack() as outputs:
        # First, so that it ends last: files are complete while the page still stands.
        watched = outputs.enter_context(SimulatedPage(service, journal, freedom.mode))
        json_file = target and outputs.enter_context(output_file("--json", target))
        outputs.enter_context(drawn)
        report_file = report and outputs.enter_context(output_file("--report", report))
        queues: list[tuple[list[OnlineRun], list[OtherQueue]]] = []
        runs: list[OnlineRun] = []
        interrupted = False
        for scenario in loaded:
            if not interrupted:
                wanted = range(first_seed, first_seed + seeds)
                done, interrupted = _runs(scenario, wanted, watched, clock, limit, freedom, shown)
                runs += done
                queues += _shown_queues(done, freedom.plant, shown=shown, everything=everything)
        _end_unless_any(runs, journal)
        if json_file:
            from vermilion.cli.online_json import OnlineDocument, Price

            write_json(json_file, OnlineDocument(runs, [Price(*each) for each in queues]))
        if report_file:
            from vermilion.report import online_report

            report_file.write(
                online_report([views for views, _ in queues], [others for _, others in queues])
            )
        drawn.draw(queues)
    return _exit_code(len(runs), seeds * len(loaded))


def _on_router(
    context: typer.Context,
    request: "RouterRequest",
    line: str | None,
    direction: Literal["up", "down", "both"],
    excess: str,
    reflectors: list[str] | None,
) -> None:
    """Control a queue's parameters, or with --line the rate of a shaper."""
    if line is None:
        from vermilion.cli.online_router import online_router

        _refuse_given(context, _OF_LINES, "needs --line auto; expected it beside it")
        online_router(request)
        return
    from vermilion.cli.online_line import LineRequest, online_line

    _refuse_given(context, _NOT_OF_LINES, "has no effect with --line; leave it out")
    wait_s = options.seconds("--excess", excess)
    online_line(request, LineRequest(direction, wait_s, tuple(reflectors or ())))


def _exit_code(done: int, wanted: int) -> int:
    """0, or after Ctrl-C what says so; then it is also said how much there is."""
    if done == wanted:
        return 0
    note(f"interrupted: these are {done} of {wanted} runs")
    return EXIT_INTERRUPTED


def _shown_queues(
    runs: "list[OnlineRun]", plant: str, *, shown: bool, everything: bool
) -> "list[tuple[list[OnlineRun], list[OtherQueue]]]":
    """The runs of a scenario as each queue has seen them, with its baselines; printed if wanted."""
    if not runs:
        return []
    from vermilion.report.price_line import short_queue

    # A drop-tail queue in the simulator is no baseline for one in a kernel.
    rival = short_queue(runs) if plant == "simulator" else None
    rivals = [] if rival is None else [rival]
    queues = [(views, rivals) for views in _by_queue(runs)]
    if shown:
        from vermilion.cli.online_tables import print_outcome, print_price, print_summary

        for views, _ in queues:
            print_summary(views)
        if everything:
            print_outcome(runs)
            for views, others in queues:
                print_price(views, others)
    return queues


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
    "figure": "--figure",
    "plot": "--plot",
    "everything": "--all",
}
_OF_LINES = {"direction": "--direction", "excess": "--excess", "reflectors": "--reflector"}
_NOT_OF_LINES = {
    "credentials": "--credentials",
    "policy": "--policy",
    "monitor": "--monitor",
    "entrances": "--entrance",
    "metrics": "--metrics",
    "paths": "--path",
    "changes_per_minute": "--changes-per-minute",
    "deadline": "--deadline",
}
_OF_ROUTERS = {
    "credentials": "--credentials",
    "policy": "--policy",
    "for_": "--for",
    "monitor": "--monitor",
    "entrances": "--entrance",
    "metrics": "--metrics",
    "metrics_from_outside": "--metrics-from-outside",
    "metrics_token": "--metrics-token",
    "log_format": "--log-format",
}


def _runs(
    scenario: "Scenario",
    seeds: range,
    watched: SimulatedPage,
    clock: Literal["measured", "fixed"],
    deadline_s: float | None,
    freedom: "_Freedom",
    shown: bool,  # noqa: FBT001 - as the others that are handed on
) -> "tuple[list[OnlineRun], bool]":
    """One seed after the other; Ctrl-C ends them, and keeps those that are complete."""
    done: list[OnlineRun] = []
    try:
        for seed in seeds:
            run = _run(scenario, seed, watched, clock, deadline_s, freedom, shown=shown)
            done.append(run)
    except KeyboardInterrupt:
        return done, True
    return done, False


def _end_unless_any(runs: "list[OnlineRun]", journal: "Path | str | None") -> None:
    """Ends the command where Ctrl-C came before the first run was over."""
    if runs:
        return
    if journal is None:
        note("no run was over; --journal FILE keeps decisions and samples")
    raise KeyboardInterrupt


def _paths(texts: list[str] | None) -> tuple[tuple[str, ...], ...]:
    """The links of each path."""
    return tuple(tuple(name.strip() for name in text.split(",")) for text in texts or ())


def _refuse_given(context: typer.Context, names: dict[str, str], why: str) -> None:
    """Refuses what was given on the command line and would have no effect."""
    for parameter, name in names.items():
        source = context.get_parameter_source(parameter)
        if source is not None and source.name != "DEFAULT":
            message = f"{name} {why}"
            raise UserError(message)


def _warn_of_former(*options_given: tuple[str, object]) -> None:
    """Says which of these options are given in vain."""
    for name, given in options_given:
        if given is not None:
            say(f"{name} has no effect any more and will be refused soon", err=True)


@dataclass(frozen=True)
class _Freedom:
    """Options for the freedom of a controller."""

    mode: Literal["observe", "propose", "control"]
    changes_per_minute: int
    at_exit: Literal["keep", "restore"]
    knowledge: Literal["full", "flow count", "counters"]
    paths: tuple[tuple[str, ...], ...]
    plant: Literal["simulator", "emulator", "kernel"]


_ASKING = Lock()
"""A network in real time may propose again before there was an answer."""


def _ask(proposal: "Propose") -> "Command":
    """Asks the person at the terminal, one thing at a time; no answer is a no."""
    from vermilion.online.events import Command

    with _ASKING:
        try:
            accepted = typer.confirm(f"{'':13}apply proposal {proposal.number}?", err=True)
        except typer.Abort:
            accepted = False
    return Command("accept" if accepted else "decline", proposal.number)


def _run(
    scenario: "Scenario",
    seed: int,
    watched: SimulatedPage,
    clock: Literal["measured", "fixed"],
    deadline_s: float | None,
    freedom: "_Freedom",
    *,
    shown: bool,
) -> "OnlineRun":
    from vermilion.online.drive.run import run_online
    from vermilion.online.policy import DEADLINE_S
    from vermilion.online.record.journal import JournalError

    def show(decision: "Decision") -> None:
        if decision.kind == "start":
            say(f"{scenario.title or scenario.origin}  (seed {seed})")
        line = f"{decision.time_s:9.2f} s  {decision.kind:<15}  {decision.reason}"
        say(fill(line, PIPE_WIDTH, subsequent_indent=" " * _REASON_AT, break_long_words=False))

    registered = None if freedom.plant == "simulator" else registered_plant(freedom.plant)
    errors: tuple[type[Exception], ...] = () if registered is None else (registered.error,)
    try:
        with ProgressBar(
            f"{scenario.title or scenario.origin}, seed {seed}", scenario.duration
        ) as bar:
            return run_online(
                scenario,
                seed=seed,
                journal_path=watched.journal,
                on_event=show if shown else None,
                clock=clock,
                deadline_s=DEADLINE_S if deadline_s is None else deadline_s,
                mode=freedom.mode,
                changes_per_minute=freedom.changes_per_minute,
                at_exit=freedom.at_exit,
                knowledge=freedom.knowledge,
                answer_proposal=watched.ask if watched.answers else _ask,
                paths=freedom.paths,
                plant=None if registered is None else registered.online(),
                # A bar would stand where a person types an answer.
                progress=None if freedom.mode == "propose" else bar.callback,
            )
    except JournalError as error:
        raise UserError(str(error)) from None
    except errors as error:
        message = f"--plant {freedom.plant}: {error}"
        raise UserError(message) from None


def _by_queue(runs: "list[OnlineRun]") -> "list[list[OnlineRun]]":
    """The runs as each queue has seen them."""
    return [list(views) for views in zip(*(run.by_queue for run in runs), strict=True)]
