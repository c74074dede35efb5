"""A kind of class that a user can write: how the core is told of those, and told to forget them."""

from __future__ import annotations

import inspect
import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from vermilion.scenario.errors import FieldError, ScenarioError, from_core

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from vermilion.scenario.algorithms import Parameter


@dataclass(frozen=True)
class OwnKind:
    """See the module's head.

    Attributes:
        words: what it is, in words.
        field: of a scenario in which a name of it stands.
        core_name: as the core's functions call it.
        forget: has the lists forgotten that name all of this kind.
    """

    words: str
    field: str
    core_name: str
    forget: Callable[[], None]

    def register(
        self,
        own: type[Any],
        table_of: Callable[[], dict[str, object]],
        adapter: Callable[[], object],
    ) -> None:
        """Makes a class known to the core.

        Args:
            own: the class.
            table_of: checks it and makes its entry in the list of its kind.
            adapter: makes what the core asks of it.

        Raises:
            ScenarioError: a name or a parameter that is not accepted.
        """
        from vermilion import _core

        origin = f"{self.words} {getattr(own, '__name__', own)}"
        try:
            table = table_of()
        except FieldError as error:
            raise error.at(origin) from None
        try:
            getattr(_core, f"register_{self.core_name}")(json.dumps(table), adapter())
        except _core.ParameterError as error:
            raise from_core(error, origin) from None
        self.forget()

    def unregister(self, name: str) -> None:
        """Has the core forget a class.

        Raises:
            ScenarioError: there is none of this name.
        """
        from vermilion import _core

        if not getattr(_core, f"unregister_{self.core_name}")(name):
            raise ScenarioError(self.field, name, f"the name of a {self.words} written in Python")
        self.forget()

    def table(
        self, own: type[Any], rows: Sequence[Parameter], ordered: Sequence[tuple[str, str]]
    ) -> dict[str, object]:
        """A class's entry in the list of its kind, with these parameters."""
        summary = (inspect.getdoc(own) or "").split("\n")[0]
        return {
            "name": own.name,
            "title": own.title or own.__name__,
            "summary": summary.rstrip(".") or f"A {self.words} written in Python",
            "source": own.source,
            "parameters": [asdict(row) for row in rows],
            "ordered": [list(pair) for pair in ordered],
        }
