"""What commands write with --json is what their schemas say, key by key."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest
import typer

from vermilion.cli import main
from vermilion.cli.application import application
from vermilion.cli.json_documents import DOCUMENTS, read_json
from vermilion.cli.json_output import write_json
from vermilion_lab.cli.json_documents import DOCUMENTS as OF_LABORATORY

ROOT = Path(__file__).parents[2]
SCENARIO = """
title = "Short"
duration = "3 s"
warm_up = "1 s"
[links.bottleneck]
rate = "4 Mbit/s"
delay = "10 ms"
queue = { discipline = "red", limit = "100 packets", min_threshold = "15 packets", \
max_threshold = "45 packets" }
[flows.early]
count = 3
path = ["bottleneck"]
rtt = "28 ms"
sender = "reno"
[tuning]
parameters = ["links.bottleneck.queue.max_probability"]
"""


def test_every_command_with_json_has_a_schema():
    group = typer.main.get_command(application())
    commands = {
        name
        for name in group.list_commands(None)
        if any("--json" in each.opts for each in group.get_command(None, name).params)
    }
    assert commands == {*DOCUMENTS, *OF_LABORATORY}


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    folder = tmp_path_factory.mktemp("json")
    (folder / "s.toml").write_text(SCENARIO)
    return folder


@pytest.mark.parametrize(
    "words",
    [
        "disciplines",
        "disciplines codel",
        "senders",
        "objectives",
        "objectives knee",
        "scenarios",
        "run s.toml",
        "compare s.toml --discipline pie --seeds 2",
        "tune s.toml --budget 5",
        "tune s.toml --pareto --budget 5",
        "online s.toml --journal j.sqlite",
        "status j.sqlite",
        "undo j.sqlite",
        "routers",
        "monitor capture.pcap",
    ],
)
def test_a_document_is_what_its_schema_says(words, here, monkeypatch, capsys):
    monkeypatch.chdir(here)
    command, *more = words.split()
    if "j.sqlite" in more and not Path("j.sqlite").exists():
        assert main(["online", "s.toml", "--journal", "j.sqlite"]) == 0
    captures = ROOT / "tests" / "reference" / "captures"
    more = [str(captures / "bulk.pcap") if each == "capture.pcap" else each for each in more]
    code = main([command, *more, "--json", "out.json"])
    if command == "routers" and code == 2:
        pytest.skip(capsys.readouterr().err)
    assert code == 0
    text = Path("out.json").read_text(encoding="utf-8")
    assert read_json(command, text) == json.loads(text)


def test_what_is_no_such_document_is_refused():
    with pytest.raises(ValueError, match="packets_forwarded"):
        read_json("run", "{}")


def test_a_number_that_json_does_not_have_is_a_mistake_of_what_was_read():
    with pytest.raises(Exception, match="cannot be written as JSON"):
        write_json(sys.stdout, {"a": float("nan")})


def test_the_published_schemas_describe_every_document():
    place = ROOT / "docs" / "_extensions" / "json_schemas.py"
    spec = importlib.util.spec_from_file_location("json_schemas", place)
    extension = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(extension)
    for command in extension.TYPES:
        schema = extension.schema(command)
        assert schema["title"] == f"vermilion {command} --json"
        assert {"properties", "anyOf", "items"} & set(schema)
