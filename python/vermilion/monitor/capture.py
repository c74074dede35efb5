"""Reading of capture files with the core's monitor."""

from __future__ import annotations

import os
import sys
from contextlib import nullcontext
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from vermilion._core import CaptureError, CaptureMonitor, ParameterError
from vermilion.monitor.summary import CaptureSummary

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    import numpy as np
    from numpy.typing import NDArray

PIECE_BYTES: Final = 1 << 20
"""Bytes of a file read at a time."""

STANDARD_INPUT: Final = "-"


class CaptureFileError(Exception):
    """A capture that cannot be read; ``str()`` is one line with what was found and expected."""


@dataclass(frozen=True, slots=True)
class RoundTrips:
    """The round trips of a capture, in the order in which they ended; columns of one length.

    Attributes:
        time_ns: when each ended, in nanoseconds since 1970.
        flow: the number of its flow.
        round_trip_ns: how long it took, in nanoseconds.
        whole: whether it is one from end to end; else from the monitor to the receiver and back.
        from_initiator: whether the data that was timed came from the flow's initiator.
    """

    time_ns: NDArray[np.int64]
    flow: NDArray[np.int64]
    round_trip_ns: NDArray[np.int64]
    whole: NDArray[np.bool_]
    from_initiator: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Volumes:
    """Bytes sent by flow and interval of a capture; columns of one length.

    Attributes:
        stretch: the number of the stretch since 1970.
        flow: the number of the flow.
        packets: packets, as many as the link carried at least.
        bytes: their bytes from the IP header on.
        from_initiator: whether the flow's initiator sent them.
    """

    stretch: NDArray[np.int64]
    flow: NDArray[np.int64]
    packets: NDArray[np.int64]
    bytes: NDArray[np.int64]
    from_initiator: NDArray[np.bool_]


def read_capture(
    file: str | PathLike[str] | BinaryIO,
    *,
    flows: int = 65_536,
    largest_packet: int = 1500,
    kept_flows: int = 1000,
    cut_short: bool = False,
    round_trips: Callable[[RoundTrips], object] | None = None,
    volumes: Callable[[Volumes], object] | None = None,
    stretch_s: float = 0.1,
    progress: Callable[[float], object] | None = None,
    interrupted: Callable[[], object] | None = None,
) -> CaptureSummary:
    """Read a capture and summarise it as a passive monitor.

    Args:
        file: its name ("-" for standard input), or a file that is open for reading bytes: pcap or
            pcapng, compressed with gzip or not.
        flows: how many flows are followed at once; each takes up to 1.7 KiB of memory.
        largest_packet: the largest IP packet that the link carries, in bytes. What is larger is
            taken for several packets that were captured as one.
        kept_flows: how many of the largest flows the summary has one by one.
        cut_short: whether a file that ends within a packet is read as far as it goes.
        round_trips: is given the round trips of each piece of the file, if any.
        volumes: is given what each end of each flow sent in each stretch of time.
        stretch_s: how long such a stretch is, seconds.
        progress: told which share of the file has been read, where its size is known.
        interrupted: called at Ctrl-C; the summary is then of what was read by then. ``None`` lets
            Ctrl-C through.

    Raises:
        CaptureFileError: the file cannot be read, or is no capture, or a number cannot be used.
    """
    with _open(file) as (stream, name):
        try:
            stretch_ns = 0 if volumes is None else max(1, round(stretch_s * 1e9))
            monitor = CaptureMonitor(
                flows, largest_packet, kept_flows, round_trips is not None, stretch_ns
            )
            size = _size(stream)
            read = 0
            try:
                while piece := _read_piece(stream, name):
                    monitor.feed(piece)
                    _feed(monitor, round_trips)
                    _feed_volumes(monitor, volumes)
                    read += len(piece)
                    if progress is not None and size:
                        progress(read / size)
            except KeyboardInterrupt:
                if interrupted is None:
                    raise
                interrupted()
                cut_short = True
            monitor.finish(cut_short)
            _feed_volumes(monitor, volumes, is_all=True)
        except CaptureError as error:
            hint = "; only its end is missing, and it can be read up to there" * bool(error.args[1])
            message = f'"{name}": {error.args[0]}{hint}'
            raise CaptureFileError(message) from None
        except ParameterError as error:
            field, value, accepted = error.args
            message = f"{field}: {value} cannot be used; expected {accepted}"
            raise CaptureFileError(message) from None
        except OverflowError:
            numbers = f"flows {flows}, largest_packet {largest_packet}, kept_flows {kept_flows}"
            message = (
                f"{numbers}: one of them cannot be used; expected numbers from 0 to 4294967295"
            )
            raise CaptureFileError(message) from None
    return CaptureSummary.from_json(monitor.summary())


def _open(
    file: str | PathLike[str] | BinaryIO,
) -> AbstractContextManager[tuple[BinaryIO, str]]:
    if not isinstance(file, str | PathLike):
        return nullcontext((file, str(getattr(file, "name", "capture"))))
    if file == STANDARD_INPUT:
        return nullcontext((sys.stdin.buffer, "standard input"))
    return _File(Path(file))


class _File:
    """A file that is closed at the end of the block."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.stream: BinaryIO | None = None

    def __enter__(self) -> tuple[BinaryIO, str]:
        try:
            self.stream = self.path.open("rb")
        except (OSError, ValueError) as error:
            raise _read_error(str(self.path), error) from None
        return self.stream, str(self.path)

    def __exit__(self, *_: object) -> None:
        if self.stream is not None:
            self.stream.close()


def _size(stream: BinaryIO) -> int:
    """The size of a file, bytes; 0 of what is none, like a pipe."""
    try:
        return os.fstat(stream.fileno()).st_size
    except (AttributeError, OSError):
        return 0


def _read_piece(stream: BinaryIO, name: str) -> bytes:
    try:
        return stream.read(PIECE_BYTES)
    except OSError as error:
        raise _read_error(name, error) from None


def _read_error(name: str, error: OSError | ValueError) -> CaptureFileError:
    reason = getattr(error, "strerror", None) or error
    return CaptureFileError(f'"{name}" cannot be read ({reason}); expected a capture file')


def _feed(monitor: CaptureMonitor, receiver: Callable[[RoundTrips], object] | None) -> None:
    if receiver is None:
        return
    columns = monitor.take_round_trips()
    if len(columns["flow"]) > 0:
        receiver(RoundTrips(**columns))  # type: ignore[arg-type] # columns by name


def _feed_volumes(
    monitor: CaptureMonitor,
    receiver: Callable[[Volumes], object] | None,
    *,
    is_all: bool = False,
) -> None:
    if receiver is None:
        return
    columns = monitor.take_volumes(is_all)
    if len(columns["flow"]) > 0:
        receiver(Volumes(**columns))  # type: ignore[arg-type] # columns by name
