"""JSON documents: a class names the attributes that are its JSON form, and its schema follows.

>>> @document("name objective.best=comparison.best objective.unit?=unit")
... class Outcome: ...

``key`` is the attribute of that name, ``key=path`` the one at a dotted path (methods without
arguments are called), and ``object.key`` an entry of a nested object. ``key?`` is absent where
there is no value, ``key??`` also where it is empty or 0; other keys are ``null`` then. A nested
object without entries is absent.
"""

from __future__ import annotations

import ast
import inspect
import json
import sys
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from enum import Enum
from functools import cache, cached_property, reduce
from operator import or_
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Literal, NotRequired, TypeVar, Union, get_args, get_origin

from typing_extensions import TypedDict, get_type_hints

if TYPE_CHECKING:
    from collections.abc import Callable

_Class = TypeVar("_Class", bound=type)


@dataclass(frozen=True, slots=True)
class _Key:
    """A key, with its place among nested objects and that of its value among attributes."""

    place: tuple[str, ...]
    path: tuple[str, ...]
    absent: str
    functions: Mapping[str, Callable[[Any], Any]]

    @classmethod
    def parse(cls, text: str, functions: Mapping[str, Callable[[Any], Any]]) -> _Key:
        key, _, path = text.partition("=")
        place = key.rstrip("?")
        steps = (path or place).split(".")
        return cls(tuple(place.split(".")), tuple(steps), key[len(place) :], functions)

    def of(self, value: Any) -> Any:  # noqa: ANN401 - any attribute
        for name in self.path:
            if value is None:
                return None
            function = self.functions.get(name)
            value = getattr(value, name) if function is None else function(value)
            if isinstance(value, types.MethodType):
                value = value()
        return value

    def kind(self, of: Any) -> Any:  # noqa: ANN401 - any type
        for name in self.path:
            function = self.functions.get(name)
            of = _attribute_type(of, name) if function is None else _returned(function)
        return _without_none(of) if self.absent else of


_KEYS: dict[type, tuple[_Key, ...]] = {}
_WITH_NULLS: set[type] = set()


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
        _KEYS[of] = tuple(_Key.parse(name, known) for name in names)
        if nulls:
            _WITH_NULLS.add(of)
        return of

    return register


def package_version(_: object) -> str:
    """Version of Vermilion, for paths."""
    from vermilion import _core

    return _core.VERSION


def as_json(value: Any, *, nulls: bool = False) -> Any:  # noqa: ANN401 - any JSON
    """Return the JSON form of a document, of a table or list of them, or of a plain value."""
    if type(value) in _KEYS:
        return _as_object(value, nulls=nulls or type(value) in _WITH_NULLS)
    if isinstance(value, Mapping):
        return {key: as_json(entry, nulls=nulls) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(entry, nulls=nulls) for entry in value]
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, PurePath) else value


def _as_object(value: object, *, nulls: bool) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key in _KEYS[type(value)]:
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


def json_type(of: Any, *, nulls: bool = False) -> Any:  # noqa: ANN401 - of any type
    """Return the type of :func:`as_json` of values of a type, for pydantic."""
    if isinstance(of, type) and of in _KEYS:
        return _object_type(of, nulls=nulls or of in _WITH_NULLS)
    if isinstance(of, type) and issubclass(of, Enum | datetime | PurePath):
        return str
    origin = get_origin(of)
    if origin is None or origin is Literal:
        return of
    inner = [json_type(each, nulls=nulls) for each in get_args(of) if each is not ...]
    if origin in {Union, types.UnionType}:
        return reduce(or_, inner)
    if issubclass(origin, Mapping):
        return dict[inner[0], inner[1]]  # type: ignore[valid-type] # made here
    return list[reduce(or_, inner)]  # type: ignore[misc] # likewise


@cache
def _object_type(of: type, *, nulls: bool) -> Any:  # noqa: ANN401 - a TypedDict
    keys = _KEYS[of]
    if nulls:
        keys = tuple(replace(key, absent=key.absent if len(key.absent) > 1 else "") for key in keys)
    made = _typed_dict(of, of.__name__ + "WithNulls" * nulls, keys, 0, nulls=nulls)
    made.__doc__ = (inspect.getdoc(of) or "").partition("\n")[0]
    return made


def _typed_dict(of: type, name: str, keys: Sequence[_Key], depth: int, *, nulls: bool) -> Any:  # noqa: ANN401 - a TypedDict
    entries: dict[str, Any] = {}
    for first in dict.fromkeys(key.place[depth] for key in keys):
        inner = [key for key in keys if key.place[depth] == first]
        if len(inner[0].place) > depth + 1:
            kind = _typed_dict(of, f"{name}.{first}", inner, depth + 1, nulls=nulls)
        else:
            kind = json_type(inner[0].kind(of), nulls=nulls)
        entries[first] = NotRequired[kind] if all(key.absent for key in inner) else kind
    make: Any = TypedDict
    made = make(name, entries)
    made.__module__ = of.__module__
    return made


def _without_none(kind: Any) -> Any:  # noqa: ANN401 - of any type
    if get_origin(kind) not in {Union, types.UnionType}:
        return kind
    return reduce(or_, (each for each in get_args(kind) if each is not type(None)))


def _attribute_type(of: Any, name: str) -> Any:  # noqa: ANN401 - of any type
    of = _without_none(of)
    for base in of.__mro__:
        known = base.__dict__.get(name)
        stated = inspect.get_annotations(base).get(name)
        if stated is not None:
            return _resolved(stated, base.__module__)
        if isinstance(known, property | cached_property | types.FunctionType):
            return _returned(getattr(known, "fget", None) or getattr(known, "func", known))
    message = f"{of.__name__} has no attribute {name} whose type is known"
    raise TypeError(message)


def _returned(function: Any) -> Any:  # noqa: ANN401 - of any type
    return _resolved(function.__annotations__["return"], function.__module__)


def _resolved(stated: Any, module: str) -> Any:  # noqa: ANN401 - an annotation
    holder = types.SimpleNamespace(__annotations__={"it": stated})
    return get_type_hints(holder, _names(module))["it"]


@cache
def _names(module: str) -> dict[str, Any]:
    """Names of a module, with those that it imports for type checkers alone."""
    names = dict(vars(sys.modules[module]))
    for node in ast.parse(inspect.getsource(sys.modules[module])).body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            body = ast.Module(node.body, type_ignores=[])
            exec(compile(body, module, "exec"), names)  # noqa: S102 - the module's own imports
    return names
