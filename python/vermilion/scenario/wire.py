"""Numbers of a link's wire: its mean rate, and its description for the core."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from vermilion.scenario.errors import FieldError
from vermilion.scenario.traces import read_named_file

if TYPE_CHECKING:
    from vermilion.scenario.tables import Link
    from vermilion.scenario.written_scenario import WrittenScenario

NANOSECONDS: Final = 1_000_000_000

OPPORTUNITY_BYTES: Final = 1500
"""Bytes per opportunity of a trace; Mahimahi's own 1504 include a header of 4 bytes."""

LARGEST_TRACE_BYTES: Final = 64 * 1024 * 1024
LONGEST_TRACE_MS: Final = 10**9


def nominal_rate(scenario: WrittenScenario, name: str) -> float:
    """The one rate of a link, in bit/s: where it varies, the mean.

    The mean is over one repetition of a schedule or trace, or over the scenario's duration.

    Raises:
        FieldError: the trace cannot be read.
    """
    link = scenario.links[name]
    if link.rate_schedule is not None:
        end = link.repeat or max(scenario.duration, link.rate_schedule[-1][0])
        ends = [*(time for time, _ in link.rate_schedule[1:]), end]
        bits = sum(
            rate * (until - time)
            for (time, rate), until in zip(link.rate_schedule, ends, strict=True)
        )
        return bits / end
    if link.trace is not None:
        times = opportunities_ms(scenario, name)
        return len(times) * OPPORTUNITY_BYTES * 8e3 / times[-1]
    return link.rate if link.line is None else link.line.mean


def opportunities_ms(scenario: WrittenScenario, name: str) -> tuple[int, ...]:
    """The delivery opportunities of a link's trace, in ms.

    Raises:
        FieldError: the file cannot be read, or a line of it is not accepted.
    """
    field = f"links.{name}.trace"
    written = scenario.links[name].trace or ""
    path = Path(scenario.origin).parent / written
    try:
        status = path.stat()
        return _opportunities(path, status.st_mtime_ns, status.st_size)
    except FieldError as error:
        raise error.under(field) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a file name"
        accepted = f"a file that can be read; {path} cannot ({reason})"
        raise FieldError(field, written, accepted) from None


@lru_cache(maxsize=16)
def _opportunities(path: Path, modified_ns: int, size: int) -> tuple[int, ...]:
    """Read a trace; a file that was changed is read again."""
    import numpy as np

    del modified_ns, size
    lines = read_named_file(path, LARGEST_TRACE_BYTES).splitlines()
    if not lines:
        raise FieldError("", str(path), "a file with a time in ms on each line")
    accepted = "a whole number of ms on each line, none below the one before"
    wrong = next(
        (number for number, line in enumerate(lines) if not (line.isdigit() and len(line) < 11)),  # noqa: PLR2004 - longer numbers are no times
        None,
    )
    times = np.array(lines[:wrong], dtype=np.int64)
    falls = np.flatnonzero(np.diff(times) < 0)
    if len(falls):
        wrong = int(falls[0]) + 1
    if wrong is not None:
        raise FieldError("", f"{path.name}, line {wrong + 1}", accepted)
    if not 0 < times[-1] <= LONGEST_TRACE_MS:
        raise FieldError(
            "", f"{path.name}, line {len(lines)}", f"a last time from 1 to {LONGEST_TRACE_MS} ms"
        )
    return tuple(times.tolist())


def schedule_to_core(link: Link) -> dict[str, object] | None:
    """The schedule of a link's rates as the core reads it; ``None`` where it has none."""
    if link.rate_schedule is None:
        return None
    return {
        "steps": [[round(time * NANOSECONDS), round(rate)] for time, rate in link.rate_schedule],
        "repeat_ns": None if link.repeat is None else round(link.repeat * NANOSECONDS),
    }


def trace_to_core(scenario: WrittenScenario, name: str) -> dict[str, object] | None:
    """The delivery opportunities of a link as the core reads them; ``None`` where it has no trace.

    Raises:
        FieldError: the trace cannot be read.
    """
    if scenario.links[name].trace is None:
        return None
    times = [time * 1_000_000 for time in opportunities_ms(scenario, name)]
    return {"opportunities_ns": times, "bytes": OPPORTUNITY_BYTES}
