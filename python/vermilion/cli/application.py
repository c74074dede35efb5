"""The commands put together, with help in groups and examples of each command."""

from __future__ import annotations

import gettext
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from typer.core import TyperGroup

from vermilion.cli import laboratory
from vermilion.cli.advise import advise
from vermilion.cli.autorate import autorate
from vermilion.cli.bench import bench, check, reproduce
from vermilion.cli.careful_command import CarefulCommand
from vermilion.cli.compare import compare
from vermilion.cli.link import CommandBehindDashes, link
from vermilion.cli.listings import disciplines, objectives, scenarios, senders
from vermilion.cli.monitor import monitor
from vermilion.cli.new import new
from vermilion.cli.online import CONTROL, ControlOfRouters, online
from vermilion.cli.output import say
from vermilion.cli.report import report
from vermilion.cli.routers import routers
from vermilion.cli.run import run
from vermilion.cli.snmp_agent import snmp_agent
from vermilion.cli.status import status
from vermilion.cli.studies import studies
from vermilion.cli.tune import tune
from vermilion.cli.twin import twin
from vermilion.cli.undo import undo
from vermilion.cli.watch import watch

if TYPE_CHECKING:
    from collections.abc import Mapping

GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    "Simulate": (
        "new",
        "run",
        "compare",
        "bench",
        "reproduce",
        "check",
        "link",
        "scenarios",
        "disciplines",
        "senders",
    ),
    "Tune": ("advise", "autorate", "tune", "studies", "report", "atlas", "objectives"),
    "Control": ("online", "control", "routers", "status", "watch", "undo", "snmp-agent"),
    "Evidence": ("monitor", "twin", "papers"),
}
"""Groups of commands in ``vermilion --help``, in the order of their use."""

EXAMPLES: Final[Mapping[str, tuple[str, ...]]] = {
    "new": ("vermilion new my-network", "vermilion new my-network --like varying-load"),
    "run": (
        "vermilion run varying-load",
        "vermilion run varying-load --figure run.html",
        "vermilion run varying-load --discipline codel:target='10 ms' --plot",
        "vermilion run my-network.toml --set links.bottleneck.rate='8 Mbit/s' --json -",
    ),
    "compare": (
        "vermilion compare varying-load --discipline red --discipline pie",
        "vermilion compare varying-load --sender newreno --sender cubic --sender bbr=BBR",
        "vermilion compare varying-load --set flows.late.count=16 --set flows.late.count=96",
        "vermilion compare varying-load --discipline all --seeds 20 --figure compared.html",
    ),
    "bench": (
        "vermilion bench --plugin copa.py -o bench-of-copa --quick",
        "vermilion bench --discipline fq-codel -o bench-of-fq-codel",
    ),
    "reproduce": ("vermilion reproduce bench-of-copa", "vermilion reproduce compared.json"),
    "check": ("vermilion check submission.toml --assignment red",),
    "scenarios": ("vermilion scenarios", "vermilion scenarios varying-load"),
    "disciplines": ("vermilion disciplines", "vermilion disciplines codel"),
    "senders": ("vermilion senders", "vermilion senders cubic"),
    "advise": (
        "vermilion advise",
        "vermilion advise --rate '50 Mbit/s' --rtt '10 ms .. 60 ms' --flows 2..40 --quick",
    ),
    "tune": (
        "vermilion tune varying-load --budget 200",
        "vermilion tune varying-load --figure tuned.html",
        "vermilion tune varying-load --pareto --figure front.svg",
        "vermilion tune varying-load --study tuning.study --deadline '5 min'",
    ),
    "studies": ("vermilion studies tuning.study",),
    "report": ("vermilion report tuning.study --output tuning.html",),
    "atlas": ("vermilion atlas --rate '10 Mbit/s, 100 Mbit/s' --flows '4, 64' --maps maps.svg",),
    "objectives": ("vermilion objectives",),
    "online": (
        "vermilion online varying-load --report page.html",
        "vermilion online varying-load --listen 127.0.0.1:0",
    ),
    "control": (
        "vermilion control linux:eth0",
        "vermilion control linux:eth0 --mode propose --listen 127.0.0.1:8447 --answers",
        "vermilion control linux:eth0 --line auto --mode control",
    ),
    "routers": ("vermilion routers", "vermilion routers eth0"),
    "autorate": (
        "vermilion autorate /var/log/cake-autorate.primary.log --config config.primary.sh",
        "vermilion autorate exported.log.gz --delay '20 ms' --output better.sh",
    ),
    "status": ("vermilion status",),
    "watch": ("vermilion watch", "vermilion watch journal.sqlite --listen 127.0.0.1:8447"),
    "undo": ("vermilion undo journal.sqlite",),
    "snmp-agent": ("vermilion snmp-agent --allow linux:eth0",),
    "monitor": (
        "vermilion monitor capture.pcap",
        "vermilion monitor --interface eth0 --for '10 s'",
    ),
    "twin": ("vermilion twin capture.pcap --output twin.toml",),
    "link": (
        "vermilion link --rate '10 Mbit/s' --delay '20 ms' --discipline pie -- curl https://example.org",
        "vermilion link varying-load -- bash",
    ),
    "papers": ("vermilion papers --list", "vermilion papers ye-2002 --report papers.html"),
}
"""Examples in the help of each command."""


class GroupedHelp(TyperGroup):
    """``vermilion --help`` with its commands in groups, those of the laboratory among them."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401, ARG002 - typer's
        """Names of all commands, in the order of the help."""
        return [name for names in GROUPS.values() for name in names]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ANN401 - typer's
        """The command of this name, or none."""
        if cmd_name in laboratory.COMMANDS:
            settings = {"cls": CarefulCommand, "epilog": epilog(cmd_name)}
            return laboratory.registered_command(cmd_name, settings)
        return super().get_command(ctx, cmd_name)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401, ARG002 - typer's
        """Write the commands, each group under its own heading."""
        width = formatter.width - 6 - max(map(len, self.commands))
        for title, names in GROUPS.items():
            rows = [
                (
                    name,
                    laboratory.COMMANDS.get(name) or self.commands[name].get_short_help_str(width),
                )
                for name in names
            ]
            with formatter.section(gettext.gettext(title)):
                formatter.write_dl(rows)


def epilog(command: str) -> str:
    """Examples of a command, each on a line of its own whatever the terminal's width."""
    lines = "\n".join(f"  {each}" for each in EXAMPLES[command])
    return f"\b\nExamples:\n{lines}"


def application() -> typer.Typer:
    """The command-line application."""
    # Plain help: drawing it with rich would take longer than everything else together.
    app = typer.Typer(
        name="vermilion",
        cls=GroupedHelp,
        epilog="vermilion COMMAND --help shows options and examples.",
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_vermilion)
    for command in (
        advise,
        autorate,
        new,
        run,
        compare,
        bench,
        reproduce,
        check,
        tune,
        studies,
        report,
        online,
        routers,
        monitor,
        twin,
        status,
        watch,
        snmp_agent,
        undo,
        scenarios,
        disciplines,
        senders,
        objectives,
    ):
        name = command.__name__.replace("_", "-")
        app.command(cls=CarefulCommand, epilog=epilog(name))(command)
    app.command("control", cls=ControlOfRouters, epilog=epilog("control"), help=CONTROL)(online)
    app.command(cls=CommandBehindDashes, epilog=epilog("link"))(link)
    return app


def _show_version(*, wanted: bool) -> None:
    if wanted:
        from vermilion import _core

        say(f"vermilion {_core.VERSION}")
        raise typer.Exit


def _vermilion(
    *,
    version: Annotated[
        bool,
        typer.Option("--version", is_eager=True, callback=_show_version, help="Show the version."),
    ] = False,
) -> None:
    """Simulate, tune and keep tuned the queue at a bottleneck."""
