"""Running scenarios: one with :func:`run`, many candidates and seeds with :func:`run_many`."""

from __future__ import annotations

from vermilion.simulate.data_frames import frames
from vermilion.simulate.extras import MissingPackageError
from vermilion.simulate.measured_run import FlowsResult, LinkResult
from vermilion.simulate.metric import metric_of
from vermilion.simulate.result import Result
from vermilion.simulate.runs import run, run_many
from vermilion.simulate.statistics import Interval, mean_interval
from vermilion.simulate.sweeps import Sweep, grid, sweep

__all__ = [
    "FlowsResult",
    "Interval",
    "LinkResult",
    "MissingPackageError",
    "Result",
    "Sweep",
    "frames",
    "grid",
    "mean_interval",
    "metric_of",
    "run",
    "run_many",
    "sweep",
]
