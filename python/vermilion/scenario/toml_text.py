"""A scenario's document as TOML text: what was run, overrides included, ready to be saved.

Python reads TOML but does not write it. This writes what scenarios hold: tables, lists of
tables, texts, numbers, switches and lists of these.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_WIDEST_INLINE_TABLE = 88


def toml_text(document: Mapping[str, Any]) -> str:
    """The document as TOML; reading the text gives the document back."""
    return "\n".join(_table(document, ())).strip("\n") + "\n"


def _table(table: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[str]:
    """A table's own keys first, then the tables inside it, each under its header."""
    headed = {key for key, value in table.items() if _has_header(value, table, path)}
    for key, value in table.items():
        if key not in headed:
            yield f"{_key(key)} = {_value(value)}"
    for key in (key for key in table if key in headed):
        below = (*path, key)
        name = ".".join(map(_key, below))
        value = table[key]
        if isinstance(value, list):
            for entry in value:
                yield from ("", f"[[{name}]]", *_table(entry, below))
        else:
            # A table that only holds tables, like `links`, is implied by their headers.
            if not value or not all(_has_header(entry, value, below) for entry in value.values()):
                yield from ("", f"[{name}]")
            yield from _table(value, below)


def _has_header(value: object, parent: Mapping[str, Any], path: tuple[str, ...]) -> bool:
    """Whether a value stands under a header of its own rather than on its key's line.

    Lists of tables and named tables (those among nothing but tables) always do; of the
    others, those that are too wide for a line.
    """
    if isinstance(value, list):
        return not path and bool(value) and all(isinstance(entry, dict) for entry in value)
    if not isinstance(value, dict):
        return False
    if not path or (len(path) == 1 and all(isinstance(entry, dict) for entry in parent.values())):
        return True
    return len(_value(value)) > _WIDEST_INLINE_TABLE


def _key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else _text(key)


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, dict):
        entries = ", ".join(f"{_key(key)} = {_value(entry)}" for key, entry in value.items())
        return f"{{ {entries} }}" if entries else "{}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_value, value)) + "]"
    return str(value)  # integers, floats and dates look alike in Python and TOML


def _text(text: str) -> str:
    # JSON's escapes are a subset of TOML's, except that TOML also refuses a bare DEL.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
