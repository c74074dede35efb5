"""JSON of outcomes and of what a study keeps: written from dataclasses, read by pydantic."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, Final

from vermilion.simulate.statistics import Interval

_WHOLE: Final = frozenset({"parameters", "incumbent", "state"})
"""Keys under which ``None`` says something ("automatic") and stays."""


def pick(value: object, *names: str) -> dict[str, Any]:
    """Return these attributes by name; ``None`` for those that a value lacks."""
    return {name: getattr(value, name, None) for name in names}


def as_json(value: Any, *, whole: bool = False) -> Any:  # noqa: ANN401 - any JSON
    """Return the JSON form of dataclasses, intervals, tables and lists.

    A class with another form than its fields has a method ``to_data``.

    Args:
        value: of which there is a JSON form.
        whole: whether keys whose value is ``None`` stay; they do below "parameters", "incumbent"
            and "state".
    """
    if isinstance(value, Interval):
        value = pick(value, "mean", "low", "high", "count")
    elif hasattr(value, "to_data"):
        value = value.to_data()
    elif is_dataclass(value):
        value = pick(value, *(each.name for each in fields(value)))
    if isinstance(value, Mapping):
        return {
            key: as_json(entry, whole=whole or key in _WHOLE)
            for key, entry in value.items()
            if whole or entry is not None
        }
    if isinstance(value, list | tuple):
        return [as_json(entry, whole=whole) for entry in value]
    return value


def json_text(value: object, indent: int | None, *, whole: bool = False) -> str:
    """Return :func:`as_json` as strict JSON text."""
    return json.dumps(as_json(value, whole=whole), indent=indent, allow_nan=False)


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
