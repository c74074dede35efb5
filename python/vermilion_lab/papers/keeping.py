"""Figures that are kept in a folder, so that an interrupted run goes on where it was.

A figure's numbers are kept under a key that depends on everything they depend on: the package (the
core, the scenarios and all of the Python), the figure and the seeds. Numbers of another version are
not found and never mixed in. A folder is used only where somebody names one.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from vermilion.files.whole_file import whole_file
from vermilion_lab.package_digest import package_digest

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from vermilion_lab.papers.interface import Numbers

_KEY_LETTERS = 16


class Keeper:
    """A folder of figures' numbers."""

    def __init__(self, folder: Path) -> None:
        """Makes the folder where there is none.

        Raises:
            OSError: it cannot be made.
        """
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder

    def find(self, paper: str, figure: str, seeds: Sequence[int]) -> Numbers | None:
        """Find a stored figure; ``None`` if there is none, or it cannot be read."""
        try:
            kept = json.loads(self._path(paper, figure, seeds).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return None
        return kept if isinstance(kept, dict) else None

    def keep(self, paper: str, figure: str, seeds: Sequence[int], numbers: Numbers) -> None:
        """Keeps a figure's numbers.

        Raises:
            OSError: they cannot be written.
        """
        with whole_file(self._path(paper, figure, seeds)) as file:
            json.dump(numbers, file, allow_nan=False)

    def _path(self, paper: str, figure: str, seeds: Sequence[int]) -> Path:
        text = json.dumps([package_digest(), paper, figure, list(seeds)])
        key = hashlib.sha256(text.encode()).hexdigest()[:_KEY_LETTERS]
        return self._folder / f"{paper}-{figure}-{key}.json"
