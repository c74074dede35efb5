"""One queue discipline of a Linux interface as tc shows it, whether in text or in JSON."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

OptionValue = float | bool | str

LARGEST_TEXT: Final = 1_000_000
"""Characters; whatever is longer is not what tc has shown of one machine."""


@dataclass(frozen=True, slots=True)
class TcQueue:
    """A queue discipline.

    Attributes:
        kind: tc's word, like "fq_codel".
        handle: like "8001:"; "0:" for one that the kernel has put there by itself.
        parent: like "1:10"; ``None`` at the root.
        device: the interface; ``None`` where that is not shown.
        options: by tc's word: times in seconds, sizes in bytes, rates in bit/s, numbers, switches;
            of several numbers, a text.
        statistics: ``bytes``, ``packets``, ``dropped``, ``marked``, ``backlog_packets`` and cake's
            ``header_bytes``, where they are shown.
    """

    kind: str
    handle: str
    parent: str | None = None
    device: str | None = None
    options: Mapping[str, OptionValue] = field(default_factory=dict)
    statistics: Mapping[str, float] = field(default_factory=dict)

    def number(self, name: str) -> float | None:
        """An option that is a number; ``None`` where it is not shown."""
        value = self.options.get(name)
        return None if value is None or isinstance(value, str | bool) else float(value)

    def is_on(self, name: str) -> bool:
        """Whether a switch is on."""
        return self.options.get(name) is True
