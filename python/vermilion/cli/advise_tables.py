"""Tables of ``vermilion advise`` for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from vermilion.advise.commands import commands
from vermilion.advise.metrics import CALL_DELAY
from vermilion.advise.number_words import megabits, milliseconds
from vermilion.advise.wording import (
    comparison_rows,
    headline,
    limits,
    price_lines,
    reason,
    warnings,
)
from vermilion.cli.output import console

if TYPE_CHECKING:
    from rich.console import Console

    from vermilion.advise import Advice
    from vermilion.advise.command_lines import Commands
    from vermilion.advise.conditions import Condition

_ARROW: Final = " -> "

_MOST_WARNINGS: Final = 2
"""Shown without ``--all``."""


def print_advice(advice: Advice, *, everything: bool = False) -> None:
    """Shows the answer, the queues that were compared, and the commands.

    Args:
        advice: the answer.
        everything: also every condition, the price, limits, all warnings and all commands.
    """
    from rich.markup import escape

    screen = console()
    screen.print(f"[bold]{escape(headline(advice))}[/bold]")
    screen.print(escape(reason(advice)))
    if advice.settled:
        _print_comparison(screen, advice)
    if everything and advice.settled:
        _print_conditions(screen, advice)
        if not advice.keep:
            _print_list(screen, "What it costs", price_lines(advice))
        _print_list(screen, "Where it stops being true", limits(advice))
    said = warnings(advice)
    _print_list(screen, "Mind", said if everything else said[:_MOST_WARNINGS])
    own = commands(advice.question, advice.present, advice.chosen, keep=advice.keep)
    _print_commands(screen, own, everything=everything)
    if not everything:
        screen.print("\n--all shows every condition, what it costs, and how to look and undo.")


def _print_comparison(screen: Console, advice: Advice) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("worst case of your range")
    for title in ("a call waits", "loses", "goodput", "95 % of all wait"):
        table.add_column(title, justify="right", no_wrap=True)
    for row in comparison_rows(advice):
        table.add_row(*row)
    screen.print(table)


def _print_conditions(screen: Console, advice: Advice) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    rows = advice.shown
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("condition")
    for title in ("a call waits", "95 % of all wait", "goodput, Mbit/s"):
        table.add_column(title, justify="right", no_wrap=True)
    for at in advice.conditions:

        def waits(name: str, at: Condition = at) -> str:
            values = [measured.mean(at, name) for measured in rows]
            return _ARROW.join("" if value is None else milliseconds(value) for value in values)

        goodput = [megabits(measured.goodput(at), unit=False) for measured in rows]
        table.add_row(at.name, waits(CALL_DELAY), waits("delay_p95_ms"), _ARROW.join(goodput))
    screen.print(table)


def _print_list(screen: Console, title: str, lines: list[str]) -> None:
    from rich.markup import escape

    if not lines:
        return
    screen.print(f"\n[bold]{title}[/bold]")
    for line in lines:
        screen.print(f"- {escape(line)}")


def _print_commands(screen: Console, own: Commands, *, everything: bool) -> None:
    elsewhere = "If packets wait somewhere else now: "
    first = f"{elsewhere}first, to keep" if own.if_elsewhere else "First, to keep"
    parts = [
        ("To look at what is there", own.check),
        (f"{first} what is there", own.save),
        ("To set it", own.apply),
        (f"{elsewhere}to bring the queue here", own.if_elsewhere),
        ("To undo it", own.undo),
    ]
    for title, lines in parts:
        if lines and (everything or lines not in {own.check, own.save}):
            screen.print(f"\n[bold]{title}[/bold]")
            for line in lines.splitlines():
                # As it is, however long: it is to be pasted, and a shell ends a text only at an END
                # that begins its line.
                screen.print(line, markup=False, soft_wrap=True)
