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


CRATES = {path.parent.name for path in ROOT.glob("crates/*/Cargo.toml")}
ROOMS = {path.parent.name for path in ROOT.glob("python/vermilion/*/__init__.py")}


def section_of(heading):
    """What stands below a heading."""
    _, _, section = PAGE.partition(f"\n## {heading}\n")
    return section.partition("\n## ")[0]


def named_in_the_house():
    """The crates and the rooms that the house lists, in its order, and what its arrows name."""
    house, arrows = re.findall(
        r"^```text\n(.*?)^```", section_of("The house"), re.MULTILINE | re.DOTALL
    )
    crates = re.findall(r"^crates/([\w-]+) ", house, re.MULTILINE)
    rooms = re.findall(r"^    (\w+)/ ", house, re.MULTILINE)
    return crates, rooms, set(re.findall(r"\w+(?:-\w+)*", arrows)) - {"crates"}


def test_the_house_lists_every_crate_and_every_room_once():
    crates, rooms, _ = named_in_the_house()
    assert sorted(crates) == sorted(CRATES)
    assert sorted(rooms) == sorted(ROOMS)


def test_the_arrows_lead_to_every_crate_and_every_room():
    *_, arrows = named_in_the_house()
    assert arrows == CRATES | ROOMS | {"_core"}


def named_files(heading):
    """The files that the section names, each with that of the row before it."""
    section = section_of(heading)
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


TABLES = {"decide/transitions.py"}  # in which nothing is called
# Of these the first time tells nothing: they are passed by every event, or at several doors.
PASSED_OFTEN = {
    "drive/driver.py",
    "decide/step.py",
    "decide/entering.py",
    "record/journal.py",
}
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
    """The files of `online/` that a run is in, in their order; and where in it what is decided."""
    folder = str(ROOT / "python" / "vermilion" / "online") + "/"
    been_in = []

    def moves(frame, event, _):
        # To what is called, and back to what has called it.
        now = {"call": frame, "return": frame.f_back}.get(event)
        if now is not None and now.f_code.co_filename.startswith(folder):
            name = now.f_code.co_filename.removeprefix(folder)
            if not been_in or been_in[-1] != name:
                been_in.append(name)

    usual = sys.getprofile()
    sys.setprofile(moves)
    try:
        run_online(
            scenario_from_document(JUMP, "flows join"),
            seed=6,  # with which a change is answered by a setting that stays until it is judged
            clock="fixed",
            evaluations=8,
            re_evaluations=2,
            on_event=lambda decision: decided.append((len(been_in), str(decision.kind))),
        )
    finally:
        sys.setprofile(usual)
    return been_in


def test_one_decision_passes_the_files_of_its_walk_in_their_order():
    walk = [files[0] for _, files in named_files("From counters to a new setting")]
    assert len(set(walk)) == len(walk)
    decided = []
    been_in = passed(decided)
    # A change after which a setting is put in force: only such a one passes them all.
    kinds = [kind for _, kind in decided]
    changes = [place for place, kind in decided if kind == "change-detected"]
    applied = [
        place
        for number, (place, kind) in enumerate(decided)
        if kind == "change-detected"
        and "applied" in takewhile(lambda each: each != "change-detected", kinds[number + 1 :])
    ]
    assert applied, decided
    change = applied[-1]
    end = min((place for place in changes if place > change), default=len(been_in))
    noticed = max(
        place for place, name in enumerate(been_in[:change]) if name == "decide/detection.py"
    )
    # From the tick at which it is noticed on, all of them one after the other ...
    place = max(place for place, name in enumerate(been_in[:noticed]) if name == walk[0])
    for name in walk:
        if name not in TABLES:
            assert name in been_in[place:end], f"{name} is not passed after those before it"
            place = been_in.index(name, place)
    # ... and each for the first time after those before it.
    of_the_change = [
        name
        for name in walk[walk.index("decide/detection.py") :]
        if name not in TABLES | PASSED_OFTEN
    ]
    first = [name for name in dict.fromkeys(been_in[noticed:end]) if name in of_the_change]
    assert first == of_the_change
