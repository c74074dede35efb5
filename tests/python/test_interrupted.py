"""Ctrl-C keeps what there is: comparisons, on-line runs and captures."""

import json
from pathlib import Path

import pytest

from test_cli import SHORT, vermilion
from vermilion.simulate import comparison
from vermilion.simulate.runs import run_many

__all__ = ["vermilion"]

CAPTURE = Path(__file__).parents[1] / "reference" / "captures" / "bulk.pcap"


def interrupting(real, after):
    """The same function, which is interrupted after so many calls."""
    calls = iter(range(after))

    def function(*arguments, **options):
        if next(calls, None) is None:
            raise KeyboardInterrupt
        return real(*arguments, **options)

    return function


def test_a_comparison_shows_the_seeds_that_it_has(vermilion, monkeypatch):
    monkeypatch.setattr(comparison, "run_many", interrupting(run_many, 1))
    options = (*SHORT, "--discipline=red", "--discipline=pie", "--seeds=9", "--threads=1")
    code, out, err = vermilion("compare", "varying-load", *options)
    assert code == 130
    assert "interrupted: these are 2 of 9 seeds" in err
    assert "Means over 2 seeds" in out


def test_a_comparison_without_two_seeds_has_nothing_to_show(vermilion, monkeypatch):
    monkeypatch.setattr(comparison, "run_many", interrupting(run_many, 0))
    code, out, err = vermilion("compare", "varying-load", *SHORT, "--discipline=red")
    assert (code, out) == (130, "")
    assert err == "\nvermilion: interrupted\n"


def test_rounds_of_seeds_give_what_one_round_gives(vermilion):
    both = [
        vermilion(
            "compare", "varying-load", *SHORT, "--seeds=5", f"--threads={threads}", "--json=-"
        )
        for threads in (1, 4)  # five rounds' worth of seeds, or one
    ]
    assert [code for code, _, _ in both] == [0, 0]
    assert json.loads(both[0][1]) == json.loads(both[1][1])


def test_on_line_runs_that_are_complete_are_kept(vermilion, monkeypatch, tmp_path):
    from vermilion.online.drive import run as drive

    monkeypatch.setattr(drive, "run_online", interrupting(drive.run_online, 1))
    target = tmp_path / "runs.json"
    options = (*SHORT, "--clock=fixed", "--seeds=3", f"--json={target}")
    code, _, err = vermilion("online", "varying-load", *options)
    assert code == 130
    assert "interrupted: these are 1 of 3 runs" in err
    assert [run["seed"] for run in json.loads(target.read_text())["runs"]] == [1]


def test_a_capture_is_summarised_as_far_as_it_was_read(vermilion, monkeypatch):
    from vermilion.monitor import capture

    monkeypatch.setattr(capture, "PIECE_BYTES", 2_000)
    monkeypatch.setattr(capture, "_piece", interrupting(capture._piece, 3))
    code, out, err = vermilion("monitor", CAPTURE, "--json=-")
    assert code == 130
    assert "interrupted" in err
    packets = json.loads(out)["packets"]
    monkeypatch.undo()
    whole = json.loads(vermilion("monitor", CAPTURE, "--json=-")[1])["packets"]
    assert 0 < packets < whole


def test_progress_is_told_of_captures(monkeypatch):
    from vermilion.monitor import capture

    monkeypatch.setattr(capture, "PIECE_BYTES", 2_000)
    told = []
    capture.read_capture(CAPTURE, progress=told.append)
    assert told == sorted(told)
    assert told[-1] == pytest.approx(1.0)
