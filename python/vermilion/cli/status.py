"""``vermilion status``: what the on-line controller does now, from its journal."""

import math
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vermilion.cli import options
from vermilion.cli.endings import UserError
from vermilion.cli.journals import check_journal, journals, unreadable
from vermilion.cli.json_output import save_json
from vermilion.cli.output import say
from vermilion.files.sqlite import NONSENSE

if TYPE_CHECKING:
    from vermilion.status import QueueStatus

_MINUTE_S = 60.0
_HOUR_S = 3600.0


def status(
    journal: Annotated[
        Path | None,
        typer.Argument(
            metavar="JOURNAL", help="Of vermilion online or control.", show_default=False
        ),
    ] = None,
    *,
    state_dir: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Folder of journals. Default: $STATE_DIRECTORY, or ~/.local/state/vermilion.",
            show_default=False,
        ),
    ] = None,
    target: options.Json = None,
) -> None:
    """Show what the on-line controller does now.

    For each queue of a journal it says whether a controller is running, what it does and since
    when, and the setting in force. Then come the last decision with its reason, and how many
    changes it may still make.
    Nothing is changed, and the controller is not asked.
    """
    if journal is not None and state_dir is not None:
        message = "JOURNAL and --state-dir are both given; expected one"
        raise UserError(message)
    now = datetime.now(UTC)
    queues = [each for path in journals(journal, state_dir) for each in _read(path, now)]
    if target is not None:
        save_json(target, queues)
        return
    if not queues:
        say("No controller has run yet.")
    for each in queues:
        _show(each, now)


def _read(path: Path, now: datetime) -> "list[QueueStatus]":
    from vermilion.status import read_status

    check_journal(path)
    try:
        return read_status(path, now)
    except NONSENSE as error:
        raise unreadable(path, error) from None


def _show(queue: "QueueStatus", now: datetime) -> None:
    mode = f", mode {queue.mode}" if queue.mode else ""
    say(f"{queue.router} ({queue.discipline}{mode}): {queue.state}")
    rows: list[tuple[str, str | None]] = [
        ("does", queue.doing),
        ("since", _time(queue.since, now)),
        ("last look", _moment(queue, queue.last_look, now)),
        ("next look", None if queue.simulated else _next_look(queue.next_look, now)),
        ("in force", _describe_setting(queue) or None),
        ("set", _moment(queue, queue.setting_since, now)),
        ("decided", queue.last_decision and f"{queue.last_decision}: {queue.last_reason}"),
        ("", _moment(queue, queue.last_decided, now)),
        ("changes", _changes(queue, now)),
        ("journal", f"{queue.journal}, run {queue.run}"),
    ]
    for name, value in rows:
        if value is not None:
            say(f"  {name:<10} {value}")


def _describe_setting(queue: "QueueStatus") -> str:
    """The setting with its units, as the log says it; a journal may hold anything."""
    from vermilion.online.entries import format_setting
    from vermilion.routers.queue_set import configuration_of

    try:
        return format_setting(
            queue.setting, configuration_of(queue.link, queue.discipline, queue.setting)
        )
    except NONSENSE:
        return ", ".join(f"{name} {_text(value)}" for name, value in queue.setting.items())


def _changes(queue: "QueueStatus", now: datetime) -> str:
    if queue.mode == "observe":
        return "none are made"
    text = f"{queue.changes_last_minute} in the last minute"
    if queue.changes_per_minute is None:
        return text
    text += f", {queue.changes_per_minute} are allowed"
    if queue.next_change is not None and queue.next_change > now:
        text += f"; the next one in {(queue.next_change - now).total_seconds():.0f} s"
    return text


def _moment(queue: "QueueStatus", moment: datetime | None, now: datetime) -> str | None:
    """Format a moment of a run; a simulated network has its own time."""
    if moment is None:
        return None
    return f"at {queue.run_s(moment):.1f} s of the run" if queue.simulated else _time(moment, now)


def _time(moment: datetime, now: datetime) -> str:
    ago = (now - moment).total_seconds()
    if ago < 0:  # somebody has set the clock back
        return f"{moment:%Y-%m-%d %H:%M:%S} UTC"
    words = f"{ago:.1f} s ago" if ago < _MINUTE_S else f"{ago / _MINUTE_S:.0f} min ago"
    if ago >= 2 * _HOUR_S:
        words = f"{ago / _HOUR_S:.0f} h ago"
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC, {words}"


def _next_look(moment: datetime | None, now: datetime) -> str | None:
    if moment is None:
        return None
    tenths = math.ceil((moment - now).total_seconds() * 10.0 - 1e-6)
    return "within a tenth of a second" if tenths <= 1 else f"within {tenths / 10:.1f} s"


def _text(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
