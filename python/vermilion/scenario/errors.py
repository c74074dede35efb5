"""Errors of scenarios: the field, the value given, the values accepted."""

from __future__ import annotations

import ast
import codecs
import contextlib
import datetime as dt
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final
from unicodedata import category

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LONGEST_VALUE: Final = 80
"""Characters of a refused value that are shown; more would hide the message."""


LONGEST_FIELD: Final = 200
"""Characters of a field's path that are shown."""

MOST_NAMES: Final = 30
"""Alternatives that are listed."""

LONGEST_INTEGER_BITS: Final = 256
"""Longer integers are not shown: Python itself refuses to print very long ones."""


class _Missing:
    """Value of a field that is absent."""

    def __repr__(self) -> str:
        return "MISSING"

    def __reduce__(self) -> str:
        return "MISSING"


MISSING: Final = _Missing()


class FieldError(ValueError):
    """A value refused while its place in the scenario is still partly unknown.

    Attributes:
        field: the path below the place where it is raised ("" for that place itself).
        value: what was given, or ``MISSING``.
        accepted: what would be accepted, in words that follow "expected".
    """

    def __init__(self, field: str, value: object, accepted: str) -> None:
        super().__init__(field, value, accepted)
        self.field = field
        self.value = value
        self.accepted = accepted

    def __str__(self) -> str:
        return describe(self.field, self.value, self.accepted)

    def at(self, origin: str) -> ScenarioError:
        """The same error once the scenario is known by name."""
        return ScenarioError(self.field, self.value, self.accepted, origin)

    def under(self, prefix: str) -> FieldError:
        """The same error one level further up."""
        field = f"{prefix}.{self.field}" if self.field else prefix
        return FieldError(field, self.value, self.accepted)


class ScenarioError(ValueError):
    """A scenario that cannot be used; ``str()`` is the one message a user sees.

    Attributes:
        field: dotted path of the field, like ``links.bottleneck.rate``; "" where the
            scenario as a whole is meant.
        value: what was given, or ``MISSING``.
        accepted: what would be accepted, in words that follow "expected".
        origin: the file or the name of the scenario.
    """

    def __init__(self, field: str, value: object, accepted: str, origin: str = "") -> None:
        super().__init__(field, value, accepted, origin)
        self.field = field
        self.value = value
        self.accepted = accepted
        self.origin = origin

    def __str__(self) -> str:
        message = describe(self.field, self.value, self.accepted)
        return f"{printable(self.origin)}: {message}" if self.origin else message


@contextlib.contextmanager
def errors_under(prefix: str) -> Iterator[None]:
    """Put the field errors of a block one level further up."""
    try:
        yield
    except FieldError as error:
        raise error.under(prefix) from None


@contextlib.contextmanager
def errors_of(origin: str) -> Iterator[None]:
    """Name the scenario in the field errors of a block."""
    try:
        yield
    except FieldError as error:
        raise error.at(origin) from None


class PluginError(RuntimeError):
    """Failure of a user's own class or function, which ended a run.

    ``str()`` is one line: what of it, when, what and where. The error itself is the cause.
    """


class DisciplineError(PluginError):
    """A discipline written in Python failed and ended a run."""


class CongestionControlError(PluginError):
    """A congestion control written in Python failed and ended a run."""


class PacketPredicateError(PluginError):
    """A condition on packets written in Python failed and ended a run."""


def from_core(error: ValueError, origin: str) -> ScenarioError:
    """Convert an error of the core, whose ``args`` are field, value and accepted values."""
    field, value, accepted = error.args
    with contextlib.suppress(ValueError, SyntaxError):
        # The core quotes texts, and so does the message.
        value = ast.literal_eval(value)
    return ScenarioError(field, value, accepted, origin)


def not_text(content: bytes, error: UnicodeDecodeError) -> str:
    """Reason why a file is no text, as the end of a sentence that begins with its name."""
    # A byte order mark is no part of what is decoded, and so of no position in it.
    mark = len(codecs.BOM_UTF8) if content.startswith(codecs.BOM_UTF8) else 0
    at = error.start + mark
    return f"byte 0x{content[at]:02x} at position {at} is not UTF-8"


def describe(field: str, value: object, accepted: str) -> str:
    """Return one line with the value refused and the values accepted."""
    if len(field) > LONGEST_FIELD:
        field = f"{field[: LONGEST_FIELD - 3]}..."
    if not field:
        message = f"{value}; expected {accepted}"
    elif value is MISSING:
        message = f"{field} is missing; expected {accepted}"
    else:
        message = f"{field}: {value_text(value)} is not accepted; expected {accepted}"
    return printable(message)


def value_text(value: object) -> str:
    """A refused value as TOML would spell it, shortened."""
    text = _toml_text(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 3]}..."


def printable(text: str) -> str:
    """Make a text safe for one line of a terminal: control characters become "?"."""
    return "".join(
        character if character.isprintable() or category(character) == "Zs" else "?"
        for character in text
    )


def _toml_text(value: object) -> str:
    match value:
        case str():
            text = f'"{value[:LONGEST_VALUE]}{"..." if len(value) > LONGEST_VALUE else ""}"'
        case None:
            text = "none"
        case bool():
            text = "true" if value else "false"
        case int() if value.bit_length() > LONGEST_INTEGER_BITS:
            text = f"a whole number of {value.bit_length()} bits"
        case int() | float():
            text = repr(value)
        case dt.date() | dt.time():
            text = value.isoformat()
        case dict():
            text = "a table"
        case list() | tuple():
            text = "a list" if value else "[]"
        case _:
            text = type(value).__name__
    return text


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """List the accepted names, the likeliest first or in question: ``one of "rate", "delay"``."""
    names = list(known)
    return f"{one_of(names)}{likeliest(given, names)}"


def likeliest(given: str, known: Iterable[str]) -> str:
    """Suggest the most similar name: `` (did you mean "rate"?)``; "" if none is near."""
    close = get_close_matches(given[:LONGEST_FIELD], list(known), n=1, cutoff=0.6)
    return f' (did you mean "{close[0]}"?)' if close else ""


def one_of(names: Iterable[str]) -> str:
    """The alternatives in words."""
    listed = [f'"{name}"' for name in names]
    if not listed:
        return "nothing: there is none"
    if len(listed) > MOST_NAMES:
        listed[MOST_NAMES:] = [f"... ({len(listed) - MOST_NAMES} more)"]
    return listed[0] if len(listed) == 1 else f"one of {', '.join(listed)}"
