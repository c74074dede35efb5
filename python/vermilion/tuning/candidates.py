"""Candidates of a tuning: one scenario, hundreds of settings of a few of its parameters.

The scenario is checked and lowered to the core's JSON once. A candidate is that text with
other numbers in the tables of the tuned queues and senders, which takes microseconds; the
core checks the numbers themselves.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from vermilion.scenario import Scenario

_MARK: Final = "\0table "
"""Stands where a table will be put in. Names hold no control characters."""

_MARKED: Final = re.compile(r'"\\u0000table (\d+)"')
"""The same in JSON."""

Setting = Mapping[str, float | None]
"""Values of the tuned parameters by path, in the units of their tables; ``None``: automatic."""


class Candidates:
    """Writes a scenario with other values of the chosen parameters.

    Args:
        scenario: as loaded, or already as the core reads it.
        paths: of the parameters that vary, like ``links.bottleneck.queue.weight``.

    Raises:
        ValueError: a path that leads to no parameter of a queue or a sender.
    """

    def __init__(self, scenario: Scenario | str, paths: Iterable[str]) -> None:
        text = scenario if isinstance(scenario, str) else scenario.core_json()
        document = json.loads(text)
        self._tables: list[dict[str, Any]] = []
        # For each path, which of the varying tables it leads into, and its key there.
        self._places: dict[str, tuple[int, str]] = {}
        numbers: dict[str, int] = {}
        for path in paths:
            place, _, key = path.rpartition(".")
            if place not in numbers:
                numbers[place] = len(numbers)
                holder = _holder(document, place, path)
                self._tables.append(holder["parameters"])
                holder["parameters"] = f"{_MARK}{numbers[place]}"
            self._places[path] = (numbers[place], key)
        # Text, number of a table, text, number of a table, ..., text.
        self._pieces = _MARKED.split(json.dumps(document, allow_nan=False))

    def text(self, setting: Setting) -> str:
        """The scenario with this setting, as the core reads it.

        Args:
            setting: values for some or all of the paths; the others stay as they are.
        """
        tables = [dict(table) for table in self._tables]
        for path, value in setting.items():
            number, key = self._places[path]
            tables[number][key] = value
        parts = list(self._pieces)
        for place in range(1, len(parts), 2):
            parts[place] = json.dumps(tables[int(parts[place])], allow_nan=False)
        return "".join(parts)


def _holder(document: Mapping[str, Any], place: str, path: str) -> dict[str, Any]:
    """The queue or sender whose parameters a path leads to."""
    room, _, rest = place.partition(".")
    name, _, kind = rest.partition(".")
    if (room, kind) in {("links", "queue"), ("flows", "sender")}:
        for entry in document[room]:
            if entry["name"] == name and entry[kind] is not None:
                holder: dict[str, Any] = entry[kind]
                return holder
    message = f"{path} leads to no parameter of a queue or a sender of the scenario"
    raise ValueError(message)
