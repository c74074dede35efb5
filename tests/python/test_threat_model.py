"""Every test that the threat model leans on is there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "threat-model.md").read_text(encoding="utf-8")
SOURCES = "\n".join(
    path.read_text(encoding="utf-8")
    for folder in (
        ROOT / "tests" / "python",
        ROOT / "tests" / "browser",
        ROOT / "tests" / "link",
        ROOT / "crates" / "link" / "tests",
        ROOT / "crates" / "monitor" / "tests",
    )
    for path in sorted(folder.iterdir())
    if path.suffix in {".py", ".rs"} and path != Path(__file__)
)


def test_every_test_that_is_named_is_there():
    files = re.findall(r"`((?:tests|crates)/[\w/.-]+)`", PAGE)
    names = re.findall(r"`((?:Test\w+::)?[a-z]+(?:_[a-z]+){3,}|Test\w+)`", PAGE)
    assert len(names) >= 10
    missing = [path for path in files if not (ROOT / path).is_file()]
    known = set(re.findall(r"^\s*(?:def|class|fn) (\w+)\b", SOURCES, re.MULTILINE))
    missing += [name for name in names if not known.issuperset(name.split("::"))]
    assert not missing
