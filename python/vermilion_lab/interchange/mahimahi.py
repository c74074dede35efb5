"""Link traces of Mahimahi (R. Netravali and others, USENIX ATC 2015).

Each line is a time in whole milliseconds at which a packet of 1500 bytes can be delivered; the last
one is the length of the trace, which repeats. A scenario's link follows such a file as it is, with
``trace``; here it is turned into rates, and rates into it.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Final

from vermilion.files.whole_file import whole_file
from vermilion.scenario.errors import ScenarioError
from vermilion.scenario.wire import LONGEST_TRACE_MS, OPPORTUNITY_BYTES
from vermilion_lab.interchange.rate_trace import RateTrace, read_file

if TYPE_CHECKING:
    import os

MOST_OPPORTUNITIES: Final = 10_000_000
"""Of a trace; the core has the same bound."""


def read_mahimahi(path: str | os.PathLike[str], interval_s: float = 0.1) -> RateTrace:
    """The rates of a trace, averaged over intervals.

    Args:
        path: of the file.
        interval_s: seconds over which opportunities are counted; the last interval may be shorter.

    Raises:
        ScenarioError: the file cannot be read or is no such trace, or the interval is no time.
    """
    if not 0.001 <= interval_s < math.inf:  # noqa: PLR2004 - the format's own milliseconds; also what is no number
        raise ScenarioError("interval_s", interval_s, "a number of seconds, at least 0.001")
    times = _times(path)
    length = times[-1] / 1000
    count = max(1, math.ceil(length / interval_s - 1e-9))
    opportunities = [0] * count
    for time in times:
        # An opportunity is for what arrived before it.
        opportunities[min(max(math.ceil(time / 1000 / interval_s - 1e-9) - 1, 0), count - 1)] += 1
    durations = [interval_s] * (count - 1) + [length - interval_s * (count - 1)]
    bits = 8 * OPPORTUNITY_BYTES
    steps = (
        (duration, number * bits / duration)
        for duration, number in zip(durations, opportunities, strict=True)
    )
    return RateTrace(tuple(steps))


def _times(path: str | os.PathLike[str]) -> list[int]:
    accepted = "a whole number of ms, not below that of the line before"
    times: list[int] = []
    for number, line in enumerate(read_file(path).splitlines(), start=1):
        text = line.strip()
        good = text.isdigit() and len(text) < 11 and int(text) >= (times[-1] if times else 0)  # noqa: PLR2004 - longer numbers are no times
        if not good or len(times) == MOST_OPPORTUNITIES:
            raise ScenarioError("", f"{path}, line {number}", accepted)
        times.append(int(text))
    if not times or not 0 < times[-1] <= LONGEST_TRACE_MS:
        accepted = f"times in ms, the last one from 1 to {LONGEST_TRACE_MS}"
        raise ScenarioError("", str(path), accepted)
    return times


def write_mahimahi(path: str | os.PathLike[str], trace: RateTrace) -> None:
    """Writes rates as a trace: an opportunity whenever 1500 bytes more could have been sent.

    The trace is as long as the steps, to a millisecond; where the last opportunity comes earlier,
    one at the end makes it so, as the format has no other way of saying how long it is.

    Raises:
        ScenarioError: rates with more opportunities than a trace can have, or none at all.
        OSError: the file cannot be written.
    """
    opportunity = 8 * OPPORTUNITY_BYTES
    number = trace.length_s * trace.mean_bit_per_s / opportunity
    if not 1 <= number <= MOST_OPPORTUNITIES:
        accepted = f"rates that deliver from 1 to {MOST_OPPORTUNITIES:,} packets of 1500 bytes"
        raise ScenarioError("trace", f"{number:.3g} packets", accepted)
    times: list[int] = []
    begins, sent = 0.0, 0.0
    for duration, rate in trace.steps:
        ends_with = sent + rate * duration
        while (len(times) + 1) * opportunity <= ends_with + 1e-6:
            missing = (len(times) + 1) * opportunity - sent
            times.append(math.ceil((begins + missing / rate) * 1000 - 1e-6))
        begins, sent = begins + duration, ends_with
    length = max(1, round(begins * 1000))
    if times[-1] < length:
        times.append(length)
    with whole_file(Path(path)) as file:
        file.write("\n".join(map(str, times)) + "\n")
