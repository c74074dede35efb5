"""Running fabrics: one with :func:`run`, many and many seeds with :func:`run_many`."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from vermilion import _core
from vermilion.fabric.load import Fabric, load_fabric
from vermilion.fabric.result import FabricResult
from vermilion.scenario.errors import from_core

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path


def run(fabric: Fabric | str | Path, seed: int = 1) -> FabricResult:
    """Simulate a fabric once; the same fabric and seed give the same result.

    Args:
        fabric: what to simulate, or the path of its file.
        seed: of the traffic, the paths and the coins.

    Raises:
        ScenarioError: a fabric or a seed that is not accepted.
    """
    loaded = fabric if isinstance(fabric, Fabric) else load_fabric(fabric)
    return run_many({"": loaded}, [seed])[""][0]


def run_many(
    fabrics: Mapping[str, Fabric],
    seeds: Sequence[int],
    *,
    threads: int | None = None,
    progress: Callable[[int], object] | None = None,
) -> dict[str, list[FabricResult]]:
    """Simulate every fabric with every seed, on all cores.

    Args:
        fabrics: by any names.
        seeds: of each; a seed gives all fabrics the same traffic.
        threads: runs at a time (one for each core).
        progress: called from time to time with the number of finished runs.

    Returns:
        For each name the results in the order of the seeds.

    Raises:
        ScenarioError: a fabric or a seed that is not accepted.
    """
    from vermilion.simulate.accepted import check_seeds, check_threads

    seeds = check_seeds(seeds)
    jobs = [(number, seed) for number in range(len(fabrics)) for seed in seeds]
    every = list(fabrics.values())
    began = time.process_time()
    try:
        outcomes = _core.run_fabrics(
            [each.core for each in every], jobs, check_threads(threads), progress
        )
    except _core.ParameterError as error:
        raise from_core(error, "fabric") from None
    cpu_s = (time.process_time() - began) / max(len(jobs), 1)
    results = [
        _result(every[number], text, columns, cpu_s)
        for (number, _), (text, columns) in zip(jobs, outcomes, strict=True)
    ]
    count = len(seeds)
    return {
        name: results[number * count : (number + 1) * count] for number, name in enumerate(fabrics)
    }


def _result(fabric: Fabric, text: str, columns: Mapping[str, Any], cpu_s: float) -> FabricResult:
    names = fabric.graph.names
    data = json.loads(text)

    def link(one: int, other: int) -> str:
        return f"{names[one]}-{names[other]}"

    data["links"] = {
        link(each["from"], each["to"]): {
            **each,
            "from": names[each["from"]],
            "to": names[each["to"]],
        }
        for each in data["links"]
    }
    data["switches"] = {names[each.pop("node")]: each for each in data["switches"]}
    if data["deadlock"] is not None:
        data["deadlock"]["links"] = [link(*ends) for ends in data["deadlock"]["links"]]
    return FabricResult({"version": _core.VERSION, "cpu_s": cpu_s, **data}, columns, names)
