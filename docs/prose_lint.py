"""Checks the sentences that users meet: ``make lint-prose``.

It reads both README.md, the pages of the documentation, the help of every command, the templates of
pages, the docstrings of what the package offers (``vermilion.__all__`` and the rooms' own), and the
sentences in the code: errors, the log, what a command says. The rules are those of
``docs/style.md``. Sentences from before the rules are counted in ``docs/prose_debt.json``: a page
may have as many of each kind as stand there, and no more.
``--write`` writes the counts down after a page has become better; ``--all`` shows every sentence.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT: Final = Path(__file__).parents[1]
DEBT: Final = Path(__file__).parent / "prose_debt.json"
MOST_WORDS: Final = 32
"""In a sentence of prose."""
LEAST_WORDS: Final = 4
"""In a text of the code that is taken for a sentence."""
_NO_PROSE: Final = ("SELECT", "INSERT", "UPDATE", "CREATE", "ALTER", "PRAGMA", "BEGIN", "<", "#")
"""How texts of the code begin that nobody reads."""

RULES: Final = {
    # A reader has to solve these before they say anything.
    "puzzle": (
        r"\bis (?:none|one) of (?:a|the|its|their)\b[^.]*\bwithout\b",
        r"\bto be the measure of\b",
        r"\bworth the way\b",
        r"\bless of (?:them|all|it)\b",
        r"\bas much beyond\b",
        r"\bis of (?:a|an|the|whatever|what)\b",
        r"\bthat is none\b",
        r"\bwhat is none\b",
        r"\bhas to have (?:it|them|one)\b",
        r"\bof which there (?:is|are) (?:no|none)\b",
        r"\bso that none\b[^.]*\bnot\b",
        r"\bis no (?:rival|measure) of\b",
        r"\bothers than\b",
        r"\bwhatever (?:of it|is of)\b",
        r"\bwherein\b|\bwhereby\b|\bthereof\b|\bwhence\b|\blest\b",
    ),
    # What comes before the point of a sentence.
    "weasel": (
        r"(?:^|[.!?] )(?:It should be noted|It is worth noting|Note that|Please note)\b",
        r"(?:^|[.!?] )(?:Obviously|Clearly|Basically|Of course|Needless to say)\b",
        r"(?:^|[.!?] )It (?:is|was) (?:important|interesting|possible|clear|obvious) (?:to|that)\b",
        r"\b(?:in order to|due to the fact that|at this point in time)\b",
        r"\b(?:simply|just) (?:run|type|use|set)\b",
    ),
    # Somebody does something; say who.
    "nobody": (
        r"\b(?:is|are|has|have) to be (?:said|told|given|set|known|asked|measured|taken)\b",
        r"(?:^|[.!?] )Who(?:ever)? (?:has|is|does|wants|knows|cannot|can|may|asks|looks)\b",
    ),
    # English of another century, or of another language.
    "unidiomatic": (
        r"\bfor ever\b",
        r"\bmeanwhile\b[^.]*\bmeanwhile\b",
        r"\banew\b",
        r"\bleav(?:e|es|ing) (?:it|them) away\b",
        r"\bput(?:s)? (?:it|them) out of\b",
        r"\bbeside that\b",
        r"\bso (?:long|often) as\b",
        r"\bthe (?:one|other) of (?:both|them)\b",
        r"\bby rule\b",
        r"\bunto\b|\bamidst\b|\bwhilst\b",
    ),
}
"""Patterns by kind; each is a sentence's fault."""

_PLACE: Final = "Code"
"""Stands where a piece of code stood; no word, so that lists of keys are no long sentences."""

_CODE: Final = re.compile(r"```.*?^```|~~~.*?^~~~|:::.*?^:::|<!--.*?-->", re.DOTALL | re.MULTILINE)
_INLINE: Final = re.compile(r"`[^`]*`|\$[^$\n]+\$")
_LINK: Final = re.compile(r"!?\[([^\]]*)\]\([^)]*\)|\{\w+\}|https?://[^\s`]+")
_MARKUP: Final = re.compile(r"<style>.*?</style>|<[^>]+>|\{[%{#].*?[%}#]\}", re.DOTALL)
_END: Final = re.compile(
    r"(?<=[.!?:;])\s+(?=[A-Z\"'(`*])|\s\|\s|\n\s*\n|\n(?=\s*(?:[-*#|>]|\d+\.)\s)"
)


class Fault(NamedTuple):
    """A sentence that breaks a rule."""

    place: str
    rule: str
    sentence: str


def sentences(text: str) -> Iterator[str]:
    """The sentences of a page, without code, links' targets and tables' frames."""
    text = _CODE.sub("\n\n", text)
    # Code first: an address in backticks would take the closing one with it.
    text = _INLINE.sub(_PLACE, text)
    text = _LINK.sub(lambda link: link[1] or "", text)
    for part in _END.split(text):
        sentence = " ".join(part.strip(" |#>*-\n").split())
        if sentence:
            yield sentence


def faults(place: str, text: str) -> Iterator[Fault]:
    """What a page breaks of the rules."""
    for sentence in sentences(text):
        if sum(word.strip(",.;:()") != _PLACE for word in sentence.split()) > MOST_WORDS:
            yield Fault(place, "long", sentence)
        for rule, patterns in RULES.items():
            for pattern in patterns:
                if re.search(pattern, sentence, re.IGNORECASE | re.MULTILINE):
                    yield Fault(place, rule, sentence)
                    break


def texts() -> Iterator[tuple[str, str]]:
    """Every text that users meet, and where it stands."""
    docs = ROOT / "docs"
    pages = [ROOT / "README.md", ROOT / "python" / "README.md", *sorted(docs.rglob("*.md"))]
    for page in pages:
        if {"_build", "disciplines"} & set(
            page.relative_to(ROOT).parts[:-1]
        ) or page.stem == "style":
            continue
        yield str(page.relative_to(ROOT)), page.read_text(encoding="utf-8")
    package = ROOT / "python" / "vermilion"
    for page in sorted([*package.rglob("*.j2"), *package.rglob("*.html")]):
        yield str(page.relative_to(ROOT)), _MARKUP.sub("\n\n", page.read_text(encoding="utf-8"))
    yield "help", "\n\n".join(help_texts())
    yield "docstrings", "\n\n".join(docstrings())
    for room in sorted(each for each in package.iterdir() if each.is_dir()):
        said = [text for file in sorted(room.rglob("*.py")) for text in said_in(file)]
        if said:
            yield f"sentences in {room.relative_to(ROOT)}", "\n\n".join(said)


def help_texts() -> Iterator[str]:
    """The help of every command and option."""
    import typer

    from vermilion.cli.application import application

    group = typer.main.get_command(application())
    for command in group.commands.values():  # type: ignore[attr-defined] # a group has them
        yield str(command.help or "")
        yield from (str(getattr(each, "help", None) or "") for each in command.params)


def docstrings() -> Iterator[str]:
    """The first paragraphs of what a program may import from the package and its rooms."""
    import vermilion

    for name in sorted(vermilion.__all__):
        offered = getattr(vermilion, name)
        if inspect.ismodule(offered):
            yield from _paragraphs(offered)
            inside = getattr(offered, "__all__", ())
            yield from (
                text for each in inside for text in _paragraphs(getattr(offered, each, None))
            )
        else:
            yield from _paragraphs(offered)


def _paragraphs(offered: object) -> list[str]:
    if not (inspect.ismodule(offered) or inspect.isclass(offered) or inspect.isroutine(offered)):
        return []
    # What follows are arguments and attributes, in an order of their own.
    return [(inspect.getdoc(offered) or "").split("\n\n")[0].replace("``", "`")]


def said_in(file: Path) -> Iterator[str]:
    """The sentences in a file's code, with "N" in place of what is put in; no docstrings."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    inside = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr | ast.Expr)
        for part in ast.walk(node)
        if part is not node and (isinstance(node, ast.JoinedStr) or part is node.value)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant | ast.JoinedStr) and id(node) not in inside:
            text = _text(node)
            if len(text.split()) >= LEAST_WORDS and not text.lstrip().startswith(_NO_PROSE):
                yield text


def _text(node: ast.Constant | ast.JoinedStr) -> str:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    return "".join(_text(part) if isinstance(part, ast.Constant) else "N" for part in node.values)


def counted(found: Iterable[Fault]) -> dict[str, dict[str, int]]:
    """How many of each kind each page has."""
    counts: dict[str, Counter[str]] = {}
    for fault in found:
        counts.setdefault(fault.place, Counter())[fault.rule] += 1
    return {place: dict(sorted(each.items())) for place, each in sorted(counts.items())}


def main(arguments: list[str]) -> int:
    """Runs the check; 1 where there is more than is allowed."""
    found = [fault for place, text in texts() for fault in faults(place, text)]
    counts = counted(found)
    if "--write" in arguments:
        DEBT.write_text(f"{json.dumps(counts, indent=1)}\n", encoding="utf-8")
    allowed = json.loads(DEBT.read_text(encoding="utf-8"))
    shown = found if "--all" in arguments else []
    for place, rules in counts.items():
        for rule, count in rules.items():
            if count > allowed.get(place, {}).get(rule, 0):
                shown += [each for each in found if (each.place, each.rule) == (place, rule)]
    for place, rule, sentence in dict.fromkeys(shown):
        sys.stdout.write(f"{place}: {rule}: {sentence}\n")
    total = Counter(fault.rule for fault in found)
    words = ", ".join(f"{rule} {count}" for rule, count in sorted(total.items()))
    sys.stdout.write(f"prose: {len(found)} sentences against the rules ({words})\n")
    worse = bool(shown) and "--all" not in arguments
    if worse:
        sys.stdout.write("That is more than docs/prose_debt.json allows; see docs/style.md\n")
    return int(worse)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
