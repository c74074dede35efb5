"""The transmit queues of an interface that has several, each with a queue of its own (mq)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TransmitQueue:
    """One of them.

    Attributes:
        minor: its number below the root, hexadecimal as in tc.
        restore: tc's words for the queue that stands there.
        changed_back: the same where one of its kind is set in its place.
        by_kernel: whether the kernel has put it there by itself.
    """

    minor: str
    restore: str
    changed_back: str
    by_kernel: bool


@dataclass(frozen=True, slots=True)
class TransmitQueues:
    """What tc shows of an interface with several transmit queues.

    Attributes:
        kind: "mq" or "mqprio".
        handle: of the root; "0:" for one that the kernel has put there by itself, to which nothing
            can be attached.
        each: in the order of their numbers.
    """

    kind: str
    handle: str
    each: tuple[TransmitQueue, ...]

    @property
    def by_kernel(self) -> bool:
        """Whether the kernel puts the same there again when what stands at the root is deleted."""
        return self.handle == "0:"
