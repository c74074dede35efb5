"""The line below a table of measurements: what made it, and at which commit.

Scripts that measure and write a table at once put it there; docs/style.md says what it means.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

ROOT: Final = Path(__file__).parents[1]
MEASURED: Final = ("crates", "python", "benches")
"""What a measurement depends on, beside the script itself."""


UNKNOWN: Final = "no known commit"


def commit_of(script: str) -> str:
    """The commit that runs now, with a word on changes since; rows of results keep it."""
    commit = git("rev-parse", "--short=8", "HEAD")
    if commit is None:
        return UNKNOWN
    changed = git("status", "--porcelain", "--untracked-files=no", "--", *MEASURED, script)
    return f"{commit} with changes that were not committed" if changed else commit


def made_by(script: str, rows: Iterable[Mapping[str, Any]] | None = None) -> str:
    """The line for a table that a script has made.

    Args:
        script: a path from the root of the repository.
        rows: what the table is drawn from, where results are kept: each has its ``commit``.
    """
    if rows is None:
        commits = [commit_of(script)]
    else:
        # In the order in which they were measured.
        commits = list(dict.fromkeys(row.get("commit", UNKNOWN) for row in rows))
    *others, last = commits or [UNKNOWN]
    several = f"{', '.join(others)} and {last}" if others else last
    return f"*Made by `{script}`, measured at {several}.*"


def git(*words: str, told: str = "") -> str | None:
    """What git answers about this repository; ``told``: what it reads.

    ``None`` where git is not there, or refuses.
    """
    try:
        done = subprocess.run(
            ["git", "-C", str(ROOT), *words],  # noqa: S607 - wherever the machine has it
            input=told,
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def drawn_by(script: str, *results: Path) -> str:
    """The line for a table that ``script`` draws from results which the repository keeps.

    The commits are the newest that have put results there, so they are committed before the table
    is drawn.
    """
    kept = [file.resolve() for file in results]
    names = " and ".join(
        f"`{file.relative_to(ROOT).as_posix() if file.is_relative_to(ROOT) else file}`"
        for file in kept
    )
    commits = dict.fromkeys(_recorded(file) for file in kept)
    return f"*Made by `{script}` from {names}, recorded in {' and '.join(commits)}.*"


def _recorded(results: Path) -> str:
    """The newest commit that has put results there."""
    if results.is_relative_to(ROOT):
        kept = results.relative_to(ROOT).as_posix()
        commit = git("log", "-1", "--abbrev=8", "--format=%h", "--", kept)
        if commit and not git("status", "--porcelain", "--", kept):
            return commit
    return "no commit yet"
