"""The ``[tuning]`` table of a scenario: tuned parameters, objective, constraints."""

from __future__ import annotations

import re
from typing import Final, Literal, Self

from pydantic import (
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    PrivateAttr,
    StrictStr,
    model_validator,
)

from vermilion.scenario.errors import FieldError, errors_under
from vermilion.scenario.quantities import PACKETS, TIME, Quantity, QuantityError
from vermilion.scenario.table import Table
from vermilion.scenario.tables import Names, Packets, Share

LARGEST_TARGET: Final = 1e9
"""Packets."""

TARGET_PACKETS: Final = Quantity(PACKETS, minimum=0.0, maximum=LARGEST_TARGET)
"""The rule for a target in packets."""

_DELAY: Final = Quantity(TIME, minimum=0.0)

ACCEPTED_TARGET: Final = f'{TARGET_PACKETS.accepted()}, or a time, like "20 ms"'
"""Description of accepted targets."""


def target_delay(value: object) -> float | None:
    """The time that a target is given as, in seconds; ``None`` where it is in packets.

    Raises:
        FieldError: it is neither.
    """
    try:
        # First what is usual: to look for a unit that is not in the tables takes long.
        TARGET_PACKETS.parse(value)
    except QuantityError:
        try:
            return float(_DELAY.parse(value))
        except QuantityError:
            raise FieldError("", value, ACCEPTED_TARGET) from None
    return None


_LINK_IN_TEXT: Final = re.compile(r"\blinks\.(?P<link>[^.\s]+)\.")


class TuningObjective(Table):
    """Objective of a tuning; the names of objectives belong to the room above.

    So do the fields that only some of them have: they are kept as written.
    """

    model_config = ConfigDict(extra="allow")

    name: StrictStr | None = Field(
        default=None, description='the name of an objective, like "queue-deviation"'
    )
    link: StrictStr | None = Field(default=None, description="the name of a link")
    target: Packets | None = Field(
        default=None, description="the queue length wanted, packets; or the time it takes to send"
    )
    over: Literal["phases", "total"] | None = Field(
        default=None, description='the mean of all "phases" (default) or the "total"'
    )

    _statement: str | None = PrivateAttr(default=None)
    _target_delay_s: float | None = PrivateAttr(default=None)

    @property
    def statement(self) -> str | None:
        """The short form, like "minimise links.bottleneck.sojourn_ms.p99", where it was one."""
        return self._statement

    @property
    def named_link(self) -> str | None:
        """The link that the objective is of, as far as its table or its text says so."""
        stated = _LINK_IN_TEXT.search(self._statement or "")
        return self.link or (stated["link"] if stated else None)

    @property
    def target_delay_s(self) -> float | None:
        """The target as a time, seconds, where it was given as one; ``target`` has its packets."""
        return self._target_delay_s

    @model_validator(mode="wrap")
    @classmethod
    def _parse_statement(cls, value: object, handler: ModelWrapValidatorHandler[Self]) -> Self:
        if isinstance(value, str):
            objective = handler({"name": "metric"})
            objective._statement = value  # noqa: SLF001 - of its own class
            return objective
        if not isinstance(value, dict) or "target" not in value:
            return handler(value)
        with errors_under("target"):
            delay = target_delay(value["target"])
        if delay is None:
            return handler(value)
        # How many packets that are, only the whole scenario knows: see queue_target.
        objective = handler({key: entry for key, entry in value.items() if key != "target"})
        objective._target_delay_s = delay  # noqa: SLF001 - a private attribute of pydantic's, and no field
        return objective


class Tuning(Table):
    """``[tuning]``: tuned parameters, objective, constraints.

    Without ``parameters`` they are those of a queue that its discipline's table proposes to search.
    ``space`` replaces the box that a parameter's table proposes: a lower and an upper end, in
    the parameter's unit. ``harm`` says what a recommendation may not worsen, and by how much;
    ``minimum_improvement`` which fraction of the objective it has to gain.
    """

    parameters: Names = Field(
        default=(), description='a list of paths, like ["links.bottleneck.queue.weight"]'
    )
    objective: TuningObjective = Field(
        default_factory=TuningObjective,
        description='a table, like { name = "queue-deviation", link = "bottleneck", '
        'target = "30 packets" }, or a text like "minimise links.bottleneck.sojourn_ms.p99"',
    )
    constraints: tuple[StrictStr, ...] | None = None
    harm: tuple[StrictStr, ...] | None = None
    minimum_improvement: Share | None = Field(
        default=None, description='a fraction of the objective, like "5 %"'
    )
    space: dict[str, object] = Field(default_factory=dict)
