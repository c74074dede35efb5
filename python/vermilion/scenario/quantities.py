"""Quantities with units: ``"10 Mbit/s"``, ``"28 ms"``, ``"100 packets"``, ``"0 s .. 1 s"``.

Every quantity is held in one SI unit: seconds, bit/s, bytes, packets, or a plain ratio.
The usual units are read from a table, because loading a scenario should take milliseconds;
only a unit that is not in it (``"2 hours"``, ``"3 kibibytes"``) makes pint be imported. The
spellings of Linux's ``tc`` are among them (:mod:`vermilion.scenario.quantities`).
"""

from __future__ import annotations

import math
import operator
import re
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any, Final, TypeGuard

from vermilion.scenario.errors import FieldError

if TYPE_CHECKING:
    from collections.abc import Mapping

if TYPE_CHECKING:
    from collections.abc import Mapping

    Sizes = Mapping[str, tuple[float, float]]
    Readings = Mapping[str, tuple[str, str]]

_RATE_PREFIXES: Final = ("", "k", "m", "g", "t")
_SIZE_PREFIXES: Final = ("k", "m", "g")
_SI: Final = {"": "", "k": "k", "m": "M", "g": "G", "t": "T"}
_IEC: Final = {"k": "Ki", "m": "Mi", "g": "Gi", "t": "Ti"}


def _case_variants(spelling: str) -> list[str]:
    return ["".join(letters) for letters in product(*({c.lower(), c.upper()} for c in spelling))]


TC_RATES: Final[Sizes] = {
    spelling: (base**power, 1.0)
    for power, prefix in enumerate(_RATE_PREFIXES)
    for infix, base in (("", 1e3), ("i", 1024.0))[: 2 if prefix else 1]
    for spelling in _case_variants(f"{prefix}{infix}bit")
}
"""The size of each in bit/s, as a fraction: numerator, denominator."""

TC_SIZES: Final[Sizes] = {
    "b": (1.0, 1.0),
    **{
        spelling: (1024.0**power, 1.0)
        for power, prefix in enumerate(_SIZE_PREFIXES, 1)
        # Not in capitals throughout: MB is a million bytes.
        for spelling in (f"{prefix}b", f"{prefix.upper()}b", prefix, prefix.upper())
    },
}
"""The same in bytes."""

TC_TIMES: Final[Sizes] = {
    f"{prefix}{unit}": (1.0, denominator)
    for prefix, denominator in (("", 1.0), ("m", 1e3), ("u", 1e6), ("n", 1e9))
    for unit in ("s", "sec", "secs")
}
"""The same in seconds."""

TC_DOUBTFUL_RATES: Final[Readings] = {
    spelling: (f"{si}B/s", f"{si}bit/s")
    for prefix in _RATE_PREFIXES
    for infix, si in (("", _SI[prefix]), ("i", _IEC.get(prefix, "")))[: 2 if prefix else 1]
    for spelling in _case_variants(f"{prefix}{infix}bps")
}
"""What ``tc`` takes spellings for, and what others do, each as it may be written here."""

TC_DOUBTFUL_SIZES: Final[Readings] = {
    spelling: (f"{_IEC[prefix]}{unit}", f"{_SI[prefix]}{unit}")
    for prefix in _SIZE_PREFIXES
    for unit in ("B", "bit")
    for spelling in _case_variants(f"{prefix}{unit}")
}
"""The same of sizes."""


def whole_number(value: object) -> int | None:
    """Convert a whole number of any type to ``int``; ``None`` for anything else."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        return None
    try:
        return operator.index(value)
    except TypeError:  # an array of several
        return None


def how_many(count: float, noun: str, several: str = "", *, grouped: bool = False) -> str:
    """The count and the noun, in the singular for one.

    Args:
        count: of the things; a target of 12.5 packets is one, too.
        noun: for one of them.
        several: for more than one, or none; the noun with an "s" unless given.
        grouped: whether large numbers have commas.
    """
    shown = f"{count:g}" if isinstance(count, float) else f"{count:,}" if grouped else str(count)
    return f"{shown} {noun if count == 1 else several or f'{noun}s'}"


@dataclass(frozen=True, slots=True)
class Dimension:
    """A kind of quantity.

    Attributes:
        name: with its article, as it appears in messages: "a rate".
        unit: the unit in which its values are held ("" for a plain number).
        example: a value as a user would write it.
        units: the usual spellings, each with its size as a fraction (numerator,
            denominator) of ``unit``. Dividing by a power of ten is correctly rounded where
            multiplying by its inverse is not: 28 / 1000 is the double nearest to 0.028.
        doubtful: spellings that two readers take for different units, and both of these; they are
            refused where ``units`` does not have them.
    """

    name: str
    unit: str
    example: str
    units: Mapping[str, tuple[float, float]]
    doubtful: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    def __hash__(self) -> int:
        return hash(self.name)


def _with_prefixes(unit: str, prefixes: str) -> dict[str, tuple[float, float]]:
    sizes = {
        "n": (1.0, 1e9), "µ": (1.0, 1e6), "u": (1.0, 1e6), "m": (1.0, 1e3), "-": (1.0, 1.0),
        "k": (1e3, 1.0), "M": (1e6, 1.0), "G": (1e9, 1.0), "T": (1e12, 1.0),
    }  # fmt: skip
    return {f"{prefix.strip('-')}{unit}": sizes[prefix] for prefix in prefixes}


def _bytes_per_second() -> dict[str, tuple[float, float]]:
    return {
        unit: (8.0 * numerator, denominator)
        for unit, (numerator, denominator) in _with_prefixes("B/s", "-kMGT").items()
    }


TIME: Final = Dimension(
    "a time",
    "s",
    "28 ms",
    {
        **TC_TIMES,
        **_with_prefixes("s", "nµum-"),
        "second": (1.0, 1.0),
        "seconds": (1.0, 1.0),
        "min": (60.0, 1.0),
    },
)
RATE: Final = Dimension(
    "a rate",
    "bit/s",
    "10 Mbit/s",
    {
        **TC_RATES,
        **_with_prefixes("bit/s", "-kMGT"),
        **_with_prefixes("bits/s", "-kMGT"),
        **_with_prefixes("bps", "-kMGT"),
        **_with_prefixes("b/s", "-kMGT"),
        **_bytes_per_second(),
    },
    TC_DOUBTFUL_RATES,
)
PACKETS: Final = Dimension(
    "a number of packets",
    "packets",
    "100 packets",
    {"packets": (1.0, 1.0), "packet": (1.0, 1.0), "p": (1.0, 1.0)},
)
SIZE: Final = Dimension(
    "a size",
    "bytes",
    "1000 bytes",
    {
        **TC_SIZES,
        "bytes": (1.0, 1.0),
        "byte": (1.0, 1.0),
        **_with_prefixes("B", "-kMG"),
        "KiB": (1024.0, 1.0),
        "MiB": (1024.0**2, 1.0),
        "GiB": (1024.0**3, 1.0),
        "bit": (1.0, 8.0),
        "kbit": (1e3, 8.0),
        "Mbit": (1e6, 8.0),
        "Gbit": (1e9, 8.0),
    },
    TC_DOUBTFUL_SIZES,
)
RATIO: Final = Dimension("a number", "", "0.1", {"": (1.0, 1.0), "%": (1.0, 100.0)})

_QUANTITY = re.compile(
    r"\s*(?P<number>[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    r"\s*(?P<unit>[A-Za-zµ%][A-Za-zµ /*]{0,30})?\s*"
)
_LONGEST_QUANTITY: Final = 100
"""Characters; what is longer is no quantity and is not looked at."""


class QuantityError(FieldError):
    """A value that is not the quantity that was expected."""

    def __init__(self, value: object, accepted: str) -> None:
        super().__init__("", value, accepted)
        self.args = (value, accepted)


@dataclass(frozen=True, slots=True)
class Quantity:
    """Accepted values of a numeric field: a dimension and a range, in the dimension's unit.

    Attributes:
        dimension: the kind of quantity.
        minimum: smallest value accepted; ``None`` for no bound.
        maximum: largest value accepted; ``None`` for no bound.
        minimum_excluded: whether the smallest value itself is refused.
        integer: whether only whole numbers are accepted.
    """

    dimension: Dimension
    minimum: float | None = 0.0
    maximum: float | None = None
    minimum_excluded: bool = False
    integer: bool = False

    def accepted(self) -> str:
        """Accepted values: ``a rate from 1 bit/s to 10 Tbit/s, like "10 Mbit/s"``."""
        name = self.dimension.name
        if self.integer:
            name = "a whole number" if self.dimension is RATIO else f"{name} (whole)"
        bounds = ""
        if self.minimum is not None:
            low = format_quantity(self.minimum, self.dimension)
            bounds = f" above {low}" if self.minimum_excluded else f" from {low}"
        if self.maximum is not None:
            high = format_quantity(self.maximum, self.dimension)
            bounds += f" up to {high}" if not bounds or self.minimum_excluded else f" to {high}"
        if self.dimension is RATIO:
            return f"{name}{bounds}"
        return f'{name}{bounds}, like "{self.dimension.example}"'

    def parse(self, value: object) -> float | int:
        """The number that ``value`` stands for, in the dimension's unit.

        Raises:
            QuantityError: not a quantity of this dimension, or outside the range.
        """
        number = _number(value, self.dimension)
        if number is None or not self._contains(number):
            raise QuantityError(value, f"{self.accepted()}{self.doubt(value)}")
        return int(number) if self.integer else number

    def doubt(self, value: object) -> str:
        """Remark on the unit of ``value``, if it has two readings; else ""."""
        match = _QUANTITY.fullmatch(value) if _may_be_quantity(value) else None
        unit = "" if match is None else (match["unit"] or "").strip()
        if match is None or unit in self.dimension.units or unit not in self.dimension.doubtful:
            return ""
        readings = self.dimension.doubtful[unit]
        written = " or ".join(f'"{match["number"]} {reading}"' for reading in readings)
        return f' (tc reads "{unit}" as {readings[0]}, others as {readings[1]}: write {written})'

    def parse_range(self, value: object) -> tuple[float, float]:
        """The two ends of ``"20 s .. 21 s"``; a single quantity is a range without width.

        Raises:
            QuantityError: not a range, an end that is not accepted, or ends in the wrong order.
        """
        ends = value.split("..") if isinstance(value, str) else [value]
        if len(ends) > 2:  # noqa: PLR2004 - a range has two ends
            raise QuantityError(value, self.accepted_range())
        try:
            first, last = self.parse(ends[0]), self.parse(ends[-1])
        except QuantityError:
            doubt = next(filter(None, map(self.doubt, ends)), "")
            raise QuantityError(value, f"{self.accepted_range()}{doubt}") from None
        if first > last:
            raise QuantityError(value, f"{self.accepted_range()}, the earlier end first")
        return float(first), float(last)

    def accepted_range(self) -> str:
        """Description of the accepted values where a range may stand."""
        unit = self.dimension.unit
        return f'{self.accepted()}, or a range like "0 {unit} .. 1 {unit}"'

    def _contains(self, number: float) -> bool:
        if not math.isfinite(number) or (self.integer and number != math.floor(number)):
            return False
        if self.maximum is not None and number > self.maximum:
            return False
        if self.minimum is None:
            return True
        return number > self.minimum or (number == self.minimum and not self.minimum_excluded)

    def __get_pydantic_core_schema__(self, source: object, handler: object) -> Any:  # noqa: ANN401 - pydantic's own signature
        """Let a pydantic model say ``Annotated[float, Quantity(TIME)]``."""
        from pydantic_core import core_schema

        return core_schema.no_info_plain_validator_function(self.parse)


@dataclass(frozen=True, slots=True)
class QuantityRange:
    """Accepted values of a field drawn uniformly from a range: two ends, each a quantity."""

    end: Quantity

    @property
    def dimension(self) -> Dimension:
        """The kind of quantity at its ends."""
        return self.end.dimension

    def accepted(self) -> str:
        """Description of the accepted values."""
        return self.end.accepted_range()

    def __get_pydantic_core_schema__(self, source: object, handler: object) -> Any:  # noqa: ANN401 - pydantic's own signature
        """Let a pydantic model say ``Annotated[tuple[float, float], QuantityRange(...)]``."""
        from pydantic_core import core_schema

        return core_schema.no_info_plain_validator_function(self.end.parse_range)


def parse_quantity(value: object, dimension: Dimension) -> float:
    """A quantity of any sign in the dimension's unit: ``parse_quantity("28 ms", TIME)`` is 0.028.

    Raises:
        QuantityError: not a finite quantity of this dimension.
    """
    return float(Quantity(dimension, minimum=None).parse(value))


def format_quantity(value: float, dimension: Dimension) -> str:
    """A quantity as a person would write it: ``format_quantity(0.028, TIME)`` is "28 ms"."""
    if dimension is RATIO:
        return number_text(value)
    if dimension in {PACKETS, SIZE} and value == 1:
        return f"1 {dimension.unit.removesuffix('s')}"
    if dimension in {PACKETS, SIZE} or value == 0:
        return f"{number_text(value)} {dimension.unit}"
    if dimension is TIME:
        scales = [(1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")]
    else:
        scales = [
            (1e12, "Tbit/s"), (1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s"),
        ]  # fmt: skip
    for size, unit in scales:
        if abs(value) >= size:
            return f"{number_text(value / size)} {unit}"
    size, unit = scales[-1]
    return f"{number_text(value / size)} {unit}"


def number_text(value: float) -> str:
    """Six significant digits; whole numbers in full up to 15 digits."""
    if float(value).is_integer() and abs(value) < 1e15:  # noqa: PLR2004 - exact in a double
        return str(int(value))
    return f"{value:.6g}"


def exact_text(value: float, dimension: Dimension) -> str:
    """A quantity that reads back as the same number, bit for bit."""
    number = repr(int(value)) if isinstance(value, int) else repr(float(value))
    return f"{number} {dimension.unit}".strip()


def _number(value: object, dimension: Dimension) -> float | None:
    """Number in the dimension's unit; ``None`` where ``value`` is no such quantity."""
    if isinstance(value, str):
        return _number_in(value, dimension)
    # A bare number says nothing about its unit, so only what has none may be one.
    if dimension is not RATIO or isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def _may_be_quantity(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and len(value) <= _LONGEST_QUANTITY


def _number_in(text: str, dimension: Dimension) -> float | None:
    if not _may_be_quantity(text):
        return None
    # Keyboards have the micro sign or the Greek letter, and eyes cannot tell them apart.
    match = _QUANTITY.fullmatch(text.replace("\N{GREEK SMALL LETTER MU}", "\N{MICRO SIGN}"))
    size = _unit_size((match["unit"] or "").strip(), dimension) if match else None
    if match is None or size is None:
        return None
    numerator, denominator = size
    return float(match["number"]) * numerator / denominator


def _unit_size(unit: str, dimension: Dimension) -> tuple[float, float] | None:
    known = dimension.units.get(unit)
    if known is not None or not unit or dimension in {PACKETS, RATIO}:
        return known
    return _unusual_unit_size(unit, dimension)


@cache
def _unusual_unit_size(unit: str, dimension: Dimension) -> tuple[float, float] | None:
    """Size of a unit that only pint knows, such as "hours" or "kibibyte / second"."""
    registry = _pint_registry()
    try:
        units = registry.parse_units(unit)
        if not _is_of_dimension(registry, units, dimension):
            return None
        size = float(registry.Quantity(1.0, units).to(dimension.unit).magnitude)
    except Exception:  # noqa: BLE001 - whatever pint makes of it, it is not a unit we know
        return None
    return (size, 1.0)


def _is_of_dimension(registry: Any, units: Any, dimension: Dimension) -> bool:  # noqa: ANN401 - pint is imported late, and its types with it
    """Return whether the unit is spelled from the right parts.

    pint's bit is dimensionless, so that hertz and radians convert to bit/s; and its milli-bit,
    which nobody means by "10 mbit/s", differs from the mega-bit by a factor of a thousand
    million. Both are refused here.
    """
    parts = {name: int(power) for name, power in dict(units._units).items()}  # noqa: SLF001 - pint has no public name for the parts of a unit
    data = {name for name in parts if name.endswith(("bit", "byte", "octet"))}
    if any(name.startswith(("milli", "micro", "nano", "pico")) for name in data):
        return False
    times = {name for name in parts if str(registry.Unit(name).dimensionality) == "[time]"}
    if len(data) + len(times) != len(parts):
        return False
    wanted = {TIME: ([], [1]), SIZE: ([1], []), RATE: ([1], [-1])}[dimension]
    return ([parts[name] for name in data], [parts[name] for name in times]) == wanted


@cache
def _pint_registry() -> Any:  # noqa: ANN401 - pint is imported late, and its types with it
    import pint

    return pint.UnitRegistry(cache_folder=None)


_DISPLAY_UNITS: Final[Mapping[str, tuple[str, float]]] = {
    "seconds": ("ms", 1e3),
    "bit/s": ("Mbit/s", 1e-6),
    "probability": ("", 1.0),
    "1": ("", 1.0),
}


def shown_unit(unit: str) -> tuple[str, float]:
    """The unit to be shown for one of the parameter tables, and the factor that leads to it.

    >>> shown_unit("seconds"), shown_unit("packets"), shown_unit("1")
    (('ms', 1000.0), ('packets', 1.0), ('', 1.0))
    """
    return _DISPLAY_UNITS.get(unit, (unit, 1.0))


def with_shown_unit(name: str, unit: str) -> str:
    """A name with the unit that is shown, as a heading or a label: "target (ms)"."""
    shown, _ = shown_unit(unit)
    return f"{name} ({shown})" if shown else name
