"""JSON forms that classes name, and the types that follow from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import pytest
from pydantic import TypeAdapter

from vermilion.files.document import as_json, document
from vermilion.files.document_types import json_type
from vermilion.simulate.statistics import Interval

if TYPE_CHECKING:
    from pathlib import Path


@document("low? high?")
class Range(NamedTuple):
    """A range."""

    low: float | None
    high: float | None


def doubled(outcome: Outcome) -> int:
    return 2 * outcome.count


@document("name count twice=doubled goal.best?=range.high goal.unit??=unit notes?? file", doubled)
@dataclass(frozen=True, slots=True)
class Outcome:
    """An outcome.

    Of something.
    """

    name: str
    count: int
    range: Range | None
    unit: str
    notes: tuple[str, ...]
    file: Path | None


@document("range values", nulls=True)
@dataclass(frozen=True, slots=True)
class Whole:
    range: Range
    values: dict[str, Interval]


def test_keys_are_attributes_paths_and_functions_and_absent_without_a_value():
    full = Outcome("a", 2, Range(1.0, 3.0), "s", ("x",), None)
    assert as_json(full) == {
        "name": "a",
        "count": 2,
        "twice": 4,
        "goal": {"best": 3.0, "unit": "s"},
        "notes": ["x"],
        "file": None,
    }
    bare = Outcome("a", 0, None, "", (), None)
    assert as_json(bare) == {"name": "a", "count": 0, "twice": 0, "file": None}
    assert as_json([Range(None, 0.0)]) == [{"high": 0.0}]


def test_with_nulls_they_are_null_below_too():
    whole = Whole(Range(None, 1.0), {"x": Interval(2.0, None, 1)})
    assert as_json(whole) == {
        "range": {"low": None, "high": 1.0},
        "values": {"x": {"mean": 2.0, "low": None, "high": None, "count": 1}},
    }
    TypeAdapter(json_type(Whole)).validate_python(as_json(whole), strict=True)


def test_types_follow_from_annotations_also_of_names_for_type_checkers():
    schema = TypeAdapter(json_type(list[Outcome])).json_schema()
    outcome = schema["$defs"]["Outcome"]
    assert outcome["description"] == "An outcome."
    assert outcome["required"] == ["name", "count", "twice", "file"]
    assert outcome["properties"]["twice"]["type"] == "integer"
    assert {each["type"] for each in outcome["properties"]["file"]["anyOf"]} == {"string", "null"}
    assert outcome["properties"]["notes"]["items"] == {"type": "string"}


def test_a_key_of_nothing_is_a_mistake():
    @document("nothing")
    class Empty:
        pass

    with pytest.raises(TypeError, match="Empty has no attribute nothing"):
        json_type(Empty)
