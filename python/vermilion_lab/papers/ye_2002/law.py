"""Figure 2: RED's control law, read off a running queue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vermilion.report import drawing
from vermilion.scenario import load_scenario
from vermilion_lab.papers import plots
from vermilion_lab.papers.measures import interval
from vermilion_lab.papers.verdict import Check, Expected
from vermilion_lab.papers.ye_2002.network import LINK, LOAD, QUEUE, REDS

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

    from vermilion.scenario import Scenario
    from vermilion_lab.papers.interface import Evidence, Numbers
    from vermilion_lab.papers.workbench import Workbench


def measure_law(bench: Workbench) -> Numbers:
    """Averages and probabilities in runs of each dialect."""
    bench.expect(len(REDS) * len(bench.seeds))
    return {
        name: _law_points(bench, load_scenario(LOAD).with_values({QUEUE: queue}), name)
        for name, queue in REDS.items()
    }


def _law_points(bench: Workbench, scenario: Scenario, name: str) -> dict[str, list[float]]:
    """Pairs of average and probability from a run, and for each seed the farthest from the law."""
    import numpy as np

    worst, points = [], None
    for result in bench.traces(scenario, 0.02):
        series = result.series(LINK)
        average, probability = series["average_queue_packets"], series["drop_probability"]
        law = _law(average, gentle=name == "RED of ns-2")
        worst.append(float(np.abs(probability - law).max()))
        if points is None:
            order = np.argsort(average)[:: max(1, len(average) // 400)]
            points = (average[order].tolist(), probability[order].tolist())
    average_points, probability_points = points or ([], [])
    return {"average": average_points, "probability": probability_points, "worst": worst}


def _law(average: Any, *, gentle: bool) -> Any:  # noqa: ANN401 - arrays
    """RED's probability at an average, by the published formula."""
    import numpy as np

    low, high, most = 15.0, 45.0, 0.1
    rising = most * (average - low) / (high - low)
    above = most + (1 - most) * (average - high) / high if gentle else np.ones_like(average)
    return np.where(average < low, 0.0, np.where(average < high, rising, np.minimum(above, 1.0)))


def draw_law(numbers: Numbers) -> Drawing:
    """The formula, and what was seen."""
    import numpy as np

    figure, panels = plots.sheet(1, 2, 4.2, sharey=True)
    for axes, (name, found) in zip(panels[0], numbers.items(), strict=True):
        average = np.linspace(0, 100, 2001)
        axes.plot(
            average,
            _law(average, gentle=name == "RED of ns-2"),
            color=drawing.INK,
            linewidth=1.2,
            label="the published law",
        )
        axes.plot(
            found["average"],
            found["probability"],
            "o",
            color=drawing.VERMILION,
            markersize=4,
            alpha=0.6,
            label="seen in a run",
        )
        axes.set_title(f"{name}{', gentle' if name == 'RED of ns-2' else ''}")
        axes.set_xlabel("average queue (packets)")
        axes.set_xlim(0, 100)
        axes.legend(loc="upper left" if name == "RED of ns-2" else "center right")
    panels[0][0].set_ylabel("drop probability")
    return figure


def law_holds(evidence: Evidence) -> list[Check]:
    """Check that the formula predicts the measurements."""
    return [
        Check(
            quantity="largest distance of the probability in a run from the law",
            interval=interval(found["worst"]),
            expected=Expected(high=1e-6),
            reading=name,
        )
        for name, found in evidence["figure-2"].items()
    ]
