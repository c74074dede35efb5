"""Figure of one run: queueing delay, goodput by group, and drops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from vermilion.report import drawing
from vermilion.report.drawing import check_link, picture
from vermilion.scenario.errors import ScenarioError, one_of
from vermilion.simulate.accepted import given_scenario
from vermilion.simulate.flow_curves import MOST_FLOWS, curves_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from vermilion.report.braille import Panel
    from vermilion.scenario import Scenario
    from vermilion.simulate import Result
    from vermilion.simulate.flow_curves import Curve

    Values = NDArray[np.float64]

_COLOURS: Final = (
    drawing.BLUE,
    drawing.ORANGE,
    drawing.GREEN,
    drawing.VERMILION,
    drawing.GREY,
    drawing.SKY_BLUE,
)

PANELS: Final = ("queue", "throughput", "round-trip", "window", "drops")
"""What a panel may show over time."""

_USUAL_PANELS: Final = ("queue", "throughput", "drops")
_PANELS_OF_PAPER: Final = ("throughput", "round-trip", "window", "queue")
_PANELS_OF_SLIDES: Final = ("throughput", "queue")
_FLATTER: Final = 0.72
"""Height of a panel without a title, as a part of that with one."""

_RATIOS: Final = {"queue": 1.3, "throughput": 1.0, "round-trip": 1.0, "window": 1.2, "drops": 0.8}

_HEIGHT_IN: Final = 7.2 / 3.1  # of a panel of the ratio 1
_POINTS: Final = 1000
_BINS: Final = 160
"""Shares of packets need some packets to be shares of."""

_THROUGHPUT_COLOUR: Final = "#DCE3EA"
_LINES: Final = ("-", (0, (6, 2)), (0, (2, 2)))
_LONG_LABEL: Final = 20
"""Letters; two such do not stand beside each other on a phone."""

_ROOM_FOR_NUMBERS: Final = 0.09
"""Share of the panel's height left free above."""

_ROOM_OF_A_WORD: Final = 0.09
_ROOM_OF_A_NUMBER: Final = 0.02
"""Shares of the width: a shorter phase has its number only, or nothing."""

_MOST_GROUPS: Final = 12
"""More lines in one panel cannot be told apart: the others are added up."""


_SHORT_NAMES: Final = {
    ("queue", "ms"): "Queueing delay (ms)",
    ("queue", ""): "Queue",
    ("queue", "packets that wait"): "Queue (packets)",
    ("throughput", ""): "Goodput",
    ("round-trip", ""): "Round trip",
    ("window", ""): "Window",
    ("drops", "% of packets"): "Dropped (%)",
}
"""Names of axes where a panel has no title, by panel and unit."""


_OF_FLOWS: Final = ("throughput", "round-trip", "window")


def _draw_curves(
    axes: Axes, curves: Sequence[tuple[str, Values, Values]], width: float = 1.3
) -> None:
    """Draw lines in the colours that the same names have in other panels."""
    for number, (name, time, values) in enumerate(curves[: 2 * _MOST_GROUPS]):
        axes.plot(
            time,
            values,
            color=_COLOURS[number % len(_COLOURS)],
            # so that equal lines do not hide each other
            linestyle=_LINES[number // len(_COLOURS) % len(_LINES)]
            if width < 2  # noqa: PLR2004 - curves that move show each other
            else _LINES[number % len(_LINES)],
            lw=width,
            solid_capstyle="butt",
            label=name,
        )


@dataclass(frozen=True, slots=True)
class RunFigure:
    """Figure of a run.

    Attributes:
        scenario: what was run, or the name or path from which it was loaded.
        result: with time series.
        link: whose queue is drawn.
        windows: whether the windows of the flow series are drawn too.
        shown: what is drawn, from above, of :data:`PANELS`; none for what is usual.
        look: what it is drawn for, of :data:`vermilion.report.drawing.LOOKS`.
    """

    scenario: Scenario
    result: Result
    link: str
    windows: bool = False
    shown: tuple[str, ...] = ()
    look: str = "page"

    def panel_names(self) -> tuple[str, ...]:
        """Panels from above; without flow series there is neither window nor round trip."""
        usual = {"page": _USUAL_PANELS, "slides": _PANELS_OF_SLIDES}
        chosen = self.shown or usual.get(self.look, _PANELS_OF_PAPER)
        if self.windows and "window" not in chosen:
            chosen = (*chosen, "window")
        if self.result.flow_series is None:
            chosen = tuple(each for each in chosen if each not in {"window", "round-trip"})
        return chosen

    def figure(self, *, narrow: bool = False) -> Figure:
        """Panels over the same time.

        Args:
            narrow: for a phone, where what the lines mean stands below all panels.
        """
        look = drawing.look_named(self.look)
        narrow = narrow or look.narrow
        chosen = self.panel_names()
        with drawing.style(self.look):
            ratios = [_RATIOS[each] for each in chosen]
            height = _HEIGHT_IN * sum(ratios) * (1.0 if look.titled else _FLATTER)
            figure = drawing.sheet(height, narrow=narrow, look=self.look)
            column = figure.subplots(
                len(chosen), 1, sharex=True, squeeze=False, gridspec_kw={"height_ratios": ratios}
            )
            panels: list[Axes] = [axes for (axes,) in column]
            if not narrow and look.titled:
                title = self.scenario.title or self.scenario.origin
                figure.suptitle(title, x=0.01, ha="left", weight="bold")
            curves = self._curves()
            explained = False
            for name, axes in zip(chosen, panels, strict=True):
                self._draw(name, axes, curves)
                if name in _OF_FLOWS:
                    for line in axes.lines if explained else ():
                        line.set_label("_")  # a panel above names the flows
                    explained = True
                if look.titled:
                    self.shade_phases(axes)
                axes.set_ylim(bottom=0)
            if look.titled:
                explain(figure, panels, narrow=narrow)
                self.number_phases(panels[0])
            else:
                drawing.legend_on_top(figure, panels)
                figure.align_ylabels(panels)
            panels[-1].set_xlim(0, self.scenario.duration)
            panels[-1].set_xlabel("time (s)")
            settle(figure)
        return figure

    def _draw(self, name: str, axes: Axes, curves: Sequence[Curve]) -> None:
        if name == "queue":
            self.draw_waiting(axes)
        elif name == "throughput":
            self._draw_goodput(axes, curves)
        elif name == "drops":
            self._draw_losses(axes)
        elif name == "window":
            of = "each flow" if self._draws_flows else "each group, mean of its flows"
            axes.set_title(f"Congestion window of {of}")
            axes.set_ylabel("packets")
            _draw_curves(axes, [(each.name, each.time_s, each.window_packets) for each in curves])
        else:
            axes.set_title("Smoothed round trip")
            axes.set_ylabel("ms")
            _draw_curves(axes, [(each.name, each.time_s, each.round_trip_ms) for each in curves])
        for line in axes.lines:
            line.set_linewidth(drawing.fine(line.get_linewidth(), self.look))
        if not drawing.look_named(self.look).titled:
            axes.set_title("")
            unit = axes.get_ylabel().rpartition("(")[2].rstrip(")")
            axes.set_ylabel(_SHORT_NAMES.get((name, unit), f"{_SHORT_NAMES[name, '']} ({unit})"))

    def _curves(self) -> list[Curve]:
        """Curves of flows or groups; none without flow series, or where they end early."""
        series = self.result.flow_series
        return [] if series is None or not series.complete else curves_of(series)

    @property
    def _draws_flows(self) -> bool:
        series = self.result.flow_series
        return series is not None and len(series.flows()) <= MOST_FLOWS

    def rendered(self, kind: str) -> bytes:
        """The figure as "svg", "pdf" or "png", or with the tables as a page, "html"."""
        if kind == "html":
            return self.page().encode()
        return picture(self.figure(), kind, self.look)

    def page(self) -> str:
        """One self-contained HTML page: the figure and the tables."""
        from vermilion.report.templates_of import render_page

        title = self.scenario.title or self.scenario.origin
        return render_page(
            "run.html.j2",
            title=title,
            description=self.scenario.description,
            figure=drawing.svg_for_both_widths(
                self.figure, name="run", description=self._caption()
            ),
            caption=self._caption(),
            tables=self.result._repr_html_(),
            seed=self.result.seed,
            version=str(self.result.data["version"]),
        )

    def _caption(self) -> str:
        over = "over time" if self._curves() else "over each phase"
        words = {
            "queue": f"the queue of {self.link}",
            "throughput": f"goodput of each flow or group {over}, and what the link carries",
            "round-trip": "smoothed round trips",
            "window": "congestion windows",
            "drops": "the share of packets dropped or marked",
        }
        shown = "; ".join(words[each] for each in self.panel_names())
        phases = "" if self.look != "page" else " Shaded: the measured part of each phase."
        return f"Link {self.link}. From above: {shown}.{phases}{self._interruption()}"

    def _interruption(self) -> str:
        """Mark the time at which the run ended early."""
        at_s = self.result.data.get("interrupted_at_s")
        if at_s is None:
            return ""
        return f" The run was interrupted after {at_s:.4g} s of {self.scenario.duration:g} s."

    def waiting_unit(self) -> str:
        """Quantity of the queue: delay, or length where the link's rate varies."""
        return "packets that wait" if self._rate() is None else "queueing delay (ms)"

    def waiting_panel(self) -> Panel:
        """Panel of the queueing delay, for a terminal."""
        from vermilion.report.braille import Panel

        series = self.result.series(self.link)
        rate = self._rate()
        values = series["queue_packets"] if rate is None else 8e3 * series["queue_bytes"] / rate
        return Panel(f"Queue of {self.link}: {self.waiting_unit()}", series["time_s"], values)

    def panels(self) -> list[Panel]:
        """Panels of queueing delay and drops, for a terminal."""
        from vermilion.report.braille import Panel

        edges, share = self._share_of_packets("drops")
        middles = (edges[:-1] + edges[1:]) / 2.0
        return [self.waiting_panel(), Panel("Dropped: % of packets", middles, share)]

    def draw_waiting(self, axes: Axes, title: str = "") -> None:
        """Draw the queueing delay, under a given title or the queue's name."""
        import numpy as np

        series = self.result.series(self.link)
        time = series["time_s"]
        discipline = self.scenario.links[self.link].queue.discipline
        axes.set_title(title or f"Queue of {self.link} ({discipline})")
        rate = self._rate()
        if rate is None:
            axes.set_ylabel("packets that wait")
            axes.plot(*drawing.thinned(time, series["queue_packets"]), color=drawing.BLUE, lw=1.0)
            axes.lines[-1].set_label("queue")
            average = series["average_queue_packets"]
            if not np.all(np.isnan(average)):
                axes.plot(*drawing.thinned(time, average), color=drawing.ORANGE, lw=1.6)
                axes.lines[-1].set_label("its average, as\nthe discipline has it")
            return
        axes.set_ylabel("queueing delay (ms)")
        waiting = 8e3 * series["queue_bytes"] / rate
        axes.plot(
            *drawing.thinned(time, waiting), color=drawing.BLUE, lw=1.0, label="queueing delay"
        )
        mean = self.result.link(self.link).total.get("sojourn_ms")
        if not drawing.look_named(self.look).titled:
            axes.lines[-1].set_label("_")
        elif mean is not None:
            axes.axhline(mean["p95"], color=drawing.INK, lw=1.2, ls=(0, (5, 3)), zorder=3)
            axes.lines[-1].set_label(f"95 % of packets\nwait less: {mean['p95']:.3g} ms")

    def _draw_goodput(self, axes: Axes, curves: Sequence[Curve]) -> None:
        import numpy as np

        series = self.result.series(self.link)
        edges, carried = _bin_values(series["time_s"], series["throughput_bit_per_s"], np.nanmean)
        if drawing.look_named(self.look).titled:
            axes.stairs(
                carried / 1e6, edges, color=_THROUGHPUT_COLOUR, fill=True, label="the link carries"
            )
        axes.set_title(f"Goodput of each {'flow' if curves and self._draws_flows else 'group'}")
        axes.set_ylabel("Mbit/s")
        if curves:
            drawn = [(each.name, each.time_s, each.goodput_bit_per_s / 1e6) for each in curves]
            _draw_curves(axes, drawn)
            return
        lines: dict[str, tuple[list[float], list[float]]] = {}
        for number, group in enumerate(self.result.groups):
            name = group if number < _MOST_GROUPS - 1 else "all others"
            for window in self.result.flows(group).phases:
                goodput = window.get("goodput_bit_per_s")
                if goodput is None:
                    continue
                times, values = lines.setdefault(name, ([], []))
                times += [window["start_s"], window["end_s"], np.nan]
                values += [goodput["total"] / 1e6, goodput["total"] / 1e6, np.nan]
        _draw_curves(
            axes,
            [(name, np.array(times), np.array(each)) for name, (times, each) in lines.items()],
            width=2.0,
        )

    def _draw_losses(self, axes: Axes) -> None:
        axes.set_title("Dropped and marked")
        axes.set_ylabel("% of packets")
        for name, words, colour, line in (
            ("drops", "dropped", drawing.VERMILION, "-"),
            ("marks", "marked", drawing.BLUE, ":"),
        ):
            edges, share = self._share_of_packets(name)
            if name == "marks" and not (share > 0.0).any():
                continue
            axes.stairs(share, edges, color=colour, linestyle=line, lw=1.4, baseline=None)
            axes.patches[-1].set_label(words)

    def _share_of_packets(self, name: str) -> tuple[Values, Values]:
        """Drops or marks over time in % of the arrivals, after the edges of time."""
        import numpy as np

        series = self.result.series(self.link)
        edges, arrivals = _bin_values(series["time_s"], series["arrivals"], np.nansum)
        _, count = _bin_values(series["time_s"], series[name], np.nansum)
        with np.errstate(divide="ignore", invalid="ignore"):
            return edges, np.where(arrivals > 0, 100.0 * count / arrivals, np.nan)

    def _phases(self) -> Sequence[tuple[float, float]]:
        phases = self.result.link(self.link).phases
        return [(window["start_s"], window["end_s"]) for window in phases]

    def shade_phases(self, axes: Axes) -> None:
        """Shade the measured part of each phase."""
        for start, end in self._phases():
            axes.axvspan(start, end, color="#F7F8FA", linewidth=0, zorder=0)
        for start, _ in self._phases()[1:]:
            axes.axvline(start, color=drawing.GREY, lw=0.6, zorder=0)

    def number_phases(self, axes: Axes) -> None:
        """Write the phases' numbers above the curves, and make room for them."""
        phases = self._phases()
        if len(phases) < 2:  # noqa: PLR2004 - the whole run needs no number
            return
        low, high = axes.get_ylim()
        axes.set_ylim(low, high + _ROOM_FOR_NUMBERS * (high - low))
        whole = phases[-1][1] - phases[0][0]
        for number, (start, end) in enumerate(phases, start=1):
            share = (end - start) / whole
            if share < _ROOM_OF_A_NUMBER:
                continue
            has_room = share >= _ROOM_OF_A_WORD and len(phases) <= _MOST_GROUPS
            axes.annotate(
                f"phase {number}" if has_room else str(number),
                xy=((start + end) / 2, 1.0),
                xycoords=("data", "axes fraction"),
                xytext=(0, -4),
                textcoords="offset points",
                ha="center",
                va="top",
                fontsize=drawing.letters(9.5),
            )

    def _rate(self) -> float | None:
        return drawing.constant_rate(self.scenario, self.link)


def run_figure(
    scenario: Scenario | str | Path,
    result: Result,
    link: str | None = None,
    *,
    windows: bool = False,
    panels: Sequence[str] = (),
    look: str = "page",
) -> RunFigure:
    """The figure of a run that has time series.

        >>> result = vermilion.run(
        ...     scenario, probe_interval_s=0.1, instruments=[vermilion.FlowSeries()]
        ... )
        >>> vermilion.run_figure(scenario, result, look="paper").figure().savefig("run.pdf")

    Args:
        scenario: what was run, or the name or path from which it was loaded.
        result: with time series, at :func:`probe_interval_s` for instance.
        link: whose queue is drawn; by default the one that the scenario's objective is of, or the
            one at which packets wait longest.
        windows: whether the windows of its flow series are drawn too.
        panels: of :data:`PANELS`, from above; by default queue, throughput and drops on a page,
            and throughput, round trips, windows and queue elsewhere.
        look: "page", "paper" (a column), "paper-wide" (two) or "slides".

    Raises:
        ScenarioError: there is no such link, panel or look.
    """
    scenario = given_scenario(scenario)
    for panel in panels:
        if panel not in PANELS:
            raise ScenarioError("panels", panel, one_of(PANELS), scenario.origin)
    drawing.look_named(look)
    if link is None:
        tuning = scenario.tuning
        link = None if tuning is None else tuning.objective.link
    else:
        check_link(scenario, link)
    if link is None:
        link = max(
            result.links,
            key=lambda name: result.link(name).total.get("sojourn_ms", {}).get("mean", 0.0),
        )
    return RunFigure(scenario, result, link, windows, tuple(panels), look)


def probe_interval_s(scenario: Scenario) -> float:
    """Seconds between the points of time series that are as fine as a figure can show."""
    return float(f"{scenario.duration / _POINTS:.1g}")


def explain(
    figure: Figure, panels: Sequence[Axes], *, narrow: bool, names: Sequence[str] = ()
) -> None:
    """Add the legend: beside each panel, or below all of them where it is narrow.

    Args:
        figure: that has the panels.
        panels: from above.
        narrow: for a phone.
        names: what panels are called whose labels would else be taken for another's.
    """
    if not narrow:
        for axes in panels:
            if axes.get_legend_handles_labels()[0]:
                axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
        return
    legends = [axes.get_legend_handles_labels() for axes in panels]
    named: dict[str, Any] = {}
    for place, (handles, labels) in enumerate(legends):
        for handle, label in zip(handles, labels, strict=True):
            everywhere = all(label in others for _, others in legends)
            whose = f"{names[place]}: " if names and not everywhere else ""
            named.setdefault(whose + label.replace("\n", " "), handle)
    columns = 1 if sum(len(label) > _LONG_LABEL for label in named) > 1 else 2
    figure.legend([*named.values()], [*named], loc="outside lower left", ncols=columns)


def settle(figure: Figure) -> None:
    """Keep the computed layout, rounded.

    The solver's last digits change from one time to the next, and with them names in an SVG.
    """
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    for axes in figure.axes:
        left, bottom, width, height = (round(each, 4) for each in axes.get_position().bounds)
        axes.set_position((left, bottom, width, height))


def _bin_values(
    time: Values, values: Values, of: Callable[[Values], np.floating[Any]]
) -> tuple[Values, Values]:
    """Sum values over equal intervals of time; return the edges, and one value each."""
    import numpy as np

    bins = min(_BINS, max(1, len(time) - 1))
    edges = np.linspace(time[0], time[-1], bins + 1)
    places = np.clip(np.searchsorted(edges, time, side="left") - 1, 0, bins - 1)
    return edges, np.array([of(values[places == number]) for number in range(bins)])
