"""Names of a SONiC switch's queues, and what its configuration says of one.

Sources: sonic-queue.yang, sonic-wred-profile.yang and qos_config.j2 of sonic-buildimage (2026). A
queue's key is "Ethernet4|1", or "Ethernet4|0-2" for several that are set alike. In the template,
queues 3 and 4 are lossless: priority flow control stops the sender before they are full, and their
profile AZURE_LOSSLESS marks packets.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

USUALLY_LOSSLESS: Final = frozenset({3, 4})
"""Queues that are lossless unless the operator has it otherwise (LOSSLESS_TC of qos_config.j2)."""

_INDEX: Final = re.compile(r"([0-9]{1,3})(?:-([0-9]{1,3}))?")
_LONGEST_NAME: Final = 32


@dataclass(frozen=True, slots=True)
class SonicQueue:
    """Entry of a queue in CONFIG_DB.

    Attributes:
        entry: its entry in the table QUEUE; ``None`` where it has none.
        own_profile: what stands under the name that the commands use; ``None`` for nothing.
        has_queues: whether there is a table QUEUE.
        has_profiles: whether there is a table WRED_PROFILE.
    """

    entry: Mapping[str, str] | None
    own_profile: Mapping[str, str] | None
    has_queues: bool
    has_profiles: bool


def queue_numbers(index: str) -> range | None:
    """The queues that "1" or "0-2" means; ``None`` where it means none."""
    match = _INDEX.fullmatch(index)
    if match is None:
        return None
    first, last = int(match[1]), int(match[2] or match[1])
    return range(first, last + 1) if first <= last else None


def profile_name(interface: str, index: str) -> str:
    """The profile of one queue alone, so that advice for another does not change this one's.

    The schema allows letters, digits, "-" and "_", and 32 of them.
    """
    return re.sub(r"[^-A-Za-z0-9_]", "_", f"VERMILION_{interface}_{index}")[:_LONGEST_NAME]
