"""Bandwidth traces of the link emulator rattan: configurations of the crate netem-trace.

Read are ``StaticBwConfig``, ``TraceBwConfig`` and ``RepeatedBwPatternConfig``, JSON or TOML, in any
nesting, with quantities as people write them ("12Mbps", "100ms") or as the crate does without
its feature ``human``
({"gbps": 0, "bps": 12000000}, {"secs": 1, "nanos": 0}). Written is a repeated pattern of static
bandwidths, as people write them.
"""

from __future__ import annotations

import json
import math
import re
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from vermilion.files.whole_file import whole_file
from vermilion.scenario.errors import FieldError, ScenarioError, errors_of, one_of
from vermilion.scenario.toml_text import parse_toml
from vermilion_lab.interchange.rate_trace import MOST_STEPS, RateTrace, read_file

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

_DEEPEST: Final = 20
"""Patterns in patterns."""

_TIMES: Final = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "sec": 1.0, "m": 60.0,
                 "min": 60.0, "h": 3600.0}  # fmt: skip
_RATES: Final = {"bps": 1.0, "kbps": 1e3, "mbps": 1e6, "gbps": 1e9, "tbps": 1e12}
_PART: Final = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-zµ]+)\s*")

_KINDS: Final = ("StaticBwConfig", "TraceBwConfig", "RepeatedBwPatternConfig")


def read_rattan(path: str | os.PathLike[str]) -> RateTrace:
    """The rates of a bandwidth trace; TOML where the name ends in .toml, else JSON.

    Raises:
        ScenarioError: the file cannot be read, or holds something else.
    """
    content = read_file(path)
    try:
        text = content.decode("utf-8-sig")
        document = parse_toml(text) if Path(path).suffix == ".toml" else json.loads(text)
    except (ValueError, RecursionError) as error:
        problem = " ".join(str(error).split())[:200]
        accepted = f"a bandwidth trace in JSON or TOML: {problem}"
        raise ScenarioError("", str(path), accepted) from None
    with errors_of(str(path)):
        repeats = _is_forever(document)
        if repeats:
            document = {"RepeatedBwPatternConfig": {**_content(document), "count": 1}}
        steps = list(islice(_steps(document, "", 0), MOST_STEPS + 1))
    if not 1 <= len(steps) <= MOST_STEPS:
        accepted = f"from one bandwidth to {MOST_STEPS:,}"
        raise ScenarioError("pattern", f"{len(steps)} of them", accepted, str(path))
    return RateTrace(tuple(steps), repeats=repeats)


def write_rattan(path: str | os.PathLike[str], trace: RateTrace) -> None:
    """Writes rates as a bandwidth trace; TOML where the name ends in .toml, else JSON.

    Raises:
        OSError: the file cannot be written.
    """
    pattern = [
        {"StaticBwConfig": {"bw": f"{round(rate)}bps", "duration": f"{round(duration * 1e9)}ns"}}
        for duration, rate in trace.steps
    ]
    if Path(path).suffix == ".toml":
        lines = ["[RepeatedBwPatternConfig]", f"count = {0 if trace.repeats else 1}"]
        for entry in pattern:
            static = entry["StaticBwConfig"]
            lines += ["", "[[RepeatedBwPatternConfig.pattern]]"]
            lines += ["", "[RepeatedBwPatternConfig.pattern.StaticBwConfig]"]
            lines += [f'{key} = "{value}"' for key, value in static.items()]
        text = "\n".join(lines)
    else:
        whole = {"pattern": pattern, "count": 0 if trace.repeats else 1}
        text = json.dumps({"RepeatedBwPatternConfig": whole}, indent=2)
    with whole_file(Path(path)) as file:
        file.write(f"{text}\n")


def _content(document: Any) -> dict[str, Any]:  # noqa: ANN401 - of a file
    content: dict[str, Any] = document["RepeatedBwPatternConfig"]
    return content


def _is_forever(document: Any) -> bool:  # noqa: ANN401 - of a file
    """Check whether the whole is a pattern that repeats without end."""
    if not isinstance(document, dict):
        return False
    content = document.get("RepeatedBwPatternConfig")
    return isinstance(content, dict) and content.get("count", 0) == 0


def _steps(
    entry: Any,  # noqa: ANN401 - of a file
    field: str,
    depth: int,
) -> Iterator[tuple[float, float]]:
    if depth > _DEEPEST:
        raise FieldError(field, "a pattern", f"at most {_DEEPEST} patterns in each other")
    if not isinstance(entry, dict) or len(entry) != 1 or next(iter(entry)) not in _KINDS:
        given = ", ".join(entry) if isinstance(entry, dict) else entry
        raise FieldError(field, given, one_of(_KINDS))
    [(kind, content)] = entry.items()
    field = f"{field}.{kind}".removeprefix(".")
    if kind == "TraceBwConfig" and isinstance(content, list):
        content = {"pattern": content}
    if not isinstance(content, dict):
        raise FieldError(field, content, "a table")
    if kind == "StaticBwConfig":
        yield (
            _duration(content.get("duration"), f"{field}.duration"),
            _rate(content.get("bw"), f"{field}.bw"),
        )
        return
    pattern = content.get("pattern")
    if not isinstance(pattern, list):
        raise FieldError(f"{field}.pattern", pattern, "a list")
    if kind == "TraceBwConfig":
        yield from _trace(pattern, f"{field}.pattern")
    else:
        yield from _repeated(content, pattern, field, depth)


def _repeated(
    content: dict[str, Any], pattern: list[Any], field: str, depth: int
) -> Iterator[tuple[float, float]]:
    count = content.get("count", 0)
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= MOST_STEPS:
        accepted = f"a whole number from 1 to {MOST_STEPS:,}; 0 (without end) for the whole alone"
        raise FieldError(f"{field}.count", count, accepted)
    once = [
        step
        for index, part in enumerate(pattern)
        for step in _steps(part, f"{field}.pattern.{index}", depth + 1)
    ]
    if len(once) * count > MOST_STEPS:
        raise FieldError(f"{field}.count", count, f"at most {MOST_STEPS:,} steps in all")
    for _ in range(count):
        yield from once


def _trace(pattern: list[Any], field: str) -> Iterator[tuple[float, float]]:
    for index, pair in enumerate(pattern):
        place = f"{field}.{index}"
        if not isinstance(pair, list) or len(pair) != 2 or not isinstance(pair[1], list):  # noqa: PLR2004 - a pair
            accepted = 'a duration and a list of bandwidths, like ["100ms", ["16Mbps"]]'
            raise FieldError(place, pair, accepted)
        # Bare numbers, of older versions, are milliseconds and Mbit/s.
        duration = _duration(pair[0], f"{place}.0", 1e-3)
        for number, bandwidth in enumerate(pair[1]):
            yield duration, _rate(bandwidth, f"{place}.1.{number}", 1e6)


def _duration(value: object, field: str, unit: float | None = None) -> float:
    seconds = _sum(value, _TIMES, {"secs": 1.0, "nanos": 1e-9}, unit)
    if seconds is None or not 1e-9 <= seconds <= 1e6:  # noqa: PLR2004 - a scenario's longest
        raise FieldError(field, value, 'a duration from 1 ns to 1,000,000 s, like "100ms"')
    return round(seconds * 1e9) / 1e9


def _rate(value: object, field: str, unit: float | None = None) -> float:
    rate = _sum(value, _RATES, {"gbps": 1e9, "bps": 1.0}, unit)
    if rate is None or not 0 <= rate <= 1e13:  # noqa: PLR2004 - a link's highest
        raise FieldError(field, value, 'a bandwidth up to 10 Tbps, like "12Mbps"')
    return rate


def _sum(
    value: object, units: dict[str, float], keys: dict[str, float], unit: float | None
) -> float | None:
    """A quantity as people write it, in parts perhaps, or as a table; ``None`` for neither."""
    if isinstance(value, str) and len(value) < 100:  # noqa: PLR2004 - longer than any quantity
        parts = _PART.findall(value)
        whole = "".join(match.group(0) for match in _PART.finditer(value)) == value
        names = [name if name in units else name.lower() for _, name in parts]
        if not parts or not whole or any(name not in units for name in names):
            return None
        return math.fsum(
            float(number) * units[name] for (number, _), name in zip(parts, names, strict=True)
        )
    if isinstance(value, dict) and value and set(value) <= set(keys):
        if not all(_is_count(number) for number in value.values()):
            return None
        return math.fsum(number * keys[key] for key, number in value.items())
    if unit is not None and isinstance(value, int | float):
        # Whole numbers may be too long for a float, and are asked about otherwise.
        known = math.isfinite(value) if isinstance(value, float) else _is_count(value)
        return float(value) * unit if known else None
    return None


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63
