"""The rate of a link over time, as the link emulators' trace files tell it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from vermilion.scenario.errors import ScenarioError
from vermilion.scenario.quantities import RATE, TIME, exact_text

if TYPE_CHECKING:
    import os

    from vermilion.scenario import Scenario

MOST_STEPS: Final = 1_000_000
"""Of a schedule; the scenario language has the same bound."""

LARGEST_FILE_BYTES: Final = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class RateTrace:
    """Rates one after the other.

    Attributes:
        steps: how long, in seconds, and at which rate, in bit/s.
        repeats: whether they begin again at the end; else the last rate stays.

    Raises:
        ScenarioError: no step at all, or one that no link can have.
    """

    steps: tuple[tuple[float, float], ...]
    repeats: bool = True

    def __post_init__(self) -> None:
        if not self.steps:
            raise ScenarioError("steps", self.steps, "at least one duration with its rate")
        for number, (duration, rate) in enumerate(self.steps):
            if not 0.0 < duration < math.inf:
                accepted = "a duration in seconds, above 0 and finite"
                raise ScenarioError(f"steps.{number}.0", duration, accepted)
            if not 0.0 <= rate < math.inf:
                accepted = "a rate in bit/s, from 0 and finite"
                raise ScenarioError(f"steps.{number}.1", rate, accepted)

    @property
    def length_s(self) -> float:
        """Total duration of the steps, in seconds."""
        return sum(duration for duration, _ in self.steps)

    @property
    def mean_bit_per_s(self) -> float:
        """The rate over all steps, in bit/s."""
        return sum(duration * rate for duration, rate in self.steps) / self.length_s

    def link(self) -> dict[str, Any]:
        """The keys of a link with these rates, as in ``network.link("radio", **trace.link())``."""
        schedule: list[list[str]] = []
        ends = 0.0
        for duration, rate in self.steps:
            # As sums of decimal times ought to be: in whole nanoseconds.
            begins = round(ends * 1e9) / 1e9
            ends += duration
            text = exact_text(float(round(rate)), RATE)
            if not schedule or schedule[-1][1] != text:
                schedule.append([exact_text(begins, TIME), text])
        table: dict[str, Any] = {"rate_schedule": schedule}
        if self.repeats:
            table["repeat"] = exact_text(round(ends * 1e9) / 1e9, TIME)
        return table

    @classmethod
    def of_link(cls, scenario: Scenario, link: str) -> RateTrace:
        """The rates of a scenario's link: its schedule, or its rate and what changes it.

        Raises:
            ScenarioError: no such link, or one that follows a trace of opportunities already.
        """
        if link not in scenario.links:
            accepted = f"a link of the scenario: {', '.join(scenario.links)}"
            raise ScenarioError("link", link, accepted, scenario.origin)
        table = scenario.links[link]
        if table.trace is not None:
            accepted = "a link with a rate or a rate_schedule; this one has a trace of Mahimahi's"
            raise ScenarioError("link", link, accepted, scenario.origin)
        if table.rate_schedule is not None:
            times = list(table.rate_schedule)
            end = table.repeat or max(scenario.duration, times[-1][0] + 1.0)
        else:
            changes = sorted(
                (change.at, change.rate)
                for change in scenario.changes
                if change.link == link and change.rate is not None
            )
            times, end = [(0.0, table.rate), *changes], scenario.duration
        ends = [*(time for time, _ in times[1:]), end]
        steps = ((until - time, rate) for (time, rate), until in zip(times, ends, strict=True))
        return cls(tuple(step for step in steps if step[0] > 0), repeats=bool(table.repeat))


def read_file(path: str | os.PathLike[str]) -> bytes:
    """The content of a trace file.

    Raises:
        ScenarioError: it cannot be read, or is larger than 64 MiB.
    """
    try:
        with Path(path).open("rb") as file:
            content = file.read(LARGEST_FILE_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a file name"
        raise ScenarioError("", str(path), f"a file that can be read ({reason})") from None
    if len(content) > LARGEST_FILE_BYTES:
        raise ScenarioError("", str(path), "a file of at most 64 MiB")
    return content
