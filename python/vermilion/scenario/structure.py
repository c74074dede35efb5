"""The rules between a scenario's fields: names that must exist, orders that must hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from vermilion.scenario.algorithms import sender, senders
from vermilion.scenario.errors import (
    MISSING,
    FieldError,
    did_you_mean,
    errors_of,
    errors_under,
    one_of,
)
from vermilion.scenario.quantities import (
    PACKETS,
    RATE,
    RATIO,
    SIZE,
    TIME,
    QuantityError,
    format_quantity,
)
from vermilion.scenario.round_trips import accepted as round_trips_accepted
from vermilion.scenario.round_trips import smallest
from vermilion.scenario.table import Table
from vermilion.scenario.tables import LARGEST_FLOW_COUNT, Queue, Sender
from vermilion.scenario.written_scenario import WrittenScenario

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pydantic.fields import FieldInfo

    from vermilion.scenario.algorithms import Parameter, ParameterValue
    from vermilion.scenario.scripted_losses import ScriptedLoss
    from vermilion.scenario.tables import FlowGroup, Link


_SHOWN_GROUPS: Final = 3
"""Groups of flows that a warning names."""


def value_at(scenario: WrittenScenario, path: str) -> Any:  # noqa: ANN401 - whatever is there
    """The value at a path, in SI units; see :meth:`Scenario.get`."""
    with errors_of(scenario.origin):
        return _find(scenario, path)


def parameter_at(scenario: WrittenScenario, path: str) -> Parameter:
    """The table row of a parameter; see :meth:`Scenario.parameter`."""
    with errors_of(scenario.origin):
        return find_parameter(scenario, path)


def find_parameter(scenario: WrittenScenario, path: str) -> Parameter:
    """The table row of a discipline's or sender's parameter.

    Raises:
        FieldError: the path names no such parameter.
    """
    *above, name = _steps(path)
    parent = ".".join(above)
    holder = _find(scenario, parent) if parent else scenario
    if not isinstance(holder, Queue | Sender):
        accepted = "a parameter of a queue or a sender, like links.bottleneck.queue.limit"
        raise FieldError("path", path, accepted)
    table = holder.algorithm.parameters
    if name not in table:
        raise FieldError("path", path, _accepted_path(parent, name, table))
    return table[name]


def fields_at(location: Sequence[str]) -> Mapping[str, FieldInfo]:
    """The fields of the table at a location of the scenario; none where there is no table."""
    fields: Mapping[str, FieldInfo] = WrittenScenario.model_fields
    for part in location:
        field = fields.get(part)
        if field is not None:
            table = _table_in(field.annotation)
            fields = {} if table is None else table.model_fields
        # Otherwise it is a link's or group's name or a change's number: the fields stay.
    return fields


def _table_in(annotation: Any) -> type[Table] | None:  # noqa: ANN401 - a type expression
    if isinstance(annotation, type) and issubclass(annotation, Table):
        return annotation
    for argument in getattr(annotation, "__args__", ()):
        found = _table_in(argument)
        if found is not None:
            return found
    return None


def _steps(path: str) -> list[str]:
    """The names along a path; all that is below a queue is one of them."""
    parts = path.split(".")
    below = 3 if parts[:1] == ["links"] and parts[2:3] == ["queue"] else len(parts)
    return [*parts[:below], *([".".join(parts[below:])] if parts[below:] else [])]


def _find(scenario: WrittenScenario, path: str) -> Any:  # noqa: ANN401 - whatever is there
    here: Any = scenario
    walked = ""
    for part in _steps(path):
        names = names_in(here)
        if part not in names:
            raise FieldError("path", path, _accepted_path(walked, part, names))
        here = _member(here, part)
        walked = f"{walked}.{part}" if walked else part
    return here


def names_in(holder: object) -> list[str]:
    """The names that may follow a path that leads to ``holder``."""
    if isinstance(holder, Queue):
        return ["discipline", *holder.algorithm.parameters]
    if isinstance(holder, Sender):
        return ["congestion_control", *holder.algorithm.parameters]
    if isinstance(holder, Table):
        return list(type(holder).model_fields)
    if isinstance(holder, dict):
        return list(holder)
    if isinstance(holder, tuple):
        return [str(index) for index in range(len(holder))]
    return []


def _member(holder: Any, part: str) -> Any:  # noqa: ANN401 - whatever is there
    if isinstance(holder, Queue | Sender) and part in holder.algorithm.parameters:
        return holder.algorithm.complete(holder.parameters)[part]
    if isinstance(holder, dict):
        return holder[part]
    if isinstance(holder, tuple):
        return holder[int(part)]
    return getattr(holder, part)


def _accepted_path(walked: str, part: str, names: Iterable[str]) -> str:
    place = f"in {walked}: " if walked else ""
    return f"a path that exists, {place}{did_you_mean(part, names)}"


NANOSECONDS = 1_000_000_000


def check_structure(scenario: WrittenScenario) -> None:
    """Refuse a scenario whose fields do not fit each other.

    Raises:
        FieldError: the first rule that is broken.
    """
    if scenario.warm_up >= scenario.duration:
        accepted = f"a time below the duration, {format_quantity(scenario.duration, TIME)}"
        raise FieldError("warm_up", format_quantity(scenario.warm_up, TIME), accepted)
    total = sum(group.count for group in scenario.flows.values())
    if total > LARGEST_FLOW_COUNT:
        accepted = f"at most {LARGEST_FLOW_COUNT:,} flows in all groups together"
        raise FieldError("flows", f"{total:,} flows", accepted)
    for name, group in scenario.flows.items():
        with errors_under(f"flows.{name}"):
            _check_group(scenario, group)
    _check_changes(scenario)
    _check_scripted_losses(scenario)
    _check_tuning(scenario)


def notes(scenario: WrittenScenario) -> list[str]:
    """Warnings about accepted values that are probably not meant, a sentence each."""
    crossed = {link for group in scenario.flows.values() for link in group.path}
    crossed.update(link for group in scenario.flows.values() for link in group.return_path)
    idle = [f"links.{name} is crossed by no flow" for name in scenario.links if name not in crossed]
    dropping = (_note_of_dropping(scenario, name, link) for name, link in scenario.links.items())
    return idle + [note for note in dropping if note]


def _note_of_dropping(scenario: WrittenScenario, name: str, link: Link) -> str:
    """Return a warning where packets that cannot be marked are dropped when others are marked."""
    queue = link.queue
    values = queue.algorithm.complete(queue.parameters)
    if queue.discipline not in {"step", "wred"} or not values["ecn"]:
        return ""
    if values.get("drop_others") is False:
        return ""
    data = [group for group in scenario.flows.values() if name in group.path]
    if not any(_is_ecn_capable(group) for group in data):
        return ""  # then it is there to drop
    dropped = [
        *(
            f"flows.{each} (without ECN)"
            for each, group in scenario.flows.items()
            if name in group.path and not _is_ecn_capable(group)
        ),
        *(
            f"acknowledgements of flows.{each}"
            for each, group in scenario.flows.items()
            if name in group.return_path
        ),
    ]
    if not dropped:
        return ""
    way_out = "; drop_others = false lets them pass" if queue.discipline == "step" else ""
    return (
        f"links.{name}.queue ({queue.discipline}) will drop packets that are not ECN-capable where"
        f" it marks others: {', '.join(dropped[:_SHOWN_GROUPS])}{way_out}"
    )


def _is_ecn_capable(group: FlowGroup) -> bool:
    sender = group.sender
    return sender is not None and bool(sender.algorithm.complete(sender.parameters).get("ecn"))


def _check_group(scenario: WrittenScenario, group: FlowGroup) -> None:
    if not group.path:
        raise FieldError("path", group.path, "at least one link")
    _check_links("path", group.path, scenario.links)
    _check_links("return_path", group.return_path, scenario.links)
    _check_sender(group)
    _check_round_trip(scenario, group)
    _check_access_rate(group)
    if group.header_size >= group.packet_size:
        accepted = f"a size below packet_size, {format_quantity(group.packet_size, SIZE)}"
        raise FieldError("header_size", format_quantity(group.header_size, SIZE), accepted)
    if group.start[1] > scenario.duration:
        accepted = f"a time within the duration, {format_quantity(scenario.duration, TIME)}"
        raise FieldError("start", format_quantity(group.start[1], TIME), accepted)
    if group.stop is not None and group.stop[0] < group.start[1]:
        accepted = f"a time not before the last start, {format_quantity(group.start[1], TIME)}"
        raise FieldError("stop", format_quantity(group.stop[0], TIME), accepted)


def _check_links(field: str, names: Iterable[str], known: Iterable[str]) -> None:
    for name in names:
        if name not in known:
            raise FieldError(field, name, f"a link of this scenario: {did_you_mean(name, known)}")


def _check_sender(group: FlowGroup) -> None:
    if group.traffic.is_open_loop:
        if group.sender is not None:
            accepted = f"no sender, because {group.traffic.kind} traffic has none"
            raise FieldError("sender", group.sender.congestion_control, accepted)
        return
    if group.sender is None:
        raise FieldError("sender", MISSING, one_of(senders()))
    sender(group.sender.congestion_control)
    if group.rtt is None:
        raise FieldError("rtt", MISSING, round_trips_accepted())


def _check_round_trip(scenario: WrittenScenario, group: FlowGroup) -> None:
    if group.rtt is None:
        return
    used = sum(
        round(scenario.links[name].delay * NANOSECONDS)
        for name in (*group.path, *group.return_path)
    )
    trip = smallest(group.rtt)
    if round(trip * NANOSECONDS) < used:
        least = format_quantity(used / NANOSECONDS, TIME)
        accepted = f"at least the propagation delay of the links it crosses, {least}"
        raise FieldError("rtt", format_quantity(trip, TIME), accepted)


def _check_access_rate(group: FlowGroup) -> None:
    access, offered = group.access_rate, group.traffic.rate
    if access is not None and offered is not None and offered > access:
        accepted = f"at least the rate of the traffic, {format_quantity(offered, RATE)}"
        raise FieldError("access_rate", format_quantity(access, RATE), accepted)


def _check_changes(scenario: WrittenScenario) -> None:
    in_force: dict[str, dict[str, ParameterValue]] = {
        name: dict(link.queue.parameters) for name, link in scenario.links.items()
    }
    order = sorted(range(len(scenario.changes)), key=lambda index: scenario.changes[index].at)
    for index in order:
        with errors_under(f"changes.{index}"):
            _check_change(scenario, index)
            _check_queue_after(scenario, index, in_force[scenario.changes[index].link])


def _check_change(scenario: WrittenScenario, index: int) -> None:
    change = scenario.changes[index]
    _check_links("link", [change.link], scenario.links)
    if not 0 <= change.at < scenario.duration:
        duration = format_quantity(scenario.duration, TIME)
        accepted = f"a time within the duration, below {duration}"
        raise FieldError("at", format_quantity(change.at, TIME), accepted)
    if not (change.queue or change.loss) and change.rate is None and change.delay is None:
        raise FieldError("", "a change of nothing", "a rate, a delay, a loss or a queue")
    link = scenario.links[change.link]
    if change.rate is not None and link.varies:
        accepted = "no rate for a link with a rate_schedule, a trace or a line"
        raise FieldError("rate", format_quantity(change.rate, RATE), accepted)


def _check_queue_after(
    scenario: WrittenScenario, index: int, in_force: dict[str, ParameterValue]
) -> None:
    """Add a change to the parameters in force, whose order must still hold."""
    algorithm = scenario.links[scenario.changes[index].link].queue.algorithm
    with errors_under("queue"):
        in_force.update(scenario.change_parameters(index) or {})
        algorithm.check_order(in_force)


def _check_scripted_losses(scenario: WrittenScenario) -> None:
    counts = scenario.flow_counts()
    for index, script in enumerate(scenario.scripted_losses):
        with errors_under(f"scripted_losses.{index}"):
            if script.link is not None:
                _check_links("link", [script.link], scenario.links)
            for choice in script.chosen(counts):
                _check_way(scenario, script, choice.group)


def _check_way(scenario: WrittenScenario, script: ScriptedLoss, name: str) -> None:
    """Refuse a script for packets that never come to its link."""
    group = scenario.flows[name]
    path = group.return_path if script.acknowledgements else group.path
    if path and (script.link is None or script.link in path):
        return
    kind = "return_path" if script.acknowledgements else "path"
    value = MISSING if script.link is None else script.link
    raise FieldError("link", value, f"a link of the {kind} of {name}")


def _check_tuning(scenario: WrittenScenario) -> None:
    tuning = scenario.tuning
    if tuning is None:
        return
    if "parameters" in tuning.model_fields_set and not tuning.parameters:
        accepted = "at least one path, or no such list"
        raise FieldError("tuning.parameters", tuning.parameters, accepted)
    for path in tuning.parameters:
        try:
            parameter = find_parameter(scenario, path)
        except FieldError as error:
            raise FieldError("tuning.parameters", path, error.accepted) from None
        check_searchable(path, parameter)
    if tuning.objective.link is not None:
        _check_links("tuning.objective.link", [tuning.objective.link], scenario.links)
        if (books := scenario.links[tuning.objective.link].books) != "full":
            accepted = '"full", since tuning.objective measures this link'
            raise FieldError(f"links.{tuning.objective.link}.books", books, accepted)
    for path in tuning.space:
        if tuning.parameters and path not in tuning.parameters:
            accepted = (
                f"a path listed in tuning.parameters: {did_you_mean(path, tuning.parameters)}"
            )
            raise FieldError("tuning.space", path, accepted)
        search_box(scenario, path)


def check_searchable(path: str, parameter: Parameter) -> None:
    """Refuse to search a parameter that is a choice of names.

    Raises:
        FieldError: it is one.
    """
    if parameter.kind == "choice":
        raise FieldError("tuning.parameters", path, "a parameter that is a number or a switch")


def search_box(scenario: WrittenScenario, path: str) -> tuple[float, float] | None:
    """The ends between which a tuned parameter is searched, in its table's unit.

    The scenario's ``[tuning.space]`` comes before the table's own proposal; ``None`` where
    neither says anything.

    Raises:
        FieldError: the scenario's box is not one.
    """
    parameter = find_parameter(scenario, path)
    given = None if scenario.tuning is None else scenario.tuning.space.get(path)
    if given is None:
        return parameter.search
    if parameter.kind != "number":
        accepted = "ends of a parameter that is a number; a switch has none"
        raise FieldError(f"tuning.space.{path}", given, accepted)
    example = '["5 packets", "60 packets"]' if parameter.dimension is PACKETS else "[0.01, 0.5]"
    if parameter.dimension not in {PACKETS, RATIO}:
        text = parameter.dimension.example
        example = f'two ends like ["{text}", ...]'
    accepted = f"a lower and a higher end, each {parameter.quantity.accepted()}; like {example}"
    field = f"tuning.space.{path}"
    if not isinstance(given, list | tuple) or len(given) != 2:  # noqa: PLR2004 - two ends
        raise FieldError(field, given, accepted)
    try:
        lower, upper = (float(parameter.quantity.parse(end)) for end in given)
    except QuantityError as error:
        raise FieldError(field, error.value, accepted) from None
    if lower >= upper:
        raise FieldError(field, f"{given[0]} .. {given[1]}", accepted)
    return lower, upper
