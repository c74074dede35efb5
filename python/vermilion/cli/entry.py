"""The entry point: runs a command and turns whatever happens into an exit code.

0: done; 2: a user's mistake, with one line saying which; 130: interrupted with Ctrl-C; 143: by
SIGTERM.
"""

from __future__ import annotations

import io
import re
import sys
from typing import TYPE_CHECKING, Any

from vermilion.cli.closed_pipe import (
    closed_streams_to_nowhere,
    forget_output,
    output_that_may_close,
)
from vermilion.cli.ending_signals import like_interrupts
from vermilion.cli.exit_codes import EXIT_BROKEN_PIPE, EXIT_INTERRUPTED, EXIT_MISTAKE
from vermilion.cli.user_error import UserError
from vermilion.scenario.errors import PluginError, ScenarioError, printable

if TYPE_CHECKING:
    from collections.abc import Sequence


# What the parser of options says in the words of programmers.
_PLAINER = {
    "Input should be greater than or equal to": "expected at least",
    "Input should be less than or equal to": "expected at most",
    "Input should be a valid integer, unable to parse string as an integer": (
        "expected a whole number"
    ),
    "Input should be a valid number, unable to parse string as a number": "expected a number",
    "Input should be": "expected",
    "Value error, ": "",
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
    """What is wrong with the options, and where to read about them."""
    from vermilion.cli.groups import GROUPS

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
    """What to type instead of an option or a command that is not there; "" where nobody knows."""
    from vermilion.cli.near_misses import meant_command, meant_option

    option = getattr(error, "option_name", None)
    if option is None:
        unknown = re.match(r"No such command '([^']+)'", str(getattr(error, "message", "")))
        return meant_command(unknown[1]) if unknown else ""
    parent = getattr(context, "parent", None)
    group: Any = getattr(parent, "command", None)
    have = [
        name
        for name in (group.list_commands(parent) if hasattr(group, "list_commands") else ())
        if any(option in each.opts for each in group.get_command(parent, name).params)
    ]
    return meant_option(str(getattr(context, "info_name", "")), option, have)


def _mistake(message: str) -> int:
    line = " ".join(message.split("\n"))
    sys.stderr.write(f"vermilion: {printable(line)}\n")
    return EXIT_MISTAKE
