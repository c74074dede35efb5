"""Every transfer by itself: start, size, completion time, slowdown against an empty network."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO

from typing_extensions import TypedDict

from vermilion.files.whole_file import whole_file
from vermilion.scenario.errors import FieldError
from vermilion.simulate.extras import optional
from vermilion.simulate.instruments.columns import Column, arrow_table, data_frame
from vermilion.simulate.tables import check_format, format_of

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from vermilion.scenario import Scenario

COLUMNS: Final = (
    Column("group", "", "name of the group of flows", names="groups"),
    Column("start_s", "s", "when the first packet was sent: the SYN, where there is one"),
    Column("bytes", "bytes", "carried, without headers; of on-off traffic with them"),
    Column("completion_time_s", "s", "until all of it had arrived; absent while it is under way"),
    Column("ideal_time_s", "s", "the same in an empty network, without a window"),
    Column("slowdown", "1", "completion time per ideal time"),
)
"""The columns, in order."""

FORMATS: Final = ("csv", "parquet", "json")
"""Formats of files."""

_PERCENTILES: Final = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


@dataclass(frozen=True)
class Transfers:
    """Choice of the transfers to write down: all of transfers, web, trace files and on-off traffic.

    Attributes:
        most: transfers after which no further one is written down.
    """

    most: int = 2_000_000

    def to_core(self, _scenario: Scenario) -> dict[str, object]:
        """Return it for the core.

        Raises:
            FieldError: it is no number of transfers.
        """
        if isinstance(self.most, bool) or not isinstance(self.most, int) or self.most < 1:
            raise FieldError("most", self.most, "a whole number of transfers, at least 1")
        return {"most": self.most}


class SizeClass(TypedDict):
    """Transfers of one size class.

    Attributes:
        above_bytes: they carry more than so many bytes.
        up_to_bytes: and no more than so many; ``None`` for any number.
        transfers: how many have begun.
        unfinished: how many of them were under way at the end of the run.
        completion_time_s: ``mean``, ``p50``, ``p95`` and ``p99`` of the others; ``None`` for none.
        slowdown: the same of their slowdowns.
    """

    above_bytes: int
    up_to_bytes: int | None
    transfers: int
    unfinished: int
    completion_time_s: dict[str, float] | None
    slowdown: dict[str, float] | None


@dataclass(frozen=True)
class TransfersData:
    """The transfers of a run: columns of one length, in the order in which they began.

    Attributes:
        columns: those of :data:`COLUMNS`; ``group`` holds numbers, places in ``groups``.
        groups: the names of the groups.
        complete: whether there are all, and not only the first ``most``.
        seed: of the run.
    """

    columns: Mapping[str, NDArray[Any]] = field(repr=False)
    groups: tuple[str, ...]
    complete: bool
    seed: int

    def __len__(self) -> int:
        return len(self.columns["start_s"])

    def __getitem__(self, column: str) -> NDArray[Any]:
        return self.columns[column]

    @property
    def unfinished(self) -> int:
        """Transfers that were under way at the end of the run."""
        import numpy as np

        return int(np.isnan(self["completion_time_s"]).sum())

    def of(self, group: str) -> TransfersData:
        """The transfers of one group.

        Raises:
            KeyError: there is no such group.
        """
        if group not in self.groups:
            message = f"no group {group!r}; there is {', '.join(self.groups)}"
            raise KeyError(message)
        rows = self["group"] == self.groups.index(group)
        columns = {name: values[rows] for name, values in self.columns.items()}
        return TransfersData(columns, self.groups, self.complete, self.seed)

    def by_size(self, edges: Sequence[int] = (10_000, 100_000, 1_000_000)) -> list[SizeClass]:
        """Percentiles and the number unfinished, by size.

        Percentiles are values that occur: the smallest that so much of the completed transfers do
        not exceed. A class in which many are unfinished seems faster than it is.

        Args:
            edges: sizes in bytes, ascending; a size at an edge belongs to the class below it.

        Raises:
            ValueError: edges that do not ascend, or are no positive numbers.
        """
        inner = list(edges)
        if any(one >= other for one, other in zip([0, *inner], inner, strict=False)):
            message = f"edges: {inner} is not accepted; expected positive numbers that ascend"
            raise ValueError(message)
        return [
            self._size_class(low, high)
            for low, high in zip([0, *inner], [*inner, None], strict=True)
        ]

    def _size_class(self, low: int, high: int | None) -> SizeClass:
        import numpy as np

        rows = self["bytes"] > low
        if high is not None:
            rows &= self["bytes"] <= high
        done = rows & ~np.isnan(self["completion_time_s"])
        return SizeClass(
            above_bytes=low,
            up_to_bytes=high,
            transfers=int(rows.sum()),
            unfinished=int(rows.sum() - done.sum()),
            completion_time_s=_summary(self["completion_time_s"][done]),
            slowdown=_summary(self["slowdown"][done]),
        )

    def to_pandas(self) -> pd.DataFrame:
        """All transfers as a pandas data frame.

        Raises:
            MissingPackageError: there is no pandas.
        """
        return data_frame(self.columns, {"group": self.groups})

    def to_arrow(self) -> Any:  # noqa: ANN401 - pyarrow has no types
        """All transfers as an Arrow table, with units and meanings.

        Raises:
            MissingPackageError: there is no pyarrow.
        """
        metadata = {"seed": str(self.seed)}
        return arrow_table(self.columns, COLUMNS, {"group": self.groups}, metadata)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write all transfers to a file: ``.csv``, ``.json``, or ``.parquet`` with pyarrow.

        Raises:
            ValueError: a name with another ending.
            MissingPackageError: Parquet without pyarrow.
            OSError: the file cannot be written.
        """
        check_format(path, FORMATS)
        kind = format_of(path, FORMATS)
        if kind == "parquet":
            parquet = optional("pyarrow.parquet", "Parquet files")
            with whole_file(Path(path), binary=True) as file:
                parquet.write_table(self.to_arrow(), file)
            return
        with whole_file(Path(path)) as text:
            if kind == "json":
                self.write_json(text)
            else:
                self.write_csv(text)

    def write_csv(self, file: TextIO) -> None:
        """Write all transfers as CSV; absent values are left empty."""
        file.write(",".join(column.name for column in COLUMNS) + "\n")
        file.writelines(
            ",".join("" if cell is None else str(cell) for cell in row) + "\n"
            for row in self._rows()
        )

    def write_json(self, file: TextIO) -> None:
        """Write all transfers as a JSON list with an object for each; absent values have no key."""
        names = [column.name for column in COLUMNS]
        begin = "[\n"
        for row in self._rows():
            known = {name: cell for name, cell in zip(names, row, strict=True) if cell is not None}
            file.write(begin + json.dumps(known))
            begin = ",\n"
        file.write("[]\n" if len(self) == 0 else "\n]\n")

    def _rows(self) -> zip[tuple[Any, ...]]:
        lists = [
            [self.groups[code] for code in self[column.name].tolist()]
            if column.name == "group"
            else [None if cell != cell else cell for cell in self[column.name].tolist()]  # noqa: PLR0124 - NaN
            for column in COLUMNS
        ]
        return zip(*lists, strict=True)


def transfers_of(
    found: tuple[Mapping[str, NDArray[Any]], bool], groups: Sequence[str], seed: int
) -> TransfersData:
    """Convert what the core has written down."""
    columns, cut = found
    slowdown = columns["completion_time_s"] / columns["ideal_time_s"]
    ordered = {**columns, "slowdown": slowdown}
    named = {column.name: ordered[column.name] for column in COLUMNS}
    return TransfersData(named, tuple(groups), not cut, seed)


def _summary(values: NDArray[Any]) -> dict[str, float] | None:
    """Mean and percentiles of values."""
    import numpy as np

    if len(values) == 0:
        return None
    shares = list(_PERCENTILES.values())
    percentiles = np.quantile(values, shares, method="inverted_cdf").tolist()
    return {"mean": float(values.mean()), **dict(zip(_PERCENTILES, percentiles, strict=True))}
