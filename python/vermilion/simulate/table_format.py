"""What a table is written as, by the name of its file: CSV, or Parquet."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from vermilion.simulate.extras import optional

if TYPE_CHECKING:
    import os

FORMATS: Final = ("csv", "parquet")
"""What a trace can be written as."""


def format_of(path: str | os.PathLike[str]) -> str:
    """The format that a file's name asks for: one of :data:`FORMATS`.

    A name without a suffix, such as that of a pipe, is CSV.

    Raises:
        ValueError: another suffix.
    """
    suffix = Path(path).suffix.lower().removeprefix(".") or "csv"
    if suffix not in FORMATS:
        message = f'"{Path(path).name}" is not accepted; expected a name ending in .csv or .parquet'
        raise ValueError(message)
    return suffix


def check_format(path: str | os.PathLike[str]) -> None:
    """Refuses before any work is done what writing a table would refuse after it.

    Raises:
        ValueError: a suffix that is none of the formats.
        MissingPackageError: Parquet without pyarrow.
    """
    if format_of(path) == "parquet":
        optional("pyarrow", "Parquet files")
