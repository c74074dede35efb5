"""The instruments of ``vermilion run``: flow series, packet traces, raw distributions, flent."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer

from vermilion.cli.endings import UserError
from vermilion.cli.laboratory import registered_export
from vermilion.cli.output import STANDARD_OUTPUT, binary_output_file, note, output_file

if TYPE_CHECKING:
    from contextlib import ExitStack

    from vermilion.scenario import Scenario
    from vermilion.simulate import Result

CHANGES: Final = "changes"

_DRAWN_READINGS: Final = 400
"""Readings of flows for a figure, which has fewer points."""


def _option(names: str, metavar: str, words: str, **more: Any) -> Any:  # noqa: ANN401 - typer's
    """An option that is off unless it is given."""
    return typer.Option(*names.split(), metavar=metavar, help=words, show_default=False, **more)


FlowSeriesFile = Annotated[
    str | None,
    _option(
        "--flow-series",
        "FILE",
        "Write windows, round trips and rates of flows over time: .csv or .parquet.",
    ),
]
Flows = Annotated[
    list[str] | None,
    _option(
        "--record-flows --flows",
        "CHOICE",
        'Flows to record: "early", "early:3", "early:0..4", "early:every 10", "every 10" '
        "or a number. Repeatable (default: all).",
    ),
]
FlowProbe = Annotated[
    str | None,
    _option(
        "--flow-probe",
        "TIME",
        'Interval of --flow-series, like 0.1s, or "changes" (default: 0.1 s, or duration/100).',
    ),
]
PacketsFile = Annotated[
    str | None,
    _option(
        "--packets",
        "FILE",
        "Write packet events: .pcapng, .csv or .parquet.",
    ),
]
PacketsAt = Annotated[
    list[str] | None,
    _option(
        "--packets-at",
        "PLACE",
        "Where packets are seen: senders, receivers, links, all, or a link. Repeatable "
        "(default: all; .pcapng: senders).",
    ),
]
PacketsTime = Annotated[
    str | None,
    _option("--packets-time", "RANGE", 'Time range, like "10 s .. 12 s".'),
]
MostPackets = Annotated[
    int | None,
    _option(
        "--most-packets",
        "COUNT",
        "Maximum of records (default: 1000000).",
        min=1,
    ),
]
DistributionsFile = Annotated[
    str | None,
    _option(
        "--distributions",
        "FILE",
        "Write histograms of queueing and one-way delays and drop gaps, as CSV.",
    ),
]
TransfersFile = Annotated[
    str | None,
    _option(
        "--transfers",
        "FILE",
        "Write every transfer with its start, size, completion time and slowdown: .csv, .parquet "
        "or .json.",
    ),
]
FlentFile = Annotated[
    str | None,
    _option(
        "--flent",
        "FILE",
        "Write a link and its flows for flent: .flent or .flent.gz.",
    ),
]
Windows = Annotated[
    bool,
    typer.Option(
        "--windows", help="Draw congestion windows below --figure, like --panels ...,window."
    ),
]


_OPTION_OF: Final = {
    "flows": "--record-flows",
    "at": "--packets-at",
    "time_s": "--packets-time",
    "packets": "--packets",
}
"""Options that set the attributes of instruments."""


@dataclass(frozen=True)
class InstrumentOptions:
    """The options of instruments as given."""

    flow_series: str | None
    flows: tuple[str, ...]
    flow_probe: str | None
    packets: str | None
    packets_at: tuple[str, ...]
    packets_time: str | None
    most_packets: int | None
    distributions: str | None
    transfers: str | None
    windows: bool
    flent: str | None

    def check(self, *, figure: bool, plant: str) -> None:
        """Refuse options without the one that they belong to, and files that cannot be.

        Raises:
            UserError: the first of them.
        """
        packets = self.packets is not None
        for option, given, needed, there in (
            ("--record-flows", self.flows, "--flow-series, --packets, --figure or --flent",
             self._has_series or packets or figure),
            ("--flow-probe", self.flow_probe, "--flow-series FILE", self._has_series),
            ("--packets-at", self.packets_at, "--packets FILE", packets),
            ("--packets-time", self.packets_time, "--packets FILE", packets),
            ("--most-packets", self.most_packets, "--packets FILE", packets),
            ("--windows", self.windows, "--figure FILE", figure),
        ):  # fmt: skip
            if given and not there:
                message = f"{option} needs {needed}"
                raise UserError(message)
        recorded = self._has_series or packets or self.distributions or self.transfers
        if plant != "simulator" and recorded:
            message = (
                "--flow-series, --flent, --packets, --distributions, --transfers and --windows: "
                "expected --plant simulator"
            )
            raise UserError(message)
        _check_transfers(self.transfers)
        for name in ("packets", "distributions", "transfers", "flent"):
            if getattr(self, name) == STANDARD_OUTPUT:
                message = f'--{name}: "-" is not accepted; expected a file name'
                raise UserError(message)

    def check_flent(self, scenario: Scenario, link: str | None) -> None:
        """Refuse before the run a file or link that flent cannot have.

        Raises:
            UserError: another file name, no such link, or several without one being named.
        """
        if self.flent is None:
            return
        from vermilion.scenario import ScenarioError

        try:
            registered_export("flent").check(self.flent, list(scenario.links), link)
        except ScenarioError as error:
            option = "--flent" if error.field == "path" else "--link (of --flent)"
            message = f"{option}: {error.value} is not accepted; expected {error.accepted}"
            raise UserError(message) from None

    def instruments(self, scenario: Scenario, outputs: ExitStack, *, drawn: bool) -> list[Any]:
        """Make the instruments and open their files.

        Args:
            scenario: that is run.
            outputs: closes the files.
            drawn: whether there is a figure, which shows flows over time.

        Raises:
            UserError: a file that cannot be written, a package that is missing.
            ScenarioError: a choice that is none.
        """
        from vermilion.scenario import ScenarioError
        from vermilion.simulate.extras import MissingPackageError
        from vermilion.simulate.instruments import (
            FlowSeries,
            PacketTrace,
            RawDistributions,
            Transfers,
        )
        from vermilion.simulate.instruments.recorded import check_instruments
        from vermilion.simulate.tables import check_format

        chosen: list[Any] = []
        trace = None
        if self._has_series or drawn:
            interval = self._interval(scenario, drawn=drawn and not self._has_series)
            chosen.append(FlowSeries(self.flows, interval))
        if self.packets is not None:
            trace = PacketTrace(
                file=self.packets,
                flows=self.flows,
                at=self.packets_at or None,
                time_s=self._time(),
                most=self.most_packets or PacketTrace.most,
            )
        if self.distributions is not None:
            chosen.append(RawDistributions(links=list(scenario.links), flows=list(scenario.flows)))
        if self.transfers is not None:
            chosen.append(Transfers())
        try:
            check_instruments([*chosen, trace] if trace else chosen, scenario)
            if self.flow_series not in {None, STANDARD_OUTPUT}:
                check_format(str(self.flow_series))
        except ScenarioError as error:
            named = _OPTION_OF.get(error.field, error.field)
            raise ScenarioError(named, error.value, error.accepted, error.origin) from None
        except MissingPackageError as error:
            raise UserError(str(error)) from None
        except ValueError as error:
            message = f"--flow-series: {error}"
            raise UserError(message) from None
        if trace is not None and self.packets is not None:
            file = outputs.enter_context(binary_output_file("--packets", self.packets))
            kind = Path(self.packets).suffix.lower().removeprefix(".")
            chosen.append(replace(trace, file=file, format=kind))
        return chosen

    def write(self, result: Result) -> None:
        """Write series and distributions, and note what was left out.

        Raises:
            UserError: a file cannot be written.
        """
        series, packets = result.flow_series, result.packets
        if self.flow_series is not None and series is not None:
            if self.flow_series.endswith(".parquet"):
                with binary_output_file("--flow-series", self.flow_series) as binary:
                    from vermilion.simulate.extras import optional

                    parquet = optional("pyarrow.parquet", "Parquet files")
                    parquet.write_table(series.to_arrow(), binary)
            else:
                with output_file("--flow-series", self.flow_series) as text:
                    series.write_csv(text)
        if self.distributions is not None and result.raw_distributions is not None:
            with output_file("--distributions", self.distributions) as text:
                result.raw_distributions.write_csv(text)
        if self.transfers is not None and result.transfers is not None:
            try:
                result.transfers.write(self.transfers)
            except OSError as error:
                message = f"--transfers: {self.transfers}: {error.strerror}"
                raise UserError(message) from None
            if not result.transfers.complete:
                note(f"--transfers ended after {len(result.transfers):,} transfers")
        if series is not None and not series.complete and self._has_series:
            note(f"--flow-series ended after {len(series):,} rows; choose fewer flows")
        if packets is not None and not packets.complete:
            note(f"--packets ended after {packets.records:,} records; --most-packets sets the most")

    def write_flent(self, result: Result, scenario: Scenario, link: str | None) -> None:
        """Write the run for flent, and note what was left out.

        Raises:
            UserError: the file cannot be written.
        """
        if self.flent is None:
            return
        content, left_out = registered_export("flent").content(self.flent, result, scenario, link)
        with binary_output_file("--flent", self.flent) as file:
            file.write(content)
        if left_out:
            note(f"--flent leaves out {left_out:,} flows; --record-flows chooses others")

    @property
    def _has_series(self) -> bool:
        return self.flow_series is not None or self.windows or self.flent is not None

    def _interval(self, scenario: Scenario, *, drawn: bool) -> float | Literal["automatic"] | None:
        from vermilion.cli import options
        from vermilion.scenario.lowering import SHORTEST_S

        if self.flow_probe is None:
            return scenario.duration / _DRAWN_READINGS if drawn else "automatic"
        if self.flow_probe == CHANGES:
            return None
        return options.interval("--flow-probe", self.flow_probe, SHORTEST_S, scenario.duration)

    def _time(self) -> tuple[float, float] | None:
        if self.packets_time is None:
            return None
        from vermilion.scenario.quantities import TIME, Quantity, QuantityError

        accepted = 'a range like "10 s .. 12 s"'
        try:
            first, last = Quantity(TIME, minimum=0.0).parse_range(self.packets_time)
        except QuantityError:
            first = last = 0.0
        if first >= last:
            message = f'--packets-time: "{self.packets_time}" is not accepted; expected {accepted}'
            raise UserError(message)
        return first, last


def _check_transfers(path: str | None) -> None:
    """Refuse before the run a file of transfers that could not be written after it.

    Raises:
        UserError: another ending, or Parquet without pyarrow.
    """
    from vermilion.simulate.extras import MissingPackageError
    from vermilion.simulate.instruments.transfers import FORMATS
    from vermilion.simulate.tables import check_format

    try:
        check_format(path or "", FORMATS)
    except (MissingPackageError, ValueError) as error:
        message = f"--transfers: {error}"
        raise UserError(message) from None
