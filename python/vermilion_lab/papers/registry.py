"""The papers that are re-run here, by name."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

from vermilion.scenario.errors import ScenarioError, did_you_mean

if TYPE_CHECKING:
    from vermilion_lab.papers.interface import Paper

# One line for each paper: its name, and the module whose PAPER it is.
_MODULES: Final = {
    "ye-2002": "ye_2002",
    "athuraliya-2000": "athuraliya_2000",
    "feng-1999": "feng_1999",
    "jamali-2013": "jamali_2013",
    "nichols-1998": "nichols_1998",
    "alizadeh-2010": "alizadeh_2010",
    "nichols-2012": "nichols_2012",
    "pan-2013": "pan_2013",
    "cardwell-2016": "cardwell_2016",
    "arun-2018": "arun_2018",
    "hoeiland-jorgensen-2018": "hoeiland_jorgensen_2018",
    "li-2019": "li_2019",
    "rfc-9332": "rfc_9332",
}


def paper_names() -> list[str]:
    """The names, in the order in which the papers are told."""
    return list(_MODULES)


def papers() -> list[Paper]:
    """Registered papers."""
    return [paper_named(name) for name in _MODULES]


def paper_named(name: str) -> Paper:
    """A paper.

    Raises:
        ScenarioError: there is none of this name.
    """
    if name not in _MODULES:
        raise ScenarioError("paper", name, did_you_mean(name, paper_names()))
    paper: Paper = import_module(f"vermilion_lab.papers.{_MODULES[name]}").PAPER
    return paper
