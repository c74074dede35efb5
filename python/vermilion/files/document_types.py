"""Types of JSON documents, from the annotations of what their keys name."""

from __future__ import annotations

import ast
import inspect
import types
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from enum import Enum
from functools import cache, cached_property, reduce
from importlib import import_module
from operator import or_
from pathlib import PurePath
from typing import Any, ClassVar, Literal, NotRequired, Union, get_args, get_origin

from typing_extensions import TypedDict, get_type_hints

from vermilion.files.document import KEYS, WITH_NULLS, Key


def json_type(of: Any, *, nulls: bool = False) -> Any:  # noqa: ANN401 - of any type
    """Return the type of :func:`as_json` of values of a type, for pydantic."""
    if isinstance(of, type) and of in KEYS:
        return _object_type(of, nulls=nulls or of in WITH_NULLS)
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
    keys = KEYS[of]
    if nulls:
        keys = tuple(replace(key, absent=key.absent if len(key.absent) > 1 else "") for key in keys)
    made = _typed_dict(of, of.__name__ + "WithNulls" * nulls, keys, 0, nulls=nulls)
    made.__doc__ = (inspect.getdoc(of) or "").partition("\n")[0]
    return made


def _typed_dict(of: type, name: str, keys: Sequence[Key], depth: int, *, nulls: bool) -> Any:  # noqa: ANN401 - a TypedDict
    entries: dict[str, Any] = {}
    for first in dict.fromkeys(key.place[depth] for key in keys):
        inner = [key for key in keys if key.place[depth] == first]
        if len(inner[0].place) > depth + 1:
            kind = _typed_dict(of, f"{name}.{first}", inner, depth + 1, nulls=nulls)
        else:
            kind = json_type(_key_type(inner[0], of), nulls=nulls)
        entries[first] = NotRequired[kind] if all(key.absent for key in inner) else kind
    make: Any = TypedDict
    made = make(name, entries)
    made.__module__ = of.__module__
    return made


def _without_none(kind: Any) -> Any:  # noqa: ANN401 - of any type
    if get_origin(kind) not in {Union, types.UnionType}:
        return kind
    return reduce(or_, (each for each in get_args(kind) if each is not type(None)))


def _key_type(key: Key, of: Any) -> Any:  # noqa: ANN401 - any type
    for name in key.path:
        function = key.functions.get(name)
        of = _attribute_type(of, name) if function is None else _returned(function)
    return _without_none(of) if key.absent else of


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
    holder = type("Holder", (), {"__annotations__": {"it": stated}})
    kind: Any = get_type_hints(holder, localns=_Names(module))["it"]
    return get_args(kind)[0] if get_origin(kind) is ClassVar else kind


class _Names(dict[str, Any]):
    """Names of a module, with those that it imports for type checkers alone."""

    def __init__(self, module: str) -> None:
        super().__init__(vars(import_module(module)))

    def __missing__(self, name: str) -> Any:  # noqa: ANN401 - of any type
        module, original = _imports(self["__name__"])[name]
        return _Names(module)[original]


@cache
def _imports(module: str) -> dict[str, tuple[str, str]]:
    """Module and name there of each name that a module imports."""
    nodes = ast.walk(ast.parse(inspect.getsource(import_module(module))))
    found = [each for each in nodes if isinstance(each, ast.ImportFrom) and each.module]
    return {
        alias.asname or alias.name: (str(each.module), alias.name)
        for each in found
        for alias in each.names
    }
