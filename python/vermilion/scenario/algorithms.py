"""The parameter tables of the core: every discipline and every sender, with units and ranges.

The tables are the core's; nothing here knows the name of any algorithm.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from vermilion.files.document import document
from vermilion.scenario.errors import FieldError, did_you_mean, likeliest, one_of
from vermilion.scenario.quantities import (
    PACKETS,
    RATE,
    RATIO,
    SIZE,
    TIME,
    Dimension,
    Quantity,
    exact_text,
    format_quantity,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_SYNONYMS: Final[Mapping[str, str]] = {
    "pfifo": "drop-tail",
    "bfifo": "drop-tail",
    "pfifo_fast": "drop-tail",
    "fifo": "drop-tail",
    "droptail": "drop-tail",
    "taildrop": "drop-tail",
    "tail-drop": "drop-tail",
    "ared": "adaptive-red",
    "gred": "wred",
    "fqcodel": "fq-codel",
    "fqpie": "fq-pie",
    "l4s": "dualpi2",
    "dctcp-step": "step",
    "step-marking": "step",
    "bbrv1": "bbr1",
    "bbr2": "bbr",
    "bbr3": "bbr",
    "bbrv3": "bbr",
    "new-reno": "newreno",
    "tcp-prague": "prague",
}
"""Names in Vermilion of synonyms."""

_MISSING: Final[Mapping[str, str]] = {
    "sfq": 'SFQ is not there; "fq" also serves flows in turn',
    "htb": "HTB is a shaper: set the link's rate",
    "tbf": "TBF is a shaper: set the link's rate",
    "compound": 'Compound is not there; "cubic" and "newreno" are nearest',
}
"""Algorithms that are not simulated, and the nearest ones."""


def accepted_algorithm(given: str, known: Iterable[str]) -> str:
    """Describe the accepted names of an algorithm, the likeliest first or last.

    Args:
        given: the name.
        known: those that are there.
    """
    names = list(known)
    plain = given.lower().replace("_", "-")
    same = plain if plain in names else _SYNONYMS.get(given.lower(), _SYNONYMS.get(plain, ""))
    if same in names:
        return f'{one_of(names)} (here it is called "{same}")'
    missing = _MISSING.get(plain)
    if missing is not None:
        return f"{one_of(names)} ({missing})"
    return f"{one_of(names)}{likeliest(given, names)}"


ParameterValue = float | int | bool | str | None
"""A number in the table's unit, a switch, a choice, or ``None`` for "automatic"."""

AUTOMATIC: Final = "automatic"
"""Value that leaves a parameter to the algorithm's own rule (TOML has no null)."""

COLOURS: Final = ("green", "yellow", "red")
"""Drop precedences of packets."""

_DIMENSIONS: Final[dict[str, Dimension]] = {
    "packets": PACKETS,
    "bytes": SIZE,
    "seconds": TIME,
    "bit/s": RATE,
    "probability": RATIO,
    "1": RATIO,
}


@document()
@dataclass(frozen=True, slots=True)
class Parameter:
    """One row of a parameter table; see the core's description of each field.

    Attributes:
        name: its name in scenarios.
        kind: "number", "switch" or "choice".
        unit: "packets", "bytes", "seconds", "bit/s", "probability" or "1".
        default: the value when none is given; ``None`` leaves it to the algorithm's own rule.
        minimum: smallest number accepted, ``None`` for no bound.
        maximum: largest number accepted, ``None`` for no bound.
        minimum_excluded: whether the smallest number itself is refused.
        integer: whether only whole numbers are accepted.
        scale: "linear" or "log": how a search should walk along it.
        search: the box a tuner searches unless told otherwise; ``None`` if none makes sense.
        choices: the names accepted, for a choice.
        meaning: one line.
        source: where its default or definition comes from.
        only_with: a choice of the same table and the name that it has to have for this parameter to
            do anything; ``None`` where it always does.
    """

    name: str
    kind: str
    unit: str = "1"
    default: ParameterValue = None
    minimum: float | None = None
    maximum: float | None = None
    minimum_excluded: bool = False
    integer: bool = False
    scale: str = "linear"
    search: tuple[float, float] | None = None
    choices: tuple[str, ...] | None = None
    meaning: str = ""
    source: str = ""
    only_with: tuple[str, str] | None = None

    @property
    def dimension(self) -> Dimension:
        """The kind of quantity that its unit measures."""
        return _DIMENSIONS.get(self.unit, RATIO)

    @property
    def quantity(self) -> Quantity:
        """Range of its numbers."""
        return Quantity(
            self.dimension,
            self.minimum,
            self.maximum,
            minimum_excluded=self.minimum_excluded,
            integer=self.integer,
        )

    def accepted(self) -> str:
        """Description of the accepted values."""
        if self.kind == "switch":
            return "true or false"
        if self.kind == "choice":
            return one_of(self.choices or ())
        words = self.quantity.accepted()
        return f'{words}, or "{AUTOMATIC}"' if self.default is None else words

    def parse(self, value: object) -> ParameterValue:
        """The value in the table's unit.

        Raises:
            FieldError: of the wrong kind or outside the range.
        """
        if self.kind == "switch":
            if isinstance(value, bool):
                return value
        elif self.kind == "choice":
            if isinstance(value, str) and value in (self.choices or ()):
                return value
        elif value == AUTOMATIC and self.default is None:
            return None
        else:
            try:
                return self.quantity.parse(value)
            except FieldError:
                accepted = f"{self.accepted()}{self.quantity.doubt(value)}"
                raise FieldError(self.name, value, accepted) from None
        raise FieldError(self.name, value, self.accepted())

    def exact_text(self, value: ParameterValue) -> object:
        """The value as a scenario would spell it, reading back as the same value."""
        if value is None:
            return AUTOMATIC
        if isinstance(value, bool | str) or self.kind != "number":
            return value
        return exact_text(value, self.dimension)

    def readable(self, value: ParameterValue) -> str:
        """The value as a person would write it."""
        if value is None:
            return AUTOMATIC
        if isinstance(value, bool):
            return "true" if value else "false"
        return value if isinstance(value, str) else format_quantity(value, self.dimension)


@document("name title summary source parameters=rows ordered option_sets")
@dataclass(frozen=True, slots=True)
class Algorithm:
    """A queue discipline or a sender as the core describes it.

    Attributes:
        name: its name in scenarios.
        title: its name in prose.
        summary: one line.
        source: citation.
        parameters: its table, by name.
        ordered: pairs of parameters of which the first must be below the second.
        option_sets: named sets of defaults, which the parameter ``option_set`` chooses from;
            for each, the defaults that it replaces.
    """

    name: str
    title: str
    summary: str
    source: str
    parameters: Mapping[str, Parameter]
    ordered: tuple[tuple[str, str], ...]
    option_sets: Mapping[str, Mapping[str, ParameterValue]]

    @property
    def rows(self) -> list[Parameter]:
        """Rows of its table."""
        return list(self.parameters.values())

    def parse(self, given: Mapping[str, object]) -> dict[str, ParameterValue]:
        """Return the given values, each in its table's unit.

        Raises:
            FieldError: an unknown name, a value that is not accepted, or a wrong order.
        """
        values = {name: self.parse_one(name, value) for name, value in given.items()}
        self.check_order(values)
        return values

    def parse_one(self, name: str, value: object) -> ParameterValue:
        """One value in its table's unit.

        Raises:
            FieldError: an unknown name or a value that is not accepted.
        """
        parameter = self.parameters.get(name)
        if parameter is None:
            accepted = f"a parameter of {self.name}: {did_you_mean(name, self.parameters)}"
            raise FieldError(name, value, accepted)
        return parameter.parse(value)

    def complete(self, values: Mapping[str, ParameterValue]) -> dict[str, ParameterValue]:
        """Every parameter: the values given, and the defaults of the others."""
        chosen = self.option_sets.get(str(values.get("option_set")), {})
        return {
            name: values.get(name, chosen.get(name, parameter.default))
            for name, parameter in self.parameters.items()
        }

    def is_read(self, name: str, values: Mapping[str, ParameterValue]) -> bool:
        """Return whether a parameter has an effect, where the others are as set or usual."""
        needed = self.parameters[name].only_with
        return needed is None or self.complete(values)[needed[0]] == needed[1]

    def colour_of(self, name: str) -> str | None:
        """The colour of the packets that a parameter is for; ``None`` where it is for all.

        Such parameters are three of a kind, as WRED has them: green_, yellow_ and red_.
        """
        colour, _, kind = name.partition("_")
        of_a_kind = all(f"{each}_{kind}" in self.parameters for each in COLOURS)
        return colour if colour in COLOURS and of_a_kind else None

    def check_order(self, values: Mapping[str, ParameterValue]) -> None:
        """Refuse values whose ordered pairs are in the wrong order, defaults included.

        Raises:
            FieldError: naming the second of the pair, or the first if only that was given.
        """
        complete = self.complete(values)
        for lower, upper in self.ordered:
            low, high = complete[lower], complete[upper]
            # A pair with an automatic member is the algorithm's own rule to order.
            if not isinstance(low, int | float) or not isinstance(high, int | float):
                continue
            if low >= high:
                if upper in values or lower not in values:
                    parameter, value = self.parameters[upper], high
                    other = f"above {lower}, which is {self.parameters[lower].readable(low)}"
                else:
                    parameter, value = self.parameters[lower], low
                    other = f"below {upper}, which is {self.parameters[upper].readable(high)}"
                raise FieldError(
                    parameter.name, parameter.readable(value), f"{parameter.dimension.name} {other}"
                )


@cache
def disciplines() -> dict[str, Algorithm]:
    """Every queue discipline of the core, by name."""
    from vermilion import _core

    return _tables(_core.disciplines())


@dataclass(frozen=True, slots=True)
class Scheduler:
    """A scheduler over the classes of a queue.

    Attributes:
        algorithm: its name, source and parameter table.
        of_classes: parameters that each of its classes has.
        classes: the most that it can have.
    """

    algorithm: Algorithm
    of_classes: Mapping[str, Parameter]
    classes: int


@cache
def schedulers() -> dict[str, Scheduler]:
    """Every scheduler of the core, by name."""
    from vermilion import _core

    found = {}
    for row in json.loads(_core.schedulers()):
        classes, of_classes = row.pop("classes"), map(_parameter, row.pop("of_classes"))
        table = table_of(row)
        found[table.name] = Scheduler(table, {each.name: each for each in of_classes}, classes)
    return found


@cache
def senders() -> dict[str, Algorithm]:
    """Every sender (congestion control) of the core, by name."""
    from vermilion import _core

    return _tables(_core.senders())


@cache
def rate_laws() -> dict[str, Algorithm]:
    """Every law that sets a shaper's rate, by name."""
    from vermilion import _core

    return _tables(_core.rate_laws())


def discipline(name: object) -> Algorithm:
    """The discipline of this name.

    Raises:
        FieldError: there is none.
    """
    return _find_algorithm("discipline", name, disciplines())


def sender(name: object, field: str = "congestion_control") -> Algorithm:
    """The sender of this name; ``field`` is where it was written, for the message.

    Raises:
        FieldError: there is none.
    """
    return _find_algorithm(field, name, senders())


def _find_algorithm(field: str, name: object, known: Mapping[str, Algorithm]) -> Algorithm:
    if isinstance(name, str):
        if name in known:
            return known[name]
        raise FieldError(field, name, accepted_algorithm(name, known))
    raise FieldError(field, name, one_of(known))


def _tables(text: str) -> dict[str, Algorithm]:
    return {row["name"]: table_of(row) for row in json.loads(text)}


def table_of(row: Mapping[str, Any]) -> Algorithm:
    """An algorithm from its description as JSON; one without option sets has none."""
    parameters = {entry["name"]: _parameter(entry) for entry in row["parameters"]}
    ordered = tuple((lower, upper) for lower, upper in row["ordered"])
    rest = {"option_sets": {}, **row, "parameters": parameters, "ordered": ordered}
    return Algorithm(**rest)


def _parameter(row: Mapping[str, Any]) -> Parameter:
    default = row["default"]
    if row["integer"] and default is not None:
        default = int(default)
    lists = {
        name: tuple(row[name])
        for name in ("search", "choices", "only_with")
        if row.get(name) is not None
    }
    return Parameter(**{**row, "default": default, **lists})
