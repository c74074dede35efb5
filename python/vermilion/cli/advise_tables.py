"""What ``vermilion advise`` shows on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vermilion.advise.commands import commands
from vermilion.advise.wording import (
    headline,
    limits,
    megabits,
    milliseconds,
    price_words,
    reason,
    warnings,
)
from vermilion.cli.output import console

if TYPE_CHECKING:
    from rich.console import Console

    from vermilion.advise import Advice
    from vermilion.advise.command_lines import Commands


def print_advice(advice: Advice) -> None:
    """Shows the answer, the numbers behind it, and the commands."""
    from rich.markup import escape

    screen = console()
    screen.print(f"[bold]{escape(headline(advice))}[/bold]")
    screen.print(escape(reason(advice)))
    screen.print()
    _print_conditions(screen, advice)
    if not advice.keep:
        screen.print(f"[bold]Price:[/bold] {escape(price_words(advice))}")
    _print_list(screen, "Where it stops being true", limits(advice))
    _print_list(screen, "Mind", warnings(advice))
    own = commands(advice.question, advice.present, advice.chosen, keep=advice.keep)
    _print_commands(screen, own)


def _print_conditions(screen: Console, advice: Advice) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    bound = advice.question.bound_ms
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("condition")
    for when in ("now",) if advice.keep else ("now", "then"):
        for what in ("p50", "p95", "p99"):
            table.add_column(f"{when} {what}", justify="right", no_wrap=True)
        table.add_column(f"{when} goodput", justify="right", no_wrap=True)
    table.add_column(f"p95 within {bound:.4g} ms")
    rows = [advice.before] if advice.keep else [advice.before, advice.after]
    for at in advice.conditions:
        cells = []
        for measured in rows:
            for name in ("delay_p50_ms", "delay_p95_ms", "delay_p99_ms"):
                value = measured.mean(at, name)
                cells.append("" if value is None else milliseconds(value))
            cells.append(megabits(measured.goodput(at)))
        kept = [measured.p95_ms(at) <= bound for measured in rows]
        words = " -> ".join("yes" if each else "no" for each in kept)
        table.add_row(at.name, *cells, words)
    screen.print(table)


def _print_list(screen: Console, title: str, lines: list[str]) -> None:
    from rich.markup import escape

    if not lines:
        return
    screen.print(f"[bold]{title}[/bold]")
    for line in lines:
        screen.print(f"- {escape(line)}")


def _print_commands(screen: Console, own: Commands) -> None:
    parts = [
        ("To look at what is there", own.check),
        ("First, to keep what is there", own.save),
        ("To set it", own.apply),
        ("To undo it", own.undo),
        ("If packets wait somewhere else now: to bring the queue here", own.if_elsewhere),
    ]
    for title, lines in parts:
        if lines:
            screen.print(f"\n[bold]{title}[/bold]")
            for line in lines.splitlines():
                # As it is, however long: it is to be pasted, and a shell ends a text only at an END
                # that begins its line.
                screen.print(line, markup=False, soft_wrap=True)
