"""``vermilion link``: a command behind an emulated link."""

from __future__ import annotations

import shlex
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated

import typer

from vermilion.cli import instruments, options
from vermilion.cli.careful_command import CarefulCommand
from vermilion.cli.endings import UserError
from vermilion.cli.output import note

if TYPE_CHECKING:
    from vermilion.scenario import Scenario

_COMMAND = "vermilion.link.command"

LEAST_MTU, LARGEST_MTU = 68, 65_535
"""Minimum link MTU of IPv4 (RFC 791), and its largest packet: the bounds of the data path."""


class CommandBehindDashes(CarefulCommand):
    """Everything behind ``--`` is the command, with options of its own."""

    # Typer brings a Click of its own along, whose context the type checker takes for another one.
    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override] # typer's own Click
        """Takes the command away before the options are read."""
        own = list(args)
        if "--" in own:
            place = own.index("--")
            ctx.meta[_COMMAND] = own[place + 1 :]
            own = own[:place]
        return super().parse_args(ctx, own)


def link(
    context: typer.Context,
    scenario: Annotated[
        str | None,
        typer.Argument(
            metavar="[SCENARIO]",
            help="Scenario whose link is emulated (default: options).",
            show_default=False,
        ),
    ] = None,
    *,
    rate: Annotated[
        str | None,
        typer.Option(metavar="RATE", help="Rate of both ways, like 10Mbit/s.", show_default=False),
    ] = None,
    trace: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Delivery trace in ms (Mahimahi), in place of a rate.",
            show_default=False,
        ),
    ] = None,
    delay: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Delay of each way, like 20ms (0).", show_default=False),
    ] = None,
    discipline: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Discipline of both queues (drop-tail).", show_default=False
        ),
    ] = None,
    loss: Annotated[
        str | None,
        typer.Option(
            metavar="SHARE",
            help="Random loss ratio, like 0.01.",
            show_default=False,
        ),
    ] = None,
    jitter: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Maximum extra delay, each way (0).",
            show_default=False,
        ),
    ] = None,
    reorder: Annotated[
        bool, typer.Option("--reorder", help="Let --jitter reorder packets.")
    ] = False,
    overrides: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="PATH=VALUE",
            help="Change a value of both links, like queue.limit='100 packets'. Repeatable.",
            show_default=False,
        ),
    ] = None,
    uplink: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATH=VALUE",
            help="The same for the uplink only, like rate=2Mbit/s.",
            show_default=False,
        ),
    ] = None,
    downlink: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATH=VALUE",
            help="The same for the downlink only, like queue.discipline=fq-codel.",
            show_default=False,
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            "--link",
            metavar="NAME",
            help="Link of the scenario (the first on the data path).",
            show_default=False,
        ),
    ] = None,
    reverse: Annotated[
        bool,
        typer.Option("--reverse", help="Let the scenario's data flow to the command."),
    ] = False,
    isolated: Annotated[
        bool,
        typer.Option(
            "--isolated",
            help="Connect to a separate namespace (unprivileged where user namespaces are).",
        ),
    ] = False,
    peer: Annotated[
        str | None,
        typer.Option(
            metavar="COMMAND",
            help="Command at the other end of --isolated.",
            show_default=False,
        ),
    ] = None,
    warm_up: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Warm-up to leave out (0).", show_default=False),
    ] = None,
    mtu: Annotated[int, typer.Option(metavar="BYTES", help="The largest packet.")] = 1500,
    no_offload: Annotated[
        bool,
        typer.Option(
            "--no-offload",
            help="Disable segmentation offload.",
        ),
    ] = False,
    busy: Annotated[bool, typer.Option("--busy", help="Busy-wait for exact times.")] = False,
    control: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Allow vermilion control link:NAME.",
            show_default=False,
        ),
    ] = None,
    series: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Write time series of both queues: .csv or .parquet.",
            show_default=False,
        ),
    ] = None,
    probe: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Interval of the series (default: 0.1s).",
            show_default=False,
        ),
    ] = None,
    figure: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Draw delay, throughput and drops of the busier way: .svg, .png, .pdf or .html.",
            show_default=False,
        ),
    ] = None,
    packets: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Write headers (128 bytes) of all packets: .pcapng.",
            show_default=False,
        ),
    ] = None,
    most_packets: instruments.MostPackets = None,
    seed: options.Seed = 1,
    plugins: options.Plugins = None,
    target: options.Json = None,
) -> int:
    """Run a command behind an emulated link.

    The command gets a network of its own, whose only way out is a link with a rate, a delay and a
    queue under any of the disciplines. When it ends, what happened on both ways is shown, and
    its exit code is this command's. Nothing is left behind, whichever ends first.
    """
    from vermilion.cli.link_outputs import LinkOutputs
    from vermilion.link.device import LinkError
    from vermilion.link.emulation import Surroundings, emulate
    from vermilion.link.inside import EXIT_NOT_FOUND
    from vermilion.simulate.accepted import check_seed

    command = context.meta.get(_COMMAND)
    if not command:
        message = "COMMAND is missing; expected vermilion link ... -- COMMAND"
        raise UserError(message)
    if peer is not None and not isolated:
        message = "--peer and --isolated go together; expected both or neither"
        raise UserError(message)
    if not LEAST_MTU <= mtu <= LARGEST_MTU:
        accepted = f"from {LEAST_MTU} to {LARGEST_MTU} bytes"
        message = f"--mtu: {mtu} is not accepted; expected {accepted}"
        raise UserError(message)
    outputs = LinkOutputs(target, series, probe, figure, packets, most_packets)
    outputs.check()
    check_seed(seed)
    options.load_plugins(plugins)
    jitter_s = 0.0 if jitter is None else options.seconds("--jitter", jitter)
    surroundings = Surroundings(
        isolated=isolated,
        peer=None if peer is None else shlex.split(peer),
        seed=seed,
        jitter_s=(jitter_s, jitter_s),
        reorder=reorder,
        mtu=mtu,
        offload=not no_offload,
        busy=busy,
        control=control,
    )
    given = {"rate": rate, "trace": trace, "delay": delay, "discipline": discipline, "loss": loss}
    said = {key: value for key, value in given.items() if value is not None}
    sets = (overrides or (), uplink or (), downlink or ())
    plan = _plan(scenario, said, sets, name, reverse=reverse, warm_up=warm_up)
    with ExitStack() as files:
        recorder, write = outputs.opened(files)
        try:
            emulation = emulate(plan, command, surroundings, recorder=recorder)
        except LinkError as error:
            raise UserError(str(error)) from None
        write(plan, emulation)
    from vermilion.cli.link_outputs import print_emulation

    # Of a command that was not there, the message has said all there is to say.
    sent = any(each["total"]["packets_forwarded"] for each in emulation.data["links"].values())
    if sent or emulation.exit_code != EXIT_NOT_FOUND:
        print_emulation(plan, emulation)
    return emulation.exit_code


def _plan(
    scenario: str | None,
    said: dict[str, str],
    sets: tuple[list[str] | tuple[()], list[str] | tuple[()], list[str] | tuple[()]],
    name: str | None,
    *,
    reverse: bool,
    warm_up: str | None,
) -> Scenario:
    """The link that is emulated, as a scenario.

    Raises:
        UserError: options that do not go together.
        ScenarioError: a value that is not accepted.
    """
    from vermilion.link.plan import Options, plan_of_options, plan_of_scenario
    from vermilion.scenario import load_scenario

    both, up, down = sets
    if scenario is None:
        if name is not None or reverse:
            message = "--link and --reverse need a scenario; expected one before the dashes"
            raise UserError(message)
        return plan_of_options(
            Options(**said, warm_up=warm_up, overrides=both, uplink=up, downlink=down)
        )
    if said:
        message = (
            f"--{next(iter(said))} is set by the scenario; expected --set, --uplink or "
            "--downlink PATH=VALUE"
        )
        raise UserError(message)
    loaded = load_scenario(scenario)
    changed = Options(warm_up=warm_up, overrides=both, uplink=up, downlink=down)
    plan = plan_of_scenario(loaded, name, changed, reverse=reverse)
    if len(plan.changes) < len(loaded.changes):
        note("changes of other links are left out")
    return plan
