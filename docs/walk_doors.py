"""Walks the doors of the documentation as a newcomer: every command and recipe, in order, timed.

    python docs/walk_doors.py [DOOR ...]

Runs what stands in the pages of the student, the researcher and the operator, in an empty folder
that it removes again, with the ``vermilion`` of this environment. Writes a table to standard output
and says on standard error what failed. A command that serves or watches until somebody ends it is
ended after a while, which is no failure.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

HERE: Final = Path(__file__).parent
DOORS: Final = ("student", "researcher", "operator")
PATIENCE_S: Final = 60.0
"""Wall seconds after which a command is ended that does not end by itself."""

EXIT_MISTAKE: Final = 2
_NEEDS_ROUTER: Final = "--router"
"""What a machine may not have; the command then says which command puts it there."""

_TREE: Final = re.compile(r"^```\{toctree\}\n:hidden:\n\n(.*?)^```", re.DOTALL | re.MULTILINE)
_BLOCK: Final = re.compile(r"^```(python|sh|console)\n(.*?)^```", re.DOTALL | re.MULTILINE)
_NEXT_COMMAND: Final = re.compile(r"\n(?=\S)")


class Step(NamedTuple):
    """One command or recipe of a page, as arguments."""

    command: tuple[str, ...]
    shown: str


class Walked(NamedTuple):
    """What became of a step."""

    seconds: float
    outcome: str
    said: str


def pages(door: str) -> list[str]:
    """The pages of a door, in order."""
    found = _TREE.search((HERE / door / "index.md").read_text(encoding="utf-8"))
    return [f"{door}/{name}" for name in found[1].split()] if found else []


def steps(text: str) -> Iterator[Step]:
    """What a page has somebody run."""
    for language, body in _BLOCK.findall(text):
        if language == "python":
            yield Step((sys.executable, "-c", body), "a recipe in Python")
            continue
        if language == "console":
            lines = [line[2:] for line in body.splitlines() if line.startswith("$ ")]
        else:
            lines = _NEXT_COMMAND.split(body.strip())
        for line in lines:
            yield Step(("bash", "-c", line), line)


def walk(step: Step, place: Path) -> Walked:
    """Runs a step in a folder."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    begun = time.monotonic()
    try:
        done = subprocess.run(
            step.command,
            cwd=place,
            env={**os.environ, "PATH": path, "COLUMNS": "110"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Walked(time.monotonic() - begun, "goes on", "")
    outcome = "works" if done.returncode == 0 else f"ends with {done.returncode}"
    said = done.stderr.strip().splitlines()
    if done.returncode == EXIT_MISTAKE and _NEEDS_ROUTER in step.shown:
        outcome = "needs a queue that can be controlled"
    return Walked(time.monotonic() - begun, outcome, said[-1] if said else "")


def main(arguments: Sequence[str]) -> int:
    """Walks the doors that are named, or all; 1 where something failed."""
    failed = 0
    sys.stdout.write("| page | words | command | s | |\n| --- | --- | --- | --- | --- |\n")
    with tempfile.TemporaryDirectory() as place:
        for page in (page for door in arguments or DOORS for page in pages(door)):
            text = (HERE / f"{page}.md").read_text(encoding="utf-8")
            for step in steps(text):
                walked = walk(step, Path(place))
                shown = step.shown.replace("|", "\\|")
                sys.stdout.write(
                    f"| {page} | {len(text.split())} | `{shown}` | {walked.seconds:.1f} "
                    f"| {walked.outcome} |\n"
                )
                sys.stdout.flush()
                if walked.outcome.startswith("ends"):
                    failed += 1
                    sys.stderr.write(f"{page}: {step.shown}: {walked.said}\n")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
