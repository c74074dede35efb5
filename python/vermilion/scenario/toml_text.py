"""TOML in and out: documents from text that may be hostile, and text from documents."""

from __future__ import annotations

import json
import re
import tomllib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MOST_KEY_PARTS: Final = 32
"""Parts of a dotted key. The parser's time grows with the square of their number."""

_LONGEST_PROBLEM: Final = 200
_LONGEST_LINE_WITH_A_HINT: Final = 1000
"""Characters. The time of the search for a unit grows with the square of their number."""

_TOKEN: Final = re.compile(
    r"""
    "{3} (?: [^"\\]++ | \\. | "{1,2}(?!") )*+ (?: "{3,5} )?
    | '{3} (?: [^']++ | '{1,2}(?!') )*+ (?: '{3,5} )?
    | \#[^\n]*+
    | (?P<part> "(?:[^"\\\n]++|\\.)*+"? | '[^'\n]*+'? | [\w+-]++ )
    | (?P<dot> [ \t]*+\.[ \t]*+ )
    """,
    re.DOTALL | re.VERBOSE,
)
_LINE: Final = re.compile(r"\(at line (\d+), column \d+\)$")
_UNQUOTED_QUANTITY: Final = re.compile(
    r"(?P<key>[\w.-]+)\s*=\s*(?P<value>[-+]?\d[\d_.]*\s*(?:[A-Za-z][\w/^]*|%))\s*(?:[,}#]|$)"
)
_BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")
_WIDEST_INLINE_TABLE: Final = 88


class TomlError(ValueError):
    """Text that is not TOML, or none that anybody needs; ``str()`` says why, on one line."""


def parse_toml(text: str) -> dict[str, Any]:
    """Parse TOML in a time that grows with the length of the text.

    Raises:
        TomlError: it is no TOML, nested too deeply, or has a key of more than 32 parts.
    """
    _check_keys(text)
    try:
        return tomllib.loads(text)
    except RecursionError:
        problem = "it is nested too deeply"
    except tomllib.TOMLDecodeError as error:
        words = " ".join(str(error).split())
        words = words.replace("Cannot overwrite a value", "a key is there twice")
        problem = f"{words[:_LONGEST_PROBLEM]}{_hint(words, text)}"
    except ValueError:  # integers of 5000 digits
        problem = "a number of too many digits"
    raise TomlError(problem)


def _check_keys(text: str) -> None:
    """Refuse dotted keys of very many parts, which no line of few dots can have."""
    if all(line.count(".") < MOST_KEY_PARTS for line in text.split("\n")):
        return
    parts, begin, end, dotted = 0, 0, -1, False
    for token in _TOKEN.finditer(text):
        follows = token.start() == end
        if token["part"] is not None:
            parts = parts + 1 if dotted and follows else 1
            begin = begin if parts > 1 else token.start()
            if parts > MOST_KEY_PARTS:
                line = text.count("\n", 0, begin) + 1
                key = f'the key "{text[begin : begin + 20]}..." at line {line}'
                problem = f"{key} has more than the {MOST_KEY_PARTS} parts that are accepted"
                raise TomlError(problem)
        dotted = token["dot"] is not None and follows
        end = token.end()


def _hint(words: str, text: str) -> str:
    """Suggest quotes around a number with a unit on the line that the parser complains of."""
    place = _LINE.search(words)
    lines = text.splitlines()
    if place is None or int(place[1]) > len(lines):
        return ""
    line = lines[int(place[1]) - 1]
    if len(line) > _LONGEST_LINE_WITH_A_HINT or (found := _UNQUOTED_QUANTITY.search(line)) is None:
        return ""
    return f'; a number with a unit is written in quotes: {found["key"]} = "{found["value"]}"'


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
    """Return whether a value stands under a header of its own rather than on its key's line.

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
