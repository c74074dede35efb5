"""The same scenario with other queues on some of its links, and nothing left of the old ones."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING

from vermilion.scenario.load import scenario_from_document

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vermilion.scenario.model import Scenario


def with_queues(scenario: Scenario, queues: Mapping[str, Mapping[str, object]]) -> Scenario:
    """A checked copy in which some links have other queues.

    What changes during the scenario about the queues that are gone, and a ``[tuning]`` table,
    speak of parameters that may be no more; both are left out.

    Args:
        scenario: itself.
        queues: by link, a table like ``{"discipline": "drop-tail", "limit": "31 packets"}``.

    Raises:
        ScenarioError: there is no such discipline, or it does not accept a value.
    """
    document = deepcopy(dict(scenario.document))
    for link, queue in queues.items():
        document["links"][link]["queue"] = dict(queue)
    document.pop("tuning", None)
    changes = [
        {key: value for key, value in change.items() if key != "queue"}
        if change["link"] in queues
        else change
        for change in document.get("changes", ())
    ]
    # A change of nothing but the queue has become a change of nothing.
    kept = [change for change in changes if change.keys() - {"at", "link"}]
    document.pop("changes", None)
    if kept:
        document["changes"] = kept
    return scenario_from_document(document, scenario.origin)
