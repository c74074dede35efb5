"""Whatever is thrown at the parser: a scenario or a ScenarioError, and nothing else."""

import math
import tempfile
from copy import deepcopy
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from test_scenario_errors import GOOD
from vermilion.scenario import (
    ScenarioError,
    load_scenario,
    parse_scenario,
    scenario_from_document,
)

LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=20),
    st.dates(),
    st.sampled_from(
        ["0 s", "1 s .. 2 s", "10 Mbit/s", "-1 packets", "1e308 s", "bottleneck", "red"]
    ),
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3)
    ),
    max_leaves=8,
)
DOCUMENT = dict(parse_scenario(GOOD).document)


def places(table, path=()):
    """Every path into a document."""
    entries = table.items() if isinstance(table, dict) else enumerate(table)
    for key, value in entries:
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from places(value, (*path, key))


def accepted_or_refused(make):
    message = ""
    try:
        # What is accepted was built by the core; JSON has no words for NaN and infinity.
        assert "NaN" not in make().core_json()
    except ScenarioError as error:
        message = str(error)
    assert len(message.splitlines()) <= 1


@given(st.text())
def test_any_text_is_a_scenario_or_refused(text):
    accepted_or_refused(lambda: parse_scenario(text))


@given(st.binary(max_size=200))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_are_a_scenario_or_refused(content):
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "any.toml"
        path.write_bytes(content)
        accepted_or_refused(lambda: load_scenario(path))


@given(st.data())
def test_a_good_scenario_with_a_hole_in_it_is_a_scenario_or_refused(data):
    begin = data.draw(st.integers(0, len(GOOD)))
    end = data.draw(st.integers(begin, len(GOOD)))
    filling = data.draw(st.text(max_size=5))
    accepted_or_refused(lambda: parse_scenario(GOOD[:begin] + filling + GOOD[end:]))


@given(st.sampled_from(list(places(DOCUMENT))), VALUES)
def test_any_value_at_any_place_is_accepted_or_refused(place, value):
    document = deepcopy(DOCUMENT)
    here = document
    for key in place[:-1]:
        here = here[key]
    here[place[-1]] = value
    accepted_or_refused(lambda: scenario_from_document(document))


@given(st.floats(min_value=1e-3, max_value=1e6), st.floats(min_value=1.0, max_value=1e13))
def test_every_duration_and_rate_in_range_fits_the_cores_integers(duration, rate):
    document = deepcopy(DOCUMENT)
    document.update({"duration": f"{duration!r} s", "warm_up": "0 s", "changes": []})
    document["flows"] = {"early": document["flows"]["early"] | {"start": "0 s"}}
    document["links"]["bottleneck"]["rate"] = f"{rate!r} bit/s"
    scenario = scenario_from_document(document)
    assert math.isclose(scenario.duration, duration)
