"""docs/architecture.md walks through files: each of them is where it says."""

import re
import sys
from itertools import takewhile
from pathlib import Path

import pytest

from vermilion.online import run_online
from vermilion.scenario import scenario_from_document

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text()
PLACES = {
    "From counters to a new setting": ["python/vermilion/online"],
    "A packet's way": ["crates"],
    "A parameter's way": ["", "python/vermilion", "crates/netsim/src"],
}


def named_files(heading):
    """The files that the section names, each with that of the row before it."""
    _, _, section = PAGE.partition(f"\n## {heading}\n")
    section = section.partition("\n## ")[0]
    rows = [line for line in section.splitlines() if re.match(r"\| \d+ \|", line)]
    return [(row, re.findall(r"`([\w/]+\.(?:rs|py))`", row)) for row in rows]


@pytest.mark.parametrize("heading", PLACES)
def test_every_file_of_a_walk_exists(heading):
    rows = named_files(heading)
    assert len(rows) >= 10
    for row, files in rows:
        assert files, row
        folders = {".", *(str(Path(name).parent) for name in files)}
        for name in files:
            places = [
                ROOT / place / folder / name for place in PLACES[heading] for folder in folders
            ]
            assert any(place.is_file() for place in places), f"{name} of: {row}"


@pytest.mark.parametrize("heading", PLACES)
def test_a_walk_comes_to_each_file_once(heading):
    cells = [row.split("|")[2] for row, _ in named_files(heading)]
    visited = [re.findall(r"`([\w/]+\.(?:rs|py))`", cell)[0] for cell in cells]
    assert len(set(visited)) == len(visited), visited


PASSED_BY_EVERY_EVENT = {"drive/driver.py", "decide/step.py", "record/journal.py"}
DOORS = {"decide/entering.py"}
RED = {
    "discipline": "red",
    "limit": "100 packets",
    "min_threshold": "15 packets",
    "max_threshold": "45 packets",
    "max_probability": 0.1,
    "weight": 0.002,
}
FLOWS = {"path": ["bottleneck"], "rtt": "28 ms", "sender": "newreno", "packet_size": "1000 bytes"}
JUMP = {
    "title": "flows join",
    "duration": "26 s",
    "links": {"bottleneck": {"rate": "10 Mbit/s", "delay": "5 ms", "queue": RED}},
    "flows": {
        "early": {**FLOWS, "count": 16, "start": "0 s .. 1 s"},
        "late": {**FLOWS, "count": 16, "start": "12 s"},
    },
    "tuning": {
        "parameters": [
            f"links.bottleneck.queue.{name}"
            for name in ("min_threshold", "max_threshold", "max_probability", "weight")
        ],
        "objective": {"name": "queue-deviation", "link": "bottleneck", "target": "30 packets"},
    },
}


def passed(decided):
    """The files of `online/` that a run enters, in their order; and where in it what is decided."""
    folder = str(ROOT / "python" / "vermilion" / "online") + "/"
    entered = []

    def enters(frame, event, _):
        file = frame.f_code.co_filename
        if event == "call" and file.startswith(folder):
            name = file.removeprefix(folder)
            if not entered or entered[-1] != name:
                entered.append(name)

    usual = sys.getprofile()
    sys.setprofile(enters)
    try:
        run_online(
            scenario_from_document(JUMP, "flows join"),
            clock="fixed",
            evaluations=8,
            re_evaluations=2,
            on_event=lambda decision: decided.append((len(entered), str(decision.kind))),
        )
    finally:
        sys.setprofile(usual)
    return entered


def test_one_decision_passes_the_files_of_its_walk_in_their_order():
    walk = [files[0] for _, files in named_files("From counters to a new setting")]
    assert len(set(walk)) == len(walk)
    decided = []
    entered = passed(decided)
    # A change after which a setting is put in force: only such a one passes them all.
    kinds = [kind for _, kind in decided]
    changes = [
        place
        for number, (place, kind) in enumerate(decided)
        if kind == "change-detected"
        and "applied" in takewhile(lambda each: each != "change-detected", kinds[number + 1 :])
    ]
    assert changes, decided
    noticed = max(
        place for place, name in enumerate(entered[: changes[-1]]) if name == "decide/detection.py"
    )
    of_the_change = [
        name
        for name in walk[walk.index("decide/detection.py") :]
        if name not in PASSED_BY_EVERY_EVENT | DOORS
    ]
    first = [name for name in dict.fromkeys(entered[noticed:]) if name in of_the_change]
    assert first == [name for name in of_the_change if name in first]
    for name in ("plan/judgement.py", "decide/budget.py", "decide/watching.py"):
        assert name in first
