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

from vermilion.files.whole_file import whole_file
from vermilion.scenario.errors import ScenarioError
from vermilion.scenario.round_trips import smallest
from vermilion_lab.interchange.flent_flows import STREAM, Streams
from vermilion_lab.interchange.rate_trace import RateTrace

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from vermilion.scenario import Scenario
    from vermilion.simulate.measured_run import Series
    from vermilion.simulate.result import Result

_FORMAT: Final = 4
_TEST: Final = "tcp_nup"
_EPOCH: Final = "1970-01-01T00:00:00.000000Z"
"""Of simulated time: runs with one seed give one file."""


def write_flent(
    path: str | os.PathLike[str], result: Result, scenario: Scenario, link: str | None = None
) -> int:
    """Writes a run as flent would have recorded it; how many flows were left out as too many.

    ============================  ===================================================
    series                        what it is
    ============================  ===================================================
    ``TCP upload sum``            throughput of the link, Mbit/s
    ``TCP upload::1`` and so on   goodput of each flow over the link that a :class:`FlowSeries`
                                  has read, Mbit/s; in the raw values also its window, round
                                  trip and rates
    ``TCP upload avg``            mean of these flows, Mbit/s
    ``TCP upload fairness``       Jain's index of them
    ``Ping (ms) ICMP``            the shortest base round trip of the flows over the link, and
                                  what waits in its queue at the rate of the moment, ms
    ``qdisc-stats::...``          ``backlog_pkts``, ``backlog_bytes``, ``dropped``, ``ecn_mark``
    ============================  ===================================================

    Args:
        path: of the file; flent wants a name that ends in ``.flent.gz`` or ``.flent``.
        result: of a run with ``probe_interval_s``, and with a :class:`FlowSeries` where single
            flows are wanted: at most :data:`vermilion_lab.interchange.flent_flows.MOST_STREAMS`.
        scenario: that was run.
        link: which one; the only one unless named.

    Raises:
        ScenarioError: no such link, several without one being named, a run without time series, or
            another file name.
        OSError: the file cannot be written.
    """
    content, left_out = flent_content(path, result, scenario, link)
    with whole_file(Path(path), binary=True) as file:
        file.write(content)
    return left_out


def check_flent(path: str | os.PathLike[str], links: Sequence[str], link: str | None) -> str:
    """The link that is written, before there is anything to write.

    Args:
        path: of the file.
        links: of the scenario.
        link: which one is asked for.

    Raises:
        ScenarioError: no such link, several without one being named, or another file name.
    """
    name = Path(path).name
    if not name.endswith((".flent", ".flent.gz")):
        raise ScenarioError("path", name, "a name that ends in .flent.gz or .flent")
    if link is None and len(links) == 1:
        return links[0]
    if link is None or link not in links:
        shown = "none" if link is None else link
        raise ScenarioError("link", shown, f"a link of the run: {', '.join(links)}")
    return link


def flent_content(
    path: str | os.PathLike[str], result: Result, scenario: Scenario, link: str | None = None
) -> tuple[bytes, int]:
    """Return the content that :func:`write_flent` writes, and the number of flows left out.

    Raises:
        ScenarioError: what it refuses.
    """
    name, chosen = Path(path).name, check_flent(path, result.links, link)
    try:
        series = result.series(chosen)
    except KeyError:
        accepted = "a run with probe_interval_s, which has time series"
        raise ScenarioError("result", "a run without time series", accepted) from None
    times = [float(time) for time in series["time_s"]]
    streams = None
    if result.flow_series is not None:
        groups = [
            group
            for group, flows in scenario.flows.items()
            if chosen in (*flows.path, *flows.return_path)
        ]
        streams = Streams(result.flow_series, groups, times)
    columns = _columns(result, scenario, chosen, series) | (streams.columns() if streams else {})
    document = _document(result, scenario, chosen, columns, times, streams, name)
    text = json.dumps(document, indent=1)
    content = _compressed(text) if name.endswith(".gz") else text.encode()
    return content, streams.left_out if streams else 0


def _compressed(text: str) -> bytes:
    buffer = io.BytesIO()
    # Without a time, so that the same run gives the same file.
    with gzip.GzipFile(fileobj=buffer, mode="wb", mtime=0) as file:
        file.write(text.encode())
    return buffer.getvalue()


def _columns(
    result: Result, scenario: Scenario, link: str, series: Series
) -> dict[str, list[float]]:
    """Time series of the link, by flent's names."""
    return {
        f"{STREAM} sum": [float(rate) / 1e6 for rate in series["throughput_bit_per_s"]],
        "Ping (ms) ICMP": _pings(result, scenario, link, series),
        "qdisc-stats::backlog_pkts": [float(value) for value in series["queue_packets"]],
        "qdisc-stats::backlog_bytes": [float(value) for value in series["queue_bytes"]],
        "qdisc-stats::dropped": [float(value) for value in series["drops"]],
        "qdisc-stats::ecn_mark": [float(value) for value in series["marks"]],
    }


def _document(
    result: Result,
    scenario: Scenario,
    link: str,
    columns: dict[str, list[float]],
    times: list[float],
    streams: Streams | None,
    name: str,
) -> dict[str, Any]:
    count = len(streams.flows) if streams else 0
    described: dict[str, dict[str, str]] = {column: {"UNITS": _unit(column)} for column in columns}
    for column, flow in (streams.names() if streams else {}).items():
        described[column]["FLOW"] = flow
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
            "TEST_PARAMETERS": {"upload_streams": str(max(1, count))},
            "DATA_FILENAME": name,
            "FLENT_VERSION": "2.0.0",
            "IP_VERSION": 4,
            "SERIES_META": described,
        },
        "x_values": times,
        "results": {
            column: [_null_if_nan(value) for value in values] for column, values in columns.items()
        },
        "raw_values": {
            column: [
                {"t": time, "val": value}
                for time, value in zip(times, values, strict=True)
                if math.isfinite(value)
            ]
            for column, values in columns.items()
        }
        | (streams.raw() if streams else {}),
    }


def _unit(column: str) -> str:
    if column == "Ping (ms) ICMP":
        return "ms"
    if column.endswith("fairness"):
        return "Idx"
    if column.startswith(STREAM):
        return "Mbits/s"
    return "bytes" if column.endswith("bytes") else "packets"


def _null_if_nan(value: float) -> float | None:
    """Replace NaN by flent's null."""
    return value if math.isfinite(value) else None


def _pings(result: Result, scenario: Scenario, link: str, series: Series) -> list[float]:
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
