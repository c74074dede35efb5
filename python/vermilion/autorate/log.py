"""Logs of cake-autorate: one row for each answer of a reflector.

``DATA`` rows are written where ``output_processing_stats=1`` (lynxthecat/cake-autorate, as of
94238be). Rows that are cut, foreign or out of order are left out and counted.
"""

from __future__ import annotations

import gzip
import io
import zlib
from array import array
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike
    from typing import BinaryIO

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

DIRECTIONS: Final = ("dl", "ul")

MOST_ROWS: Final = 2_000_000
"""Rows that are read: 28 hours of 20 answers a second."""

_MOST_BYTES: Final = 1 << 30
_LONGEST_LINE: Final = 4096
_GZIP: Final = b"\x1f\x8b"

_PLACES: Final = (3, 4, 12, 14, 31, 5, 17, 19, 32, 9)
"""Columns of what is read, where the file has no header: logs are rotated."""

_READ: Final = ("{}_ACHIEVED_RATE_KBPS", "{}_OWD_US", "{}_OWD_DELTA_US", "CAKE_{}_RATE_KBPS")

_ALIKE: Final = 0.99
"""Share of equal delays of both directions from which on they are halves of a round trip."""


class AutorateLogError(ValueError):
    """A file from which nothing can be learnt; ``str()`` is the line to show."""


@dataclass(frozen=True, slots=True)
class DirectionLog:
    """One direction of a log, an entry for each row.

    Attributes:
        achieved_kbps: bytes over the last 200 ms or longer.
        owd_us: one-way delay; half of the round trip where the pinger measures no more.
        delta_us: the delay above its reflector's baseline.
        shaper_kbps: rate of CAKE after the row.
    """

    achieved_kbps: Floats
    owd_us: Floats
    delta_us: Floats
    shaper_kbps: Floats


@dataclass(frozen=True, slots=True)
class AutorateLog:
    """Answers in order of time.

    Attributes:
        time_s: since the first.
        directions: ``dl`` and ``ul``.
        reflector: number of the one that answered.
        halves: whether delays are halves of round trips, so that either direction's wait is in
            both.
        left_out: rows of data that could not be read.
    """

    time_s: Floats
    directions: dict[str, DirectionLog]
    reflector: NDArray[np.int64]
    halves: bool
    left_out: int

    @property
    def seconds(self) -> float:
        """Time from the first answer to the last."""
        return float(self.time_s[-1])


def read_log(source: str | PathLike[str] | BinaryIO) -> AutorateLog:
    """Read a log, gzip or plain.

    Raises:
        AutorateLogError: it has no rows of data, or is no log of cake-autorate.
        OSError: the file cannot be read.
    """
    if hasattr(source, "read"):
        return _parse(_lines(source.read(_MOST_BYTES)))
    with Path(source).open("rb") as file:
        return _parse(_lines(file.read(_MOST_BYTES)))


def _lines(content: bytes) -> Iterator[str]:
    if content[:2] == _GZIP:
        try:
            with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
                content = file.read(_MOST_BYTES)
        except (OSError, EOFError, zlib.error) as error:
            message = f"the gzip file is damaged: {error}"
            raise AutorateLogError(message) from None
    for line in io.BytesIO(content):
        if len(line) <= _LONGEST_LINE:
            yield line.decode("utf-8", "replace")


def _parse(lines: Iterator[str]) -> AutorateLog:
    places = list(_PLACES)
    rows = array("d")
    reflectors: dict[str, int] = {}
    latest = left_out = kinds = 0.0
    for line in lines:
        kind, _, _ = line.partition(";")
        if kind == "DATA_HEADER":
            places = _places([each.strip() for each in line.split(";")]) or places
        kinds += kind in {"DEBUG", "INFO", "LOAD", "SUMMARY", "SHAPER", "DATA_HEADER"}
        if kind != "DATA":
            continue
        if len(rows) == MOST_ROWS * len(places):
            break
        values = line.split(";")
        try:
            row = [float(values[place]) for place in places[:-1]]
            reflector = values[places[-1]].strip()
        except (IndexError, ValueError):
            left_out += 1
            continue
        # Delays may be negative: clocks differ. Rates may not, and CAKE has one.
        rates, shapers = (row[1], row[5]), (row[4], row[8])
        if all(map(isfinite, row)) and min(rates) >= 0 < min(shapers) and row[0] >= latest:
            latest = row[0]
            row.append(reflectors.setdefault(reflector, len(reflectors)))
            rows.extend(row)
        else:
            left_out += 1
    if len(rows) <= len(places):
        message = (
            "no DATA rows; set output_processing_stats=1 in the configuration and log again"
            if kinds or left_out
            else "no log of cake-autorate: expected lines such as 'DATA; 2026-...'"
        )
        raise AutorateLogError(message)
    table = np.frombuffer(rows).reshape(-1, len(places))
    sides = {
        name: DirectionLog(*(np.ascontiguousarray(table[:, 1 + 4 * side + k]) for k in range(4)))
        for side, name in enumerate(DIRECTIONS)
    }
    halves = bool(np.mean(sides["dl"].owd_us == sides["ul"].owd_us) > _ALIKE)
    return AutorateLog(
        table[:, 0] - table[0, 0], sides, table[:, -1].astype(int), halves, int(left_out)
    )


def _places(header: list[str]) -> list[int]:
    """Columns of the time and of what is read of each direction; none if one is missing."""
    names = ["PROC_TIME_US", *(name.format(side) for side in ("DL", "UL") for name in _READ)]
    names.append("REFLECTOR")
    if not set(names) <= set(header):
        return []
    return [header.index(name) for name in names]
