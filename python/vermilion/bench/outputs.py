"""Contents of a bench's folder: figures, LaTeX tables, tidy CSV, and a page."""

from __future__ import annotations

import csv
import io
import json
import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from vermilion.bench.bench import FAIRNESS
from vermilion.bench.suite import suite_version
from vermilion.files.whole_file import whole_file
from vermilion.report import drawing, figures
from vermilion.simulate.statistics import Interval, mean_interval

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from matplotlib.figure import Figure

    from vermilion.bench.bench import Bench
    from vermilion.bench.measures import Measures
    from vermilion.bench.suite import Case, Family

    Draw = Callable[[str], Figure]

_LOOKS: Final = {"": "paper", "-wide": "paper-wide"}
_KINDS: Final = ("pdf", "svg", "png")

_METRICS: Final[Mapping[str, tuple[tuple[str, str, float], ...]]] = {
    "dumbbell": (("utilization", "used (%)", 100.0), ("delay_p95_ms", "delay p95 (ms)", 1.0)),
    "duel": (("share", "share of the goodput", 1.0), ("delay_p95_ms", "delay p95 (ms)", 1.0)),
    "mixed": (("share", "CUBIC's share", 1.0), ("delay_p95_ms", "delay p95 (ms)", 1.0)),
    "rtt-fairness": (("rtt_ratio", "goodput ratio", 1.0),),
    "convergence": (("time_to_fairness_s", "time to fairness (s)", 1.0),),
    "varying": (("utilization", "used (%)", 100.0), ("delay_p95_ms", "delay p95 (ms)", 1.0)),
    "incast": (("own_completion_p99_ms", "last done (ms)", 1.0),),
    "web-calls": (
        ("own-web_completion_p99_ms", "page p99 (ms)", 1.0),
        ("call_delay_p95_ms", "call delay p95 (ms)", 1.0),
    ),
    "ecn": (
        ("share", "share beside CUBIC", 1.0),
        ("delay_p95_ms", "delay p95 (ms)", 1.0),
        ("utilization", "used (%)", 100.0),
    ),
    "fabric": (("slowdown_p50", "slowdown p50", 1.0), ("slowdown_p99", "slowdown p99", 1.0)),
}
"""Columns of the tables, by family: number, heading, factor."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table: contestants across, a row of cells for each number, the first of which names it."""

    name: str
    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]

    def latex(self) -> str:
        """The table for LaTeX, with the package booktabs."""
        columns = "l" + "r" * (len(self.headings) - 1)
        lines = [
            f"% {self.title}; \\usepackage{{booktabs}}",
            f"\\begin{{tabular}}{{{columns}}}",
            "\\toprule",
            " & ".join(map(_latex, self.headings)) + r" \\",
            "\\midrule",
            *(" & ".join(map(_latex, row)) + r" \\" for row in self.rows),
            "\\bottomrule",
            "\\end{tabular}",
        ]
        return "\n".join(lines) + "\n"


class Outputs:
    """Measures of a bench, in the forms of its folder.

    Args:
        bench: that was held.
        found: its measures by task.
    """

    def __init__(self, bench: Bench, found: Mapping[str, Sequence[Measures]]) -> None:
        self.bench = bench
        self.labels = list(bench.entrants)
        self._tasks = bench.tasks()
        self._found = {
            (task.case.name, task.label, task.against): found[task.name] for task in self._tasks
        }
        self._cases = {case.name: case for case in bench.held}

    @cached_property
    def families(self) -> list[Family]:
        """Families that were held."""
        return list({case.family.name: case.family for case in self._cases.values()}.values())

    def write(self, folder: Path, *, progress: Callable[[], object] | None = None) -> None:
        """Write everything into the folder.

        Raises:
            OSError: a file cannot be written.
        """
        for name in ("figures", "tables", "data"):
            (folder / name).mkdir(exist_ok=True)
        with whole_file(folder / "data" / "runs.csv") as file:
            file.write(self.csv())
        for table in self.tables():
            with whole_file(folder / "tables" / f"{table.name}.tex") as file:
                file.write(table.latex())
        inline: dict[str, str] = {}
        for name, draw in self.figures().items():
            for suffix, look in _LOOKS.items():
                figure = draw(look)
                for kind in _KINDS:
                    with whole_file(
                        folder / "figures" / f"{name}{suffix}.{kind}", binary=True
                    ) as to:
                        to.write(drawing.picture(figure, kind, look))
                if not suffix:
                    inline[name] = drawing.svg(figure, name=name, description=name)
            if progress is not None:
                progress()
        with whole_file(folder / "index.html") as file:
            file.write(self.page(inline))

    # --- numbers ---------------------------------------------------------------------------

    def values(self, case: str, label: str, number: str, against: str = "") -> list[float]:
        """A number in each run of a case; those that have none are left out."""
        runs, turned = self._found.get((case, label, against)), False
        if runs is None and against:
            runs, turned = self._found.get((case, against, label)), True
        values = [run["numbers"][number] for run in runs or () if number in run["numbers"]]
        return [1.0 - each for each in values] if turned and number == "share" else values

    def mean(
        self, case: str, label: str, number: str, factor: float = 1.0, against: str = ""
    ) -> Interval | None:
        """Its mean over the seeds with the 95 % interval; ``None`` where a run has none."""
        values = self.values(case, label, number, against)
        if len(values) < len(self.bench.seeds):
            return None
        return mean_interval(factor * each for each in values)

    def of(self, family: str) -> list[Case]:
        """Cases of a family."""
        return [case for case in self._cases.values() if case.family.name == family]

    def csv(self) -> str:
        """Every number of every run, a row each."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(
            ("family", "case", "conditions", "contestant", "against", "seed", "metric", "value")
        )
        for (name, label, against), runs in self._found.items():
            case = self._cases[name]
            conditions = "; ".join(f"{axis}={value}" for axis, value in case.conditions.items())
            for run in runs:
                for metric, value in run["numbers"].items():
                    row = (case.family.name, name, conditions, label, against)
                    writer.writerow((*row, run["seed"], metric, value))
        return text.getvalue()

    # --- tables ----------------------------------------------------------------------------

    def tables(self) -> list[Table]:
        """The summary, and a table for each family."""
        return [self.summary(), *(self._table(family) for family in self.families)]

    def summary(self) -> Table:
        """One number for each family: the mean over its cases (of the widest, of the latest)."""
        columns: list[tuple[str, Callable[[str], float | None], str]] = []

        def over(
            family: str, number: str, words: str, form: str, factor: float = 1.0, against: str = ""
        ) -> None:
            held = self.of(family)
            if not held:
                return

            def value(label: str) -> float | None:
                if label == against:
                    return None
                chosen = held[-1:] if number in _OF_THE_LAST else held
                means = [self.mean(case.name, label, number, factor, against) for case in chosen]
                known = [each.mean for each in means if each is not None]
                return sum(known) / len(known) if known and len(known) == len(means) else None

            columns.append((words, value, form))

        over("dumbbell", "utilization", "used (%)", ".1f", 100.0)
        over("dumbbell", "delay_p95_ms", "delay p95 (ms)", ".1f")
        against = "cubic" if "cubic" in self.labels else ""
        over("duel", "share", "share beside cubic", ".2f", against=against)
        over("mixed", "jain_index", "Jain, mixed", ".2f")
        over("rtt-fairness", "rtt_ratio", "ratio, far", ".1f")
        over("convergence", "time_to_fairness_s", "time to fair (s)", ".1f")
        over("varying", "utilization", "varying: used (%)", ".1f", 100.0)
        over("varying", "delay_p95_ms", "varying: p95 (ms)", ".0f")
        over("incast", "own_completion_p99_ms", "incast (ms)", ".0f")
        over("web-calls", "call_delay_p95_ms", "call p95 (ms)", ".0f")
        over("ecn", "delay_p95_ms", "ECN: p95 (ms)", ".1f")
        over("fabric", "slowdown_p99", "fabric p99", ".1f")
        rows = [
            (words, *(_cell(value(label), form) for label in self.labels))
            for words, value, form in columns
        ]
        return Table("summary", "Summary: means over cases and seeds", ["", *self.labels], rows)

    def _table(self, family: Family) -> Table:
        held = self.of(family.name)
        metrics = _METRICS[family.name]
        if family.pairs:
            metric, words, factor = metrics[0]
            case = held[len(held) // 2].name
            rows = [
                (a, *(_interval_cell(self.mean(case, a, metric, factor, b)) for b in self.labels))
                for a in self.labels
            ]
            headings = [f"{words} against", *self.labels]
            return Table(family.name, family.title, headings, rows)
        first = metrics[0][1] if len(metrics) == 1 else ""
        rows = [
            (
                ", ".join([*([] if first else [words]), *case.conditions.values()]),
                *(
                    _interval_cell(self.mean(case.name, label, metric, factor))
                    for label in self.labels
                ),
            )
            for metric, words, factor in metrics
            for case in held
        ]
        return Table(family.name, family.title, [first, *self.labels], rows)

    # --- figures ---------------------------------------------------------------------------

    def figures(self) -> dict[str, Draw]:
        """Functions that draw, by the names of the files."""
        held = {family.name for family in self.families}
        drawn: dict[str, Draw] = {
            "dumbbell-used": self._over_buffers("utilization", "used (%)", 100.0),
            "dumbbell-delay": self._over_buffers("delay_p95_ms", "delay p95 (ms)", 1.0),
            "plane": lambda look: figures.plane(self._clouds(), look=look),
            "delays": lambda look: figures.delays(self._distributions(), look=look),
        }
        if "duel" in held:
            drawn["duel"] = lambda look: figures.duel(self.labels, self._shares(), look=look)
        if "mixed" in held:
            drawn["mixed"] = self._bars("mixed", "jain_index", "Jain's index", 1.0)
        drawn["rtt-fairness"] = self._over_round_trips
        drawn["fairness"] = self._fairness
        drawn["over-time"] = self._over_time
        drawn["varying-used"] = self._bars("varying", "utilization", "used (%)", 100.0)
        drawn["varying-delay"] = self._bars("varying", "delay_p95_ms", "delay p95 (ms)", 1.0)
        drawn["incast"] = self._over("incast", "fan", "own_completion_p99_ms", "last done (ms)")
        drawn["web"] = lambda look: figures.completion(
            self._classes(), statistics=("p50",), look=look
        )
        drawn["call"] = self._bars("web-calls", "call_delay_p95_ms", "call delay p95 (ms)", 1.0)
        if "ecn" in held:
            drawn["ecn-delay"] = self._bars("ecn", "delay_p95_ms", "delay p95 (ms)", 1.0)
            drawn["ecn-share"] = self._bars("ecn", "share", "share beside CUBIC", 1.0)
        if "fabric" in held:
            drawn["fabric"] = self._bars("fabric", "slowdown_p99", "slowdown p99", 1.0)
        return drawn

    def _middle(self) -> str:
        """Dumbbell of the second network with a buffer of one bandwidth-delay product."""
        every = self.of("dumbbell")
        held = [case for case in every if case.conditions["buffer"] == "1"] or every
        return held[min(1, len(held) - 1)].name

    def _over_buffers(self, number: str, words: str, factor: float) -> Draw:
        network = self._cases[self._middle()].conditions["network"]
        held = [case for case in self.of("dumbbell") if case.conditions["network"] == network]

        def draw(look: str) -> Figure:
            curves = {
                label: [
                    (float(case.conditions["buffer"]), mean)
                    for case in held
                    if (mean := self.mean(case.name, label, number, factor)) is not None
                ]
                for label in self.labels
            }
            labels = ("buffer (bandwidth-delay products)", words)
            logarithmic = (True, number != "utilization")
            return figures.lines(curves, labels=labels, logarithmic=logarithmic, look=look)

        return draw

    def _over(self, family: str, axis: str, number: str, words: str) -> Draw:
        def draw(look: str) -> Figure:
            curves = {
                label: [
                    (float(case.conditions[axis]), mean)
                    for case in self.of(family)
                    if (mean := self.mean(case.name, label, number)) is not None
                ]
                for label in self.labels
            }
            return figures.lines(
                curves, labels=("transfers at once", words), logarithmic=(True, True), look=look
            )

        return draw

    def _over_round_trips(self, look: str) -> Figure:
        curves = {
            label: [
                (float(case.conditions["rtt"].split()[0]) / 20.0, mean)
                for case in self.of("rtt-fairness")
                if (mean := self.mean(case.name, label, "rtt_ratio")) is not None
            ]
            for label in self.labels
        }
        labels = ("ratio of round trips", "ratio of goodputs")
        return figures.lines(curves, labels=labels, logarithmic=(True, True), look=look)

    def _bars(self, family: str, number: str, words: str, factor: float) -> Draw:
        held = self.of(family)

        def draw(look: str) -> Figure:
            values = {
                label: [self.mean(case.name, label, number, factor) for case in held]
                for label in self.labels
            }
            there = {name: each for name, each in values.items() if any(each)}
            groups = [_condition_words(case) for case in held]
            return figures.bars(groups, there, label=words, look=look)

        return draw

    def _clouds(self) -> dict[str, list[tuple[float, float]]]:
        case = self._middle()
        return {
            label: [
                (run["numbers"]["delay_mean_ms"], run["numbers"]["goodput_mbit_s"])
                for run in self._found[case, label, ""]
            ]
            for label in self.labels
        }

    def _distributions(self) -> dict[str, tuple[list[float], list[float]]]:
        case = self._middle()
        return {label: tuple(self._found[case, label, ""][0]["delays"]) for label in self.labels}

    def _shares(self) -> dict[tuple[str, str], float]:
        held = self.of("duel")
        case = held[len(held) // 2].name
        shares = {}
        for row in self.labels:
            for column in self.labels:
                mean = self.mean(case, row, "share", against=column)
                if mean is not None:
                    shares[row, column] = mean.mean
        return shares

    def _fairness(self, look: str) -> Figure:
        case = self.of("convergence")[0]
        indices: dict[str, tuple[list[float], list[float]]] = {}
        reached: dict[str, float | None] = {}
        for label in self.labels:
            run = self._found[case.name, label, ""][0]
            indices[label] = [end for end, _ in run["jain"]], [each for _, each in run["jain"]]
            time = run["numbers"].get("time_to_fairness_s")
            reached[label] = None if time is None else case.family.joined_s + time
        return figures.fairness(indices, reached=reached, look=look)

    def _over_time(self, look: str) -> Figure:
        """One's own flows that join one by one."""
        from vermilion.report.run_figure import run_figure

        scenario, result = self._run_over_time
        return run_figure(scenario, result, "line", look=look).figure()

    @cached_property
    def _run_over_time(self) -> tuple[Any, Any]:
        from vermilion.report.run_figure import probe_interval_s
        from vermilion.simulate import run
        from vermilion.simulate.instruments import FlowSeries

        case, own = self.of("convergence")[0], self.labels[0]
        scenario = case.scenario(self.bench.kind, self.bench.entrants[own])
        flows = FlowSeries(interval_s=scenario.duration / 400)
        seed, interval_s = self.bench.seeds[0], probe_interval_s(scenario)
        return scenario, run(scenario, seed, interval_s, instruments=[flows])

    def _classes(self) -> dict[str, list[Mapping[str, Any]]]:
        case = self.of("web-calls")[0].name
        return {label: self._found[case, label, ""][0]["classes"] for label in self.labels}

    # --- the page --------------------------------------------------------------------------

    def page(self, inline: Mapping[str, str]) -> str:
        """The page: summary, and each family with its question, figures and table."""
        from vermilion.report.templates_of import templates_of

        template = templates_of("vermilion.bench").get_template("bench.html.j2")
        parts = [
            {
                "family": family,
                "table": self._table(family),
                "figures": [inline[name] for name in _FIGURES[family.name] if name in inline],
            }
            for family in self.families
        ]
        manifest = self.bench.manifest()
        return template.render(
            own=self.labels[0],
            kind=self.bench.kind,
            summary=self.summary(),
            parts=parts,
            fairness=FAIRNESS,
            absent=self._absent(),
            manifest=manifest,
            plugins=json.dumps(manifest["plugins"]),
            version=manifest["version"],
            suite=suite_version(),
        )

    def _absent(self) -> list[str]:
        """Remarks on what was not held."""
        fabrics = [family for family in self.families if family.fabric]
        held = {task.label for task in self._tasks if task.case.family.fabric}
        missing = [label for label in self.labels if fabrics and label not in held]
        if not missing:
            return []
        return [f"A fabric runs no sender that is written in Python: without {', '.join(missing)}."]


_OF_THE_LAST: Final = ("rtt_ratio", "own_completion_p99_ms")

_FIGURES: Final[Mapping[str, tuple[str, ...]]] = {
    "dumbbell": ("plane", "delays", "dumbbell-used", "dumbbell-delay"),
    "duel": ("duel",),
    "mixed": ("mixed",),
    "rtt-fairness": ("rtt-fairness",),
    "convergence": ("over-time", "fairness"),
    "varying": ("varying-used", "varying-delay"),
    "incast": ("incast",),
    "web-calls": ("web", "call"),
    "ecn": ("ecn-delay", "ecn-share"),
    "fabric": ("fabric",),
}


def _condition_words(case: Case) -> str:
    words = ", ".join(case.conditions.values())
    return f"{words} BDP" if list(case.conditions) == ["buffer"] else words


def _cell(value: float | None, form: str) -> str:
    return "-" if value is None or math.isnan(value) else format(value, form)


def _interval_cell(interval: Interval | None) -> str:
    if interval is None:
        return "-"
    half = interval.half_width or 0.0
    digits = max(0, 2 - math.floor(math.log10(abs(interval.mean) or 1.0)))
    digits = min(digits, 3)
    text = f"{interval.mean:.{digits}f}"
    return f"{text} ± {half:.{digits}f}" if half else text


_LATEX: Final = {"%": r"\%", "_": r"\_", "&": r"\&", "#": r"\#"}


def _latex(cell: str) -> str:
    """A cell, with what is after a ± in small figures below the line: seven fit a page."""
    if cell == "-":
        return "--"
    mean, sign, half = cell.partition(" ± ")
    text = "".join(_LATEX.get(letter, letter) for letter in mean)
    return rf"{text}$_{{\pm {half}}}$" if sign else text
