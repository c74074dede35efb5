"""Entry point: run a command and turn whatever happens into an exit code.

0: done; 2: a user's mistake, with one line saying which; 130: interrupted with Ctrl-C; 143: by
SIGTERM.
"""

from __future__ import annotations

import io
import re
import sys
from typing import TYPE_CHECKING, Any, Final

from vermilion.cli.endings import (
    EXIT_BROKEN_PIPE,
    EXIT_INTERRUPTED,
    EXIT_MISTAKE,
    UserError,
    closed_streams_to_nowhere,
    forget_output,
    like_interrupts,
    output_that_may_close,
)
from vermilion.scenario.errors import PluginError, ScenarioError, printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


_PLAINER: Final[Mapping[str, str]] = {
    "Input should be greater than or equal to": "expected at least",
    "Input should be less than or equal to": "expected at most",
    "Input should be a valid integer, unable to parse string as an integer": (
        "expected a whole number"
    ),
    "Input should be a valid number, unable to parse string as a number": "expected a number",
    "Input should be": "expected",
    "Value error, ": "",
}
"""Messages of the parser of options, and plainer words for them."""

_MOST_NAMED: Final = 3

_COMMANDS: Final[Mapping[str, str]] = {
    "simulate": "vermilion run",
    "sim": "vermilion run",
    "start": "vermilion run",
    "sweep": "vermilion compare with the same --set several times",
    "optimise": "vermilion tune",
    "optimize": "vermilion tune",
    "search": "vermilion tune",
    "controller": "vermilion control",
    "live": "vermilion watch",
    "dashboard": "vermilion watch",
    "page": "vermilion watch",
    "plot": "vermilion run SCENARIO --plot, or --figure FILE",
    "figure": "vermilion run SCENARIO --figure FILE",
    "list": "vermilion scenarios, or vermilion disciplines",
    "show": "vermilion scenarios NAME",
    "init": "vermilion new NAME",
    "create": "vermilion new NAME",
    "interfaces": "vermilion routers",
    "queues": "vermilion routers",
    "rollback": "vermilion undo",
    "restore": "vermilion undo",
    "capture": "vermilion monitor --interface NAME",
    "pcap": "vermilion monitor FILE",
    "qdiscs": "vermilion disciplines",
    "aqm": "vermilion disciplines",
    "help": "vermilion --help",
    "version": "vermilion --version",
}

_OPTIONS: Final[Mapping[tuple[str, str], str]] = {
    ("run", "--seeds"): ("a run has one seed; for several: vermilion compare SCENARIO --seeds 10"),
    ("run", "--duration"): ("the scenario sets the duration; to change it: --set duration='30 s'"),
    ("run", "--objective"): "a run optimises nothing; vermilion tune does",
    ("run", "--report"): "a page of one run is --figure FILE.html",
    ("run", "--output"): "results go to --json FILE, time series to --series FILE, a picture to "
    "--figure FILE",
    ("compare", "--plot"): "to draw a comparison: --figure FILE",
    ("tune", "--seeds"): "a tuning counts its seeds from --seed",
    ("tune", "--report"): "keep the tuning with --study FILE, then: vermilion report FILE",
    ("online", "--interface"): "a queue of this machine is --router linux:NAME",
    ("watch", "--page"): "watch always serves the page; --listen sets the address",
    ("watch", "--answers"): "watch only shows; to answer: vermilion control ... --listen "
    "ADDRESS:PORT --answers",
    ("watch", "--router"): (
        "watch needs a journal; for a router: vermilion control ... --listen ADDRESS:PORT"
    ),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns the exit code.

    Args:
        arguments: without the program's name; ``None`` for those of the process.
    """
    closed_streams_to_nowhere()
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show "±" shows "?"; that is no reason to fail.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    with like_interrupts() as ending, output_that_may_close():
        code = _outcome(arguments)
        return ending.exit_code(code) if code == EXIT_INTERRUPTED else code


def _outcome(arguments: Sequence[str] | None) -> int:
    try:
        code = _run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read the output has seen enough. Python would complain at exit otherwise.
        forget_output()
        return EXIT_BROKEN_PIPE
    except KeyboardInterrupt:
        sys.stderr.write("\nvermilion: interrupted\n")
        return EXIT_INTERRUPTED
    except (PluginError, ScenarioError, UserError) as error:
        return _mistake(str(error))
    except OSError as error:
        forget_output()
        return _mistake(f"cannot write the output: {error.strerror or error}")
    return code


def _run(arguments: Sequence[str] | None) -> int:
    import typer

    from vermilion.cli.application import application

    if arguments is None:
        arguments = sys.argv[1:]
    # The class of every complaint about options, wherever this version of typer keeps it.
    usage_error: type[Exception] = typer.BadParameter.__mro__[1]
    try:
        outcome = typer.main.get_command(application())(
            args=list(arguments) or ["--help"],
            prog_name="vermilion",
            standalone_mode=False,
        )
    except typer.Abort:
        raise KeyboardInterrupt from None
    except SystemExit:
        # Within typer and rich this stands for a broken pipe, and for nothing else.
        raise BrokenPipeError from None
    except usage_error as error:
        return _mistake(_complaint(error, arguments))
    if outcome == EXIT_INTERRUPTED:
        raise KeyboardInterrupt
    return outcome if isinstance(outcome, int) else 0


def _complaint(error: Exception, arguments: Sequence[str]) -> str:
    """Return what is wrong with the options, and where to read about them."""
    from vermilion.cli.application import GROUPS

    message = str(getattr(error, "message", "") or error)
    format_message = getattr(error, "format_message", None)
    if callable(format_message):
        message = str(format_message())
    context = getattr(error, "ctx", None)
    # An option without its value is noticed before there is a context.
    known = {name for names in GROUPS.values() for name in names}
    begun = f"vermilion {arguments[0]}" if known & set(arguments[:1]) else "vermilion"
    for words, plainer in _PLAINER.items():
        message = message.replace(words, plainer)
    command = getattr(context, "command_path", begun)
    meant = _meant(error, context)
    return f"{message.rstrip('.')}{meant and f': {meant}'}; see {command} --help"


def _meant(error: Exception, context: Any) -> str:  # noqa: ANN401 - typer has no public name for it
    """Return a hint to what was probably meant; "" where nobody knows."""
    option = getattr(error, "option_name", None)
    if option is None:
        unknown = re.match(r"No such command '([^']+)'", str(getattr(error, "message", "")))
        meant = _COMMANDS.get(unknown[1].lower()) if unknown else None
        return f"try {meant}" if meant else ""
    parent = getattr(context, "parent", None)
    group: Any = getattr(parent, "command", None)
    have = [
        name
        for name in (group.list_commands(parent) if hasattr(group, "list_commands") else ())
        if any(option in each.opts for each in group.get_command(parent, name).params)
    ]
    return _meant_option(str(getattr(context, "info_name", "")), option, have)


def _meant_option(command: str, option: str, elsewhere: Iterable[str]) -> str:
    known = _OPTIONS.get((command, option))
    if known is not None:
        return known
    names = [f"vermilion {name}" for name in elsewhere][:_MOST_NAMED]
    *others, last = names or [""]
    them = f"{', '.join(others)} and {last}" if others else last
    return f"{them} {'have' if others else 'has'} it" if names else ""


def _mistake(message: str) -> int:
    line = " ".join(message.split("\n"))
    sys.stderr.write(f"vermilion: {printable(line)}\n")
    return EXIT_MISTAKE
