"""Files and the table that ``vermilion link`` writes, under the words of ``vermilion run``."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vermilion.cli import options
from vermilion.cli.endings import UserError
from vermilion.cli.json_output import write_json
from vermilion.cli.output import (
    STANDARD_OUTPUT,
    binary_output_file,
    check_outputs,
    figure_format,
    output_file,
    series_output,
)
from vermilion.cli.run_tables import LINK_ROWS
from vermilion.cli.tables import fixed, grid, megabits, stretch, whole
from vermilion.simulate import metric_of
from vermilion.simulate.tables import Section

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import ExitStack

    from vermilion.link.emulation import Emulation
    from vermilion.link.recorder import Recorder
    from vermilion.scenario import Scenario

_PROBE_S = 0.1
_CAPTURE = ".pcapng"


@dataclass(frozen=True)
class LinkOutputs:
    """The files that are asked for; ``None`` where one is not."""

    json: str | None
    series: str | None
    probe: str | None
    figure: str | None
    packets: str | None
    most_packets: int | None

    def check(self) -> None:
        """Refuses options that are about nothing, and files that cannot be.

        Raises:
            UserError: the first of them.
        """
        check_outputs(json=self.json, series=self.series, figure=self.figure, packets=self.packets)
        if self.probe is not None and self.series is None and self.figure is None:
            message = "--probe needs --series FILE or --figure FILE"
            raise UserError(message)
        if self.most_packets is not None and self.packets is None:
            message = "--most-packets needs --packets FILE"
            raise UserError(message)
        for option, given in (
            ("--series", self.series),
            ("--figure", self.figure),
            ("--packets", self.packets),
        ):
            if given == STANDARD_OUTPUT:
                message = f'{option}: "-" is the command\'s output; expected a file name'
                raise UserError(message)
        if self.packets is not None and Path(self.packets).suffix.lower() != _CAPTURE:
            message = f"--packets: {self.packets} is not accepted; expected a name in {_CAPTURE}"
            raise UserError(message)

    def opened(self, files: ExitStack) -> tuple[Recorder, Callable[[Scenario, Emulation], None]]:
        """Open the files; return the recorder and the writer for the end of the command.

        Raises:
            UserError: a file that cannot be written, or a package that is missing.
        """
        from vermilion.link.recorder import MOST_PACKETS, Recorder

        kind = "" if self.figure is None else figure_format(self.figure)
        json_file = self.json and files.enter_context(output_file("--json", self.json))
        write_series = self.series and files.enter_context(series_output("--series", self.series))
        drawing = self.figure and files.enter_context(binary_output_file("--figure", self.figure))
        capture = None
        if self.packets is not None:
            capture = files.enter_context(binary_output_file("--packets", self.packets))
        interval_s = None
        if self.series is not None or self.figure is not None:
            interval_s = _PROBE_S if self.probe is None else options.seconds("--probe", self.probe)
            if interval_s <= 0.0:
                message = f"--probe: {self.probe} is not accepted; expected a time above 0"
                raise UserError(message)

        def write(plan: Scenario, emulation: Emulation) -> None:
            from vermilion.simulate import Result

            if json_file:
                write_json(json_file, emulation.data)
            result = Result(emulation.data, emulation.series)  # type: ignore[arg-type] # from JSON
            if write_series:
                write_series(result)
            if drawing:
                from vermilion.report.run_figure import run_figure

                ended_s = emulation.data["links"]["uplink"]["total"]["end_s"]
                lasted = {"duration": max(ended_s, interval_s or 0.0)}
                run = plan.model_copy(update=lasted)
                drawing.write(run_figure(run, result).rendered(kind))

        return Recorder(interval_s, capture, self.most_packets or MOST_PACKETS), write


_OWN_ROWS: tuple[tuple[str, str, Callable[[float | None], str]], ...] = (
    ("throughput (Mbit/s)", "throughput_bit_per_s", megabits),
    ("packets handed on", "delivered", whole),
    ("  not taken by the other end", "refused", whole),
    ("  without room here", "no_room", whole),
    ("  lost before they came here", "interface.dropped", whole),
    ("timing error mean (us)", "timing_error_us.mean", lambda value: fixed(value, 1)),
    ("timing error p99 (us)", "timing_error_us.p99", lambda value: fixed(value, 1)),
)


def print_emulation(scenario: Scenario, emulation: Emulation) -> None:
    """Prints what happened on both ways."""
    from rich.console import Console

    screen = Console(
        file=sys.stderr,
        width=None if sys.stderr.isatty() else 100,
        highlight=False,
        soft_wrap=False,
    )
    links: Mapping[str, Any] = emulation.data["links"]
    sections = [
        Section(
            f"{name} ({scenario.links[name].queue.discipline})",
            [*_cells(entry["total"], LINK_ROWS), *_cells(entry["emulator"], _OWN_ROWS)],
        )
        for name, entry in links.items()
    ]
    headings = [stretch(next(iter(links.values()))["total"])]
    screen.print(grid(headings, sections, screen.width))


def _cells(
    window: Mapping[str, Any],
    rows: Any,  # noqa: ANN401 - of either table
) -> list[tuple[str, list[str]]]:
    cells = [(label, [show(metric_of(window, path))]) for label, path, show in rows]
    return [row for row in cells if any(map(str.isdigit, row[1][0]))]
