"""Files from elsewhere cost neither time nor memory without bound, and no message quotes them."""

import os
import re
import time
import tomllib
from pathlib import Path

import pytest

import vermilion
from vermilion.cli.entry import main
from vermilion.objectives.registry import objective_from_text
from vermilion.online.router_policy import read_policy
from vermilion.routers.snmp.credentials import parse_credentials
from vermilion.scenario import ScenarioError, load_scenario, parse_scenario
from vermilion.scenario.toml_text import MOST_KEY_PARTS, TomlError, parse_toml
from vermilion_lab.atlas.plan import read_plan_file
from vermilion_lab.interchange import read_mahimahi, read_rattan

PYTHON = Path(vermilion.__file__).parent.parent
LONG_KEY = "a." * 50_000 + "a = 1"


def nested(parts):
    return ".".join("abcd"[index % 4] for index in range(parts))


@pytest.mark.parametrize(
    "text",
    [
        LONG_KEY,
        f"[{LONG_KEY.removesuffix(' = 1')}]",
        f"x = {{ y = 1, {LONG_KEY} }}",
        f'x = {{ y = """z"""", {LONG_KEY} }}',
        f"x = {{ y = '''z'''', {LONG_KEY} }}",
        f'x = [\n\'#\', # """\n{{ {LONG_KEY} }}]',
        '"a\u2028" . "b.c" .\t\'d\'.' * 50_000 + "a = 1",
        f"{nested(MOST_KEY_PARTS + 1)} = 1",
    ],
)
def test_a_key_of_very_many_parts_never_reaches_the_parser(text, monkeypatch):
    monkeypatch.setattr(tomllib, "loads", lambda _: pytest.fail("it was parsed"))
    with pytest.raises(TomlError, match=f"at line [13] has more than the {MOST_KEY_PARTS} parts"):
        parse_toml(text)


@pytest.mark.parametrize(
    "value",
    [
        '"{}"',
        "'{}'",
        '"""\n{}"""',
        "'''{}\n'''",
        '"\\"{}"',
        "1 # {}",
        '"""\\"""{}"""',
        '"""""{}"""',
    ],
)
def test_dots_in_texts_and_comments_are_no_keys(value):
    text = f"{nested(MOST_KEY_PARTS)} = {value.format('a.' * 100)}"
    assert parse_toml(text) == tomllib.loads(text)


def test_the_search_for_a_unit_in_a_wrong_line_is_short():
    begun_s = time.monotonic()
    with pytest.raises(ValueError, match="Invalid statement"):
        parse_toml("." * 300_000)
    assert time.monotonic() - begun_s < 10.0  # ten times 300,000 squared steps take minutes


def read_rattan_text(text, folder):
    (folder / "trace.toml").write_text(text, encoding="utf-8")
    return read_rattan(folder / "trace.toml")


def read_plan(text, folder):
    (folder / "plan.toml").write_text(text, encoding="utf-8")
    return read_plan_file(str(folder / "plan.toml"))


@pytest.mark.parametrize(
    "read",
    [
        lambda text, _: parse_scenario(text),
        lambda text, _: read_policy(text),
        lambda text, _: parse_credentials(text, "host"),
        read_rattan_text,
        read_plan,
        lambda text, _: objective_from_text(f"{{ {text} }}", load_scenario("varying-load")),
    ],
    ids=["scenario", "policy", "credentials", "rattan", "atlas-plan", "objective"],
)
def test_whatever_reads_toml_refuses_such_a_key(read, tmp_path, monkeypatch):
    scenario = load_scenario("varying-load")
    monkeypatch.setattr(tomllib, "loads", lambda _: pytest.fail("it was parsed"))
    monkeypatch.setattr("test_hostile_input.load_scenario", lambda _: scenario, raising=False)
    with pytest.raises(ValueError) as refused:  # noqa: PT011 - each reader has an error of its own
        read(LONG_KEY, tmp_path)
    assert len(str(refused.value)) < 500


def test_one_place_reads_toml():
    users = [
        str(file.relative_to(PYTHON))
        for file in PYTHON.rglob("*.py")
        if re.search(r"^\s*(import|from) tomllib", file.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    assert users == ["vermilion/scenario/toml_text.py"]


def test_a_scenario_with_such_a_key_ends_a_command_with_code_2(tmp_path, capsys):
    (tmp_path / "long.toml").write_text(LONG_KEY, encoding="utf-8")
    assert main(["run", str(tmp_path / "long.toml")]) == 2
    message = capsys.readouterr().err
    assert "at line 1" in message
    assert len(message) < 500


LINK = """
duration = "10 s"
[links.only]
delay = "10 ms"
queue = { discipline = "drop-tail", limit = "100 packets" }
"""
FLOWS = """
[flows.some]
path = ["only"]
rtt = "40 ms"
"""


def with_file(kind, name):
    """A scenario whose link or flows follow a file."""
    if kind == "trace":
        return f'{LINK}trace = "{name}"\n{FLOWS}sender = "reno"'.replace("queue =", "queue =", 1)
    traffic = f'sender = "reno"\ntraffic = {{ kind = "trace", file = "{name}" }}'
    return f'{LINK}rate = "1 Mbit/s"\n{FLOWS}{traffic}'


SECRETS = [
    "root:$6$hunter2:19000:0:99999:7:::\n",
    "start_s,size_bytes\n1,5\nhunter2,5\n",
    "start_s,size_bytes\n1,5\n1,hunter2\n",
    "start_s,size_bytes,path\n1,5,hunter2\n",
    "start_s,size_bytes,hunter2\n1,5,some\n",
    "1\n2\nhunter2\n",
    "55512345\n2\n",
    "99955512345\n",
    "start_s,size_bytes\n-55512345,5\n",
    "start_s,size_bytes\n1,55512345000000000000\n",
]


@pytest.mark.parametrize("kind", ["trace", "traffic"])
@pytest.mark.parametrize("content", SECRETS)
def test_an_error_about_a_file_that_a_scenario_names_quotes_nothing_of_it(tmp_path, kind, content):
    (tmp_path / "secret").write_text(content, encoding="ascii")
    (tmp_path / "mine.toml").write_text(with_file(kind, "secret"), encoding="utf-8")
    with pytest.raises(ScenarioError) as refused:
        load_scenario(tmp_path / "mine.toml")
    message = str(refused.value)
    assert "hunter2" not in message
    assert "555123" not in message
    assert "secret, line " in message
    assert refused.value.accepted


def test_nor_does_one_about_a_trace_that_is_converted(tmp_path):
    (tmp_path / "secret").write_text("5\nhunter2\n", encoding="ascii")
    with pytest.raises(ScenarioError, match="secret, line 2") as refused:
        read_mahimahi(tmp_path / "secret")
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize("kind", ["trace", "traffic"])
@pytest.mark.parametrize("name", ["/dev/zero", "pipe", "folder", "/dev/tty", "nowhere", "x\\u0000"])
def test_what_is_no_file_is_refused_without_waiting(tmp_path, kind, name):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "mine.toml").write_text(with_file(kind, name), encoding="utf-8")
    with pytest.raises(ScenarioError) as refused:
        load_scenario(tmp_path / "mine.toml")
    field = {"trace": "links.only.trace", "traffic": "flows.some.traffic.file"}[kind]
    assert refused.value.field == field


def test_a_plan_without_end_is_refused():
    with pytest.raises(ScenarioError, match="larger than"):
        read_plan_file("/dev/zero")


def flood(discipline="drop-tail", limit=1_000_000_000, more=""):
    return f"""
duration = "10 s"
[links.bottleneck]
rate = "1 Mbit/s"
delay = "0 ms"
queue = {{ discipline = "{discipline}", limit = "{limit} packets" }}
[flows.udp]
path = ["bottleneck"]
rtt = "1 ms"
packet_size = "100 bytes"
traffic = {{ kind = "constant-rate", rate = "100 Gbit/s" }}
{more}"""


@pytest.mark.parametrize("discipline", ["drop-tail", "codel", "fq-codel"])
def test_a_queue_that_would_fill_the_memory_is_refused_before_the_run(discipline):
    parse_scenario(flood(discipline, 1000))
    with pytest.raises(ScenarioError) as refused:
        parse_scenario(flood(discipline))
    assert refused.value.field.startswith("links.bottleneck.queue.")
    assert "1000000000 packets" in str(refused.value.value) or "bytes" in str(refused.value.value)
    assert "20000000 packets" in refused.value.accepted


RAISED = '[[changes]]\nat = "0 s"\nlink = "bottleneck"\nqueue = { limit = "1000000000 packets" }'


@pytest.mark.parametrize("run", [vermilion.run, lambda each: vermilion.run_many([each], seeds=[1])])
def test_a_queue_that_fills_the_memory_all_the_same_ends_the_run(run):
    scenario = parse_scenario(flood(limit=1000, more=RAISED))
    with pytest.raises(ScenarioError) as refused:
        run(scenario)
    assert refused.value.field == "links.bottleneck.queue"
    assert int(refused.value.value.split()[0]) < 21_000_000
