"""Round trips of this machine's TCP connections, as ``ss`` tells them (iproute2).

A kernel keeps for each connection a smoothed round trip and the least of the last five minutes.
Those of connections that send through an interface show what waits on the way; a router that only
forwards has none.
"""

from __future__ import annotations

import json
import re
import subprocess
from typing import Final

_CONNECTIONS: Final = ("ss", "-tinHO", "state", "established")
_RTT: Final = re.compile(r"\brtt:(?P<ms>[0-9.]{1,16})/")
_LEAST: Final = re.compile(r"\bminrtt:(?P<ms>[0-9.]{1,16})\b")
_SINCE: Final = re.compile(r"\blastsnd:(?P<ms>[0-9]{1,12})\b")
_IN_FLIGHT: Final = re.compile(r"\bunacked:[1-9]")
_RECENT_MS: Final = 1_000
_LONGEST_S: Final = 2.0


def round_trips(interface: str) -> list[tuple[float, float]]:
    """Return round trip and least round trip of connections that are sending, seconds.

    None where nobody can tell: there is no ``ss``, or it takes too long.

    Args:
        interface: through which they send.
    """
    shown = _run(["ip", "-j", "addr", "show", "dev", interface])
    try:
        found = json.loads(shown or "[]")
        addresses = {
            each["local"] for one in found if one for each in one.get("addr_info", ()) if each
        }
    except (ValueError, KeyError, AttributeError):
        return []
    return parse_connections(_run(list(_CONNECTIONS)), addresses)


def parse_connections(shown: str, addresses: set[str]) -> list[tuple[float, float]]:
    """Return the same of what ``ss -tinHO`` shows, of connections from these addresses."""
    found = []
    for line in shown.splitlines():
        words = line.split()
        if len(words) < 4:  # noqa: PLR2004 - queues, and both ends
            continue
        own = words[2].rpartition(":")[0].strip("[]").partition("%")[0].removeprefix("::ffff:")
        now, least, since = (each.search(line) for each in (_RTT, _LEAST, _SINCE))
        if own not in addresses or not now or not least or not since:
            continue
        # What is in flight shows that it is this end that sends.
        if int(since["ms"]) < _RECENT_MS and _IN_FLIGHT.search(line):
            found.append((float(now["ms"]) / 1e3, float(least["ms"]) / 1e3))
    return found


def _run(words: list[str]) -> str:
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, check=False, timeout=_LONGEST_S, errors="replace"
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout
