"""Plan of an atlas: the grid of conditions, the discipline, the objective, the effort."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from vermilion.scenario import RATE, RATIO, SIZE, TIME, ScenarioError, format_quantity
from vermilion.scenario.errors import did_you_mean
from vermilion.scenario.quantities import Quantity, QuantityError, how_many
from vermilion.scenario.toml_text import parse_toml

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MOST_CELLS: Final = 10_000

TODAYS_SENDER: Final = "cubic:option_set=linux"
"""What sends where nobody says what does: CUBIC as Linux has it."""

_RATE: Final = Quantity(RATE, 1e3, 1e11)
_TRIP: Final = Quantity(TIME, 1e-4, 10.0)
_COUNT: Final = Quantity(RATIO, 1, 100_000, integer=True)
_BYTES: Final = Quantity(SIZE, 64, 9000, integer=True)


@dataclass(frozen=True, slots=True, order=True)
class Condition:
    """Operating conditions of one cell.

    Attributes:
        ecn: whether the flows negotiate ECN.
        rate_bit_per_s: of the link.
        flows: long-lived ones that share it.
        round_trip_s: their mean base round trip.
    """

    ecn: bool
    rate_bit_per_s: float
    flows: int
    round_trip_s: float

    def __str__(self) -> str:
        """Describe the condition."""
        return (
            f"{format_quantity(self.rate_bit_per_s, RATE)}, {how_many(self.flows, 'flow')}, "
            f"{format_quantity(self.round_trip_s, TIME)}, ECN {'on' if self.ecn else 'off'}"
        )


@dataclass(frozen=True, slots=True)
class Plan:
    """Inputs of an atlas, besides the version of the package.

    Attributes:
        rates: of the link, bit/s, rising.
        flows: how many, rising.
        round_trips: base round trips, s, rising.
        ecn: off, on, or both.
        discipline: its name, and after a colon parameters that are not tuned, like
            "red:gentle=true,min_threshold=0.5 target".
        sender: of the flows: its name, and after a colon its parameters, like
            "cubic:option_set=linux".
        packet_bytes: size of their packets.
        target_delay_s: what the default objective asks for: goodput while the 95th percentile of
            the queueing delay is at most this. Boxes of thresholds are laid around it in any case.
        hold_at_s: the queue that is to be held instead, as the time that it takes to send; then
            the objective is the queue's squared distance from it, and the boxes are laid around it.
        objective: a text as ``vermilion tune`` takes it, of the link ``bottleneck`` and the flows
            ``bulk``; ``None`` for one of these two.
        constraints: likewise; ``None`` for what the objective brings, or 95 % of the utilisation of
            the default setting where it brings nothing.
        parameters: of the discipline, that are tuned; empty for all that have a box to search.
        space: boxes to search instead of the usual ones: a parameter, and both ends as a scenario
            has them.
        budget: settings that the search of a cell may simulate.
        search: its name, or "automatic" for the one that a tuning has by default.
        seed: the first.
    """

    rates: tuple[float, ...]
    flows: tuple[int, ...]
    round_trips: tuple[float, ...]
    ecn: tuple[bool, ...] = (False,)
    discipline: str = "red"
    sender: str = TODAYS_SENDER
    packet_bytes: int = 1000
    target_delay_s: float = 0.02
    hold_at_s: float | None = None
    objective: str | None = None
    constraints: tuple[str, ...] | None = None
    parameters: tuple[str, ...] = field(default=())
    space: tuple[tuple[str, Any, Any], ...] = ()
    budget: int = 150
    search: str = "recursive-random-search"
    seed: int = 1

    @property
    def delay_s(self) -> float:
        """The delay that everything is laid around: the bound, or what is to be held."""
        return self.target_delay_s if self.hold_at_s is None else self.hold_at_s

    @property
    def goal(self) -> str:
        """Describe the goal."""
        if self.objective is not None:
            return self.objective
        if self.hold_at_s is not None:
            return f"queue held at {format_quantity(self.hold_at_s, TIME)}"
        return f"95 % of packets wait at most {format_quantity(self.target_delay_s, TIME)}"

    def conditions(self) -> list[Condition]:
        """Conditions of all cells, in order."""
        grid = product(self.ecn, self.rates, self.flows, self.round_trips)
        return [Condition(*values) for values in grid]

    def neighbours(self, condition: Condition) -> list[Condition]:
        """The cells one step away along one axis, those of the other ECN included."""
        axes: tuple[tuple[str, tuple[Any, ...]], ...] = (
            ("ecn", self.ecn),
            ("rate_bit_per_s", self.rates),
            ("flows", self.flows),
            ("round_trip_s", self.round_trips),
        )
        own = {name: getattr(condition, name) for name, _ in axes}
        found = []
        for name, values in axes:
            place = values.index(own[name])
            near = values[max(0, place - 1) : place] + values[place + 1 : place + 2]
            found += [Condition(**{**own, name: value}) for value in near]
        return found


def _quantity(kind: Quantity) -> Callable[[object], Any]:
    return kind.parse


def _switch(value: object) -> bool:
    words = {"on": True, "off": False, True: True, False: False}
    if not isinstance(value, str | bool) or value not in words:
        raise QuantityError(value, 'ECN "on" or "off"')
    return words[value]


def _text(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise QuantityError(value, "a text")
    return value.strip()


def _boxes(value: object) -> tuple[tuple[str, Any, Any], ...]:
    if not isinstance(value, dict):
        raise QuantityError(value, "a table like { weight = [0.001, 1.0] }")
    for box in value.values():
        if not isinstance(box, list | tuple) or len(box) != 2:  # noqa: PLR2004 - two ends
            raise QuantityError(box, "a lower and a higher end, like [0.001, 1.0]")
    return tuple((name, box[0], box[1]) for name, box in sorted(value.items()))


_KEYS: Final[Mapping[str, tuple[str, bool, Callable[[object], Any]]]] = {
    "rate": ("rates", True, _quantity(_RATE)),
    "flows": ("flows", True, _quantity(_COUNT)),
    "rtt": ("round_trips", True, _quantity(_TRIP)),
    "ecn": ("ecn", True, _switch),
    "discipline": ("discipline", False, _text),
    "sender": ("sender", False, _text),
    "packet_size": ("packet_bytes", False, _quantity(_BYTES)),
    "target_delay": ("target_delay_s", False, _quantity(_TRIP)),
    "hold_at": ("hold_at_s", False, _quantity(_TRIP)),
    "objective": ("objective", False, _text),
    "constraints": ("constraints", True, _text),
    "parameters": ("parameters", True, _text),
    "space": ("space", False, _boxes),
    "budget": ("budget", False, _quantity(_COUNT)),
    "search": ("search", False, _text),
    "seed": ("seed", False, _quantity(Quantity(RATIO, 0, 2**63, integer=True))),
}
"""Of a table: the plan's field, whether it is a list, and how a value is read."""


def read_plan(table: Mapping[str, object], origin: str = "atlas") -> Plan:
    """A plan from what TOML, or the command line, says.

    Args:
        table: ``rate``, ``flows`` and ``rtt`` (each a value or a list), and any of ``ecn``,
            ``discipline``, ``sender``, ``packet_size``, ``target_delay`` or ``hold_at``,
            ``objective``, ``constraints``, ``parameters``, ``space``, ``budget``, ``search``,
            ``seed``.
        origin: names it in messages.

    Raises:
        ScenarioError: a key or a value that is not accepted.
    """
    found: dict[str, Any] = {}
    if {"target_delay", "hold_at"} <= table.keys():
        accepted = "either target_delay (at most) or hold_at, not both"
        raise ScenarioError("hold_at", table["hold_at"], accepted, origin)
    for key, given in table.items():
        if key not in _KEYS:
            raise ScenarioError(key, given, did_you_mean(key, _KEYS), origin)
        name, listed, read = _KEYS[key]
        values = given if listed and isinstance(given, list | tuple) else [given]
        if not values and key in {"rate", "flows", "rtt", "ecn"}:
            raise ScenarioError(key, given, "at least one value", origin)
        try:
            parsed = [read(value) for value in values]
        except QuantityError as error:
            raise ScenarioError(key, error.value, error.accepted, origin) from None
        if name in {"rates", "flows", "round_trips", "ecn"}:
            parsed = sorted(set(parsed))
        found[name] = tuple(parsed) if listed else parsed[0]
    for key in ("rate", "flows", "rtt"):
        if _KEYS[key][0] not in found:
            message = f'one or several of them, like --{key} "{_EXAMPLES[key]}"'
            raise ScenarioError("", f"{key} is missing", message, origin)
    plan = Plan(**found)
    cells = math.prod(map(len, (plan.rates, plan.flows, plan.round_trips, plan.ecn)))
    if cells > MOST_CELLS:
        raise ScenarioError("", f"{cells} cells are too many", f"at most {MOST_CELLS}", origin)
    return plan


LARGEST_PLAN_BYTES: Final = 1024 * 1024

_EXAMPLES: Final = {"rate": "5 Mbit/s", "flows": "16", "rtt": "60 ms"}


def read_plan_file(path: str) -> dict[str, object]:
    """The table in a TOML file.

    Raises:
        ScenarioError: it cannot be read.
    """
    try:
        with Path(path).open("rb") as file:
            content = file.read(LARGEST_PLAN_BYTES + 1)
        if len(content) <= LARGEST_PLAN_BYTES:
            return parse_toml(content.decode())
        problem = "is larger than 1 MiB"
    except OSError as error:
        problem = f"cannot be read ({error.strerror})"
    except ValueError as error:
        problem = f"is not valid TOML ({error})"
    raise ScenarioError("", problem, "a TOML file with the table of an atlas", path)


def plan_table(plan: Plan) -> dict[str, Any]:
    """The plan for JSON."""
    return {each.name: getattr(plan, each.name) for each in fields(plan)}
