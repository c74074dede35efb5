"""Networks of one bottleneck, what is measured on them by paths, and checks and tables of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from vermilion.scenario import scenario_from_document
from vermilion_lab.papers.interface import FigureTable
from vermilion_lab.papers.measures import Samples, cell, interval, required
from vermilion_lab.papers.verdict import Check, Expected

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vermilion.scenario import Scenario
    from vermilion.simulate import Result
    from vermilion_lab.papers.interface import Numbers
    from vermilion_lab.papers.workbench import Workbench

LINK: Final = "bottleneck"
PACKET: Final = "1500 bytes"

Measured = dict[str, dict[str, Samples]]
"""For each network by name, and each quantity, a value for each seed."""


def network(
    rate: str,
    queue: Mapping[str, object],
    flows: Mapping[str, Mapping[str, object]],
    duration: str,
    warm_up: str,
    **more: Any,  # noqa: ANN401 - any key of a scenario
) -> Scenario:
    """A bottleneck and groups of flows over it, with what they do not say filled in.

    Args:
        rate: of the bottleneck.
        queue: its discipline and parameters.
        flows: the groups; without a path of their own they cross the bottleneck.
        duration: of a run.
        warm_up: what is not measured.
        more: other keys of the scenario; ``links`` are beside the bottleneck, and ``link`` are
            more keys of the bottleneck.
    """
    bottleneck = {"rate": rate, "delay": "0 s", "queue": dict(queue), **more.pop("link", {})}
    usual = {"path": [LINK], "packet_size": PACKET, "start": "0 s .. 0.5 s"}
    return scenario_from_document(
        {
            "duration": duration,
            "warm_up": warm_up,
            "links": {LINK: bottleneck, **more.pop("links", {})},
            "flows": {name: {**usual, **group} for name, group in flows.items()},
            **more,
        }
    )


def linux(sender: str) -> dict[str, str]:
    """A sender with the timers and the initial window of Linux."""
    return {"congestion_control": sender, "option_set": "linux"}


def of_path(result: Result, path: str) -> float:
    """A number of a run by its path, like "links.bottleneck.utilization".

    A number behind the name of a link or group, as in "flows.bulk.2.jain_index", is that of a
    phase, counted from 0.

    Raises:
        ValueError: it could not be computed.
    """
    kind, name, rest = path.split(".", 2)
    part = result.link(name) if kind == "links" else result.flows(name)
    phase, _, inner = rest.partition(".")
    if phase.isdecimal():
        return required(part.phases[int(phase)], inner)
    return required(part.total, rest)


def measure(
    bench: Workbench,
    networks: Mapping[str, Scenario],
    paths: Mapping[str, str],
    *,
    flow_delays: bool = False,
) -> Measured:
    """Run every network with every seed, and take the numbers at these paths."""
    bench.expect(len(networks) * len(bench.seeds))
    return {
        name: {key: [of_path(result, path) for result in results] for key, path in paths.items()}
        for name, results in bench.run_many(networks, flow_delays=flow_delays).items()
    }


def check(
    quantity: str,
    values: Sequence[float],
    low: float | None = None,
    high: float | None = None,
    *,
    reading: str = "",
    unit: str = "",
    scale: float = 1.0,
) -> Check:
    """A check of a value for each seed."""
    return Check(quantity, interval(values), Expected(low, high), reading, unit, scale)


def percent(
    quantity: str,
    values: Sequence[float],
    low: float | None = None,
    high: float | None = None,
    *,
    reading: str = "",
) -> Check:
    """A check of a ratio, shown in per cent."""
    return check(quantity, values, low, high, reading=reading, unit="%", scale=100.0)


def ratios(above: Sequence[float], below: Sequence[float]) -> Samples:
    """One divided by the other, seed by seed; nothing at all counts as a millionth."""
    return [a / max(b, 1e-6) for a, b in zip(above, below, strict=True)]


def table(
    caption: str, first: str, numbers: Numbers, columns: Mapping[str, tuple[str, float]]
) -> FigureTable:
    """A row for each network, a column for each quantity with its head and scale."""
    return FigureTable(
        caption,
        (first, *(head for head, _ in columns.values())),
        tuple(
            (name, *(cell(found[key], scale) for key, (_, scale) in columns.items()))
            for name, found in numbers.items()
        ),
    )
