"""Runs the commands in README.md and the documentation, and puts their output there.

``make examples`` calls this, so that what a reader sees is what somebody really got. A block that
begins with ``$ vermilion`` and shows output is an example; a block that shows none is a synopsis.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
PAGES = (
    ROOT / "README.md",
    ROOT / "docs" / "getting-started.md",
    ROOT / "docs" / "monitor.md",
    ROOT / "docs" / "scenario-library.md",
    *sorted(
        page
        for door in ("student", "researcher", "operator")
        for page in (ROOT / "docs" / door).glob("*.md")
    ),
)

_BLOCK = re.compile(
    r"^```console\n\$ (?P<command>vermilion .*)\n(?P<output>[^$`]+?)```$", re.MULTILINE
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
            yield Example(page, block["command"], block["output"])


def run(command: str) -> str:
    """What a command, possibly a pipeline, writes to its standard output."""
    done = subprocess.run(  # noqa: S602 - the examples are shell commands
        f'PATH="{Path(sys.executable).parent}:$PATH"; set -o pipefail; {command}',
        shell=True,
        executable="/bin/bash",
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    return "\n".join(line.rstrip() for line in done.stdout.splitlines()) + "\n"


def _refresh() -> None:
    for page in PAGES:
        old = page.read_text(encoding="utf-8")
        new = _BLOCK.sub(
            lambda block: f"```console\n$ {block['command']}\n{run(block['command'])}```", old
        )
        if new != old:
            page.write_text(new, encoding="utf-8")
            print(f"refreshed {page.relative_to(ROOT)}")  # noqa: T201 - a script says what it did


if __name__ == "__main__":
    _refresh()
