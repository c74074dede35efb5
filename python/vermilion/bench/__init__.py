"""The bench for a congestion control or a queue of one's own: a fixed suite, and its folder.

>>> from vermilion.bench import Bench
>>> bench = Bench.of(sender="copa", plugins=["copa.py"], quick=True)
>>> bench.run("folder")
"""

from __future__ import annotations

from vermilion.bench.bench import Bench, BenchError
from vermilion.bench.reproduction import Reproduction, reproduce
from vermilion.bench.suite import Case, Family, cases, suite_version

__all__ = [
    "Bench",
    "BenchError",
    "Case",
    "Family",
    "Reproduction",
    "cases",
    "reproduce",
    "suite_version",
]
