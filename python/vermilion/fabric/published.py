"""Thresholds of marking that were published for real switches and in papers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class PublishedThresholds:
    """Thresholds as somebody published them.

    Attributes:
        name: short.
        kmin: queue up to which nothing is marked, in bytes.
        kmax: queue above which all is marked, in bytes.
        pmax: probability of a mark at ``kmax``.
        at: rate of the port that they are for in bit/s; ``None``: they are said for any.
        source: where.
    """

    name: str
    kmin: float
    kmax: float
    pmax: float
    at: float | None
    source: str

    def settings(self, rate: float) -> dict[str, object]:
        """The settings of a switch whose hosts have this rate, for ``with_settings``."""
        factor = 1.0 if self.at is None else rate / self.at
        return {
            "kmin": f"{self.kmin * factor:.0f} bytes",
            "kmax": f"{self.kmax * factor:.0f} bytes",
            "pmax": self.pmax,
            "thresholds_at": f"{rate:.0f} bit/s",
        }


_PUBLISHED: Final = (
    PublishedThresholds(
        "dcqcn-paper", 5e3, 200e3, 0.01, 40e9, "Zhu et al., SIGCOMM 2015, at 40 Gbit/s"
    ),
    PublishedThresholds(
        "alibaba", 100e3, 400e3, 0.2, 25e9, "HPCC authors' simulator, from production, per 25G"
    ),
    PublishedThresholds(
        "conweave", 100e3, 400e3, 0.2, None, "ConWeave's simulator: the same at any rate"
    ),
    PublishedThresholds(
        "arista", 166_912, 282_624, 0.05, None, "SONiC on an Arista C448O16, sonic-buildimage 25626"
    ),
    PublishedThresholds(
        "sonic", 1_048_576, 2_097_152, 0.05, None, "SONiC: AZURE_LOSSLESS"
    ),
    PublishedThresholds(
        "nvidia", 150e3, 1500e3, 1.0, None, "NVIDIA Onyx: roce"
    ),
    PublishedThresholds(
        "dctcp", 30e3, 30e3, 1.0, 10e9, "RFC 8257, HPCC authors' simulator: one step, per 10 Gbit/s"
    ),
)  # fmt: skip


def published_thresholds() -> dict[str, PublishedThresholds]:
    """Every published set of thresholds, by its name."""
    return {each.name: each for each in _PUBLISHED}
