"""Tables: numbers at any size of network, and every number whole in a narrow terminal."""

import io

import pytest
from rich.console import Console

from test_cli import vermilion
from vermilion.cli import listings, main, run_tables
from vermilion.cli.run_tables import _speed
from vermilion.cli.tables import ABSENT, at_least, grid, megabits
from vermilion.objectives import OBJECTIVES
from vermilion.scenario import disciplines, load_scenario, senders
from vermilion.scenario.library import scenario_names
from vermilion.simulate import Result
from vermilion.simulate.tables import Section

__all__ = ["vermilion"]

WIDTHS = (80, 60)
FULL, MANY, SHARE = "100.00 %", "12,345,678", "98.76 %"
"""A utilisation, a number of packets and a rate as they are shown: among the widest cells."""


def printed(table, width):
    screen = Console(file=io.StringIO(), width=width, highlight=False)
    screen.print(table)
    return screen.file.getvalue()


def made_up(scenario, phases):
    """A result in the shape of the scenario's, with so many phases."""
    places = [{"start_s": 100.5 * each, "end_s": 100.5 * each + 95} for each in range(phases)]
    places.append({"start_s": 0.5, "end_s": 100.5 * phases})
    waits = dict.fromkeys(("mean", "sd", "p50", "p95", "p99"), 1234.5)
    goodput = {"total": 9e9, "mean": 1e6, "sd": 2e6, "min": 3e5, "max": 4e6}
    link = {"utilization": 1.0, "packets_forwarded": 12_345_678, "drop_rate": 0.9876}
    group = {"flows": 1234, "goodput_bit_per_s": goodput, "starved": 1, "jain_index": 0.987}
    links = [{**place, **link, "sojourn_ms": waits, "queue_packets": waits} for place in places]
    groups = [{**place, **group, "delay_ms": waits} for place in places]
    data = {"seed": 1, "packets_forwarded": 1, "wall_s": 1.0, "cpu_s": 1.0}
    entry = {"ledger": {}, "total": links[-1], "phases": links[:-1]}
    data["links"] = dict.fromkeys(scenario.links, entry)
    group = {"total": groups[-1], "phases": groups[:-1]}
    data["flows"] = dict.fromkeys(scenario.flows, group)
    return Result(data)


@pytest.mark.parametrize("name", scenario_names())
def test_every_number_of_a_shipped_scenario_stands_there_whole(name, monkeypatch):
    width = min(WIDTHS)
    screen = Console(file=io.StringIO(), width=width, highlight=False)
    monkeypatch.setattr(run_tables, "console", lambda: screen)
    scenario = load_scenario(name)
    for phases in (1, 9):
        screen.file.seek(0)
        screen.file.truncate()
        run_tables.print_result(scenario, made_up(scenario, phases), everything=True)
        text = screen.file.getvalue()
        cells = len(scenario.links) * (phases + 1)
        assert max(map(len, text.splitlines())) <= width
        assert [text.count(shown) for shown in (FULL, MANY, SHARE)] == [cells] * 3, phases
        assert "…" not in text


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("command", ["disciplines", "senders", "scenarios", "objectives"])
def test_a_name_that_one_may_type_is_never_cut_off(command, width, monkeypatch):
    screen = Console(file=io.StringIO(), width=width, highlight=False)
    named = {"disciplines": disciplines(), "senders": senders(), "objectives": OBJECTIVES}
    names = list(named.get(command, scenario_names()))
    monkeypatch.setattr(listings, "console", lambda: screen)
    assert main([command]) == 0
    assert set(names) <= set(screen.file.getvalue().split())
    for name in named[command] if command in {"disciplines", "senders"} else ():
        screen.file.seek(0)
        screen.file.truncate()
        assert main([command, name, "--all"]) == 0
        assert set(named[command][name].parameters) <= set(screen.file.getvalue().split())


def test_a_table_that_fits_is_in_one_part():
    text = printed(grid(["5 .. 20 s", "whole run"], [Section("link", [("a", ["1", "2"])])], 80), 80)

    assert text.count("link") == 1
    assert "5 .. 20 s   whole run" in text


def test_a_long_title_takes_no_room_from_the_numbers():
    title = "bulk flows together: " + ", ".join(f"group-{number}" for number in range(12))
    text = printed(grid(["5 .. 20 s"], [Section(title, [("drops", ["1,234"])])], 60), 60)

    assert "1,234" in text
    assert "group-11" in text


def test_a_long_heading_folds_and_the_numbers_do_not():
    headings = [f"links.bottleneck.queue.max_probability=0.{number}" for number in range(4)]
    section = Section("whole run", [("queueing delay p95 (ms)", ["123.4 ± 0.5 *"] * 4)])
    text = printed(grid(headings, [section], 80), 80)

    assert text.count("123.4 ± 0.5 *") == 4
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize(
    ("value", "shown"),
    [(24.63, "24.6"), (9.7, "9.7"), (0.5, "0.50"), (0.0734, "0.073"), (0.0, "0.0"), (None, ABSENT)],
)
def test_a_short_wait_keeps_two_digits(value, shown):
    assert at_least(value, 1, 2) == shown


@pytest.mark.parametrize(
    ("bit_per_s", "shown"),
    [(1e10, "10000"), (4e11, "400000"), (9416e6, "9416"), (96_260, "0.09626"), (None, ABSENT)],
)
def test_a_fast_link_has_no_exponent(bit_per_s, shown):
    assert megabits(bit_per_s) == shown


@pytest.mark.parametrize(
    ("packets", "cpu_s", "shown"),
    [
        (4_600_000, 1.0, " (4.6 million per CPU second)"),
        (2_500, 0.1, " (25,000 per CPU second)"),
        (0, 1.0, ""),
        (5, 0.0, ""),
    ],
)
def test_a_slow_run_is_not_said_to_forward_nothing(packets, cpu_s, shown):
    assert _speed(packets, cpu_s) == shown


@pytest.mark.parametrize("command", ["run", "compare"])
def test_more_goodput_than_the_link_carries_is_explained(vermilion, tmp_path, command):
    # Eight flows fill a queue within a second, and what waits there is delivered later.
    path = tmp_path / "early.toml"
    path.write_text(
        """
        duration = "12 s"
        warm_up = "3 s"
        [links.b]
        rate = "5 Mbit/s"
        delay = "5 ms"
        queue = { discipline = "pie" }
        [flows.a]
        count = 8
        path = ["b"]
        rtt = "20 ms"
        sender = "cubic"
        packet_size = "1500 bytes"
        header_size = "0 bytes"
        """
    )
    options = ["--seeds", "2", "--discipline", "pie", "--discipline", "red"]
    out = vermilion(command, str(path), *(options if command == "compare" else []))[1]
    settled = vermilion(command, "varying-load", *(options if command == "compare" else []))[1]
    assert "More goodput than the link carries" in out
    assert "More goodput than the link carries" not in settled
