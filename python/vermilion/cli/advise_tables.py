"""Tables of ``vermilion advise`` for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from vermilion.advise.commands import commands
from vermilion.advise.number_words import megabits, milliseconds
from vermilion.advise.wording import (
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

_ALL_COLUMNS: Final = 110
"""Of a terminal in which the table has all its columns. `--json` always has all numbers."""


def print_advice(advice: Advice) -> None:
    """Shows the answer, the numbers behind it, and the commands."""
    from rich.markup import escape

    screen = console()
    screen.print(f"[bold]{escape(headline(advice))}[/bold]")
    screen.print(escape(reason(advice)))
    screen.print()
    _print_conditions(screen, advice)
    if not advice.keep:
        _print_list(screen, "What it costs", price_lines(advice))
    _print_list(screen, "Where it stops being true", limits(advice))
    _print_list(screen, "Mind", warnings(advice))
    own = commands(advice.question, advice.present, advice.chosen, keep=advice.keep)
    _print_commands(screen, own)


def _print_conditions(screen: Console, advice: Advice) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    bound = advice.question.bound_ms
    rows = advice.shown
    wide = screen.width >= _ALL_COLUMNS
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("condition")
    table.add_column("95 % wait at most", justify="right", no_wrap=True)
    table.add_column(f"within {bound:.4g} ms", no_wrap=True)
    table.add_column("goodput, Mbit/s", justify="right", no_wrap=True)
    if wide:
        table.add_column("half wait at most", justify="right", no_wrap=True)
        table.add_column("99 % wait at most", justify="right", no_wrap=True)
    for at in advice.conditions:

        def waits(name: str, at: Condition = at) -> str:
            values = [measured.mean(at, name) for measured in rows]
            return _ARROW.join("" if value is None else milliseconds(value) for value in values)

        kept = ["yes" if measured.p95_ms(at) <= bound else "no" for measured in rows]
        goodput = [megabits(measured.goodput(at), unit=False) for measured in rows]
        further = [waits("delay_p50_ms"), waits("delay_p99_ms")] if wide else []
        table.add_row(
            at.name, waits("delay_p95_ms"), _ARROW.join(kept), _ARROW.join(goodput), *further
        )
    screen.print(table)


def _print_list(screen: Console, title: str, lines: list[str]) -> None:
    from rich.markup import escape

    if not lines:
        return
    screen.print(f"\n[bold]{title}[/bold]")
    for line in lines:
        screen.print(f"- {escape(line)}")


def _print_commands(screen: Console, own: Commands) -> None:
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
        if lines:
            screen.print(f"\n[bold]{title}[/bold]")
            for line in lines.splitlines():
                # As it is, however long: it is to be pasted, and a shell ends a text only at an END
                # that begins its line.
                screen.print(line, markup=False, soft_wrap=True)
