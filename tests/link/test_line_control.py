"""A shaper at the rate of its line, in real time: ``vermilion control --line auto``."""

from __future__ import annotations

import json

import pytest

from line_home import CAPACITY, COMES_BACK, FOUND, REFLECTORS, by_hand, rate_of, run, show

JOURNAL = "/mnt/journal.sqlite"
CONTROL = [
    *("control", "linux:wan", "--line", "auto", "--mode", "control", "--journal", JOURNAL),
    *("--json", "/mnt/run.json"),
    *(word for each in REFLECTORS for word in ("--reflector", each)),
]
SHOW_INTO = ["sh", "-c", "tc -j qdisc show dev wan root > /mnt/meanwhile"]


def decisions_of(folder, *kinds):
    found = json.loads((folder / "run.json").read_text())["directions"][0]["decisions"]
    return [each for each in found if each["kind"] in kinds]


def rate_meanwhile(folder):
    return rate_of({"said": (folder / "meanwhile").read_text()})


def test_hands_off_while_somebody_else_sets_the_rate_and_undo_leads_back(tmp_path):
    """Whose rate stays until a person says resume, although the law wants another each 25 ms."""
    kept = {
        "words": [*CONTROL, "--for", "26 s"],
        "meanwhile": [[13.3, *by_hand("2mbit")], [19.0, *SHOW_INTO]],
        "typed": [[20.0, "resume"]],
    }
    (done, after, undone), _ = run(tmp_path, 36.0, kept, show(), {"words": ["undo", JOURNAL]})
    assert done["code"] == 0, done["said"]
    told = decisions_of(tmp_path, "hands-off", "resumed", "end")
    assert [each["kind"] for each in told] == ["hands-off", "resumed", "end"], done["said"]
    assert told[0]["details"]["changed"]["bandwidth"] == pytest.approx(2e6, rel=0.01)
    assert told[1]["time_s"] - told[0]["time_s"] > 4.0
    assert rate_meanwhile(tmp_path) == 2e6
    assert 0.4 * CAPACITY < rate_of(after) < 1.3 * CAPACITY, done["said"]
    assert "rate 2000000bit" in undone["said"]  # what a person has set last


def test_a_controller_that_hung_goes_on_after_its_guardian(tmp_path):
    hung = {
        "words": [*CONTROL, "--for", "28 s", "--at-exit", "restore"],
        "meanwhile": [
            [14.0, "kill", "-STOP", "{pid}"],
            [21.0, *SHOW_INTO],
            [21.5, "kill", "-CONT", "{pid}"],
        ],
    }
    (done, after), _ = run(tmp_path, 38.0, hung, show())
    assert done["code"] == 0, done["said"]
    assert decisions_of(tmp_path, "hands-off") == []
    assert 0.4 * CAPACITY < rate_meanwhile(tmp_path) < 1.3 * CAPACITY, done["said"]
    assert rate_of(after) == FOUND


def test_a_shaper_that_is_made_anew_while_its_interface_is_down_is_kept(tmp_path):
    kept = {"words": [*CONTROL, "--for", "26 s"], "meanwhile": [*COMES_BACK, [24.0, *SHOW_INTO]]}
    (done,), _ = run(tmp_path, 32.0, kept)
    assert done["code"] == 0, done["said"]
    assert decisions_of(tmp_path, "hands-off") == []
    assert 0.5 * CAPACITY < rate_meanwhile(tmp_path) < 1.3 * CAPACITY, done["said"]
