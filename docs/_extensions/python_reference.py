"""Puts every public object of the package into the reference, grouped by what it is for.

The page holds the line ``<!-- objects -->``. A name of ``vermilion.__all__`` that stands in no
group here, or one here that the package does not have, ends the build.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import vermilion

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_LINE: Final = "<!-- objects -->"

GROUPS: Final = {
    "Scenarios": (
        "Scenario",
        "load_scenario",
        "parse_scenario",
        "Network",
        "ScenarioError",
    ),
    "Runs": ("run", "run_many", "Result", "Simulation", "RunFigure", "run_figure"),
    "Instruments": (
        "FlowSeries",
        "PacketTrace",
        "RawDistributions",
        "Transfers",
        "packet_predicate",
        "unregister_packet_predicate",
        "PacketPredicateError",
    ),
    "Comparisons": ("compare", "ComparisonReport", "grid", "sweep", "Sweep", "frames"),
    "Disciplines of your own": (
        "Discipline",
        "Scheduler",
        "Verdict",
        "number",
        "switch",
        "choice",
        "register_discipline",
        "unregister_discipline",
        "load_plugins",
        "DisciplineError",
    ),
    "Congestion controls of your own": (
        "CongestionControl",
        "register_congestion_control",
        "unregister_congestion_control",
        "CongestionControlError",
    ),
    "Tuning": (
        "tune",
        "Recommendation",
        "tune_front",
        "Front",
        "FrontPoint",
        "tune_robust",
        "RobustRecommendation",
        "RobustCase",
    ),
    "Tunings that are kept": (
        "TuningPlan",
        "TuningSession",
        "Seeds",
        "execute",
        "Study",
        "StudyError",
        "StudyRecord",
        "read_studies",
        "resume_study",
    ),
    "On line": (
        "run_online",
        "OnlineRun",
        "Decision",
        "SettingInForce",
        "JournalError",
        "online_report",
    ),
}
"""Every public name but ``__version__``."""


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx calls this."""
    app.connect("source-read", _fill)
    return {"parallel_read_safe": True}


def _fill(_app: Sphinx, _page: str, source: list[str]) -> None:
    if _LINE in source[0]:
        source[0] = source[0].replace(_LINE, _objects())


def _objects() -> str:
    """Directives for all groups.

    Raises:
        ValueError: the groups and the package disagree.
    """
    named = {name for names in GROUPS.values() for name in names}
    wrong = named ^ (set(vermilion.__all__) - {"__version__"})
    if wrong:
        message = f"the reference and vermilion.__all__ disagree on {', '.join(sorted(wrong))}"
        raise ValueError(message)
    parts = []
    for title, names in GROUPS.items():
        parts.append(f"## {title}\n")
        parts += [_directive(name) for name in names]
    return "\n".join(parts)


def _directive(name: str) -> str:
    value = getattr(vermilion, name)
    is_class = isinstance(value, type)
    kind = "class" if is_class else "function"
    if is_class and issubclass(value, Exception):
        kind = "exception"
    options = "\n:members:\n:exclude-members: __init__" if is_class else ""
    return f"```{{eval-rst}}\n.. auto{kind}:: vermilion.{name}{_indented(options)}\n```\n"


def _indented(options: str) -> str:
    return options.replace("\n:", "\n   :")
