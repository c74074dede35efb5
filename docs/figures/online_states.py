"""Draws the controller's states for docs/online.md, and refreshes that page's two tables.

The picture and the tables follow from the code: the states, events and successors from
``vermilion.online.decide.step``, the decisions from ``vermilion.online.entries``.
``tests/python/test_online_documentation.py`` compares the tables with the page.

    .venv/bin/python docs/figures/online_states.py
"""

from __future__ import annotations

import ast
import inspect
import math
from pathlib import Path

from vermilion.online import entries
from vermilion.online.decide.states import (
    Applying,
    Blind,
    Ended,
    HandsOff,
    Observing,
    Searching,
    State,
    Verifying,
    Waiting,
    Watching,
)
from vermilion.online.decide.step import BESIDES, EVENTS, IGNORED, STATES, TRANSITIONS

HERE = Path(__file__).parent
PAGE = HERE.parent / "online.md"

_WORDS = {
    "HandsOff": "hands off",
}
_EVERYWHERE: tuple[type[State], ...] = (Blind, HandsOff, Ended)  # nearly every state leads there
_USUAL = {  # the way of a change that is answered, refined, verified and kept
    (Waiting, Searching),
    (Searching, Applying),
    (Applying, Observing),
    (Observing, Searching),
    (Applying, Verifying),
    (Verifying, Watching),
    (Watching, Waiting),
}


def word(state: type[State]) -> str:
    """What a state is called on the page."""
    return _WORDS.get(state.__name__, state.__name__.lower())


def successors(state: type[State]) -> list[type[State]]:
    """The states that may follow another one, in the order of the table."""
    led_to = BESIDES[state].union(*(TRANSITIONS[state][event].leads_to for event in EVENTS))
    return [other for other in STATES if other in led_to and other is not state]


def states_table() -> str:
    """Every state, what it is, what it listens to, and what may follow."""
    lines = ["| state | | listens to | leads to |", "|---|---|---|---|"]
    for state in STATES:
        heard = [event.__name__ for event in EVENTS if TRANSITIONS[state][event] is not IGNORED]
        about = (inspect.getdoc(state) or "").splitlines()[0]
        follow = ", ".join(word(other) for other in successors(state)) or "nothing"
        lines.append(f"| {word(state)} | {about} | {', '.join(heard) or 'nothing'} | {follow} |")
    return "\n".join(lines)


def kinds_table() -> str:
    """Every kind of decision and what it means, as the catalogue says."""
    source = ast.parse(inspect.getsource(entries.DecisionKind))
    [catalogue] = (node for node in source.body if isinstance(node, ast.ClassDef))
    lines = ["| kind | meaning |", "|---|---|"]
    name = ""
    for node in catalogue.body:
        match node:
            case ast.Assign(value=ast.Constant(value=str(value))):
                name = value
            case ast.Expr(value=ast.Constant(value=str(meaning))) if name:
                lines.append(f"| `{name}` | {' '.join(meaning.split())} |")
                name = ""
            case _:
                pass
    return "\n".join(lines)


def refreshed(page: str) -> str:
    """The page with both tables as the code has them."""
    for name, table in (("states", states_table()), ("kinds", kinds_table())):
        begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
        before, _, rest = page.partition(begin)
        _, _, after = rest.partition(end)
        page = f"{before}{begin}\n{table}\n\n{end}{after}"
    return page


def draw() -> None:
    """Draws the states in a circle, and an arrow for each way from one to another."""
    from matplotlib.figure import Figure
    from matplotlib.patches import FancyArrowPatch

    from vermilion.report.drawing import BLUE, GREY, INK, style

    drawn = [state for state in STATES if state not in _EVERYWHERE]
    places = {
        state: (
            math.cos(math.pi / 2 - 2 * math.pi * number / len(drawn)),
            math.sin(math.pi / 2 - 2 * math.pi * number / len(drawn)),
        )
        for number, state in enumerate(drawn)
    }
    with style():
        figure = Figure(figsize=(7.5, 6.4), layout="constrained")
        axes = figure.subplots()
        for state, place in places.items():
            for other in successors(state):
                if other in places:
                    axes.add_patch(
                        FancyArrowPatch(
                            place,
                            places[other],
                            arrowstyle="-|>",
                            mutation_scale=13,
                            connectionstyle="arc3,rad=0.12",
                            shrinkA=34,
                            shrinkB=34,
                            color=BLUE if (state, other) in _USUAL else GREY,
                            linewidth=2.2 if (state, other) in _USUAL else 0.9,
                        )
                    )
            axes.text(
                *place,
                word(state),
                ha="center",
                va="center",
                color=INK,
                fontsize=12,
                bbox={"boxstyle": "round,pad=0.45", "facecolor": "white", "edgecolor": BLUE},
            )
        axes.text(
            0.0,
            -1.42,
            "From nearly every state a silent router leads to blind, another hand on the\n"
            "queue to hands off, and “stop” to ended; these are left out. Blue: the usual way.",
            ha="center",
            fontsize=10.5,
            color=INK,
        )
        axes.set_xlim(-1.35, 1.35)
        axes.set_ylim(-1.55, 1.2)
        axes.set_aspect("equal")
        axes.axis("off")
        figure.savefig(HERE / "online_states.svg", metadata={"Date": None})


if __name__ == "__main__":
    PAGE.write_text(refreshed(PAGE.read_text()))
    draw()
