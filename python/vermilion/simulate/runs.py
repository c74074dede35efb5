"""One run, and many: the core does the work, here it is timed and its refusals translated."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, overload

from vermilion.scenario.errors import from_core
from vermilion.simulate.accepted import (
    check_seed,
    check_seeds,
    check_several,
    check_threads,
    given_candidates,
    given_scenario,
)
from vermilion.simulate.instruments.recorded import Recorded, check_listed, recorded_run
from vermilion.simulate.interrupting import Stepper
from vermilion.simulate.result import Result, result_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from vermilion._core import Simulation
    from vermilion.scenario import Scenario
    from vermilion.simulate.instruments.recorded import Instrument
    from vermilion.simulate.result_data import Timing

STEPS = 200
"""Steps of a run that reports its progress."""


def run(
    scenario: Scenario | str | Path,
    seed: int = 1,
    probe_interval_s: float | None = None,
    *,
    distributions: bool = False,
    flow_delays: bool = False,
    instruments: Sequence[Instrument] = (),
    progress: Callable[[float], object] | None = None,
    keeps_at_interrupt: bool = False,
) -> Result:
    """Simulate a scenario once.

    The same scenario and seed give bit-identical metrics on any number of threads of one platform.
    Another platform's elementary functions may differ in their last bits.

    Args:
        scenario: what to simulate, or the name or the path from which it is loaded.
        seed: 0 .. 2^64 - 1; every random stream of the run derives from it.
        probe_interval_s: seconds between the points of :meth:`Result.series`; ``None`` for none.
        distributions: add ``sojourn_distribution_ms`` to the metrics of links: ``percent`` and
            ``value``, the quantiles of the queueing delays from 0 % to 100 %.
        flow_delays: add to the metrics of groups of flows ``delay_ms``, ``jitter_ms``,
            ``packet_loss_rate`` and ``losses_in_a_row`` of their data packets, which takes some
            per cent longer.
        instruments: what is written down beside the metrics: at most one
            :class:`~vermilion.FlowSeries`, :class:`~vermilion.PacketTrace` and
            :class:`~vermilion.RawDistributions`; :attr:`Result.flow_series` and so on have it.
        progress: called from time to time with the part of the scenario's duration that is
            done, 0 to 1; the run is then made in steps, with the same outcome.
        keeps_at_interrupt: whether Ctrl-C ends the run with what it has measured by then;
            ``data["interrupted_at_s"]`` tells when. A second Ctrl-C ends it with nothing.

    Raises:
        ScenarioError: a scenario, a seed, an interval or an instrument that is not accepted.
        MissingPackageError: an instrument's file is Parquet, and there is no pyarrow.
        OSError: an instrument's file cannot be written.
        KeyboardInterrupt: at Ctrl-C, within 0.1 s, where nothing is kept or nothing was measured.
    """
    from vermilion import _core

    stepper = Stepper(keeps=keeps_at_interrupt)
    recorded = Recorded()
    warn_if_not_optimised()
    scenario = given_scenario(scenario)
    check_listed(instruments, scenario)
    seed = check_seed(seed, scenario.origin)
    text = scenario.core_json(probe_interval_s)
    # The core works on a thread of its own, so it is the time of the whole process that counts.
    wall, cpu = time.perf_counter(), time.process_time()
    try:
        if not instruments and progress is None and not keeps_at_interrupt:
            outcome, series = _core.run(text, seed, distributions, flow_delays)
        else:
            simulation = _core.Simulation(text, seed, distributions, flow_delays, round_trips=False)
            with stepper.listening():
                if instruments:
                    recorded = recorded_run(
                        simulation, scenario, instruments, seed, progress, stepper
                    )
                else:
                    _run_in_steps(simulation, scenario.duration, progress, stepper)
                outcome, series = simulation.conclude()
    except _core.ParameterError as error:
        raise from_core(error, scenario.origin) from None
    timing: Timing = {
        "wall_s": time.perf_counter() - wall,
        "cpu_s": time.process_time() - cpu,
    }
    result = result_of(
        outcome,
        seed=seed,
        version=_core.VERSION,
        timing=timing,
        series=series,
        recorded=recorded,
    )
    if stepper.interrupted:
        totals = [result.link(name).total for name in result.links]
        if all(total["end_s"] <= total["start_s"] for total in totals):
            message = f"nothing was measured yet: the warm-up lasts {scenario.warm_up:g} s"
            raise KeyboardInterrupt(message)
        result.data["interrupted_at_s"] = simulation.now_ns / 1e9
    return result


def _run_in_steps(
    simulation: Simulation,
    duration_s: float,
    progress: Callable[[float], object] | None,
    stepper: Stepper,
) -> None:
    duration_ns = round(duration_s * 1e9)
    steps = 1 if progress is None else STEPS
    for step in range(1, steps + 1):
        stepper.advance(simulation, duration_ns * step // steps)
        if stepper.interrupted:
            return
        if progress is not None:
            progress(step / steps)


@overload
def run_many(
    scenarios: Mapping[str, Scenario | str | Path],
    seeds: Sequence[int],
    *,
    threads: int | None = None,
    progress: Callable[[int], object] | None = None,
    deadline_s: float | None = None,
    distributions: bool = False,
    flow_delays: bool = False,
) -> dict[str, list[Result | None]]: ...


@overload
def run_many(
    scenarios: Sequence[Scenario | str | Path],
    seeds: Sequence[int],
    *,
    threads: int | None = None,
    progress: Callable[[int], object] | None = None,
    deadline_s: float | None = None,
    distributions: bool = False,
    flow_delays: bool = False,
) -> list[list[Result | None]]: ...


def run_many(
    scenarios: Mapping[str, Scenario | str | Path] | Sequence[Scenario | str | Path],
    seeds: Sequence[int],
    *,
    threads: int | None = None,
    progress: Callable[[int], object] | None = None,
    deadline_s: float | None = None,
    distributions: bool = False,
    flow_delays: bool = False,
) -> dict[str, list[Result | None]] | list[list[Result | None]]:
    """Simulate every scenario with every seed, on all cores.

    The results have no ``wall_s`` and ``cpu_s``, no series and no single flows (``each``).

    Args:
        scenarios: the candidates, in a list or by name (:func:`grid` makes many). Each is a
            scenario, the name or the path from which it is loaded, or a text in JSON as the core
            reads it (:meth:`Scenario.core_json`).
        seeds: common to all candidates, so that they meet the same random numbers.
        threads: how many runs at a time; ``None`` for one on each core.
        progress: called with the number of runs done, about every 50 ms.
        deadline_s: wall seconds after which no further result is waited for.
        distributions: as for :func:`run`.
        flow_delays: as for :func:`run`.

    Returns:
        For each scenario, in order or by its name, a list with one result per seed; ``None``
        where the deadline came first. :func:`frames` makes a data frame of it.

    Raises:
        ScenarioError: scenarios, seeds or a number of threads that are not accepted.
        KeyboardInterrupt: at Ctrl-C, within 0.2 s.
    """
    check_several(scenarios)
    if isinstance(scenarios, Mapping):
        lists = run_many(
            list(given_candidates(scenarios).values()),
            seeds,
            threads=threads,
            progress=progress,
            deadline_s=deadline_s,
            distributions=distributions,
            flow_delays=flow_delays,
        )
        return dict(zip(scenarios, lists, strict=True))
    numbered = {str(place): each for place, each in enumerate(scenarios)}
    candidates = list(given_candidates(numbered).values())
    warn_if_not_optimised()
    first = candidates[0] if candidates else ""
    seeds = check_seeds(seeds, "" if isinstance(first, str) else first.origin)
    texts = [each if isinstance(each, str) else each.core_json() for each in candidates]
    jobs = [(index, seed) for index in range(len(texts)) for seed in seeds]
    results = run_jobs(
        texts,
        jobs,
        threads=threads,
        progress=progress,
        deadline_s=deadline_s,
        distributions=distributions,
        flow_delays=flow_delays,
    )
    return [results[index * len(seeds) : (index + 1) * len(seeds)] for index in range(len(texts))]


def run_jobs(
    texts: Sequence[str],
    jobs: Sequence[tuple[int, int]],
    *,
    threads: int | None = None,
    progress: Callable[[int], object] | None = None,
    deadline_s: float | None = None,
    distributions: bool = False,
    flow_delays: bool = False,
) -> list[Result | None]:
    """Simulate some of the texts with some of the seeds, as :func:`run_many` does with all.

    Args:
        texts: scenarios as the core reads them.
        jobs: the index of a text and a seed, each.
        threads: as there, and so are the others.
        progress: called with the number of runs done.
        deadline_s: wall seconds.
        distributions: of queueing delays.
        flow_delays: and of packets of groups of flows.

    Returns:
        In the order of the jobs.

    Raises:
        ScenarioError: a scenario or a number of threads that is not accepted.
    """
    from vermilion import _core

    at_a_time = check_threads(threads)
    try:
        outcomes = _core.run_many(
            list(texts),
            list(jobs),
            at_a_time,
            progress,
            deadline_s,
            distributions,
            flow_delays,
        )
    except _core.ParameterError as error:
        raise from_core(error, "") from None
    return [
        None
        if outcome is None
        else result_of(outcome, seed=seed, version=_core.VERSION, timing={}, series={})
        for outcome, (_, seed) in zip(outcomes, jobs, strict=True)
    ]


@cache
def warn_if_not_optimised() -> None:
    """Warn, once per process, that the core is a debug build."""
    from vermilion import _core

    if not _core.OPTIMISED:
        sys.stderr.write(
            "vermilion: WARNING: the core was built WITHOUT OPTIMISATION and is 10 to 100 times "
            "slower than it should be.\n"
            "vermilion: WARNING: build it with `maturin develop --release` or `pip install .`\n"
        )
