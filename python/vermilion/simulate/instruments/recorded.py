"""Run with instruments, which are read while it goes on."""

from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from vermilion.scenario.errors import FieldError, ScenarioError, errors_of
from vermilion.simulate.instruments.flow_series import FlowSeries, FlowSeriesData, flow_series_of
from vermilion.simulate.instruments.packet_trace import PacketSink, PacketTrace, PacketTraceData
from vermilion.simulate.instruments.raw_distributions import (
    RawDistributions,
    RawDistributionsData,
    raw_distributions_of,
)
from vermilion.simulate.instruments.transfers import Transfers, TransfersData, transfers_of
from vermilion.simulate.interrupting import Stepper

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from vermilion._core import Simulation
    from vermilion.scenario import Scenario

    Instrument = FlowSeries | PacketTrace | RawDistributions | Transfers

_STEPS: Final = 200
_PARTS: Final = {
    FlowSeries: "windows",
    PacketTrace: "packets",
    RawDistributions: "distributions",
    Transfers: "transfers",
}


@dataclass(frozen=True, slots=True)
class Recorded:
    """Records of a run's instruments; ``None`` where there was none.

    Attributes:
        flow_series: windows over time.
        packets: packets one by one.
        raw_distributions: queueing delays, delays, gaps between drops.
        transfers: transfers one by one.
    """

    flow_series: FlowSeriesData | None = None
    packets: PacketTraceData | None = None
    raw_distributions: RawDistributionsData | None = None
    transfers: TransfersData | None = None


def check_listed(instruments: object, scenario: Scenario) -> None:
    """Refuse a single instrument in place of a list.

    Raises:
        ScenarioError: it is one.
    """
    if isinstance(instruments, tuple(_PARTS)):
        accepted = f"a list, like [{type(instruments).__name__}(...)]"
        raise ScenarioError("instruments", instruments, accepted, scenario.origin)


def check_instruments(instruments: Sequence[Instrument], scenario: Scenario) -> None:
    """Refuse instruments that could not be recorded.

    Raises:
        ScenarioError: a choice that is none, or two instruments of one kind.
        MissingPackageError: Parquet without pyarrow.
    """
    _by_kind(instruments, scenario)


def recorded_run(
    simulation: Simulation,
    scenario: Scenario,
    instruments: Sequence[Instrument],
    seed: int,
    progress: Callable[[float], object] | None = None,
    stepper: Stepper | None = None,
) -> Recorded:
    """Run a simulation to its end, or to a Ctrl-C that keeps the results so far.

    Args:
        simulation: of the scenario and seed.
        scenario: what is simulated.
        instruments: at most one of each kind.
        seed: of the run.
        progress: called with the part of the duration that is done.
        stepper: what advances the simulation; ``None`` for one that keeps nothing at Ctrl-C.

    Raises:
        ScenarioError: a choice that is none, or two instruments of one kind.
        ParameterError: what the core refuses.
        MissingPackageError: Parquet without pyarrow.
        OSError: a file cannot be written.
    """
    chosen = _by_kind(instruments, scenario)
    simulation.observe(json.dumps({_PARTS[kind]: what for kind, (_, what) in chosen.items()}))
    windows: list[Mapping[str, NDArray[Any]]] = []
    with ExitStack() as files:
        sink = None
        if PacketTrace in chosen:
            trace = chosen[PacketTrace][0]
            sink = files.enter_context(PacketSink(trace, scenario, seed))
            sink.begin(simulation)

        def take() -> None:
            if sink is not None:
                sink.take(simulation)
            if FlowSeries in chosen:
                windows.append(simulation.take_windows())

        stepper = stepper or Stepper(keeps=False)
        duration_ns = round(scenario.duration * 1e9)
        # Each step has a thread of its own, so nobody gets steps who does not look.
        steps = 1 if progress is None else _STEPS
        for step in range(1, steps + 1):
            until = duration_ns * step // steps
            stepper.advance(simulation, until)
            while simulation.paused and not stepper.interrupted:
                take()
                stepper.advance(simulation, until)
            if stepper.interrupted:
                break
            if progress is not None:
                progress(step / steps)
        take()
        packets_cut, windows_cut = simulation.are_cut()
        packets = None if sink is None else sink.finish(complete=not packets_cut)
    groups = list(scenario.flows)
    return Recorded(
        flow_series=flow_series_of(windows, groups, complete=not windows_cut, seed=seed)
        if FlowSeries in chosen
        else None,
        packets=packets,
        raw_distributions=raw_distributions_of(
            simulation.raw_distributions(), chosen[RawDistributions][0].width_s
        )
        if RawDistributions in chosen
        else None,
        transfers=transfers_of(simulation.transfers(), groups, seed)
        if Transfers in chosen
        else None,
    )


def _kind(instrument: object, chosen: Collection[type]) -> type:
    """Kind of an instrument that is allowed beside those chosen.

    Raises:
        FieldError: it is none, or there is one of its kind.
    """
    kind = type(instrument)
    if kind not in _PARTS:
        accepted = "FlowSeries, PacketTrace, RawDistributions or Transfers"
        raise FieldError("instruments", kind.__name__, accepted)
    if kind in chosen:
        raise FieldError("instruments", kind.__name__, "one of each kind")
    return kind


def _by_kind(
    instruments: Sequence[Instrument], scenario: Scenario
) -> dict[type, tuple[Any, dict[str, object]]]:
    chosen: dict[type, tuple[Any, dict[str, object]]] = {}
    with errors_of(scenario.origin):
        for instrument in instruments:
            kind = _kind(instrument, chosen)
            if isinstance(instrument, PacketTrace):
                instrument.check()
            chosen[kind] = (instrument, instrument.to_core(scenario))
    return chosen
