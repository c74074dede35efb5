"""A file that an option names: read whole, as long as it is not far larger than it can be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vermilion.scenario.errors import ScenarioError

if TYPE_CHECKING:
    from pathlib import Path

_MEGABYTE = 1_000_000


def read_limited(path: Path, option: str, megabytes: int, accepted: str) -> bytes:
    """The bytes of a file.

    Args:
        path: of the file.
        option: that names it, for messages: "--policy".
        megabytes: how large it may be.
        accepted: what is expected, in words.

    Raises:
        ScenarioError: it cannot be read, or is larger.
    """
    try:
        with path.open("rb") as file:
            content = file.read(megabytes * _MEGABYTE + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "no such name"
        problem = f"{option}: cannot be read ({reason})"
        raise ScenarioError("", problem, accepted, str(path)) from None
    if len(content) > megabytes * _MEGABYTE:
        problem = f"{option}: is larger than {megabytes} MB"
        raise ScenarioError("", problem, accepted, str(path))
    return content
