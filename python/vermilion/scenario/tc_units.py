"""Units as Linux's ``tc`` spells them: ``10mbit``, ``30Kb``, ``1514b``, ``5ms``.

The manual page tc(8), section PARAMETERS, lists them: rates in ``bit``, ``kbit``, ``mbit``,
``gbit``, ``tbit`` (powers of 1000; with an ``i``, as in ``kibit``, of 1024); sizes in ``b``
(bytes), ``kb`` or ``k``, ``mb`` or ``m``, ``gb`` or ``g``; times in ``s``, ``sec``, ``secs``, and
likewise with ``m`` and ``u``. It calls ``kb`` kilobytes; ``get_size`` in iproute2's library says
of how many bytes: 1024. ``tc`` reads either case, and prints rates like ``10Mbit``, sizes like
``30Kb`` and packets like ``1000p``.

Where this departs from it, because the spelling has another meaning elsewhere:

- ``bps``, ``kbps``, ``Mbps``, ``Gbps`` and ``Tbps`` are bits per second here, as in most other
  places; to ``tc`` they are bytes per second. ``mbps`` and whatever else only ``tc`` would read is
  refused, with both readings.
- ``kB``, ``MB`` and ``GB`` are powers of 1000 here, and ``kbit``, ``Mbit`` and ``Gbit`` as sizes
  too; to ``tc`` they are powers of 1024. What differs from these in case alone, like ``KB`` and
  ``mbit``, is refused as a size, with both readings.
- A bare number has no unit, and is refused; to ``tc`` it is in bit/s, bytes or microseconds.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    Sizes = Mapping[str, tuple[float, float]]
    Readings = Mapping[str, tuple[str, str]]

_OF_RATES: Final = ("", "k", "m", "g", "t")
_OF_SIZES: Final = ("k", "m", "g")
_SI: Final = {"": "", "k": "k", "m": "M", "g": "G", "t": "T"}
_IEC: Final = {"k": "Ki", "m": "Mi", "g": "Gi", "t": "Ti"}


def _either_case(spelling: str) -> list[str]:
    return ["".join(letters) for letters in product(*({c.lower(), c.upper()} for c in spelling))]


TC_RATES: Final[Sizes] = {
    spelling: (base**power, 1.0)
    for power, prefix in enumerate(_OF_RATES)
    for infix, base in (("", 1e3), ("i", 1024.0))[: 2 if prefix else 1]
    for spelling in _either_case(f"{prefix}{infix}bit")
}
"""The size of each in bit/s, as a fraction: numerator, denominator."""

TC_SIZES: Final[Sizes] = {
    "b": (1.0, 1.0),
    **{
        spelling: (1024.0**power, 1.0)
        for power, prefix in enumerate(_OF_SIZES, 1)
        # Not in capitals throughout: MB is a million bytes.
        for spelling in (f"{prefix}b", f"{prefix.upper()}b", prefix, prefix.upper())
    },
}
"""The same in bytes."""

TC_TIMES: Final[Sizes] = {
    f"{prefix}{unit}": (1.0, denominator)
    for prefix, denominator in (("", 1.0), ("m", 1e3), ("u", 1e6), ("n", 1e9))
    for unit in ("s", "sec", "secs")
}
"""The same in seconds."""

TC_DOUBTFUL_RATES: Final[Readings] = {
    spelling: (f"{si}B/s", f"{si}bit/s")
    for prefix in _OF_RATES
    for infix, si in (("", _SI[prefix]), ("i", _IEC.get(prefix, "")))[: 2 if prefix else 1]
    for spelling in _either_case(f"{prefix}{infix}bps")
}
"""What ``tc`` takes spellings for, and what others do, each as it may be written here."""

TC_DOUBTFUL_SIZES: Final[Readings] = {
    spelling: (f"{_IEC[prefix]}{unit}", f"{_SI[prefix]}{unit}")
    for prefix in _OF_SIZES
    for unit in ("B", "bit")
    for spelling in _either_case(f"{prefix}{unit}")
}
"""The same of sizes."""
