"""Queues of a link: one discipline, or a scheduler over classes, each with a queue of its own.

All parameters of a tree are one table, in which those of a class have names like
``classes.0.queue.target``: a search space, a change and ``--set`` name them so below
``links.NAME.queue``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from vermilion.scenario import algorithms
from vermilion.scenario.codepoints import codepoint
from vermilion.scenario.errors import MISSING, FieldError, errors_under, one_of

if TYPE_CHECKING:
    from vermilion.scenario.algorithms import Algorithm, Parameter, ParameterValue

CLASS_KEYS = ("match", "queue")


@dataclass(frozen=True, slots=True)
class Shape:
    """A queue under a discipline, or a scheduler over classes.

    Attributes:
        discipline: the name of the discipline or of the scheduler.
        classes: of the scheduler, the first of which comes first.
    """

    discipline: str
    classes: tuple[Class, ...] = ()

    def to_core(self) -> dict[str, object]:
        """Return it for the core's JSON."""
        return {"discipline": self.discipline, "classes": classes_to_core(self.classes)}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Shape:
        """The inverse of :meth:`to_core`."""
        return cls(data["discipline"], classes_from_data(data.get("classes", ())))


@dataclass(frozen=True, slots=True)
class Class:
    """Packets that are treated alike.

    Attributes:
        codepoints: of its packets; none: all that no other class names.
        queue: where they wait.
    """

    codepoints: tuple[int, ...]
    queue: Shape


def classes_to_core(classes: tuple[Class, ...]) -> list[dict[str, object]]:
    """Return classes for the core's JSON."""
    return [{"match": list(each.codepoints), "queue": each.queue.to_core()} for each in classes]


def classes_from_data(data: Any) -> tuple[Class, ...]:  # noqa: ANN401 - JSON
    """The inverse of :func:`classes_to_core`."""
    return tuple(Class(tuple(each["match"]), Shape.from_data(each["queue"])) for each in data)


@cache
def algorithm_of(shape: Shape) -> Algorithm:
    """The discipline, or the scheduler with the parameters of all its classes."""
    if not shape.classes:
        return algorithms.discipline(shape.discipline)
    scheduler = algorithms.schedulers()[shape.discipline]
    own = scheduler.algorithm
    parameters: dict[str, Parameter] = dict(own.parameters)
    ordered = list(own.ordered)
    for number, each in enumerate(shape.classes):
        place = f"classes.{number}."
        parameters |= _renamed(scheduler.of_classes, place)
        inner, place = algorithm_of(each.queue), f"{place}queue."
        parameters |= _renamed(inner.parameters, place)
        ordered += [(place + lower, place + upper) for lower, upper in inner.ordered]
    return replace(own, parameters=parameters, ordered=tuple(ordered))


def _renamed(parameters: Mapping[str, Parameter], place: str) -> dict[str, Parameter]:
    """Parameters by their names in the whole tree."""
    renamed = {}
    for name, each in parameters.items():
        needed = each.only_with and (place + each.only_with[0], each.only_with[1])
        renamed[place + name] = replace(each, name=place + name, only_with=needed)
    return renamed


def parsed(value: object) -> tuple[Shape, dict[str, ParameterValue]] | None:
    """Read a queue's table: what it looks like, and the parameters that it sets.

    Returns:
        ``None`` where the table has no discipline.

    Raises:
        FieldError: what cannot be used.
    """
    if isinstance(value, str):
        value = {"discipline": value}
    if not isinstance(value, Mapping):
        raise FieldError("", value, 'a discipline, or a table like { discipline = "drop-tail" }')
    given = dict(value)
    if "discipline" not in given:
        return None
    name = given.pop("discipline")
    if not isinstance(name, str) or name not in algorithms.schedulers():
        if "classes" in given:
            known = one_of(algorithms.schedulers())
            raise FieldError("discipline", name, f"for a queue with classes {known}")
        discipline = algorithms.discipline(name)
        return Shape(discipline.name), discipline.parse(given)
    classes = given.pop("classes", MISSING)
    if not isinstance(classes, list | tuple) or not classes:
        example = '[{ match = ["ef"], queue = { ... } }, { queue = { ... } }]'
        raise FieldError("classes", classes, f"a list of classes, like {example}")
    scheduler = algorithms.schedulers()[name]
    read: list[Class] = []
    parameters: dict[str, ParameterValue] = {}
    for number, each in enumerate(classes):
        place = f"classes.{number}"
        with errors_under(place):
            found, values = _class(each, scheduler.of_classes)
        read.append(found)
        parameters |= {f"{place}.{key}": one for key, one in values.items()}
    shape = Shape(name, tuple(read))
    _check(shape, scheduler.classes)
    return shape, algorithm_of(shape).parse(given) | parameters


def _class(value: object, own: Mapping[str, Parameter]) -> tuple[Class, dict[str, ParameterValue]]:
    """A class, and the parameters of it and of its queue."""
    if not isinstance(value, Mapping):
        raise FieldError("", value, 'a table, like { match = ["ef"], queue = { ... } }')
    for key in value:
        if key not in CLASS_KEYS and key not in own:
            raise FieldError(str(key), value[key], one_of((*CLASS_KEYS, *own)))
    match = value.get("match", ())
    if not isinstance(match, list | tuple):
        raise FieldError("match", match, 'a list of codepoints, like ["ef", "cs6"]')
    with errors_under("match"):
        codepoints = tuple(map(codepoint, match))
    with errors_under("queue"):
        queue = parsed(value["queue"]) if "queue" in value else None
        if queue is None:
            raise FieldError("", MISSING, 'a table, like { discipline = "drop-tail" }')
    parameters = {key: own[key].parse(value[key]) for key in own if key in value}
    parameters |= {f"queue.{key}": one for key, one in queue[1].items()}
    return Class(codepoints, queue[0]), parameters


def _check(shape: Shape, most: int) -> None:
    """Refuse classes that do not go together."""
    if len(shape.classes) > most:
        raise FieldError("classes", len(shape.classes), f"at most {most} of {shape.discipline}")
    if sum(not each.codepoints for each in shape.classes) != 1:
        accepted = "one class without match, for all packets that no other names"
        raise FieldError("classes", f"{len(shape.classes)} classes", accepted)
    seen: set[int] = set()
    for number, each in enumerate(shape.classes):
        for one in each.codepoints:
            if one in seen:
                raise FieldError(f"classes.{number}.match", one, "each codepoint once")
            seen.add(one)
