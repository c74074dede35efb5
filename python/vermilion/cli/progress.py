"""A progress bar on standard error, for work that takes longer than a second."""

from __future__ import annotations

import sys
import time
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from rich.progress import Progress, TaskID

PATIENCE_S: Final = 1.0
"""Seconds: what is done by then needs no bar."""


class ProgressBar:
    """Shows how much is done, if standard error is a terminal and the work takes a while.

    A context manager; :attr:`callback` is what to hand to the work.
    """

    def __init__(self, description: str, total: float) -> None:
        self._description = description
        self._total = total
        self._begin = time.monotonic()
        self._bar: tuple[Progress, TaskID] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar[0].stop()

    @property
    def callback(self) -> Callable[[float], object] | None:
        """Function to call with the progress; ``None`` without a terminal."""
        return self._update if sys.stderr.isatty() else None

    def describe(self, description: str, total: float) -> None:
        """Set what is being done from now on, and how much of it there is."""
        self._description, self._total = description, total

    def _update(self, done: float) -> None:
        if self._bar is None:
            if time.monotonic() - self._begin < PATIENCE_S:
                return
            self._bar = self._start()
        progress, task = self._bar
        progress.update(
            task,
            completed=min(done, self._total),
            total=self._total,
            description=self._description,
        )

    def _start(self) -> tuple[Progress, TaskID]:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            Progress,
            TaskProgressColumn,
            TextColumn,
            TimeRemainingColumn,
        )

        progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
            # Lines of a command that prints as it goes stand above the bar, if both are seen.
            redirect_stdout=sys.stdout.isatty(),
        )
        progress.start()
        return progress, progress.add_task(self._description, total=self._total)


def busy(description: str) -> AbstractContextManager[object]:
    """Show that work goes on of unknown length; silent unless standard error is a terminal."""
    if not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True).status(description)
