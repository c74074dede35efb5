"""The instruments of ``vermilion run``: flow series, packet traces, raw distributions."""

from __future__ import annotations

from dataclasses import dataclass
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


def _option(name: str, metavar: str, words: str, **more: Any) -> Any:  # noqa: ANN401 - typer's
    """An option that is off unless it is given."""
    return typer.Option(name, metavar=metavar, help=words, show_default=False, **more)


FlowSeriesFile = Annotated[
    str | None,
    _option(
        "--flow-series",
        "FILE",
        "Write windows, thresholds, round trips, packets in flight, pacing rates, goodput and "
        "the state of recovery of flows over time: as CSV, or as Parquet if the name ends in "
        ".parquet.",
    ),
]
Flows = Annotated[
    list[str] | None,
    _option(
        "--flows",
        "CHOICE",
        'Of which flows, for --flow-series, --flent, --packets and --windows: "early", "early:3", '
        '"early:0..4", "early:every 10", "every 10", or a number. May be repeated. Default: all.',
    ),
]
FlowProbe = Annotated[
    str | None,
    _option(
        "--flow-probe",
        "TIME",
        'The interval of --flow-series, like 0.1s, or "changes": a row whenever a window, a '
        "threshold or a state changes. Default: 0.1 s; a hundredth of the duration if that is "
        "below 1 s.",
    ),
]
PacketsFile = Annotated[
    str | None,
    _option(
        "--packets",
        "FILE",
        "Write what happens to packets: .pcapng for Wireshark and vermilion monitor, .csv or "
        ".parquet with every event.",
    ),
]
PacketsAt = Annotated[
    list[str] | None,
    _option(
        "--packets-at",
        "PLACE",
        "Where packets are seen: senders, receivers, links, all, or a link's name. May be "
        "repeated. Default: all; in .pcapng senders, so that each packet is seen once.",
    ),
]
PacketsTime = Annotated[
    str | None,
    _option("--packets-time", "RANGE", 'When, like "10 s .. 12 s". Default: always.'),
]
MostPackets = Annotated[
    int | None,
    _option(
        "--most-packets",
        "COUNT",
        "The records after which --packets ends. Default: 1000000.",
        min=1,
    ),
]
DistributionsFile = Annotated[
    str | None,
    _option(
        "--distributions",
        "FILE",
        "Write exact histograms of the queueing delays and gaps between drops of every link, "
        "and of the one-way delays and gaps of every group, as CSV in bins of 10 us.",
    ),
]
FlentFile = Annotated[
    str | None,
    _option(
        "--flent",
        "FILE",
        "Write a link and its flows for the plots of the network tester flent. The name ends in "
        ".flent.gz or .flent. Where there are several links, say which with --link.",
    ),
]
Windows = Annotated[
    bool,
    typer.Option(
        "--windows", help="Draw the windows of the flows of --flows too, below --figure's panels."
    ),
]


_OPTION_OF: Final = {
    "flows": "--flows",
    "at": "--packets-at",
    "time_s": "--packets-time",
    "packets": "--packets",
}
"""What a user of the program calls the attributes of instruments."""


@dataclass(frozen=True)
class Wanted:
    """What the options ask for."""

    flow_series: str | None
    flows: tuple[str, ...]
    flow_probe: str | None
    packets: str | None
    packets_at: tuple[str, ...]
    packets_time: str | None
    most_packets: int | None
    distributions: str | None
    windows: bool
    flent: str | None = None

    def check(self, *, figure: bool, plant: str) -> None:
        """Refuses options that are about nothing.

        Raises:
            UserError: the first of them.
        """
        series = self._has_series()
        for option, given, needed, there in (
            ("--flows", bool(self.flows), "--flow-series, --packets or --windows, or --flent",
             series or self.packets is not None),
            ("--flow-probe", self.flow_probe is not None, "--flow-series FILE", series),
            ("--packets-at", bool(self.packets_at), "--packets FILE", self.packets is not None),
            ("--packets-time", self.packets_time is not None, "--packets FILE",
             self.packets is not None),
            ("--most-packets", self.most_packets is not None, "--packets FILE",
             self.packets is not None),
            ("--windows", self.windows, "--figure FILE", figure),
        ):  # fmt: skip
            if given and not there:
                message = f"{option} needs {needed}"
                raise UserError(message)
        if plant != "simulator" and (series or self.packets or self.distributions):
            message = (
                "--flow-series, --flent, --packets, --distributions and --windows are of the "
                "simulator; "
                "expected --plant simulator"
            )
            raise UserError(message)
        for option, file in (
            ("--packets", self.packets),
            ("--distributions", self.distributions),
            ("--flent", self.flent),
        ):
            if file == STANDARD_OUTPUT:
                message = f'{option}: "-" is not accepted; expected a file name'
                raise UserError(message)

    def check_flent(self, scenario: Scenario, link: str | None) -> None:
        """Refuses before the run what flent could not be given after it.

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

    def instruments(self, scenario: Scenario, outputs: ExitStack) -> list[Any]:
        """The instruments, their files open.

        Raises:
            UserError: a file that cannot be written, a package that is missing.
            ScenarioError: a choice that is none.
        """
        from vermilion.simulate.extras import MissingPackageError
        from vermilion.simulate.instruments import FlowSeries, PacketTrace, RawDistributions
        from vermilion.simulate.instruments.recorded import check_instruments

        chosen: list[Any] = []
        if self._has_series():
            chosen.append(FlowSeries(self.flows, self._interval(scenario)))
        if self.packets is not None:
            trace = PacketTrace(
                file=self.packets,
                flows=self.flows,
                at=self.packets_at or None,
                time_s=self._time(),
                most=self.most_packets or PacketTrace.most,
            )
            chosen.append(trace)
        if self.distributions is not None:
            chosen.append(RawDistributions(links=list(scenario.links), flows=list(scenario.flows)))
        try:
            check_instruments(chosen, scenario)
            if self.flow_series is not None:
                from vermilion.simulate.tables import check_format

                if self.flow_series != STANDARD_OUTPUT:
                    check_format(self.flow_series)
        except (MissingPackageError, ValueError) as error:
            from vermilion.scenario import ScenarioError

            if isinstance(error, ScenarioError):
                named = _OPTION_OF.get(error.field, error.field)
                refusal = ScenarioError(named, error.value, error.accepted, error.origin)
                raise refusal from None
            message = f"--flow-series: {error}" if isinstance(error, ValueError) else str(error)
            raise UserError(message) from None
        if self.packets is not None:
            from dataclasses import replace

            file = outputs.enter_context(binary_output_file("--packets", self.packets))
            kind = Path(self.packets).suffix.lower().removeprefix(".")
            place = next(i for i, each in enumerate(chosen) if isinstance(each, PacketTrace))
            chosen[place] = replace(chosen[place], file=file, format=kind)
        return chosen

    def write(self, result: Result) -> None:
        """Writes what is written when the run is over, and says what was left out.

        Raises:
            UserError: a file cannot be written.
        """
        if self.flow_series is not None and result.flow_series is not None:
            if self.flow_series.endswith(".parquet"):
                with binary_output_file("--flow-series", self.flow_series) as binary:
                    from vermilion.simulate.extras import optional

                    parquet = optional("pyarrow.parquet", "Parquet files")
                    parquet.write_table(result.flow_series.to_arrow(), binary)
            else:
                with output_file("--flow-series", self.flow_series) as text:
                    result.flow_series.write_csv(text)
        if self.distributions is not None and result.raw_distributions is not None:
            with output_file("--distributions", self.distributions) as text:
                result.raw_distributions.write_csv(text)
        if result.flow_series is not None and not result.flow_series.complete:
            note(f"--flow-series ended after {len(result.flow_series):,} rows; choose fewer flows")
        if result.packets is not None and not result.packets.complete:
            records = f"{result.packets.records:,} records"
            note(f"--packets ended after {records}; --most-packets sets how many there may be")

    def write_flent(self, result: Result, scenario: Scenario, link: str | None) -> None:
        """Writes the run for flent, and says what was left out.

        Raises:
            UserError: the file cannot be written.
        """
        if self.flent is None:
            return
        content, left_out = registered_export("flent").content(self.flent, result, scenario, link)
        with binary_output_file("--flent", self.flent) as file:
            file.write(content)
        if left_out:
            note(f"--flent leaves out {left_out:,} flows; --flows chooses others")

    def _has_series(self) -> bool:
        """Whether flows are read over time, whatever that is for."""
        return self.flow_series is not None or self.windows or self.flent is not None

    def _interval(self, scenario: Scenario) -> float | Literal["automatic"] | None:
        from vermilion.cli import options
        from vermilion.scenario.lowering import SHORTEST_S

        if self.flow_probe is None:
            return "automatic"
        if self.flow_probe == CHANGES:
            return None
        return options.interval("--flow-probe", self.flow_probe, SHORTEST_S, scenario.duration)

    def _time(self) -> tuple[float, float] | None:
        if self.packets_time is None:
            return None
        from vermilion.scenario.quantities import TIME, Quantity, QuantityError

        accepted = 'a range of time like "10 s .. 12 s"'
        try:
            first, last = Quantity(TIME, minimum=0.0).parse_range(self.packets_time)
        except QuantityError:
            first = last = 0.0
        if first >= last:
            message = f'--packets-time: "{self.packets_time}" is not accepted; expected {accepted}'
            raise UserError(message)
        return first, last
