"""``vermilion undo``: what stood before the on-line controller's first change, from its journal."""

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from vermilion.cli import options
from vermilion.cli.endings import UserError
from vermilion.cli.journals import check_journal, journals, unreadable
from vermilion.cli.json_output import save_json
from vermilion.cli.output import say
from vermilion.files.document import document
from vermilion.files.sqlite import NONSENSE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vermilion.online.record.restart import Untouched
    from vermilion.routers.base import ParameterValue

_SETS: Final = {"set", "simulated set"}
"""Kinds of several queues together."""


@document(
    "title=queue.title router=queue.router link=queue.link discipline=queue.discipline"
    " network=queue.network since=queue.since changed original=queue.original"
    " in_force=queue.in_force set_by_others=queue.set_by_others command commands"
)
@dataclass(frozen=True, slots=True)
class Undo:
    """A queue as it was before a controller's first change, and what puts it back."""

    queue: "Untouched"
    command: str
    commands: dict[str, str]

    @property
    def changed(self) -> bool:
        """True if the parameters last read back are others."""
        return dict(self.queue.original) != dict(self.queue.in_force)


def undo(
    journal: Annotated[
        Path | None,
        typer.Argument(
            metavar="JOURNAL",
            help="File of vermilion online or control. Default: all journals in $STATE_DIRECTORY, "
            "or ~/.local/state/vermilion.",
            show_default=False,
        ),
    ] = None,
    *,
    interface: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="For the commands, like eth0.", show_default=False),
    ] = None,
    target: options.Json = None,
) -> None:
    """Show what stood before a controller's first change.

    For each queue: the parameters as they were, as they were last read back, and the tc command
    that puts them back where the queue is one of Linux's. Nothing is changed.
    """
    queues = [each for path in journals(journal, None) for each in _untouched(path)]
    entries = [_entry(each, interface) for each in queues]
    if target is not None:
        save_json(target, entries)
        return
    if not entries:
        say("The journal has no queue.")
    for entry in entries:
        _show(entry)


def _untouched(path: Path) -> "list[Untouched]":
    from vermilion.online.record.restart import untouched

    check_journal(path)
    try:
        return untouched(path)
    except NONSENSE as error:
        raise unreadable(path, error) from None


def _entry(queue: "Untouched", interface: str | None) -> Undo:
    commands = _commands_of_set(queue, interface)
    command = "\n".join(each for each in commands.values() if each)
    if not commands:
        # What a run on a real router has written down names its interface and its class.
        if queue.set_by_others and interface is None:
            # What a run has written down would take back what somebody else has set.
            command = queue.command or ""
        else:
            written = queue.command if interface is None else None
            command = written or _command(queue.discipline, queue.original, queue, interface)
    return Undo(queue, command, commands)


def _commands_of_set(queue: "Untouched", interface: str | None) -> dict[str, str]:
    """Commands that put each of several queues back; empty for one queue.

    What a run on real routers has written down is what counts. Of other queues the link's name
    stands for the interface.
    """
    from vermilion.routers.queue_set import by_queue, configuration_of

    if queue.router not in _SETS:
        return {}
    if interface is not None:
        message = f"--interface needs one queue; {queue.title} has several"
        raise UserError(message)
    settings = by_queue(queue.original)
    if queue.set_by_others:
        return dict.fromkeys(settings, "")
    if queue.commands:
        return {link: queue.commands.get(link) or "" for link in settings}
    configuration = configuration_of(queue.link, queue.discipline, queue.original)
    return {
        each.link: _command(each.discipline, settings[each.link], queue, each.link)
        for each in configuration.queues
    }


def _show(entry: Undo) -> None:
    queue = entry.queue
    network = f", {queue.network}" if queue.network else ""
    of_link = "" if queue.link == queue.title else f" of link {queue.link}"
    say(f"{queue.title}: {queue.discipline}{of_link}{network}")
    if queue.set_by_others:
        theirs = ", ".join(
            f"{name} to {_text(queue, name, value)}" for name, value in queue.set_by_others.items()
        )
        say(f"  somebody else has set {theirs} since {queue.since}")
        if not entry.changed:
            say("  there is nothing else to undo")
            return
    if not entry.changed:
        say(f"  as on {queue.since}; nothing to undo")
        return
    say(f"  changed since {queue.since}:")
    for name, value in queue.original.items():
        now = queue.in_force.get(name)
        if now != value:
            before, after = _text(queue, name, value), _text(queue, name, now)
            if before == after:  # they differ in digits that are left out
                before = _text(queue, name, value, exact=True)
                after = _text(queue, name, now, exact=True)
            say(f"    {name}: was {before}, is {after}")
    if entry.command:
        lines = "\n    ".join(entry.command.splitlines())
        say(f"  to put it back:\n    {lines}")
    elif queue.set_by_others:
        more = "; --interface NAME asks for one" if queue.router == "linux" else ""
        say(f"  the run recorded no command{more}")
        return
    unknown = [link for link, command in entry.commands.items() if not command]
    if unknown:
        say(f"  no command is known for {', '.join(unknown)}")


def _text(queue: "Untouched", name: str, value: "ParameterValue", *, exact: bool = False) -> str:
    """The value with its unit, as the log says it; a journal may hold anything."""
    from vermilion.online.entries import format_value
    from vermilion.routers.queue_set import configuration_of

    if value is None:
        return "automatic"
    try:
        configuration = configuration_of(queue.link, queue.discipline, queue.original)
        return format_value(name, value, configuration, exact=exact)
    except NONSENSE:
        return f"{value:g}" if isinstance(value, float) and not exact else str(value)


def _command(
    discipline: str,
    original: "Mapping[str, ParameterValue]",
    queue: "Untouched",
    interface: str | None,
) -> str:
    """Return the tc command; "" where Linux lacks the queue or refuses the values."""
    from vermilion.profiles import Place
    from vermilion.routers.linux.tc_command import profile_command
    from vermilion.scenario import disciplines

    place = Place(device=None if interface is None else shlex.quote(interface))
    try:
        table = disciplines()[discipline].parameters
        given = {name: value for name, value in original.items() if value is not None}
        known = {name: value for name, value in given.items() if name in table}
        return profile_command(discipline, known, place, queue.rate_bit_per_s or 1e9) or ""
    except NONSENSE:  # a journal may hold anything
        return ""
