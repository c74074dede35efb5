"""Numbers beside a logarithmic axis: enough to read it by, and none like a power of ten."""

import pytest
from matplotlib.figure import Figure

from vermilion.report.drawing import plain_numbers


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [
        (1.1, 98.0, ["2", "5", "10", "20", "50"]),
        (0.011, 0.035, ["0.012", "0.015", "0.02", "0.025", "0.03"]),
        (0.5, 2e4, ["1", "10", "100", "1000", "10000"]),
    ],
)
def test_an_axis_has_numbers_for_as_much_as_it_shows(low, high, shown):
    figure = Figure()
    axes = figure.add_subplot()
    axes.set_xscale("log")
    plain_numbers(axes.xaxis)
    axes.set_xlim(low, high)  # afterwards: what is shown may change
    figure.draw_without_rendering()
    ticks = axes.xaxis.get_major_ticks()
    labels = [each.label1.get_text() for each in ticks if low <= each.get_loc() <= high]
    assert labels == shown
    assert not any(label.get_text() for label in axes.xaxis.get_ticklabels(minor=True))
