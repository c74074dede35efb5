"""Every test that the threat model leans on is there."""

import re
from pathlib import Path

import pytest

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


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`((?:tests|crates)/[\w/.-]+)`", PAGE))))
def test_a_file_of_tests_that_is_named_is_there(path):
    assert (ROOT / path).is_file()


NAMED = re.findall(r"`((?:Test\w+::)?[a-z]+(?:_[a-z]+){3,}|Test\w+)`", PAGE)


@pytest.mark.parametrize("name", sorted(set(NAMED)))
def test_a_test_that_is_named_is_there(name):
    for part in name.split("::"):
        assert re.search(rf"^\s*(def|class|fn) {part}\b", SOURCES, re.MULTILINE), part


def test_the_page_names_tests_at_all():
    assert len(set(NAMED)) >= 10
