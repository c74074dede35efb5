"""Series of a shaper that is kept at the rate of its line, on the live page and in its journal."""

from __future__ import annotations

import sqlite3

import pytest

from vermilion.online.entries import Decision, DecisionKind, LineSample
from vermilion.online.record.journal import Journal
from vermilion.status.live_page.journal_queries import LINE_SERIES, line_series


@pytest.fixture
def journal_path(tmp_path):
    """A journal of ten seconds: the capacity is known from the fifth on, the line's wait later."""
    path = tmp_path / "journal.sqlite"
    with Journal(
        path,
        version="test",
        title="linux:wan",
        router="linux",
        link="linux:wan",
        discipline="cake",
        target_packets=None,
    ) as journal:
        journal.keep(Decision(0.0, DecisionKind.START, "began"))
        for second in range(1, 11):
            capacity = 8e6 if second >= 5 else None
            wait = 0.020 if second >= 7 else None
            journal.keep(LineSample(float(second), 1e6 * second, capacity, 0.001 * second, wait))
    return path


def series(path, ends_s, bucket_s):
    with sqlite3.connect(path) as database:
        return line_series(database, 1, ends_s, 0.0, bucket_s)


def test_what_is_known_of_the_line_is_drawn_and_the_rest_is_absent(journal_path):
    found = series(journal_path, [2.0, 4.0, 6.0, 8.0, 10.0], 2.0)
    assert tuple(found) == LINE_SERIES
    assert found["rate_mbit_per_s"] == pytest.approx([1.5, 3.5, 5.5, 7.5, 9.5])
    assert found["capacity_mbit_per_s"] == [None, None, *map(pytest.approx, (8.0, 8.0, 8.0))]
    assert found["wait_here_ms"] == pytest.approx([1.5, 3.5, 5.5, 7.5, 9.5])
    assert found["wait_line_ms"] == [None, None, None, *map(pytest.approx, (20.0, 20.0))]


def test_a_point_without_a_sample_and_a_journal_of_before_have_nothing(journal_path):
    assert series(journal_path, [10.0, 30.0], 10.0)["rate_mbit_per_s"] == [pytest.approx(5.5), None]
    with sqlite3.connect(journal_path) as database:
        database.execute("DROP TABLE line_sample")
    assert series(journal_path, [10.0], 10.0) == {name: [None] for name in LINE_SERIES}
