"""The same scenario with less simulated time: every phase shorter, none lost.

What is measured of each phase (``Result``'s windows: without the warm-up and the settling times)
shrinks to a fraction of its length, and all that comes later moves forward. Warm-up and settling
times stay as they are, because they belong to the network and not to the budget. So phases keep
their order, their weights relative to each other, and what makes them differ.

Not every scenario can be shortened like that. Refused are time tables that would have to be
rewritten (schedules of rates, traces), single transfers (they would end after the shortened
run), and phases of which fewer than :data:`LEAST_ROUND_TRIPS` round trips would be left.
"""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

LEAST_ROUND_TRIPS: Final = 10
"""Of the longest base round trip; a sender reacts once in each, so fewer show no behaviour."""

_NANOSECONDS: Final = 1_000_000_000
_FIXED_TRAFFIC: Final = ("trace", "transfer")


class CannotShortenError(ValueError):
    """The scenario cannot be shortened; the message says why."""


def shortened(core_json: str, windows: Sequence[tuple[float, float]], fraction: float) -> str:
    """A scenario whose phases have a fraction of their measured length.

    Args:
        core_json: the scenario as the core reads it.
        windows: beginning and end of what is measured of each phase, ascending, seconds: the
            ``start_s`` and ``end_s`` of a result's phases.
        fraction: of the measured time that is left, in (0, 1].

    Returns:
        The shortened scenario, likewise as the core reads it.

    Raises:
        CannotShortenError: it would not be the same scenario with less time.
    """
    document = json.loads(core_json)
    spans = [(round(start * _NANOSECONDS), round(end * _NANOSECONDS)) for start, end in windows]
    _check(document, spans, fraction)
    for holder, key in _times(document):
        value = holder[key]
        if isinstance(value, list):
            holder[key] = [_moved(time, spans, fraction) for time in value]
        elif value is not None:
            holder[key] = _moved(value, spans, fraction)
    return json.dumps(document, allow_nan=False)


def simulated_seconds(core_json: str) -> float:
    """How much time a scenario simulates."""
    return float(json.loads(core_json)["duration_ns"]) / _NANOSECONDS


def _times(document: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """Where the instants of a scenario are written."""
    yield document, "duration_ns"
    for group in document["flows"]:
        yield group, "start_ns"
        yield group, "stop_ns"
    for change in document["changes"]:
        yield change, "at_ns"


def _moved(time: int, spans: Sequence[tuple[int, int]], fraction: float) -> int:
    """When something happens in the shortened scenario."""
    cut = sum(max(0, min(time, end) - start) for start, end in spans)
    return time - round((1.0 - fraction) * cut)


def _check(document: Mapping[str, Any], spans: Sequence[tuple[int, int]], fraction: float) -> None:
    if not spans or any(one[1] > other[0] for one, other in pairwise(spans)):
        message = "it has no phases one after the other"
        raise CannotShortenError(message)
    for link in document["links"]:
        if "rate_schedule" in link or "trace" in link:
            message = f"the rate of link {link['name']} follows a time table"
            raise CannotShortenError(message)
    for group in document["flows"]:
        if group["traffic"]["kind"] in _FIXED_TRAFFIC:
            message = f"flows {group['name']} have a time table or an end of their own"
            raise CannotShortenError(message)
    longest = max((_longest_round_trip(group["rtt_ns"]) for group in document["flows"]), default=0)
    for number, (start, end) in enumerate(spans, start=1):
        if fraction * (end - start) < LEAST_ROUND_TRIPS * longest:
            message = (
                f"phase {number} would have {fraction * (end - start) / _NANOSECONDS:.2g} s, "
                f"less than {LEAST_ROUND_TRIPS} round trips of {longest / 1e6:.3g} ms"
            )
            raise CannotShortenError(message)


def _longest_round_trip(rtt_ns: object) -> int:
    """The longest base round trip of a group: of one number, a list, or a distribution's."""
    if isinstance(rtt_ns, dict):
        return max(map(_longest_round_trip, rtt_ns.values()), default=0)
    if isinstance(rtt_ns, list):
        return max(map(_longest_round_trip, rtt_ns), default=0)
    return int(rtt_ns) if isinstance(rtt_ns, int | float) else 0
