"""What happened in one interval at several queues."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from vermilion.online.sense.sampler import Sample

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class SetSample(Sample):
    """What happened in one interval at several queues, added up.

    Attributes:
        links: the links.
        queues: what happened at each, in the same order.
        delivered: (numbers of flows, bytes that left the last queue of their path); ``None``
            where nobody looks at packets.
    """

    links: tuple[str, ...] = ()
    queues: tuple[Sample, ...] = ()
    delivered: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None
