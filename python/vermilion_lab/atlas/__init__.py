"""The best settings over a grid of conditions, and rules that say them in a line.

"Future work" of T. Ye and S. Kalyanaraman, "Adaptive Tuning of RED Using On-line Simulation", IEEE
GLOBECOM 2002. :func:`build_atlas` tunes one discipline in every condition of a :class:`Plan`, fits
power laws to what it finds, and holds both against the rules of the literature, on the same seeds.
"""

from __future__ import annotations

from vermilion_lab.atlas.build import Atlas, build_atlas
from vermilion_lab.atlas.cell import Cell, Judged
from vermilion_lab.atlas.fitting import PowerLaw, fit_power_law
from vermilion_lab.atlas.plan import Condition, Plan, read_plan
from vermilion_lab.atlas.rules import RULES, Rule

__all__ = [
    "RULES",
    "Atlas",
    "Cell",
    "Condition",
    "Judged",
    "Plan",
    "PowerLaw",
    "Rule",
    "build_atlas",
    "fit_power_law",
    "read_plan",
]
