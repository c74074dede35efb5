"""Full factorial designs: every number with the values varied, in one table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from itertools import product
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, Final

from vermilion.scenario import disciplines as known_disciplines
from vermilion.scenario import load_scenario, scenario_from_document
from vermilion.scenario import senders as known_senders
from vermilion.scenario.errors import ScenarioError, errors_of
from vermilion.scenario.other_values import with_discipline, with_sender
from vermilion.scenario.overrides import apply_overrides
from vermilion.scenario.plugins import registered_name
from vermilion.simulate.accepted import given_scenario
from vermilion.simulate.metric import metric_of
from vermilion.simulate.result_data import WITH_FLOW_DELAYS
from vermilion.simulate.result_frames import COLUMNS, pandas_package, rows_of
from vermilion.simulate.runs import run_many

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pandas as pd

    from vermilion.scenario import Scenario
    from vermilion.simulate.result import Result

ALL: Final = "all"
"""In place of a discipline's name: every one there is."""

DISCIPLINE: Final = "discipline"
"""Path of :func:`grid` for the discipline of all links."""

SENDER: Final = "sender"
"""Path of :func:`grid` for the sender of all flows that have one."""


def make_variants(
    scenario: Scenario | str | Path,
    disciplines: Sequence[str] = (),
    settings: Sequence[str] = (),
    senders: Sequence[str] = (),
) -> tuple[dict[str, Scenario], list[str]]:
    """Every combination of disciplines, senders, and values of paths that are set repeatedly.

    Args:
        scenario: itself, or the name or path from which it is loaded.
        disciplines: the name of each, and after a colon parameters of its own if it is to have
            any: "codel" or "codel:target=10 ms,interval=50 ms". The scenario's own discipline
            keeps its parameters; others take over those that they share with it, and have
            their defaults for the rest. "all" means every discipline there is. A label may follow
            an equals sign: "codel=CoDel", "codel:target=10 ms=tight".
        settings: texts "path=value". The same path given several times makes a variant of each
            of its values; a path given once is set in all variants.
        senders: likewise, of all flows that have one.

    Returns:
        The scenarios by what sets them apart, and remarks: one for each discipline replaced, and
        one if the scenario's own is none of the variants.

    Raises:
        ScenarioError: a variant that is not accepted.
    """
    for field, given in (
        ("disciplines", disciplines),
        ("settings", settings),
        ("senders", senders),
    ):
        if isinstance(given, str):
            raise ScenarioError(field, given, f'a list of them, like ["{given}"]')
    by_path: dict[str, list[str]] = {}
    for setting in settings:
        by_path.setdefault(setting.partition("=")[0].strip(), []).append(setting)
    repeated = [choices for choices in by_path.values() if len(choices) > 1]
    common = [choices[0] for choices in by_path.values() if len(choices) == 1]

    variants: dict[str, Scenario] = {}
    remarks: dict[str, None] = {}
    queues = labelled(disciplines, known_disciplines())
    ends = labelled(senders, known_senders())
    for choice in product(*repeated):
        changed = _with_settings(scenario, [*common, *choice])
        for (queue, discipline), (end, sender) in product(queues or [("", "")], ends or [("", "")]):
            variant, reports = with_discipline(changed, discipline) if discipline else (changed, [])
            if sender:
                variant = with_sender(variant, sender)
            name = ", ".join(filter(None, [queue, end, *choice])) or "as written"
            if name in variants:
                raise ScenarioError("variants", name, "a label for each, like codel=mine")
            variants[name] = variant
            remarks.update((str(report), None) for report in reports)
        if queues:
            remarks.update(dict.fromkeys(_missing_queue_remark(changed, queues)))
    return variants, list(remarks)


def labelled(choices: Iterable[str], known: Iterable[str]) -> list[tuple[str, str]]:
    """Label and algorithm of each choice, each choice once, with all known ones for "all"."""
    found: dict[tuple[str, str], None] = {}
    for choice in dict.fromkeys(choices):
        name, colon, settings = choice.partition(":")
        *before, last = settings.split(",")
        label = name.partition("=")[2].strip() if not colon else ""
        if not colon:
            name = name.partition("=")[0].strip()
        elif last.count("=") > 1:
            last, _, label = last.rpartition("=")
        algorithm = f"{name}{colon}{','.join([*before, last])}"
        several = known if algorithm == ALL else [algorithm]
        found.update({(label.strip() or each, each): None for each in several})
    return list(found)


def _missing_queue_remark(scenario: Scenario, queues: Iterable[tuple[str, str]]) -> list[str]:
    """Remark that the scenario's own queue is none of the variants; none if it is."""
    own = dict.fromkeys(link.queue.discipline for link in scenario.links.values())
    named = {each.partition(":")[0] for _, each in queues}
    if named & set(own):
        return []
    if len(own) > 1:
        return [f"the queues as written ({', '.join(own)}) are not among them"]
    [name] = own
    return [f"the queue as written ({name}) is not among them; to see it too, name it"]


def grid(
    scenario: Scenario | str | Path, values: Mapping[str, Iterable[object]]
) -> dict[str, Scenario]:
    """Every combination of the values of some paths: a full factorial design.

        >>> weights = {"links.bottleneck.queue.weight": [0.002, 0.01], "flows.early.count": [4, 16]}
        >>> results = vermilion.run_many(vermilion.grid(scenario, weights), seeds=range(1, 11))
        >>> frame = vermilion.frames(results)

    Disciplines are values too. Each takes over from the scenario's own as in :func:`compare`: what
    both have with the same unit stays, the rest has its defaults, and parameters of its own
    follow a colon.

        >>> queues = {"discipline": ["red", "fq-codel", "codel:target=10 ms"]}
        >>> print(vermilion.compare(vermilion.grid(scenario, queues), seeds=10))

    So are senders, under the key ``sender``, and classes of your own, which are registered then.

    Args:
        scenario: what all of them have in common, or the name or path from which it is loaded.
        values: by path, as :meth:`Scenario.with_values` takes them. ``links.NAME.queue.discipline``
            is the discipline of one link, and the key ``discipline`` that of all links; among
            their values "all" stands for every discipline there is. The key ``sender`` is the
            sender of all flows that have one. A value that is there twice counts once.

    Returns:
        The scenarios by what sets them apart, like "flows.early.count=4, ...", the values of the
        last path changing fastest.

    Raises:
        ScenarioError: an unknown path, a value that is not accepted, or one where a list is
            expected.
    """
    return {
        ", ".join(f"{path}={value}" for path, value in chosen.items()): variant
        for chosen, variant in combinations(scenario, values)
    }


def combinations(
    scenario: Scenario | str | Path, values: Mapping[str, Iterable[object]]
) -> Iterator[tuple[dict[str, object], Scenario]]:
    """Combine as :func:`grid` does; return each scenario with its values by path.

    Raises:
        ScenarioError: as there.
    """
    scenario = given_scenario(scenario)
    if not isinstance(values, Mapping):
        accepted = 'lists of values by path, like {"links.bottleneck.queue.weight": [0.002, 0.01]}'
        raise ScenarioError("values", values, accepted, scenario.origin)
    choices = {path: _choices(scenario, path, given) for path, given in values.items()}
    for combination in product(*choices.values()):
        chosen = dict(zip(choices, combination, strict=True))
        rest = {path: value for path, value in chosen.items() if path != SENDER}
        variant = with_sender(scenario, chosen[SENDER]) if SENDER in chosen else scenario
        yield chosen, variant.with_values(_expand_links(scenario, rest))


def _choices(scenario: Scenario, path: str, given: Iterable[object]) -> list[object]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ScenarioError(path, given, "a list of values, even of a single one", scenario.origin)
    choices = [registered_name(value) if isinstance(value, type) else value for value in given]
    if path == DISCIPLINE or path.endswith(f".queue.{DISCIPLINE}"):
        choices = [
            name
            for choice in choices
            for name in (known_disciplines() if choice == ALL else [choice])
        ]
    # Values may be lists, which no set can hold. True is no 1 here.
    told_apart = [(isinstance(choice, bool), choice) for choice in choices]
    return [each[1] for number, each in enumerate(told_apart) if each not in told_apart[:number]]


def _expand_links(scenario: Scenario, chosen: Mapping[str, object]) -> dict[str, object]:
    """Return the values by path, with "discipline" at the path of every link."""
    values: dict[str, object] = {}
    for path, value in chosen.items():
        if path == DISCIPLINE:
            values |= {f"links.{link}.queue.{DISCIPLINE}": value for link in scenario.links}
        else:
            values[path] = value
    return values


def _with_settings(scenario: Scenario | str | Path, settings: Sequence[str]) -> Scenario:
    if isinstance(scenario, str | Path):
        return load_scenario(scenario, settings)
    scenario = given_scenario(scenario)
    if not settings:
        return scenario
    document = deepcopy(dict(scenario.document))
    with errors_of(scenario.origin):
        apply_overrides(document, settings)
    return scenario_from_document(document, scenario.origin)


def chosen_seeds(seeds: int | Sequence[int]) -> tuple[int, ...]:
    """List the seeds: a number of them from 1 on, or those given.

    Raises:
        ScenarioError: there are none, or one is there twice: the same run again says nothing more,
            and an interval would be narrower than it is.
    """
    chosen = tuple(range(1, seeds + 1)) if isinstance(seeds, int) else tuple(map(index, seeds))
    if not chosen:
        raise ScenarioError("seeds", seeds, "at least one seed")
    used_seeds: set[int] = set()
    for seed in chosen:
        if seed in used_seeds:
            raise ScenarioError("seeds", f"{seed}, which is there twice,", "each of them once")
        used_seeds.add(seed)
    return chosen


@dataclass(frozen=True, slots=True)
class Sweep:
    """The runs of a sweep.

    Attributes:
        factors: what was varied.
        runs: for each combination its values by factor, and a result for each seed.
    """

    factors: tuple[str, ...]
    runs: tuple[tuple[Mapping[str, object], tuple[Result, ...]], ...]

    def rows(self, metrics: Sequence[str] = ()) -> list[dict[str, object]]:
        """The numbers as a list of dictionaries, for which no other package is needed.

        Args:
            metrics: paths like "links.bottleneck.utilization"; a row is then a run, with a column
                for each of them (``None`` where it could not be computed). Without any a row is a
                number, with the columns of :meth:`Result.to_frame`.

        Returns:
            Each row begins with the factors and the ``seed``.

        Raises:
            ScenarioError: a metric that there is not.
        """
        return list(self._wide_rows(metrics) if metrics else self._long_rows())

    def to_frame(self, metrics: Sequence[str] = ()) -> pd.DataFrame:
        """The same as a data frame.

        Raises:
            ScenarioError: a metric that there is not.
            MissingPackageError: there is no pandas.
        """
        columns = metrics or COLUMNS
        rows = self.rows(metrics)
        frame: pd.DataFrame = pandas_package().DataFrame(
            rows, columns=[*self.factors, "seed", *columns]
        )
        return frame

    def _results(self) -> Iterator[tuple[dict[str, object], Result]]:
        for chosen, results in self.runs:
            for result in results:
                yield {**chosen, "seed": result.seed}, result

    def _long_rows(self) -> Iterator[dict[str, object]]:
        for chosen, result in self._results():
            for row in rows_of(result):
                yield {**chosen, **dict(zip(COLUMNS, row, strict=True))}

    def _wide_rows(self, metrics: Sequence[str]) -> Iterator[dict[str, object]]:
        rows = [
            {**chosen, **{metric: number_at(result, metric) for metric in metrics}}
            for chosen, result in self._results()
        ]
        for metric in metrics:
            if rows and all(row[metric] is None for row in rows):
                raise ScenarioError("metrics", metric, _accepted_metric(metric))
        return iter(rows)


def _accepted_metric(metric: str) -> str:
    if WITH_FLOW_DELAYS & set(metric.split(".")):
        return "a number that the runs have; they have this one with flow_delays=True"
    return "a number that one of the runs has, like links.NAME.queue_packets.mean"


def number_at(result: Result, metric: str) -> float | None:
    """The number of the whole run at a path that begins with "links" or "flows" and a name."""
    kind, _, rest = metric.partition(".")
    name, _, path = rest.partition(".")
    total: Mapping[str, object] | None = None
    if kind == "links" and name in result.links:
        total = result.link(name).total
    elif kind == "flows" and name in result.groups:
        total = result.flows(name).total
    if total is None:
        accepted = "a path like links.NAME.utilization or flows.NAME.jain_index"
        raise ScenarioError("metrics", metric, accepted)
    return metric_of(total, path)


def sweep(
    scenario: Scenario | str | Path,
    values: Mapping[str, Iterable[object]],
    seeds: int | Sequence[int] = 1,
    *,
    threads: int | None = None,
    progress: Callable[[int], object] | None = None,
    flow_delays: bool = False,
) -> Sweep:
    """Run every combination of the values of some paths with every seed.

        >>> swept = vermilion.sweep(
        ...     scenario,
        ...     {"links.bottleneck.rate": ["10 Mbit/s", "20 Mbit/s"], "sender": ["reno", "cubic"]},
        ...     seeds=5,
        ... )
        >>> swept.to_frame(["links.bottleneck.utilization", "flows.all.jain_index"])

    Args:
        scenario: what all of them have in common, or the name or path from which it is loaded.
        values: as :func:`grid` takes them: disciplines, senders and classes of your own included.
        seeds: so many from 1 on, or those that are listed.
        threads: as for :func:`run_many`.
        progress: called with the number of runs done.
        flow_delays: as for :func:`run`.

    Raises:
        ScenarioError: an unknown path, or a value that is not accepted.
    """
    scenario = given_scenario(scenario)
    if isinstance(values, Mapping) and "seed" in values:
        raise ScenarioError("seed", values["seed"], "the argument seeds", scenario.origin)
    chosen = chosen_seeds(seeds)
    made = list(combinations(scenario, values))
    results = run_many(
        [variant for _, variant in made],
        chosen,
        threads=threads,
        progress=progress,
        flow_delays=flow_delays,
    )
    runs = tuple(
        (factors, tuple(result for result in of_seeds if result is not None))
        for (factors, _), of_seeds in zip(made, results, strict=True)
    )
    return Sweep(tuple(values), runs)
