"""Time series of chosen flows: windows and the state of their senders."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TextIO

from vermilion.files.whole_file import whole_file
from vermilion.scenario.errors import FieldError, errors_under
from vermilion.scenario.lowering import SHORTEST_S, accepted_seconds, usual_interval_s
from vermilion.scenario.scripted_losses import chosen_flows
from vermilion.simulate.instruments.columns import Column, arrow_table, data_frame, joined
from vermilion.simulate.tables import check_format, format_of

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from vermilion.scenario import Scenario

STATES: Final = ("open", "disorder", "reduced", "recovery", "loss", "")
"""States of a sender, as Linux names them; "" is a flow without a sender."""

COLUMNS: Final = (
    Column("time_s", "s", "when, by the sender's clock"),
    Column("group", "", "name of the flow's group", names="groups"),
    Column("flow", "1", "number among the group's flows, or in the order in which transfers begin"),
    Column("window_packets", "packets", "congestion window"),
    Column("threshold_packets", "packets", "slow-start threshold"),
    Column("smoothed_rtt_ms", "ms", "smoothed round trip; NaN before the first"),
    Column("in_flight_packets", "packets", "in the network, as the sender counts them"),
    Column("pacing_rate_bit_per_s", "bit/s", "at which it spaces packets; NaN where it does not"),
    Column("goodput_bit_per_s", "bit/s", "delivered in order since the flow's row before"),
    Column("state", "", "what the sender is about", names="states"),
    Column("retransmissions", "packets", "sent again so far"),
    Column("timeouts", "1", "expiries of the retransmission timer so far"),
)
"""The columns, in order."""


@dataclass(frozen=True)
class FlowSeries:
    """Choice of the flows to follow, and of the interval between readings.

    Attributes:
        flows: one choice or several: "early", "early:3", "early:0..4", "early:every 10",
            "every 10", 7; all flows unless it is given.
        interval_s: seconds between two readings; ``None`` for a row at each change of the window,
            the threshold or the state. "automatic" is 0.1 s; of a run that is shorter than
            a second, a hundredth of it.
        most: rows after which the series end.
    """

    flows: str | int | Sequence[str | int] = ()
    interval_s: float | Literal["automatic"] | None = "automatic"
    most: int = 2_000_000

    def to_core(self, scenario: Scenario) -> dict[str, object]:
        """Return it for the core.

        Raises:
            FieldError: a choice that is none, or an interval that does not fit the scenario.
        """
        return {
            "flows": flows_to_core(self.flows, scenario),
            "interval_ns": _interval_ns(self.interval_s, scenario.duration),
            "most": self.most,
        }


@dataclass(frozen=True)
class FlowSeriesData:
    """The series of a run: columns of one length, a row for each flow and reading.

    Attributes:
        columns: those of :data:`COLUMNS`; ``group`` and ``state`` hold numbers, places in
            ``groups`` and :data:`STATES`.
        groups: the names of the groups.
        complete: whether there are all rows, and not only the first ``most``.
        seed: of the run.
    """

    columns: Mapping[str, NDArray[Any]] = field(repr=False)
    groups: tuple[str, ...]
    complete: bool
    seed: int

    def __len__(self) -> int:
        return len(self.columns["time_s"])

    def __getitem__(self, column: str) -> NDArray[Any]:
        return self.columns[column]

    def flows(self) -> list[tuple[str, int]]:
        """Group and number of each flow that has rows, in order."""
        import numpy as np

        pairs = np.unique(np.stack([self["group"], self["flow"]], axis=1), axis=0)
        return [(self.groups[group], int(flow)) for group, flow in pairs]

    def of(self, group: str, flow: int = 0) -> dict[str, NDArray[Any]]:
        """The columns of one flow.

        Raises:
            KeyError: it has no rows.
        """
        if group not in self.groups:
            message = f"no group {group!r}; there is {', '.join(self.groups)}"
            raise KeyError(message)
        rows = (self["group"] == self.groups.index(group)) & (self["flow"] == flow)
        if not rows.any():
            message = f"no rows of flow {flow} of {group!r}: not chosen, or never begun"
            raise KeyError(message)
        return {
            name: values[rows]
            for name, values in self.columns.items()
            if name not in {"group", "flow"}
        }

    def to_pandas(self) -> pd.DataFrame:
        """All rows as a pandas data frame.

        Raises:
            MissingPackageError: there is no pandas.
        """
        return data_frame(self.columns, self._names())

    def to_arrow(self) -> Any:  # noqa: ANN401 - pyarrow has no types
        """All rows as an Arrow table, with units and meanings.

        Raises:
            MissingPackageError: there is no pyarrow.
        """
        return arrow_table(self.columns, COLUMNS, self._names(), {"seed": str(self.seed)})

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write all rows to a file: ``.csv``, or ``.parquet`` with pyarrow.

        Raises:
            ValueError: a name with another ending.
            MissingPackageError: Parquet without pyarrow.
            OSError: the file cannot be written.
        """
        check_format(path)
        if format_of(path) == "parquet":
            from vermilion.simulate.extras import optional

            parquet = optional("pyarrow.parquet", "Parquet files")
            with whole_file(Path(path), binary=True) as file:
                parquet.write_table(self.to_arrow(), file)
        else:
            with whole_file(Path(path)) as text:
                self.write_csv(text)

    def write_csv(self, file: TextIO) -> None:
        """Write all rows as CSV; absent values are left empty."""
        names = self._names()
        file.write(",".join(column.name for column in COLUMNS) + "\n")
        lists = [
            [names[column.name][code] for code in self[column.name].tolist()]
            if column.name in names
            else self[column.name].tolist()
            for column in COLUMNS
        ]
        file.writelines(
            ",".join(_text(value) for value in row) + "\n" for row in zip(*lists, strict=True)
        )

    def _names(self) -> dict[str, Sequence[str]]:
        return {"group": self.groups, "state": STATES}


def flow_series_of(
    batches: Sequence[Mapping[str, NDArray[Any]]],
    groups: Sequence[str],
    *,
    complete: bool,
    seed: int,
) -> FlowSeriesData:
    """Join the batches of rows that the core has handed out."""
    import numpy as np

    columns = joined(batches, [column.name for column in COLUMNS])
    state = columns["state"]
    columns["state"] = np.where(state < len(STATES) - 1, state, len(STATES) - 1).astype(np.uint8)
    return FlowSeriesData(columns, tuple(groups), complete, seed)


def flows_to_core(
    flows: str | int | Iterable[str | int], scenario: Scenario
) -> list[dict[str, object]]:
    """Chosen flows as the core reads them; none for all.

    Raises:
        FieldError: a choice that is none.
    """
    counts = scenario.flow_counts()
    if not isinstance(flows, str | int):
        flows = list(flows)
    with errors_under("flows"):
        return [choice.to_core() for choice in chosen_flows(flows, counts)]


def _interval_ns(interval_s: float | str | None, duration_s: float) -> int | None:
    if interval_s is None:
        return None
    if interval_s == "automatic":
        interval_s = usual_interval_s(duration_s)
    if not (isinstance(interval_s, int | float) and SHORTEST_S <= interval_s <= duration_s):
        accepted = f'{accepted_seconds(SHORTEST_S, duration_s)}, "automatic" or None'
        raise FieldError("interval_s", interval_s, accepted)
    return round(interval_s * 1e9)


def _text(value: object) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else repr(value)
    return str(value)
