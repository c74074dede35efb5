"""Comparing disciplines and settings: from a question to tables, intervals, a figure and a page."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING
from zlib import crc32

from vermilion.files.whole_file import whole_file
from vermilion.report import drawing
from vermilion.report.comparison_figure import (
    FEWEST,
    MOST_ROWS,
    comparison_caption,
    comparison_figure,
    many_variants_caption,
    many_variants_figure,
)
from vermilion.report.drawing import check_link, figure_format, picture
from vermilion.scenario.errors import ScenarioError
from vermilion.simulate import comparison as simulated
from vermilion.simulate.accepted import given_scenarios
from vermilion.simulate.comparison import Comparison
from vermilion.simulate.notebook import stretch
from vermilion.simulate.sweeps import chosen_seeds, make_variants

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from matplotlib.figure import Figure

    from vermilion.objectives import LinkObjective
    from vermilion.scenario import Scenario
    from vermilion.simulate.result_data import LinkMetrics


@dataclass(frozen=True, slots=True)
class ComparisonReport(Comparison):
    """A comparison that can be drawn.

    Attributes:
        notes: what became of parameters when a discipline was replaced.
        command: the command that repeats it.
    """

    notes: tuple[str, ...] = ()
    command: str = ""

    def figure(
        self, link: str | None = None, phase: int | None = None, *, look: str = "page"
    ) -> Figure:
        """The trade-off of delay and goodput, and the distribution of the queueing delay.

        Eight variants or more have a line each instead: delay, goodput and drops.

        Args:
            link: the link; by default the one that the scenario's objective is of, or its first.
            phase: only this one, 0 being the whole run; by default all of them, one below the
                other, or the whole run if there is one or more than six.
            look: "page", "paper" (a column), "paper-wide" (two) or "slides".

        Raises:
            ScenarioError: there is no such link, phase or look.
        """
        return self._draw(link, phase, narrow=False, look=look)

    def save_figure(
        self,
        path: str | os.PathLike[str],
        link: str | None = None,
        phase: int | None = None,
        *,
        look: str = "page",
    ) -> None:
        """Write the figure as ``.svg``, ``.pdf`` or ``.png``, or as a page with tables, ``.html``.

        The file appears under its name when it is complete.

        Raises:
            ValueError: a name with another ending.
            ScenarioError: there is no such link, phase or look.
            OSError: the file cannot be written.
        """
        content = self.rendered(figure_format(path), link, phase, look=look)
        with whole_file(Path(path), binary=True) as file:
            file.write(content)

    def rendered(
        self, kind: str, link: str | None = None, phase: int | None = None, *, look: str = "page"
    ) -> bytes:
        """Content that :meth:`save_figure` writes; ``kind`` is a format of a figure's file.

        The same comparison gives the same bytes.
        """
        if kind == "html":
            return self.page(link, phase).encode()
        return picture(self.figure(link, phase, look=look), kind, look)

    def page(self, link: str | None = None, phase: int | None = None) -> str:
        """One self-contained HTML page: the figure and all tables."""
        from vermilion.report.templates_of import render_page

        scenario = self.scenarios[0]
        link = self._link(link)
        return render_page(
            "comparison.html.j2",
            title=scenario.title or scenario.origin,
            description=scenario.description,
            figure=drawing.svg_for_both_widths(
                partial(self._draw, link, phase),
                name=self._name(),
                description=self._description(link),
            ),
            caption=self._caption(link, phase),
            tables=self.tables(),
            remark=self.remark(),
            notes=self.notes,
            seeds=", ".join(map(str, self.seeds)),
            command=self.command,
            version=str(self.results[0][0].data["version"]),
        )

    def _repr_html_(self) -> str:
        """Figure and tables, for a notebook."""
        # Not super(): a class with slots is not the one that its methods were written in.
        tables = Comparison._repr_html_(self)
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        figure = drawing.svg(
            self.figure(), name=self._name(), description=self._description(self._link(None))
        )
        return f'<div style="max-width: 60rem">\n{figure}\n{tables}\n{notes}</div>'

    @property
    def _has_many_variants(self) -> bool:
        """Return whether each variant is drawn as a line of its own."""
        return len(self.names) >= FEWEST

    def _caption(self, link: str, phase: int | None) -> str:
        explain = many_variants_caption if self._has_many_variants else comparison_caption
        return f"Link {link}. {explain(self, self._rows(link, phase))}"

    def _draw(
        self, link: str | None, phase: int | None, *, narrow: bool, look: str = "page"
    ) -> Figure:
        link = self._link(link)
        draw = many_variants_figure if self._has_many_variants else comparison_figure
        return draw(self, link, self._rows(link, phase), narrow=narrow, look=look)

    def _name(self) -> str:
        """Prefix of the figure's identifiers; a notebook may show several comparisons."""
        return f"comparison-{crc32(str(self).encode()):08x}"

    def _description(self, link: str) -> str:
        shown = (
            "Queueing delay, goodput and share of packets dropped"
            if self._has_many_variants
            else "Goodput against queueing delay, and the distribution of the queueing delay,"
        )
        return f"{shown} of {', '.join(self.names)} at {link}"

    def _link(self, link: str | None) -> str:
        scenario = self.scenarios[0]
        if link is None:
            tuned = next((each.tuning for each in self.scenarios if each.tuning), None)
            named = None if tuned is None else tuned.objective.link
            return next(iter(scenario.links)) if named is None else named
        check_link(scenario, link)
        return link

    def _rows(self, link: str, phase: int | None) -> list[int]:
        windows = self.windows(link)
        phases, whole = list(range(len(windows) - 1)), len(windows) - 1
        if phase is None:
            return phases if 1 < len(phases) <= MOST_ROWS else [whole]
        if not 0 <= phase <= len(phases):
            listed = ", ".join(f"{number + 1} ({stretch(windows[number])})" for number in phases)
            accepted = f"0 for the whole run{' or ' if listed else ''}{listed}"
            raise ScenarioError("phase", phase, accepted, self.scenarios[0].origin)
        return [phase - 1 if phase else whole]


def compare(
    scenario: Scenario | str | Path | Mapping[str, Scenario | str | Path],
    disciplines: Sequence[str] = (),
    *,
    settings: Sequence[str] = (),
    senders: Sequence[str] = (),
    seeds: int | Sequence[int] = 10,
    flow_delays: bool = False,
    threads: int | None = None,
    progress: Callable[[int], object] | None = None,
) -> ComparisonReport:
    """Compare disciplines and settings over the same seeds.

        >>> comparison = vermilion.compare("varying-load", ["red", "drop-tail"], seeds=10)
        >>> print(comparison)
        >>> comparison.save_figure("comparison.html")

    Args:
        scenario: itself, or the name or path from which it is loaded; or any of these by names of
            your own, such as :func:`grid` makes, if they have the same links and groups of flows.
        disciplines: the queue disciplines, each perhaps with parameters of its own:
            "codel" or "codel:target=10 ms,interval=50 ms". The scenario's own discipline keeps its
            parameters; others take over those that they share with it, and have their
            defaults for the rest. None at all: the scenario as it is.
        settings: texts "path=value". The same path given several times makes a variant of
            each of its values; a path given once is set in all variants.
        senders: of all flows that have one, in the same words as disciplines. Like theirs, a label
            may follow an equals sign: "cubic=CUBIC", "cubic:hystart=false=plain".
        seeds: how many, counted from 1, or which. At least two, for intervals.
        flow_delays: whether to compare the one-way delay, the jitter and the losses of each
            group's packets too: what a call feels. Simulating takes about half as long again.
        threads: how many runs at a time; ``None`` for one on each core.
        progress: called with the number of runs done.

    Returns:
        The comparison. The first variant is the one the others are compared with.

    Raises:
        ScenarioError: a scenario, a variant or a seed that is not accepted.
        ValueError: disciplines or settings for scenarios that are given by name, or none of those.
        KeyboardInterrupt: at Ctrl-C, within 0.2 s.
    """
    chosen = chosen_seeds(seeds)
    if isinstance(scenario, Mapping):
        if disciplines or settings or senders:
            message = "scenarios given by name are compared as they are, without further variants"
            raise ValueError(message)
        return compare_variants(
            given_scenarios(scenario),
            chosen,
            flow_delays=flow_delays,
            threads=threads,
            progress=progress,
        )
    for field, given in (
        ("disciplines", disciplines),
        ("settings", settings),
        ("senders", senders),
    ):
        if not isinstance(given, Sequence):
            raise ScenarioError(field, given, "a list of them")
    variants, notes = make_variants(scenario, disciplines, settings, senders)
    command = command_to_repeat(
        _origin(variants), disciplines, settings, chosen, senders=senders, flow_delays=flow_delays
    )
    return compare_variants(
        variants,
        chosen,
        notes=notes,
        command=command,
        flow_delays=flow_delays,
        threads=threads,
        progress=progress,
    )


def compare_variants(
    variants: Mapping[str, Scenario],
    seeds: Sequence[int],
    *,
    notes: Sequence[str] = (),
    command: str = "",
    flow_delays: bool = False,
    threads: int | None = None,
    progress: Callable[[int], object] | None = None,
    keeps_at_interrupt: bool = False,
) -> ComparisonReport:
    """Compare any scenarios with the same links and groups of flows, given by name.

    Args:
        variants: the first is the one the others are compared with.
        seeds: at least two, for intervals.
        notes: remarks about the variants that belong on a page about them.
        command: the command that repeats it, if there is one.
        flow_delays: whether to compare delay, jitter and losses of each group's packets too.
        threads: how many runs at a time; ``None`` for one on each core.
        progress: called with the number of runs done.
        keeps_at_interrupt: whether Ctrl-C ends it with the seeds that were met by then, if they
            are two or more.

    Raises:
        ScenarioError: a variant or a seed that is not accepted.
        ValueError: there is nothing to compare.
    """
    _check_same_places(variants)
    objective = _objective(variants)
    outcome = simulated.compare(
        variants,
        seeds,
        measures=objective_measure(variants),
        distributions=True,
        flow_delays=flow_delays,
        threads=threads,
        progress=progress,
        keeps_at_interrupt=keeps_at_interrupt,
    )
    return ComparisonReport(
        outcome.names,
        outcome.seeds,
        outcome.results,
        outcome.measures,
        outcome.scenarios,
        measure_units={} if objective is None else {objective.name: objective.unit},
        notes=tuple(notes),
        command=command,
    )


def objective_measure(
    variants: Mapping[str, Scenario],
) -> dict[str, Callable[[LinkMetrics], float | None]]:
    """The objective that the scenario names, by its name, if it is of the only link there is.

    A comparison shows the same metrics of every link, and an objective belongs to one.
    """
    objective = _objective(variants)
    return {} if objective is None else {objective.name: objective.value_if_measured}


def _objective(variants: Mapping[str, Scenario]) -> LinkObjective | None:
    from vermilion.objectives import LinkObjective, objective_of

    tuned = next((entry for entry in variants.values() if entry.tuning is not None), None)
    if tuned is None or len(tuned.links) > 1:
        return None
    objective = objective_of(tuned)
    return objective if isinstance(objective, LinkObjective) else None


def command_to_repeat(
    origin: str,
    disciplines: Sequence[str],
    settings: Sequence[str],
    seeds: Sequence[int],
    *,
    senders: Sequence[str] = (),
    plugins: Sequence[str] = (),
    flow_delays: bool = False,
) -> str:
    """The command that makes this comparison; "" if its seeds do not follow each other."""
    if list(seeds) != list(range(seeds[0], seeds[0] + len(seeds))):
        return ""
    words = ["vermilion", "compare", origin]
    for option, values in (
        ("--plugin", plugins),
        ("--discipline", disciplines),
        ("--sender", senders),
        ("--set", settings),
    ):
        words += [word for value in values for word in (option, value)]
    words += ["--seeds", str(len(seeds))]
    if seeds[0] != 1:
        words += ["--seed", str(seeds[0])]
    if flow_delays:
        words.append("--flow-delays")
    return shlex.join(words)


def _origin(variants: Mapping[str, Scenario]) -> str:
    return next(iter(variants.values())).origin


def _check_same_places(variants: Mapping[str, Scenario]) -> None:
    if not variants:
        message = "a comparison needs at least one scenario"
        raise ValueError(message)
    first = next(iter(variants.values()))
    for scenario in variants.values():
        for field in ("links", "flows"):
            names, expected = list(getattr(scenario, field)), list(getattr(first, field))
            if sorted(names) != sorted(expected):
                accepted = f"the same {field} as in the first variant: {', '.join(expected)}"
                raise ScenarioError(field, ", ".join(names), accepted, scenario.origin)
