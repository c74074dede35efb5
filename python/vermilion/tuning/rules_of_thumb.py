"""Rules of thumb: the settings that an engineer would give a queue without simulating anything.

They are what every answer has to beat. Each follows from the
delay that is wanted and from the line:

- *Steep RED*: thresholds at .8 and 2.2 times what drains within the wanted delay, a maximum
  probability of .6 and a weight of .2, so that the average is a few packets old. RED as published
  (weight .002) averages over hundreds of packets, and is late by as much.
- *Quick Adaptive RED*: thresholds at 2/3 and 4/3 of it, a weight of .1, adapted each 100 ms (S.
  Floyd, R. Gummadi, S. Shenker, "Adaptive RED", 2001, which has half a second).
- *PIE*: told the wanted mean; of a bound on the 95th percentile half, since PIE holds the mean.
- *CoDel*, alone or for each flow: an interval of about the longest round trip, 100 ms at the least
  where the paths are those of the Internet, and a target of a twentieth of it, but never below
  what one and a half packets take (RFC 8289, sections 4.2 to 4.4; RFC 8290, section 5.2).
- *Drop-tail*: the bandwidth-delay product over the square root of the flows (G. Appenzeller,
  I. Keslassy, N. McKeown, "Sizing Router Buffers", SIGCOMM 2004), or what drains within the bound.
"""

from __future__ import annotations

import math
from typing import Final

STEEP_RED: Final = {"low": 0.8, "high": 2.2, "max_probability": 0.6, "weight": 0.2}
"""Thresholds in wanted delays."""

QUICK_ADAPTIVE_RED: Final = {"low": 2.0 / 3.0, "high": 4.0 / 3.0, "weight": 0.1, "interval": 0.1}
"""The same; ``interval`` in seconds."""

MEAN_OF_P95: Final = 0.5
"""Mean delay that keeps a bound on the 95th percentile, as part of the bound."""

INTERNET_INTERVAL_S: Final = 0.1
"""CoDel's interval for round trips of the Internet (RFC 8289)."""

_TARGET_OF_INTERVAL: Final = 0.05
_MOST_TARGET_OF_INTERVAL: Final = 0.1
"""CoDel's target as part of its interval: its authors' choice, and the most (RFC 8289, section
4.3)."""

LOCAL_S: Final = 0.01
"""A round trip to somebody in another place: whoever has only shorter ones is in one building."""

_PACKETS_OF_TARGET: Final = 1.5


def codel_times(
    longest_round_trip_s: float, packet_s: float, shortest_interval_s: float = 0.0
) -> tuple[float, float]:
    """CoDel's target and interval for a line, s.

    Args:
        longest_round_trip_s: of the paths over it.
        packet_s: that a full packet takes on it.
        shortest_interval_s: below which no interval means a standing queue.
    """
    least = INTERNET_INTERVAL_S if longest_round_trip_s >= LOCAL_S else shortest_interval_s
    interval = max(longest_round_trip_s, least)
    target = max(_TARGET_OF_INTERVAL * interval, _PACKETS_OF_TARGET * packet_s)
    return target, max(interval, target / _MOST_TARGET_OF_INTERVAL)


def drop_tail_packets(product_packets: float, flows: float) -> float:
    """A buffer for so many flows over a bandwidth-delay product in packets."""
    return max(product_packets / math.sqrt(max(flows, 1.0)), 2.0)


_SERIES: Final = (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)


def rounded(value: float) -> float:
    """The nearest number that a person would write: 5 for 4.62, 0.15 for 0.137."""
    if value <= 0.0 or not math.isfinite(value):
        return value
    decade = 10.0 ** math.floor(math.log10(value))
    best = min(_SERIES, key=lambda each: abs(math.log(each * decade / value)))
    return float(f"{best * decade:.3g}")
