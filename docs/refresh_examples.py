"""Runs the commands in README.md and the documentation, and puts their output there.

``make examples`` calls this, so that what a reader sees is what somebody really got. A block that
begins with ``$ vermilion`` and shows output is an example; a block that shows none is a synopsis.

A test runs them again and holds the pages against what comes out, words and numbers. The words
have to be the same, and so has each number but for `RELATIVE` of it, or one in its last digit: an
elementary function of another library may differ in its last bit, and a mean then rounds the other
way. What a command needed of this machine's time (`TIMES`) is of no machine but the one it ran on,
and is not compared. A page is not rewritten for differences as small as these.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
PAGES = (
    ROOT / "README.md",
    ROOT / "docs" / "getting-started.md",
    ROOT / "docs" / "monitor.md",
    ROOT / "docs" / "scenario-library.md",
    ROOT / "docs" / "tuning.md",
    ROOT / "docs" / "tuning-several.md",
    ROOT / "docs" / "twin.md",
    *sorted(
        page
        for door in ("student", "researcher", "operator")
        for page in (ROOT / "docs" / door).glob("*.md")
    ),
)

RELATIVE: Final = 0.001
"""How far a number may be from the one on the page, as a share of it."""

TIMES: Final = re.compile(
    r"in [\d.]+ s \([\d.]+ million per CPU second\)"
    r"|\d{4}-\d\d-\d\d[ T][\d:]+(?:\+00:00| UTC)(?:, [\d.]+ (?:s|min|h) ago)?"
)
"""How long a run took and how fast that is, and when it was."""

_NUMBER: Final = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?")

_BLOCK = re.compile(
    r"^```console\n\$ (?P<command>vermilion (?:.*\\\n)*.*)\n(?P<output>[^$`]+?)```$", re.MULTILINE
)


class Example(NamedTuple):
    """A command and the output that a page shows of it."""

    page: Path
    command: str
    output: str


def examples() -> Iterator[Example]:
    """Every example of every page."""
    for page in PAGES:
        for block in _BLOCK.finditer(page.read_text(encoding="utf-8")):
            if _is_output(block):
                yield Example(page, block["command"], block["output"])


def run(command: str) -> str:
    """What a command, possibly a pipeline, writes to its standard output.

    It runs in a folder of its own, where files that it writes are gone afterwards, and where the
    captures lie as from the root of the repository.
    """
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "tests").symlink_to(ROOT / "tests")
        done = subprocess.run(  # noqa: S602 - the examples are shell commands
            f'PATH="{Path(sys.executable).parent}:$PATH"; set -o pipefail; {command}',
            shell=True,
            executable="/bin/bash",
            capture_output=True,
            text=True,
            check=True,
            cwd=folder,
        )
    return "\n".join(line.rstrip() for line in done.stdout.splitlines()) + "\n"


def differences(shown: str, got: str) -> list[str]:
    """What a page shows otherwise than a command says, a line for each; none within tolerance."""
    old, new = _compared(shown), _compared(got)
    if len(old) != len(new):
        return [f"{len(old)} lines are shown, and {len(new)} came"]
    return [
        f"shown: {before.text}\ncame:  {after.text}"
        for before, after in zip(old, new, strict=True)
        if not _alike(before, after)
    ]


class _Line(NamedTuple):
    """A line of an output: its words, a sign for each number, and the numbers as they stand."""

    text: str
    words: str
    numbers: list[str]


def _compared(output: str) -> list[_Line]:
    lines = []
    for raw in TIMES.sub("…", output).splitlines():
        text = " ".join(raw.split())
        if text:
            # Rules of a table are as long as its columns are wide, which a digit more may change.
            words = re.sub("─+", "─", _NUMBER.sub("#", text))
            lines.append(_Line(text, words, _NUMBER.findall(text)))
    return lines


def _alike(before: _Line, after: _Line) -> bool:
    return before.words == after.words and all(
        _near(*pair) for pair in zip(before.numbers, after.numbers, strict=True)
    )


def _near(before: str, after: str) -> bool:
    old, new = (float(text.replace(",", "")) for text in (before, after))
    last = max(_last_digit(before), _last_digit(after))
    # The sum is of decimal fractions: a thousandth of the last digit is their rounding.
    return abs(old - new) <= max(RELATIVE * abs(old), 1.001 * last)


def _last_digit(text: str) -> float:
    """What one more in the last digit would add."""
    mantissa, _, exponent = text.partition("e")
    decimals = len(mantissa.partition(".")[2])
    return 10.0 ** (int(exponent or 0) - decimals) if decimals or exponent else 0.0


def _is_output(block: re.Match[str]) -> bool:
    """Whether what follows a command is what it says, and not more of the command."""
    return not block["output"].startswith(" " * 6 + "--")


def _refresh() -> None:
    for page in PAGES:
        old = page.read_text(encoding="utf-8")
        new = _BLOCK.sub(_refreshed, old)
        if new != old:
            page.write_text(new, encoding="utf-8")
            print(f"refreshed {page.relative_to(ROOT)}")  # noqa: T201 - a script says what it did


def _refreshed(block: re.Match[str]) -> str:
    if not _is_output(block):
        return block[0]
    got = run(block["command"])
    if not differences(block["output"], got):
        return block[0]
    return f"```console\n$ {block['command']}\n{got}```"


if __name__ == "__main__":
    _refresh()
