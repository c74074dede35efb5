"""The line below a table of measurements: what made it, and at which commit.

Scripts that measure and write a table at once put it there; docs/style.md says what it means.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
MEASURED: Final = ("crates", "python", "benches")
"""What a measurement depends on, beside the script itself."""


def made_by(script: str) -> str:
    """The line for a table that ``script``, a path from the root of the repository, has made."""
    commit = _git("rev-parse", "--short=8", "HEAD")
    if commit is None:
        return f"*Made by `{script}`, measured at no known commit.*"
    changed = _git("status", "--porcelain", "--untracked-files=no", "--", *MEASURED, script)
    more = " with changes that were not committed" if changed else ""
    return f"*Made by `{script}`, measured at {commit}{more}.*"


def _git(*words: str) -> str | None:
    """What git says, or ``None`` where it does not know this folder or is not there."""
    try:
        done = subprocess.run(
            ["git", "-C", str(ROOT), *words],  # noqa: S607 - wherever the machine has it
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def drawn_by(script: str, results: Path) -> str:
    """The line for a table that ``script`` draws from results which the repository keeps.

    The commit is the newest that has put results there, so they are committed before the table is
    drawn.
    """
    kept = results.resolve().relative_to(ROOT).as_posix()
    commit = _git("log", "-1", "--abbrev=8", "--format=%h", "--", kept)
    changed = _git("status", "--porcelain", "--", kept)
    where = commit if commit and not changed else "no commit yet"
    return f"*Made by `{script}` from `{kept}`, recorded in {where}.*"
