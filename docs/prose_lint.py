"""Check the sentences that users meet: ``make lint-prose``. The rules are those of docs/style.md.

Read are the pages, the help of every command, the templates of reports, and sentences in the code.
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT: Final = Path(__file__).parents[1]
MOST_WORDS: Final = 32
MOST_WORDS_OF_PAGES: Final = 60_000
MOST_WORDS_OF_README: Final = 900
LEAST_WORDS: Final = 4
"""Words of a string that is taken for a sentence."""

BANNED: Final = re.compile(
    r"\b(?:anew|unto|amidst|whilst|wherein|whereby|thereof|whence|lest|for ever)\b"
    r"|\b(?:others than|that is none|is of (?:an?|the|what|whatever)|to be the measure of)\b"
    r"|\b(?:worth the way|in order to|due to the fact|at this point in time)\b"
    r"|\b(?:is|are|has|have) to be (?:said|told|given|set|known|asked)\b"
    r"|(?:^|[.!?] )(?:Note that|Please note|It should be noted|Obviously|Clearly|Basically)\b"
    r"|(?:^|[.!?] )Who(?:ever)? (?:has|is|wants|knows|can|cannot)\b",
    re.IGNORECASE,
)
"""Puzzles, throat clearing, sentences without an actor, and English of another century."""

_CODE: Final = re.compile(r"```.*?^```|:::.*?^:::|<!--.*?-->", re.DOTALL | re.MULTILINE)
_INLINE: Final = re.compile(r"`[^`]*`|\$[^$\n]+\$")
_LINK: Final = re.compile(r"!?\[([^\]]*)\]\([^)]*\)|\{\w+\}|https?://[^\s`]+")
_MARKUP: Final = re.compile(r"<style>.*?</style>|<[^>]+>|\{[%{#].*?[%}#]\}", re.DOTALL)
_END: Final = re.compile(
    r"(?<=[.!?:;])\s+(?=[A-Z\"'(`*])|\s\|\s|\n\s*\n|\n(?=\s*(?:[-*#|>]|\d+\.)\s)"
)
_NO_PROSE: Final = ("SELECT", "INSERT", "UPDATE", "CREATE", "ALTER", "PRAGMA", "BEGIN", "<", "#")


def faults(text: str) -> Iterator[str]:
    """Yield the sentences of a text that break a rule."""
    text = _LINK.sub(lambda link: link[1] or "", _INLINE.sub("Code", _CODE.sub("\n\n", text)))
    for part in _END.split(text):
        sentence = " ".join(part.strip(" |#>*-\n").split())
        words = sum(word.strip(",.;:()") != "Code" for word in sentence.split())
        if words > MOST_WORDS or BANNED.search(sentence):
            yield sentence


def texts() -> Iterator[tuple[str, str]]:
    """Yield every text that users meet, and where it stands."""
    docs = ROOT / "docs"
    for page in [ROOT / "README.md", ROOT / "python/README.md", *sorted(docs.rglob("*.md"))]:
        folders = page.relative_to(ROOT).parts[:-1]
        if not {"_build", "disciplines"} & set(folders) and page.stem != "style":
            yield str(page.relative_to(ROOT)), page.read_text(encoding="utf-8")
    for page in sorted((ROOT / "python").rglob("*.*")):
        if page.suffix in {".j2", ".html"}:
            yield str(page.relative_to(ROOT)), _MARKUP.sub("\n\n", page.read_text(encoding="utf-8"))
        elif page.suffix == ".py":
            yield str(page.relative_to(ROOT)), "\n\n".join(sentences_in(page))


def sentences_in(file: Path) -> Iterator[str]:
    """Yield the sentences in a file's code, "N" for what is put in; no docstrings."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    inside = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr | ast.Expr) or names_keys(node)
        for part in ast.walk(node)
        if part is not node and (not isinstance(node, ast.Expr) or part is node.value)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant | ast.JoinedStr) and id(node) not in inside:
            parts = node.values if isinstance(node, ast.JoinedStr) else [node]
            text = "".join(
                str(part.value) if isinstance(part, ast.Constant) else "N" for part in parts
            )
            if len(text.split()) >= LEAST_WORDS and not text.lstrip().startswith(_NO_PROSE):
                yield text


def names_keys(node: ast.AST) -> bool:
    """True for ``@document(...)``, which names the keys of a JSON object."""
    return isinstance(node, ast.Call) and getattr(node.func, "id", "").endswith("document")


def words_of_pages() -> int:
    """Count the words of the pages for people who use Vermilion.

    These are all in docs/ but the laboratory's, which are evidence, those for who works on it, and
    what is generated. A word is what stands between spaces and has a letter or a digit, in tables
    and examples too.
    """
    docs = ROOT / "docs"
    return sum(
        words_in(page)
        for page in docs.rglob("*.md")
        if not {"_build", "disciplines", "laboratory"} & set(page.relative_to(docs).parts[:-1])
        and page.stem not in {"architecture", "dependencies", "style"}
    )


def words_in(page: Path) -> int:
    """Count the words of a page."""
    return len(re.findall(r"\S*\w\S*", page.read_text(encoding="utf-8")))


def main() -> int:
    """Print what breaks a rule, and return 1 if anything does."""
    pages, readme = words_of_pages(), words_in(ROOT / "README.md")
    sys.stdout.write(f"pages: {pages:,} words of {MOST_WORDS_OF_PAGES:,}; README: {readme}\n")
    too_long = pages > MOST_WORDS_OF_PAGES or readme > MOST_WORDS_OF_README
    found = {(place, sentence) for place, text in texts() for sentence in faults(text)}
    for place, sentence in sorted(found):
        sys.stdout.write(f"{place}: {sentence}\n")
    sys.stdout.write(f"prose: {len(found)} sentences against docs/style.md\n")
    return int(bool(found) or too_long)


if __name__ == "__main__":
    sys.exit(main())
