"""Packet traces: kept in memory, or written to a file as the run goes on."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Self

from vermilion.files.whole_file import whole_file
from vermilion.scenario.errors import FieldError, did_you_mean
from vermilion.scenario.quantities import TIME, format_quantity
from vermilion.simulate.extras import optional
from vermilion.simulate.instruments.columns import Column, arrow_table, data_frame, joined
from vermilion.simulate.instruments.flow_series import flows_to_core

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from vermilion._core import Simulation
    from vermilion.scenario import Scenario

FORMATS: Final = ("csv", "parquet", "pcapng")
"""Formats of traces."""

COLUMNS: Final = (
    Column("time_ns", "ns", "when, by the clock of the place"),
    Column("event", "", "what happens to the packet", names="events"),
    Column("place", "", "a link, or an end: sender or receiver", names="places"),
    Column("group", "", "name of the flow's group", names="groups"),
    Column("flow", "1", "number among the group's flows, or in the order in which transfers begin"),
    Column("connection", "1", "number of the connection, in the order in which they begin"),
    Column("acknowledgement", "1", "whether it is an acknowledgement"),
    Column("sequence", "1", "segment (0 opens); of an acknowledgement the segment waited for"),
    Column("size_bytes", "bytes", "size of the packet"),
    Column("sent_ns", "ns", "when its end sent it"),
    Column("echo_ns", "ns", "the sending time that it echoes; 0 if there is none"),
    Column("since_ns", "ns", "since when it was in the queue it leaves, or on its way"),
    Column("ecn", "1", "ECN codepoint: 0 Not-ECT, 1 ECT(1), 2 ECT(0), 3 CE"),
    Column("retransmission", "1", "whether its segment was sent before"),
    Column("opens", "1", "whether it opens the connection, or answers what does"),
    Column("reason", "", "why it is dropped", names="reasons"),
    Column("cause", "", "what of the discipline drops it, in its own words", names="causes"),
)
"""The columns, in order."""

_ENDS: Final = ("senders", "receivers", "links", "all")
_BATCH_ROWS: Final = 1 << 17


@dataclass(frozen=True)
class PacketTrace:
    """Choice of the packets to trace, of the places where they are seen, and of the file.

    Attributes:
        file: a name that ends in .csv, .parquet or .pcapng, or an open binary file; ``None`` keeps
            the columns in memory.
        flows: one choice or several, as for :class:`FlowSeries`; all flows unless it is given.
        at: where packets are seen: "senders", "receivers", "links", "all", or names of links; one
            or several. Unless it is given, everywhere; in a capture at the senders, so that a
            program that knows no interfaces sees each packet once.
        time_s: from when and until when.
        most: records after which the trace ends.
        payload: whether the frames of a capture have their payload, which is zeros.
        format: of an open file: one of :data:`FORMATS`.
    """

    file: str | os.PathLike[str] | BinaryIO | None = None
    flows: str | int | Sequence[str | int] = ()
    at: str | Sequence[str] | None = None
    time_s: tuple[float, float] | None = None
    most: int = 1_000_000
    payload: bool = False
    format: str | None = None

    def kind(self) -> str | None:
        """The format it is written in; ``None`` if it is kept in memory.

        Raises:
            FieldError: a file name that asks for no known format.
        """
        if self.file is None:
            return None
        named = self.format
        if named is None and not hasattr(self.file, "write"):
            named = Path(self.file).suffix.lower().removeprefix(".")
        if named not in FORMATS:
            shown = self.file if isinstance(self.file, str) else str(named)
            raise FieldError("packets", shown, "a name ending in .pcapng, .parquet or .csv")
        return named

    def check(self) -> None:
        """Refuse, before the run, a file that could not be written after it.

        Raises:
            FieldError: a file name that asks for no known format.
            MissingPackageError: Parquet without pyarrow.
        """
        if self.kind() == "parquet":
            optional("pyarrow.parquet", "Parquet files")

    def to_core(self, scenario: Scenario) -> dict[str, object]:
        """Return it for the core.

        Raises:
            FieldError: a choice that is none, or a time after the run.
        """
        default = "senders" if self.kind() == "pcapng" else "all"
        chosen = default if self.at is None else self.at
        places = [chosen] if isinstance(chosen, str) else list(chosen)
        for place in places:
            if place not in _ENDS and place not in scenario.links:
                known = [*_ENDS, *scenario.links]
                raise FieldError("at", place, f"one of these: {did_you_mean(place, known)}")
        everywhere = "all" in places
        links = [place for place in places if place in scenario.links and place not in _ENDS]
        written: dict[str, object] = {
            "flows": flows_to_core(self.flows, scenario),
            "links": list(scenario.links) if everywhere or "links" in places else links,
            "senders": everywhere or "senders" in places,
            "receivers": everywhere or "receivers" in places,
            "most": self.most,
        }
        if self.time_s is not None:
            if self.time_s[0] >= scenario.duration:
                duration = format_quantity(scenario.duration, TIME)
                accepted = f"a range that begins within the duration, below {duration}"
                raise FieldError("time_s", "{:g} s .. {:g} s".format(*self.time_s), accepted)
            first, last = (round(end * 1e9) for end in self.time_s)
            written |= {"from_ns": max(0, first), "until_ns": max(0, last)}
        return written


@dataclass(frozen=True)
class PacketTraceData:
    """The packets of a run.

    Attributes:
        columns: those of :data:`COLUMNS`, where they were kept in memory; names are numbers.
        records: how many there are.
        complete: whether that is all of them, and not only the first ``most``.
        names: what the numbers of ``event``, ``place``, ``group``, ``reason`` and ``cause``
            stand for.
        seed: of the run.
    """

    columns: Mapping[str, NDArray[Any]] = field(repr=False)
    records: int
    complete: bool
    names: Mapping[str, Sequence[str]] = field(repr=False)
    seed: int

    def __len__(self) -> int:
        return self.records

    def __getitem__(self, column: str) -> NDArray[Any]:
        return self.columns[column]

    def where(self, **wanted: str | int | bool) -> dict[str, NDArray[Any]]:
        """The columns of the records in which these columns have these values.

        >>> packets.where(event="drop", place="bottleneck")["time_ns"]

        Raises:
            KeyError: no such column, or a name that it does not have.
        """
        import numpy as np

        rows = np.ones(self.records, dtype=bool)
        for column, value in wanted.items():
            code: object = value
            if column in self.names:
                names = list(self.names[column])
                if value not in names:
                    message = f"{column}: {value!r} is none of {', '.join(names)}"
                    raise KeyError(message)
                code = names.index(str(value))
            rows &= self.columns[column] == code
        return {name: values[rows] for name, values in self.columns.items()}

    def to_pandas(self) -> pd.DataFrame:
        """All records as a pandas data frame.

        Raises:
            MissingPackageError: there is no pandas.
        """
        return data_frame(self.columns, self.names)

    def to_arrow(self) -> Any:  # noqa: ANN401 - pyarrow has no types
        """All records as an Arrow table, with units and meanings.

        Raises:
            MissingPackageError: there is no pyarrow.
        """
        return arrow_table(self.columns, COLUMNS, self.names, {"seed": str(self.seed)})


class PacketSink:
    """Receiver of the packets of a run, batch by batch."""

    def __init__(self, trace: PacketTrace, scenario: Scenario, seed: int) -> None:
        from vermilion import _core

        self._trace = trace
        self._seed = seed
        self._links = len(scenario.links)
        self._kind = trace.kind()
        self._batches: list[Mapping[str, NDArray[Any]]] = []
        self._records = 0
        self._heading_is_due = True
        self._file: Any = None
        self._parquet: Any = None
        self._open = ExitStack()
        self.names: dict[str, tuple[str, ...]] = {
            "event": tuple(_core.PACKET_EVENTS),
            # The ends stand behind the links.
            "place": (*scenario.links, "receiver", "sender"),
            "group": tuple(scenario.flows),
            "reason": tuple(_core.DROP_REASONS),
            # Grows with the drops of a run.
            "cause": ("",),
        }

    def __enter__(self) -> Self:
        file = self._trace.file
        if file is not None and not hasattr(file, "write"):
            self._file = self._open.enter_context(whole_file(Path(file), binary=True))
        else:
            self._file = file
        return self

    def __exit__(self, *failure: object) -> None:
        self._open.__exit__(*failure)  # type: ignore[arg-type] # the exit of another is passed on

    def begin(self, simulation: Simulation) -> None:
        """The run begins."""
        if self._kind == "pcapng":
            simulation.begin_capture(self._trace.payload)

    def take(self, simulation: Simulation) -> None:
        """Take the packets recorded since the last call, and write them."""
        columns = self._kind in {None, "parquet"}
        table = self._kind == "csv"
        count, found, text, capture = simulation.take_packets(
            columns=columns, table=table, heading=table and self._heading_is_due
        )
        self._heading_is_due = False
        self._records += count
        self.names["cause"] = tuple(simulation.drop_causes())
        if found is not None:
            found["place"] = self._number_places(found["place"])
            self._take_columns(found)
        if text is not None:
            self._file.write(text.encode())
        if capture is not None:
            self._file.write(capture)

    def _number_places(self, places: NDArray[Any]) -> NDArray[Any]:
        """Numbers of places from 0 on: the links, then the receivers, then the senders."""
        import numpy as np

        return np.where(places < 0, self._links + 2 + places, places).astype(np.int32)

    def _take_columns(self, columns: Mapping[str, NDArray[Any]]) -> None:
        self._batches.append(columns)
        waiting = sum(len(batch["time_ns"]) for batch in self._batches)
        if self._kind == "parquet" and waiting >= _BATCH_ROWS:
            self._write_parquet()

    def _write_parquet(self) -> None:
        names = [column.name for column in COLUMNS]
        table = arrow_table(
            joined(self._batches, names), COLUMNS, self.names, {"seed": str(self._seed)}
        )
        self._batches.clear()
        if self._parquet is None:
            parquet = optional("pyarrow.parquet", "Parquet files")
            self._parquet = parquet.ParquetWriter(self._file, table.schema)
        self._parquet.write_table(table)

    def finish(self, *, complete: bool) -> PacketTraceData:
        """The run is over."""
        columns: Mapping[str, NDArray[Any]] = {}
        if self._kind == "parquet":
            if self._batches:
                self._write_parquet()
            self._parquet.close()
        elif self._kind is None:
            columns = joined(self._batches, [column.name for column in COLUMNS])
        return PacketTraceData(columns, self._records, complete, self.names, self._seed)
