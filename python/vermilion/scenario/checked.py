"""Checks of a document, which end in a scenario or in one error."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import AfterValidator, Field, ValidationError

from vermilion import _core
from vermilion.scenario.algorithms import disciplines, senders
from vermilion.scenario.errors import (
    MISSING,
    FieldError,
    ScenarioError,
    did_you_mean,
    errors_of,
    errors_under,
    from_core,
)
from vermilion.scenario.lowering import lowered
from vermilion.scenario.quantities import (
    TIME,
    Quantity,
    QuantityRange,
    format_quantity,
    number_text,
)
from vermilion.scenario.structure import check_structure, fields_at
from vermilion.scenario.tables import Duration, FlowGroup, Link, names_are_plain
from vermilion.scenario.tuning_table import LARGEST_TARGET, TARGET_PACKETS
from vermilion.scenario.wire import nominal_rate
from vermilion.scenario.written_scenario import AnyScenario, Source, WrittenScenario

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydantic.fields import FieldInfo
    from pydantic_core import ErrorDetails


def with_target_in_packets(scenario: AnyScenario) -> AnyScenario:
    """The scenario with the packets of its objective's target, where that was given as a time.

    Raises:
        FieldError: the link is not said, or what it sends in that time is not known.
    """
    tuning = scenario.tuning
    if tuning is None or tuning.objective.target_delay_s is None:
        return scenario
    objective, time_s = tuning.objective, tuning.objective.target_delay_s
    if objective.link is None:
        raise FieldError("tuning.objective.link", MISSING, "the link whose queue has the target")
    with errors_under("tuning.objective.target"):
        packets = packets_sent_in(scenario, objective.link, time_s)
    objective = objective.model_copy(update={"target": packets})
    return scenario.model_copy(
        update={"tuning": tuning.model_copy(update={"objective": objective})}
    )


def mean_packet_bytes(scenario: WrittenScenario, link: str) -> float | None:
    """The mean packet size of the flows whose data crosses a link; ``None`` if none does."""
    crossing = [group for group in scenario.flows.values() if link in group.path]
    flows = sum(group.count for group in crossing)
    if not flows:
        return None
    return sum(group.count * group.packet_size for group in crossing) / flows


def packets_sent_in(scenario: WrittenScenario, link: str, time_s: float) -> float:
    """Number of packets that a link sends in a time.

    Args:
        scenario: of the link.
        link: its name.
        time_s: seconds.

    Raises:
        FieldError: no flow's data crosses the link, or it sends nothing, or more than is accepted.
    """
    size = mean_packet_bytes(scenario, link)
    rate = nominal_rate(scenario, link)
    shown = format_quantity(time_s, TIME)
    if size is None or rate <= 0.0:
        why = "no flow's data crosses the link" if size is None else "the link's rate is 0"
        raise FieldError("", shown, f"{TARGET_PACKETS.accepted()}, because {why}")
    packets = time_s * rate / (8.0 * size)
    if packets > LARGEST_TARGET:
        raise FieldError("", shown, f"a time in which {link} sends at most 10^9 packets")
    return packets


def in_both_units(time_s: float, packets: float) -> str:
    """A target that was given as a time, for people: "20 ms, about 25 packets"."""
    count = number_text(float(f"{packets:.2g}"))
    unit = "packet" if count == "1" else "packets"
    return f"{format_quantity(time_s, TIME)}, about {count} {unit}"


def checked(kind: type[AnyScenario], document: Mapping[str, Any], origin: str) -> AnyScenario:
    """Check a scenario given as the nested dictionaries of its TOML.

    Args:
        kind: what it is to be.
        document: the dictionaries, of which the scenario keeps a copy.
        origin: names it in messages.

    Raises:
        ScenarioError: whatever is wrong with it.
    """
    try:
        return _build_scenario(kind, deepcopy(dict(document)), origin)
    except RecursionError:
        raise nested_too_deeply(origin) from None


class _Parts(WrittenScenario):
    """A scenario that is not finished."""

    duration: Duration = 1.0
    links: Annotated[dict[str, Link], AfterValidator(names_are_plain)] = Field(default_factory=dict)
    flows: Annotated[dict[str, FlowGroup], AfterValidator(names_are_plain)] = Field(
        default_factory=dict
    )


def check_tables(document: Mapping[str, Any]) -> None:
    """Check some of a scenario's tables, each by itself.

    Args:
        document: the tables, and no others.

    Raises:
        FieldError: the first thing that no scenario with these tables could have.
    """
    try:
        _Parts.model_validate(document)
    except ValidationError as error:
        raise _first_problem(error) from None


def nested_too_deeply(origin: str) -> ScenarioError:
    """Error of a document that is nested more deeply than any scenario."""
    return ScenarioError("", "nested too deeply", "the tables of a scenario", origin)


def _build_scenario(kind: type[AnyScenario], document: dict[str, Any], origin: str) -> AnyScenario:
    try:
        scenario = kind.model_validate(document, context=Source(document, origin))
        check_structure(scenario)
        scenario.read_transfers()
    except ValidationError as error:
        raise _first_problem(error).at(origin) from None
    except FieldError as error:
        raise error.at(origin) from None
    _check_with_core(scenario)
    with errors_of(origin):
        return with_target_in_packets(scenario)


def _check_with_core(scenario: WrittenScenario) -> None:
    """Let the core build the scenario, which knows rules of its algorithms that no table says.

    Raises:
        ScenarioError: the core refuses it.
    """
    try:
        _core.check(lowered(scenario).to_json())
    except _core.ParameterError as error:
        raise from_core(error, scenario.origin) from None


def _first_problem(error: ValidationError) -> FieldError:
    """First error to show: a misspelt key before the missing key that it stands for."""
    details = error.errors(include_url=False)
    unknown = [detail for detail in details if detail["type"] == "extra_forbidden"]
    return _field_error((unknown or details)[0])


def _field_error(detail: ErrorDetails) -> FieldError:
    location = [str(part) for part in detail["loc"]]
    path = ".".join(location)
    kind = detail["type"]
    if kind == "value_error":
        raised = detail["ctx"]["error"]
        if isinstance(raised, FieldError):
            return raised.under(path) if path else raised
    if kind == "extra_forbidden":
        known = fields_at(location[:-1])
        place = ".".join(location[:-1]) or "a scenario"
        expected = f"a key of {place}: {did_you_mean(location[-1], known)}"
        return FieldError(path, detail["input"], expected + _right_table(location))
    if kind == "missing":
        fields = fields_at(location[:-1])
        return FieldError(path, MISSING, _describe_accepted(fields.get(location[-1])))
    accepted = _EXPECTED.get(kind)
    return FieldError(path, detail["input"], accepted or _without_pydantic_prefix(detail["msg"]))


_ALGORITHMS: Final = {"queue": disciplines, "sender": senders}
"""Tables whose further keys are the parameters of what they name."""

_NAMED: Final = ("links", "flows")
"""Tables of tables, each with a name of its own."""


def _right_table(location: Sequence[str]) -> str:
    """Name the table within this one that has the key: `` "limit" goes into links.a.queue``."""
    *table, key = location
    for name in fields_at(table):
        keys = set(fields_at([*table, name]))
        if keys and name in _ALGORITHMS:
            keys.remove("parameters")  # which are the table's own further keys
            keys.update(*(each.parameters for each in _ALGORITHMS[name]().values()))
        if key in keys:
            inner = [*table, name, *(["NAME"] if name in _NAMED else [])]
            return f'; "{key}" goes into {".".join(inner)}'
    return ""


_EXPECTED: Final = {
    "bool_type": "true or false",
    "dict_type": "a table",
    "model_type": "a table",
    "string_type": "a text in quotes",
    "tuple_type": "a list",
}


def _without_pydantic_prefix(message: str) -> str:
    text = message.removeprefix("Input should be ")
    return text[:1].lower() + text[1:]


def _describe_accepted(field: FieldInfo | None) -> str:
    if field is None:
        return "a value"
    for entry in field.metadata:
        if isinstance(entry, Quantity | QuantityRange):
            return entry.accepted()
    return field.description or "a value"
