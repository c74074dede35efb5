"""Results in the data format of flent, the network tester, whose plots then open them.

The file is that of flent's test ``tcp_nup`` (several uploads and a ping), format version 4: JSON,
compressed where its name ends in ``.gz``. Its series are what a link and its flows did, under the
names that flent's plots ask for.
"""

from __future__ import annotations

import gzip
import io
import json
import math
from bisect import bisect_right
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from vermilion.interchange.rate_trace import RateTrace
from vermilion.scenario.errors import ScenarioError
from vermilion.scenario.round_trips import smallest
from vermilion.simulate.whole_file import whole_file

if TYPE_CHECKING:
    import os

    from vermilion.scenario import Scenario
    from vermilion.simulate.result import Result

_FORMAT: Final = 4
_TEST: Final = "tcp_nup"
_EPOCH: Final = "1970-01-01T00:00:00.000000Z"
"""Of simulated time: runs with one seed give one file."""

_UPLOAD: Final = "TCP upload"


def write_flent(
    path: str | os.PathLike[str], result: Result, scenario: Scenario, link: str | None = None
) -> None:
    """Writes a run as flent would have recorded it.

    ============================  ===================================================
    series                        what it is
    ============================  ===================================================
    ``TCP upload sum``            throughput of the link, Mbit/s
    ``Ping (ms) ICMP``            the shortest base round trip of the flows over the link, and
                                  what waits in its queue at the rate of the moment, ms
    ``qdisc-stats::...``          ``backlog_pkts``, ``backlog_bytes``, ``dropped``, ``ecn_mark``
    ============================  ===================================================

    Args:
        path: of the file; flent wants a name that ends in ``.flent.gz`` or ``.flent``.
        result: of a run with ``probe_interval_s``.
        scenario: that was run.
        link: which one; the only one unless named.

    Raises:
        ScenarioError: no such link, several without one being named, a run without time series, or
            another file name.
        OSError: the file cannot be written.
    """
    name = Path(path).name
    if not name.endswith((".flent", ".flent.gz")):
        raise ScenarioError("path", name, "a name that ends in .flent.gz or .flent")
    chosen = _chosen(result, link)
    try:
        series = result.series(chosen)
    except KeyError:
        accepted = "a run with probe_interval_s, which has time series"
        raise ScenarioError("result", "a run without time series", accepted) from None
    text = json.dumps(_document(result, scenario, chosen, series, name), indent=1)
    with whole_file(Path(path), binary=True) as file:
        file.write(_compressed(text) if name.endswith(".gz") else text.encode())


def _chosen(result: Result, link: str | None) -> str:
    if link is None and len(result.links) == 1:
        return result.links[0]
    if link not in result.links:
        accepted = f"a link of the run: {', '.join(result.links)}"
        raise ScenarioError("link", link, accepted)
    return str(link)


def _compressed(text: str) -> bytes:
    buffer = io.BytesIO()
    # Without a time, so that the same run gives the same file.
    with gzip.GzipFile(fileobj=buffer, mode="wb", mtime=0) as file:
        file.write(text.encode())
    return buffer.getvalue()


def _document(
    result: Result,
    scenario: Scenario,
    link: str,
    series: Any,  # noqa: ANN401 - arrays
    name: str,
) -> dict[str, Any]:
    times = [float(time) for time in series["time_s"]]
    columns = {
        f"{_UPLOAD} sum": [float(rate) / 1e6 for rate in series["throughput_bit_per_s"]],
        "Ping (ms) ICMP": _pings(result, scenario, link, series),
        "qdisc-stats::backlog_pkts": [float(value) for value in series["queue_packets"]],
        "qdisc-stats::backlog_bytes": [float(value) for value in series["queue_bytes"]],
        "qdisc-stats::dropped": [float(value) for value in series["drops"]],
        "qdisc-stats::ecn_mark": [float(value) for value in series["marks"]],
    }
    units = {f"{_UPLOAD} sum": "Mbits/s", "Ping (ms) ICMP": "ms"}
    return {
        "version": _FORMAT,
        "metadata": {
            "NAME": _TEST,
            "TITLE": scenario.title,
            "TIME": _EPOCH,
            "T0": _EPOCH,
            "LENGTH": times[-1] if times else 0.0,
            "TOTAL_LENGTH": times[-1] if times else 0.0,
            "STEP_SIZE": times[1] - times[0] if len(times) > 1 else 1.0,
            "HOST": link,
            "HOSTS": [link],
            "LOCAL_HOST": "vermilion",
            "NOTE": f"simulated by Vermilion {result.data['version']}, seed {result.seed}",
            "TEST_PARAMETERS": {"upload_streams": "1"},
            "DATA_FILENAME": name,
            "FLENT_VERSION": "2.0.0",
            "IP_VERSION": 4,
            "SERIES_META": {
                column: {"UNITS": units.get(column, _unit(column))} for column in columns
            },
        },
        "x_values": times,
        "results": {
            column: [_known(value) for value in values] for column, values in columns.items()
        },
        "raw_values": {
            column: [
                {"t": time, "val": value}
                for time, value in zip(times, values, strict=True)
                if math.isfinite(value)
            ]
            for column, values in columns.items()
        },
    }


def _unit(column: str) -> str:
    if column.startswith(_UPLOAD):
        return "Mbits/s"
    return "bytes" if column.endswith("bytes") else "packets"


def _known(value: float) -> float | None:
    """What flent has for a number that there is not is null."""
    return value if math.isfinite(value) else None


def _pings(result: Result, scenario: Scenario, link: str, series: Any) -> list[float]:  # noqa: ANN401
    trips = [
        smallest(group.rtt)
        for group in scenario.flows.values()
        if group.rtt is not None and link in (*group.path, *group.return_path)
    ]
    base = 1e3 * min(trips, default=2 * scenario.links[link].delay)
    rates = _rates(result, scenario, link, [float(time) for time in series["time_s"]])
    waiting = [float(size) for size in series["queue_bytes"]]
    return [
        base + 8e3 * size / rate if rate > 0 else math.nan
        for size, rate in zip(waiting, rates, strict=True)
    ]


def _rates(result: Result, scenario: Scenario, link: str, times: list[float]) -> list[float]:
    """The rate of a link at some times, in bit/s; where it follows a trace, what it delivered."""
    if scenario.links[link].trace is not None:
        delivered = [float(rate) for rate in result.series(link)["throughput_bit_per_s"]]
        known = [rate for rate in delivered if math.isfinite(rate)]
        return [sum(known) / len(known) if known else 0.0] * len(times)
    trace = RateTrace.of_link(scenario, link)
    ends = list(accumulate(duration for duration, _ in trace.steps))
    rates = [rate for _, rate in trace.steps]
    folded = (time % ends[-1] if trace.repeats else time for time in times)
    return [rates[min(bisect_right(ends, time), len(rates) - 1)] for time in folded]
