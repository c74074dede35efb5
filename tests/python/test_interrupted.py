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


def test_a_run_has_nothing_to_show_and_says_what_to_do(vermilion, monkeypatch):
    from vermilion import simulate

    monkeypatch.setattr(simulate, "run", interrupting(simulate.run, 0))
    code, out, err = vermilion("run", "varying-load", *SHORT)
    assert (code, out) == (130, "")
    assert "for a shorter one, --set duration=TIME" in err
    assert err.endswith("\nvermilion: interrupted\n")


def test_papers_that_are_done_are_shown_and_figures_are_kept(vermilion, monkeypatch, tmp_path):
    from vermilion.papers import reproduction

    monkeypatch.setattr(reproduction, "reproduce", interrupting(reproduction.reproduce, 1))
    monkeypatch.setattr(reproduction, "chosen_figures", lambda paper, _: paper.figures[:1])
    kept = tmp_path / "kept"
    options = ("--seeds=2", f"--keep={kept}", f"--json={tmp_path / 'papers.json'}")
    code, out, err = vermilion("papers", "ye-2002", "feng-1999", *options)
    assert code == 130
    assert "interrupted: these are 1 of 2 papers" in err
    assert f'the figures that are done are in "{kept}"' in err
    assert "ye-2002" in out
    written = json.loads((tmp_path / "papers.json").read_text())
    assert [each["name"] for each in written["papers"]] == ["ye-2002"]
    assert list(kept.iterdir())


def test_papers_of_which_none_is_done_say_where_their_figures_are(vermilion, monkeypatch, tmp_path):
    from vermilion.papers import reproduction

    monkeypatch.setattr(reproduction, "reproduce", interrupting(reproduction.reproduce, 0))
    code, out, err = vermilion("papers", "ye-2002", "--seeds=2", f"--keep={tmp_path / 'kept'}")
    assert (code, out) == (130, "")
    assert "the same command goes on" in err


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
