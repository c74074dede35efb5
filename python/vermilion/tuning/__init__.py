"""From a scenario, a box, an objective and a search to a recommendation with its confidence.

A :class:`TuningPlan` says what is asked for, a :class:`TuningSession` how it is done, and
:func:`execute` does it; :func:`tune`, :func:`tune_robust` and :func:`tune_front` are the same in
keywords. :func:`search_best` is the engine below them, for callers that bring their own model,
space and deadline.
"""

from __future__ import annotations

from vermilion.tuning.execution import execute
from vermilion.tuning.find.model_search import SearchOutcome, search_best
from vermilion.tuning.find.progress import ProgressReport, TuningProgress
from vermilion.tuning.find.race import RaceReport
from vermilion.tuning.judge.comparison import Comparison
from vermilion.tuning.judge.verdict import ConstraintVerdict
from vermilion.tuning.keep.study import Study
from vermilion.tuning.keep.study_file import StudyError
from vermilion.tuning.keep.study_record import StudyRecord, read_studies
from vermilion.tuning.measure.candidates import Candidates, Setting
from vermilion.tuning.measure.fidelity import FidelityReport, RankAgreement
from vermilion.tuning.measure.seeds import Seeds
from vermilion.tuning.prepare.plan import DEFAULT_BUDGET, TuningPlan
from vermilion.tuning.recall.answer_file import AnswerFile, AnswerFileError
from vermilion.tuning.recommend.front import Front, FrontPoint
from vermilion.tuning.recommend.recommendation import Recommendation
from vermilion.tuning.recommend.robust_recommendation import RobustCase, RobustRecommendation
from vermilion.tuning.session import TuningSession
from vermilion.tuning.study_resumption import resume_study
from vermilion.tuning.tune import tune, tune_front, tune_robust

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
