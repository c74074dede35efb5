"""Tuning: from a scenario, a box, an objective and a search to a recommendation.

A :class:`TuningPlan` says what is asked for, a :class:`TuningSession` how it is done, and
:func:`execute` does it; :func:`tune`, :func:`tune_robust` and :func:`tune_front` are the same in
keywords. :func:`search_best` is the engine below them, for callers that bring their own model,
space and deadline.
"""

from __future__ import annotations

from vermilion.tuning.candidates import Candidates, Setting
from vermilion.tuning.comparison import Comparison
from vermilion.tuning.earlier_answers import AnswerFile, AnswerFileError
from vermilion.tuning.evaluation import Seeds
from vermilion.tuning.execution import execute, resume_study, tune, tune_front, tune_robust
from vermilion.tuning.fidelity import FidelityReport, RankAgreement
from vermilion.tuning.front import Front, FrontPoint
from vermilion.tuning.model_search import SearchOutcome, search_best
from vermilion.tuning.plan import DEFAULT_BUDGET, TuningPlan
from vermilion.tuning.race import RaceReport
from vermilion.tuning.recommendation import Recommendation
from vermilion.tuning.robust_recommendation import RobustCase, RobustRecommendation
from vermilion.tuning.session import TuningSession
from vermilion.tuning.state import ProgressReport, TuningProgress
from vermilion.tuning.study import Study
from vermilion.tuning.study_file import StudyError
from vermilion.tuning.study_record import StudyRecord, read_studies
from vermilion.tuning.verdict import ConstraintVerdict

__all__ = [
    "DEFAULT_BUDGET",
    "AnswerFile",
    "AnswerFileError",
    "Candidates",
    "Comparison",
    "ConstraintVerdict",
    "FidelityReport",
    "Front",
    "FrontPoint",
    "ProgressReport",
    "RaceReport",
    "RankAgreement",
    "Recommendation",
    "RobustCase",
    "RobustRecommendation",
    "SearchOutcome",
    "Seeds",
    "Setting",
    "Study",
    "StudyError",
    "StudyRecord",
    "TuningPlan",
    "TuningProgress",
    "TuningSession",
    "execute",
    "read_studies",
    "resume_study",
    "search_best",
    "tune",
    "tune_front",
    "tune_robust",
]
