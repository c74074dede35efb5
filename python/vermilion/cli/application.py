"""The commands put together."""

from typing import Annotated

import typer

from vermilion.cli.advise import advise
from vermilion.cli.careful_command import CarefulCommand
from vermilion.cli.compare import compare
from vermilion.cli.disciplines import disciplines
from vermilion.cli.groups import GroupedHelp, epilog
from vermilion.cli.link import CommandBehindDashes, link
from vermilion.cli.monitor import monitor
from vermilion.cli.new import new
from vermilion.cli.objectives import objectives
from vermilion.cli.online import online
from vermilion.cli.output import say
from vermilion.cli.report import report
from vermilion.cli.routers import routers
from vermilion.cli.run import run
from vermilion.cli.scenarios import scenarios
from vermilion.cli.senders import senders
from vermilion.cli.snmp_agent import snmp_agent
from vermilion.cli.status import status
from vermilion.cli.studies import studies
from vermilion.cli.tune import tune
from vermilion.cli.twin import twin
from vermilion.cli.undo import undo
from vermilion.cli.watch import watch


def application() -> typer.Typer:
    """The command-line application."""
    # Plain help: drawing it with rich would take longer than everything else together.
    app = typer.Typer(
        name="vermilion",
        cls=GroupedHelp,
        epilog="vermilion COMMAND --help shows a command's options, with examples.",
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_vermilion)
    for command in (
        advise,
        new,
        run,
        compare,
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
