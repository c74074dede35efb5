"""JSON documents: a class names the attributes that are its JSON form, and its schema follows.

>>> @document("name objective.best=comparison.best objective.unit?=unit")
... class Outcome: ...

``key`` is the attribute of that name, ``key=path`` the one at a dotted path (methods without
arguments are called), and ``object.key`` an entry of a nested object. ``key?`` is absent where
there is no value, ``key??`` also where it is empty or 0; other keys are ``null`` then. A nested
object without entries is absent.
"""

from __future__ import annotations

import json
import types
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from enum import Enum
from functools import cache
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

_Class = TypeVar("_Class", bound=type)


@dataclass(frozen=True, slots=True)
class Key:
    """A key, with its place among nested objects and that of its value among attributes."""

    place: tuple[str, ...]
    path: tuple[str, ...]
    absent: str
    functions: Mapping[str, Callable[[Any], Any]]

    @classmethod
    def parse(cls, text: str, functions: Mapping[str, Callable[[Any], Any]]) -> Key:
        """Read the text of a key."""
        key, _, path = text.partition("=")
        place = key.rstrip("?")
        steps = (path or place).split(".")
        return cls(tuple(place.split(".")), tuple(steps), key[len(place) :], functions)

    def of(self, value: Any) -> Any:  # noqa: ANN401 - any attribute
        """Return what a value has there."""
        for name in self.path:
            if value is None:
                return None
            function = self.functions.get(name)
            value = getattr(value, name) if function is None else function(value)
            if isinstance(value, types.MethodType):
                value = value()
        return value


KEYS: Final[dict[type, tuple[Key, ...]]] = {}
WITH_NULLS: Final[set[type]] = set()


def document(
    keys: str = "", *functions: Callable[[Any], Any], nulls: bool = False
) -> Callable[[_Class], _Class]:
    """Give a class a JSON form.

    Args:
        keys: as above, with blanks between; by default the fields of the dataclass.
        functions: that paths may name in place of attributes.
        nulls: whether ``key?`` is ``null`` all the same, here and in all documents below.
    """

    def register(of: _Class) -> _Class:
        names = keys.split() or [each.name for each in fields(of)]
        known = {each.__name__: each for each in functions}
        KEYS[of] = tuple(Key.parse(name, known) for name in names)
        if nulls:
            WITH_NULLS.add(of)
        return of

    return register


def package_version(_: object) -> str:
    """Version of Vermilion, for paths."""
    from vermilion import _core

    return _core.VERSION


def as_json(value: Any, *, nulls: bool = False) -> Any:  # noqa: ANN401 - any JSON
    """Return the JSON form of a document, of a table or list of them, or of a plain value."""
    if type(value) in KEYS:
        return _as_object(value, nulls=nulls or type(value) in WITH_NULLS)
    if isinstance(value, Mapping):
        return {key: as_json(entry, nulls=nulls) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(entry, nulls=nulls) for entry in value]
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, PurePath) else value


def _as_object(value: object, *, nulls: bool) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key in KEYS[type(value)]:
        entry = key.of(value)
        if (not entry) if key.absent == "??" else (entry is None and key.absent and not nulls):
            continue
        *parents, last = key.place
        place = found
        for parent in parents:
            place = place.setdefault(parent, {})
        place[last] = as_json(entry, nulls=nulls)
    return found


def json_text(value: object, indent: int | None = 2) -> str:
    """Return :func:`as_json` as strict JSON text."""
    return json.dumps(as_json(value), indent=indent, allow_nan=False)


def read_as(kind: Any, text: str) -> Any:  # noqa: ANN401 - the type says what
    """Read JSON text of a type, such as a dataclass.

    Raises:
        ValueError: it is of something else.
    """
    from pydantic import ValidationError

    try:
        return _adapter(kind).validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        message = f"{where}: {first['msg']}" if where else str(first["msg"])
        raise ValueError(message) from None


@cache
def _adapter(kind: Any) -> Any:  # noqa: ANN401 - of any type
    from pydantic import TypeAdapter

    return TypeAdapter(kind)
