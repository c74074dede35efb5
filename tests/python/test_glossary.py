"""The glossary: one word, one meaning, and nothing named that is not there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
SECTIONS = dict(
    re.findall(r"^## (.+)\n\n(?:```\{glossary\}\n)((?:.|\n)*?)```$", PAGE, re.MULTILINE)
)


def words_of(section):
    return re.findall(r"^(\S.*)$", section, re.MULTILINE)


def test_every_section_has_its_words():
    assert list(SECTIONS) == re.findall(r"^## (.+)$", PAGE, re.MULTILINE)
    assert all(words_of(section) for section in SECTIONS.values())


def test_no_word_is_explained_twice():
    words = [word for section in SECTIONS.values() for word in words_of(section)]
    assert sorted(set(words)) == sorted(words)


@pytest.mark.parametrize("title", SECTIONS)
def test_words_are_in_their_order(title):
    words = words_of(SECTIONS[title])
    assert words == sorted(words)


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`([a-z_/]+\.py)`", PAGE))))
def test_every_file_that_is_named_is_there(name):
    assert (ROOT / "python" / "vermilion" / name).is_file()
