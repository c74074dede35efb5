"""Whatever is wrong, at whatever place and in whatever file: a refusal in one line, no panic."""

import contextlib
import io
import json
import string
import tempfile
from copy import deepcopy
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from test_scenario_errors import GOOD
from test_scenario_properties import VALUES, accepted_or_refused, places
from vermilion import _core
from vermilion.cli import main
from vermilion.scenario import (
    ScenarioError,
    load_scenario,
    parse_scenario,
    scenario_from_document,
    scenario_names,
)

ODD_VALUES = st.one_of(
    VALUES,
    st.sampled_from(
        [
            -1, 0, 2**31, 2**32, 2**63, 2**64, -(2**63), 10**400, 1e-320, 1e308, float("nan"),
            float("inf"), "", "\0", "\ud7ff", "naïve ☃", "0 s", "-0 s", "1e999 s", "nan s",
            "0 bit/s", "1e13 bit/s", "10.0001 Tbit/s", "0 packets", "1e10 packets", "101 %",
            "0 bytes", "65535 bytes", "65536 bytes", "1 s .. 0 s", "1 s ..", "5 apples",
            "x" * 100_000, [[]] * 2000, {"kind": "web"}, {"distribution": "pareto"}, "automatic",
        ]
    ),
)  # fmt: skip

EVERYTHING = """
duration = "10 s"
[links.radio]
rate_schedule = [["0 s", "10 Mbit/s"], ["2 s", "0 bit/s"], ["3 s", "20 Mbit/s"]]
repeat = "4 s"
delay = "10 ms"
queue = { discipline = "codel" }
loss = { model = "gilbert-elliott", good_to_bad = 0.01, bad_to_good = 0.2 }
[links.back]
rate = "1 Mbit/s"
delay = "1 ms"
queue = { discipline = "pie" }
[flows.web]
path = ["radio"]
return_path = ["back"]
rtt = { distribution = "lognormal", median = "50 ms", sigma = 0.5, min = "11 ms", max = "1 s" }
access_rate = "100 Mbit/s"
sender = { congestion_control = "cubic", option_set = "linux" }
[flows.web.traffic]
kind = "web"
mean_gap = "50 ms"
size = { distribution = "empirical", table = [["1 kB", 0.3], ["1 MB", 1]] }
[flows.turns]
count = 3
path = ["radio"]
rtt = ["20 ms", "50 ms"]
sender = "bbr"
[flows.turns.traffic]
kind = "on-off"
size = "10 kB"
off = { distribution = "pareto", mean = "1 s", shape = 2 }
[flows.voice]
path = ["radio", "back"]
traffic = { kind = "on-off", rate = "64 kbit/s", on = "1 s", off = "1 s" }
[[changes]]
at = "5 s"
link = "radio"
loss = { model = "bernoulli", probability = 0 }
"""

DOCUMENTS = {
    "everything": dict(parse_scenario(EVERYTHING).document),
    **{name: dict(load_scenario(name).document) for name in scenario_names()},
}
PLACES = [(name, place) for name, document in DOCUMENTS.items() for place in places(document)]


def holder(document, place):
    for key in place[:-1]:
        document = document[key]
    return document


@given(st.lists(st.tuples(st.sampled_from(PLACES), ODD_VALUES, st.booleans()), max_size=3))
def test_a_scenario_with_odd_values_or_missing_keys_is_accepted_or_refused(mistakes):
    assume(mistakes)
    name = mistakes[0][0][0]
    document = deepcopy(DOCUMENTS[name])
    for (_, place), value, missing in mistakes:
        with contextlib.suppress(KeyError, IndexError, TypeError):
            if missing:
                del holder(document, place)[place[-1]]
            else:
                holder(document, place)[place[-1]] = deepcopy(value)
    accepted_or_refused(lambda: scenario_from_document(document))


def is_refused(text):
    try:
        parse_scenario(text)
    except ScenarioError:
        return True
    return False


@given(st.integers(0, len(GOOD)), st.integers(0, 40), st.text(max_size=10))
def test_the_command_line_refuses_in_one_line_with_exit_code_2(begin, length, filling):
    text = GOOD[:begin] + filling + GOOD[begin + length :]
    assume(is_refused(text))
    out, err = io.StringIO(), io.StringIO()
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "any.toml"
        path.write_text(text, encoding="utf-8", errors="replace")
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(["run", str(path)])
    assert (code, out.getvalue()) == (2, "")
    assert len(err.getvalue().splitlines()) == 1
    assert "Traceback" not in err.getvalue()


TRACE = """
duration = "10 s"
[links.l]
{rate}
delay = "1 ms"
queue = {{ discipline = "drop-tail" }}
[flows.f]
path = ["l"]
rtt = "20 ms"
sender = "reno"
traffic = {traffic}
"""
LISTED = TRACE.format(rate='rate = "1 Mbit/s"', traffic='{ kind = "trace", file = "x" }')
DELIVERED = TRACE.format(rate='trace = "x"', traffic='"bulk"')


def with_file(scenario, content):
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "scenario.toml"
        path.write_text(scenario)
        (path.parent / "x").write_bytes(content)
        accepted_or_refused(lambda: load_scenario(path))


FIELDS = st.one_of(
    st.sampled_from(["0", "1", "-1", "1e3", "1e400", "nan", "inf", "", " ", '"', '"1"', "1,", "f",
                     "99999999999999999999", "0x10", "1_0", "\0", "\u0661", "1.5"]),
    st.text(max_size=5),
)  # fmt: skip
ROWS = st.lists(st.lists(FIELDS, min_size=1, max_size=4).map(",".join), max_size=6)
ENDS = st.sampled_from(["\n", "\r\n", "\r", "\n\n", "\u2028"])
HEADERS = st.sampled_from(
    ["start_s,size_bytes", "size,start,path", "start_s,size_bytes,path", "start,start", ""]
)


@given(HEADERS, ROWS, ENDS, st.booleans())
def test_any_table_of_transfers_is_accepted_or_refused(header, rows, end, marked):
    text = ("\ufeff" if marked else "") + end.join([header, *rows])
    with_file(LISTED, text.encode("utf-8", "surrogatepass"))


@given(ROWS, ENDS, st.booleans())
def test_any_lines_as_delivery_opportunities_are_accepted_or_refused(rows, end, marked):
    text = ("\ufeff" if marked else "") + end.join(rows)
    with_file(DELIVERED, text.encode("utf-8", "surrogatepass"))


@given(st.binary(max_size=100), st.sampled_from([LISTED, DELIVERED]))
def test_any_bytes_as_a_trace_are_accepted_or_refused(content, scenario):
    with_file(scenario, content)


@pytest.mark.parametrize("scenario", [LISTED, DELIVERED])
@pytest.mark.parametrize("name", ["/dev/zero", "/", "", "no/such/file", "\\u0000"])
def test_a_trace_without_end_or_place_is_refused(tmp_path, scenario, name):
    path = tmp_path / "scenario.toml"
    path.write_text(scenario.replace('"x"', f'"{name}"'))
    with pytest.raises(ScenarioError, match=r"flows\.f\.traffic|links\.l\.trace"):
        load_scenario(path)


CORE = json.loads(parse_scenario(EVERYTHING).core_json())
NUMBERS = st.sampled_from(
    [-1, 0, 1, 0.5, 2**16, 2**31 - 1, 2**32 - 1, 2**32, 2**53, 2**63 - 1, 2**63, 2**64 - 1, 2**64,
     10**12, 10**13, 10**13 + 1, 10**15, 10**15 + 1, 3_600 * 10**9, -(2**63), 1e-300, 1e300, 1e19]
)  # fmt: skip
CORE_VALUES = st.one_of(
    NUMBERS,
    st.lists(NUMBERS, max_size=3),
    st.lists(st.lists(NUMBERS, min_size=2, max_size=2), max_size=3),
    st.sampled_from([None, True, "", "radio", {}, [], {"kind": "bulk"}, "\u2603"]),
    st.text(string.printable, max_size=5),
)


def built_or_refused(document):
    text = document if isinstance(document, str) else json.dumps(document)
    try:
        simulation = _core.Simulation(text, 2**64 - 1)
        simulation.advance(0)
        json.loads(simulation.result()[0])
    except _core.ParameterError as error:
        assert len(error.args) == 3  # noqa: PT017 - both ways out are as they should be


@given(st.lists(st.tuples(st.sampled_from(list(places(CORE))), CORE_VALUES), max_size=3))
def test_the_core_builds_or_refuses_whatever_it_is_given(mistakes):
    document = deepcopy(CORE)
    for place, value in mistakes:
        with contextlib.suppress(KeyError, IndexError, TypeError):
            # A copy: a later mistake may be made in this value, and must not be made in itself.
            holder(document, place)[place[-1]] = deepcopy(value)
    built_or_refused(document)


@pytest.mark.parametrize("text", ["", "null", "[]", "{", "[" * 100_000, '{"links": ' * 500, "\0"])
def test_the_core_refuses_what_is_no_scenario(text):
    with pytest.raises(_core.ParameterError):
        _core.check(text)
