"""What an atlas knows of several queues, each by itself, as the beginning of a search for all.

An atlas has one queue in each of its cells. Of each queue of a set the cell nearest to what that
queue sees is taken, and all of them together are one joint setting that is tried first, in the
model; that they were tuned without each other is for the search to mend.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from vermilion.online.plan.atlas_prior import memory_of_atlas
from vermilion.online.plan.memory import AnswerMemory
from vermilion.scenario.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vermilion.online.policy import SetPolicy


def memory_of_set_atlas(
    document: object, disciplines: Mapping[str, str], policy: SetPolicy, origin: str
) -> AnswerMemory:
    """A memory of an atlas's cells for the queues of a set that it is of.

    Args:
        document: what ``vermilion atlas --json`` has written, as JSON is read.
        disciplines: of the queues, by the names of their links.
        policy: what is wanted of them.
        origin: the file's name, for messages.

    Raises:
        ScenarioError: it is no atlas, or one of none of the queues.
    """
    known: list[tuple[str, AnswerMemory]] = []
    refusals: list[ScenarioError] = []
    for link, discipline in disciplines.items():
        parameters = policy.of_queue(link).parameters
        try:
            known.append((link, memory_of_atlas(document, discipline, parameters, origin)))
        except ScenarioError as refusal:
            refusals.append(refusal)
    if not known:
        raise refusals[0]
    return AnswerMemory(of_queues=tuple(known))
