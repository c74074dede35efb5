"""An atlas on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vermilion.cli.output import console, say
from vermilion.cli.tables import fixed, megabits, percent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vermilion_lab.atlas import Atlas


def print_atlas(atlas: Atlas) -> None:
    """The settings, what they cost, the laws, and how far the rules are from the best."""
    from vermilion.scenario import RATE, TIME, disciplines, format_quantity
    from vermilion.scenario.algorithms import AUTOMATIC
    from vermilion.scenario.quantities import shown_unit, with_shown_unit
    from vermilion_lab.atlas.cell import DEFAULTS, TUNED
    from vermilion_lab.atlas.summary import laws_table, rules_table, sentences

    table = disciplines()[atlas.plan.discipline.partition(":")[0]].parameters
    headings = [with_shown_unit(name, table[name].unit) for name in atlas.parameters]
    factors = {name: shown_unit(table[name].unit)[1] for name in atlas.parameters}
    say(f"wanted: {atlas.plan.goal}\n")
    cells: list[tuple[str, ...]] = [("rate", "flows", "round trip", "ECN", *headings)]
    prices: list[tuple[str, ...]] = [
        (
            "rate", "flows", "round trip", "ECN", "setting", "goodput (Mbit/s)", "Jain", "starved",
            "drops", "p50 (ms)", "p95 (ms)", "p99 (ms)",
        )
    ]  # fmt: skip
    for cell in atlas.cells:
        own = cell.condition
        condition = (
            format_quantity(own.rate_bit_per_s, RATE),
            str(own.flows),
            format_quantity(own.round_trip_s, TIME),
            "on" if own.ecn else "off",
        )
        prices += [
            (*condition, name, *_price(cell.judged[name].price or {}))
            for name in ((DEFAULTS, TUNED) if cell.accepted else (DEFAULTS,))
            if name in cell.judged
        ]
        cells.append(
            (
                *condition,
                *(
                    f"{cell.setting[name] * factor:.3g}{'' if cell.accepted else '*'}"
                    if name in cell.setting
                    else AUTOMATIC
                    for name, factor in factors.items()
                ),
            )
        )
    _print(cells)
    if not all(cell.accepted for cell in atlas.cells):
        say("*: the default, because nothing better was proven")
    say("\nwhat it gives and costs, on fresh seeds")
    _print(prices)
    if any(atlas.laws.values()):
        say("\nfitted laws")
        _print(laws_table(atlas))
    say("\nagainst the tuned setting, on fresh seeds")
    _print(rules_table(atlas))
    for sentence in sentences(atlas):
        say(sentence)


def _price(price: Mapping[str, float]) -> tuple[str, ...]:
    return (
        megabits(price.get("goodput_bit_per_s")),
        fixed(price.get("jain_index"), 3),
        fixed(price.get("starved"), 1),
        percent(price.get("drop_rate")),
        *(fixed(price.get(name), 2) for name in ("p50_ms", "p95_ms", "p99_ms")),
    )


def _print(rows: list[tuple[str, ...]]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for place, heading in enumerate(rows[0]):
        right = place > 0 and not rows[0][1].startswith("law")
        table.add_column(Text(heading), justify="right" if right else "left", overflow="fold")
    for row in rows[1:]:
        table.add_row(*map(Text, row))
    console().print(table)
