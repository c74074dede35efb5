"""From a scenario, a box, an objective and a search to a recommendation with its confidence.

:func:`tune` does it for a scenario and its ``[tuning]``; :func:`search_best` is the engine
below it, for callers that bring their own model, space and deadline.
"""

from __future__ import annotations

from vermilion.tuning.answer_file import AnswerFile, AnswerFileError
from vermilion.tuning.candidates import Candidates, Setting
from vermilion.tuning.comparison import Comparison
from vermilion.tuning.engine import SearchOutcome, search_best
from vermilion.tuning.fidelity import FidelityReport, RankAgreement
from vermilion.tuning.front import Front, FrontPoint
from vermilion.tuning.pareto import tune_front
from vermilion.tuning.progress import ProgressReport, TuningProgress
from vermilion.tuning.race import RaceReport
from vermilion.tuning.recommendation import Recommendation
from vermilion.tuning.robust import tune_robust
from vermilion.tuning.robust_recommendation import RobustCase, RobustRecommendation
from vermilion.tuning.seeds import Seeds
from vermilion.tuning.study import Study
from vermilion.tuning.study_file import StudyError
from vermilion.tuning.study_record import StudyRecord, read_studies
from vermilion.tuning.study_resumption import resume_study
from vermilion.tuning.tune import DEFAULT_BUDGET, tune
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
    "TuningProgress",
    "read_studies",
    "resume_study",
    "search_best",
    "tune",
    "tune_front",
    "tune_robust",
]
