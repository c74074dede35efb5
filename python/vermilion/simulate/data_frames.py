"""Many results as one data frame (pandas), in long form: a row for each number."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from vermilion.scenario import Scenario
from vermilion.simulate.result import Result
from vermilion.simulate.result_frames import COLUMNS, pandas_package, rows_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

MANY_COLUMNS: Final = ("variant", "seed", *COLUMNS)
"""The columns of a frame of many results."""


def frames(
    results: Result
    | Iterable[Result | None]
    | Iterable[Iterable[Result | None]]
    | Mapping[str, Iterable[Result | None]],
) -> pd.DataFrame:
    """Many results as one data frame in long form: a row for each number.

    Args:
        results: what :func:`run_many` returns (the variants are then called "0", "1", ...);
            or the results of each variant by its name; or some results of one variant. Runs
            that a deadline cut short (``None``) have no rows. A comparison has frames of its
            own (:meth:`Comparison.to_frame`, :meth:`Comparison.runs_frame`).

    Returns:
        The columns of :meth:`Result.to_frame` after ``variant`` and ``seed``.

    Raises:
        TypeError: these are no results, with what would be accepted.
        MissingPackageError: there is no pandas.
    """
    chosen = list(_by_variant(results))
    pandas = pandas_package()
    rows = [(variant, result.seed, *row) for variant, result in chosen for row in rows_of(result)]
    frame: pd.DataFrame = pandas.DataFrame.from_records(rows, columns=MANY_COLUMNS)
    return frame


def _by_variant(results: Any) -> Iterator[tuple[str, Result]]:  # noqa: ANN401 - see frames
    if not isinstance(results, Mapping):
        entries = _replications(results)
        flat = all(entry is None or isinstance(entry, Result) for entry in entries)
        results = dict(zip(map(str, range(len(entries))), entries, strict=True))
        if flat:
            results = {"0": entries}
    for name, replications in results.items():
        for result in _replications(replications):
            if isinstance(result, Result):
                yield name, result
            elif result is not None:
                raise _no_result(result)


def _replications(results: Any) -> list[Any]:  # noqa: ANN401 - whatever is given as results
    if isinstance(results, Result):
        return [results]
    # A scenario and a text could be iterated over as well.
    if isinstance(results, str | Mapping | Scenario) or not isinstance(results, Iterable):
        raise _no_result(results)
    return list(results)


def _no_result(given: object) -> TypeError:
    kind = type(given).__name__
    accepted = (
        "a result of run or run_many, a list of results, or a dictionary of them by "
        "name; a scenario has to be run first, and a comparison has to_frame() and "
        "runs_frame()"
    )
    return TypeError(f"frames: {kind} is not accepted; expected {accepted}")
