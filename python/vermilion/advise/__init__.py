"""Advice for somebody who has never seen a scenario: ``vermilion advise``.

:func:`advise` answers a :class:`Question`: keep the queue that is there, or set another, with
what it gives, what it costs, and the commands.
"""

from __future__ import annotations

from vermilion.advise.advice import Advice, advise
from vermilion.advise.options import read_question
from vermilion.advise.present import Present, assumed
from vermilion.advise.question import Question

__all__ = ["Advice", "Present", "Question", "advise", "assumed", "read_question"]
