"""docs/architecture.md names every crate, every room, and files that are there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def test_every_crate_and_every_room_is_named():
    rooms = [path.parent.name for path in ROOT.glob("python/*/*/__init__.py")]
    crates = [path.parent.name for path in ROOT.glob("crates/*/Cargo.toml")]
    missing = [name for name in [*rooms, *crates] if not re.search(rf"\b{name}\b", PAGE)]
    assert not missing


def test_every_file_that_is_named_is_there():
    named = set(re.findall(r"`((?:\w+/)*[\w.-]+/[\w-]+\.(?:rs|py|j2|md|json))`", PAGE))
    assert len(named) > 10
    places = ("", "docs", "python/vermilion", "python/vermilion_lab", "crates")
    assert not [name for name in named if not any((ROOT / at / name).is_file() for at in places)]
