"""docs/architecture.md walks through files: each of them is where it says."""

import re
from pathlib import Path

import pytest

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
