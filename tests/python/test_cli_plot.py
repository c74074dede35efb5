"""Curves in the terminal, and the figures of tunings and on-line runs."""

import json
import re

import numpy as np
import pytest

from test_cli import SHORT, refused, vermilion
from vermilion.report.braille import LEAST_WIDTH, MOST_WIDTH, Panel, plot

__all__ = ["vermilion"]

TIME = np.linspace(0.0, 80.0, 801)
QUICK = ("--budget=5", "--no-robustness", "--no-baselines")


def dots(text):
    """How many dots the letters of a plot have."""
    return sum((ord(letter) - 0x2800).bit_count() for letter in text if letter >= "\u2800")


def test_a_curve_is_where_its_values_are():
    lines = plot([Panel("flat", TIME, np.full(801, 30.0), top=60.0)], 80).splitlines()
    rows = [index for index, line in enumerate(lines) if dots(line)]
    assert rows == [1 + 3]  # half the height of eight rows, below the title
    assert lines[0] == "flat"
    assert lines[1].startswith(" 60") or lines[1].startswith("60")
    assert lines[-1].endswith("80 s")


def test_a_short_burst_is_not_lost():
    values = np.zeros(801)
    values[400] = 50.0
    assert dots(plot([Panel("burst", TIME, values)], 40).splitlines()[1]) >= 1


def test_what_nobody_measured_is_a_gap():
    values = np.full(801, 10.0)
    values[200:600] = np.nan
    line = next(line for line in plot([Panel("gap", TIME, values)], 80).splitlines() if dots(line))
    assert re.search(r"[\u2801-\u28ff] {20,}[\u2801-\u28ff]", line)
    nothing = plot([Panel("nothing", TIME, np.full(801, np.nan))], 80)
    assert dots(nothing) == 0


@pytest.mark.parametrize("width", [1, 20, 24, 40, 80, 400])
def test_it_is_as_wide_as_the_terminal_within_reason(width):
    text = plot([Panel("x", TIME, TIME, target=40.0)], width)
    longest = max(map(len, text.splitlines()))
    assert longest <= min(max(width, LEAST_WIDTH), MOST_WIDTH)
    assert longest > min(max(width, LEAST_WIDTH), MOST_WIDTH) - 3


def test_colours_and_letters_are_left_away_where_they_cannot_be_shown():
    panel = Panel("x", TIME, TIME, target=40.0)
    assert "\x1b" in plot([panel], 80, colour=True)
    plain = plot([panel], 80)
    assert "\x1b" not in plain
    stars = plot([panel], 80, braille=False)
    assert stars.isascii()
    assert "*" in stars
    assert "target 40" in stars


def test_no_color_is_obeyed(monkeypatch, vermilion):
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "60")
    code, out, _ = vermilion("run", "varying-load", *SHORT, "--plot")
    assert code == 0
    assert "\x1b" not in out
    assert "Queue of bottleneck: queueing delay (ms)" in out
    assert dots(out) > 50


@pytest.mark.parametrize("kind", ["svg", "png", "html"])
def test_a_tuning_is_drawn(vermilion, tmp_path, kind):
    target = tmp_path / f"tuned.{kind}"
    code, out, err = vermilion("tune", "varying-load", *SHORT, *QUICK, f"--figure={target}")
    assert (code, err) == (0, "")
    assert "settings tried" in out
    begins = {"svg": b"<?xml", "png": b"\x89PNG", "html": b"<!DOCTYPE html>"}[kind]
    content = target.read_bytes()
    assert content.startswith(begins)
    if kind == "html":
        assert b"Now" in content or b"<svg" in content
        assert b"<table" in content


def test_a_tuning_draws_both_settings_on_one_scale(vermilion):
    code, out, _ = vermilion("tune", "varying-load", *SHORT, *QUICK, "--plot")
    assert code == 0
    now, best = (line for line in out.splitlines() if line.endswith(": queueing delay (ms)"))
    assert now.startswith("Now")
    assert best.startswith("Best found")


@pytest.mark.evidence
@pytest.mark.parametrize("kind", ["svg", "html"])
def test_an_on_line_run_is_drawn(vermilion, tmp_path, kind):
    target = tmp_path / f"online.{kind}"
    code, out, err = vermilion(
        "online", "varying-load", *SHORT, "--clock=fixed", "--plot", f"--figure={target}"
    )
    assert (code, err) == (0, "")
    assert "Left alone: queue (packets), target 30" in out
    assert "Kept tuned: queue (packets), target 30" in out
    assert len(target.read_bytes()) > 10_000


MISTAKES = [
    (["run", "varying-load", "--plot", "--json=-"], "--plot goes to standard output"),
    (["tune", "varying-load", "--plot", "--json=-"], "--plot goes to standard output"),
    (["online", "varying-load", "--plot", "--json=-"], "--plot goes to standard output"),
    (["tune", "varying-load", "--figure=f.gif"], "expected a name ending in"),
    (["online", "varying-load", "--figure=f.gif"], "expected a name ending in"),
    (["tune", "varying-load", "oscillating-red", "--robust=worst", "--figure=f.svg"], "--robust"),
    (["online", "varying-load", "oscillating-red", "--figure=f.svg"], ".html"),
]


@pytest.mark.parametrize(("arguments", "words"), MISTAKES)
def test_a_mistake_is_one_line_before_any_work(vermilion, arguments, words):
    assert words in refused(vermilion(*arguments))


def test_json_is_not_mixed_with_the_figure(vermilion, tmp_path):
    target = tmp_path / "t.svg"
    code, out, _ = vermilion(
        "tune", "varying-load", *SHORT, *QUICK, f"--figure={target}", "--json=-"
    )
    assert code == 0
    assert json.loads(out)["objective"]
    assert target.exists()
