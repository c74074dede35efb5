"""The bench: a fixed suite, a folder with everything, and the same bits again."""

import csv
import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import vermilion
from html_page import Page
from test_cli import refused
from test_cli import vermilion as command
from vermilion.bench import Bench, BenchError, cases, reproduce
from vermilion.bench import suite as suite_module
from vermilion.bench.outputs import Outputs, Table
from vermilion.scenario import parse_scenario

__all__ = ["command"]

COPA = Path(__file__).parents[2] / "docs" / "examples" / "copa.py"


@pytest.fixture
def copa():
    vermilion.load_plugins([COPA])
    yield "copa"
    vermilion.unregister_congestion_control("copa")


@pytest.fixture
def short(monkeypatch):
    """The quick suite with runs of a few seconds, two rivals and two seeds."""
    found = cases("sender", quick=True)
    kept = {each.family.name: each for each in found}
    shorter = [
        suite_module.Case(each.family, each.name, each.conditions, _shortened(each.text))
        for each in kept.values()
    ]
    monkeypatch.setattr("vermilion.bench.bench.cases", lambda *_args, **_quick: shorter)
    monkeypatch.setattr("vermilion.bench.bench.rivals", lambda _kind: ["cubic", "bbr"])
    monkeypatch.setattr("vermilion.bench.bench.number_of_seeds", lambda **_quick: 2)


def _shortened(text):
    for long, duration in (("30 s", "10 s"), ("20 s", "8 s"), ("40 s", "10 s"), ("60 ms", "10 ms")):
        text = text.replace(f'duration = "{long}"', f'duration = "{duration}"')
    return text.replace('stop = "0.03 s"', 'stop = "0.002 s"').replace('"50 s"', '"26 s"')


@pytest.mark.parametrize("quick", [True, False])
@pytest.mark.parametrize("kind", ["sender", "discipline"])
def test_every_scenario_of_the_suite_takes_every_rival(kind, quick):
    for case in cases(kind, quick=quick):
        if case.family.fabric:
            assert case.fabric("dctcp").table.sender is not None
            continue
        parse_scenario(case.text, case.name)
        for rival in suite_module.rivals(kind):
            case.scenario(kind, rival, "cubic" if case.family.pairs else "")


def test_a_buffer_is_in_delay_products_of_the_longest_round_trip():
    [case] = [
        each
        for each in cases("sender", quick=True)
        if each.conditions == {"network": "50 Mbit/s, 40 ms", "buffer": "4"}
    ]
    limit = case.scenario("sender", "cubic").get("links.line.queue.limit")
    assert limit == 667  # 4 x 50 Mbit/s x 40 ms / 1500 bytes, rounded up
    assert case.scenario("sender", "bbr").get("flows.own.sender.option_set") == "linux"


def test_who_answers_no_marks_is_not_ecn_capable(copa):
    [case] = [each for each in cases("sender", quick=True) if each.name == "ecn-codel"]
    assert case.scenario("sender", copa).get("flows.own.sender.ecn") is False
    assert case.scenario("sender", "dctcp").get("flows.own.sender.ecn") is True


def test_copa_keeps_a_short_queue_and_competes(copa):
    [case] = [each for each in cases("sender", quick=True) if each.name == "duel-1"]
    alone = vermilion.run(case.scenario("sender", copa, copa), 1).link("line").total
    other = vermilion.run(case.scenario("sender", "cubic", "cubic"), 1).link("line").total
    assert alone["utilization"] > 0.97
    assert alone["sojourn_ms"]["mean"] < other["sojourn_ms"]["mean"] / 2
    beside = vermilion.run(case.scenario("sender", copa, "cubic"), 1)
    share = [beside.flows(group).total["goodput_bit_per_s"]["total"] for group in ("own", "other")]
    assert 0.25 < share[0] / sum(share) < 0.8


@pytest.mark.usefixtures("short")
def test_a_folder_has_everything_and_is_the_same_again(copa, tmp_path):
    folder = tmp_path / "held"
    bench = Bench.of(sender=copa, plugins=[str(COPA)], quick=True, command="vermilion bench")
    found = bench.run(folder, threads=1)
    Outputs(bench, found).write(folder)

    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["contestants"] == {"copa": "copa", "cubic": "cubic", "bbr": "bbr"}
    assert (folder / manifest["plugins"][0]["file"]).read_bytes() == COPA.read_bytes()
    for name, file in manifest["scenarios"].items():
        if not name.startswith("fabric"):
            vermilion.load_scenario(folder / file)
    names = {each.stem for each in (folder / "figures").glob("*.pdf")}
    assert {"plane", "plane-wide", "duel", "over-time", "fairness", "web", "fabric"} <= names
    for stem in names:
        svg = ET.parse(folder / "figures" / f"{stem}.svg")  # noqa: S314 - our own
        assert svg.getroot().get("width") == ("504pt" if stem.endswith("-wide") else "237.6pt")
        assert (folder / "figures" / f"{stem}.png").stat().st_size > 1000
    rows = list(csv.DictReader((folder / "data" / "runs.csv").read_text().splitlines()))
    used = [
        float(row["value"])
        for row in rows
        if (row["contestant"], row["metric"], row["family"]) == ("copa", "utilization", "dumbbell")
    ]
    assert len(used) == 2
    assert min(used) > 0.8
    page = Page((folder / "index.html").read_text(encoding="utf-8"))
    assert page is not None

    again = reproduce(folder, threads=1)
    assert again.identical
    assert again.runs == 2 * len(bench.tasks())
    kept = min((folder / "runs").glob("duel*cubic*.json"))
    document = json.loads(kept.read_text(encoding="utf-8"))
    document["seeds"][1]["numbers"]["utilization"] += 1e-12
    kept.write_text(json.dumps(document), encoding="utf-8")
    [line] = reproduce(folder, threads=1).differences
    assert "[1].numbers.utilization" in line


@pytest.mark.usefixtures("short")
def test_what_was_run_is_not_run_again_and_another_bench_is_refused(copa, tmp_path):
    bench = Bench.of(sender=copa, plugins=[str(COPA)], quick=True)
    done = []

    def stop(count):
        done.append(count)
        if count == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bench.run(tmp_path, threads=1, progress=stop)
    kept = {each: each.stat().st_mtime_ns for each in (tmp_path / "runs").iterdir()}
    assert len(kept) == 3
    bench.run(tmp_path, threads=1)
    assert {each: each.stat().st_mtime_ns for each in kept} == kept
    with pytest.raises(BenchError, match="holds another bench"):
        Bench.of(sender="vegas", quick=True).run(tmp_path, threads=1)


def test_a_comparison_is_reproduced_from_its_json(command, tmp_path):
    target = tmp_path / "compared.json"
    arguments = ["--sender=cubic", f"--plugin={COPA}", "--sender=copa=mine", "--seeds=2"]
    shorter = ["--set=duration=8 s", "--set=warm_up=2 s", "--set=flows.late.start=3 s"]
    assert command("compare", "varying-load", *arguments, *shorter, f"--json={target}")[0] == 0
    vermilion.unregister_congestion_control("copa")
    code, out, _ = command("reproduce", target)
    assert (code, out) == (0, "identical: 4 runs, bit for bit\n")
    document = json.loads(target.read_text(encoding="utf-8"))
    document["variants"][1]["links"]["bottleneck"]["total"]["utilization"]["mean"] -= 1e-9
    target.write_text(json.dumps(document), encoding="utf-8")
    code, out, _ = command("reproduce", target)
    assert code == 1
    assert "utilization.mean" in out
    vermilion.unregister_congestion_control("copa")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--sender=cubic", "--discipline=red"], "expected one of them"),
        ([], "expected the name of one"),
        (["--sender=cubik"], 'did you mean "cubic"'),
        (["--discipline=reed"], 'did you mean "red"'),
    ],
)
def test_a_bench_of_nothing_is_refused(command, tmp_path, arguments, words):
    folder = tmp_path / "held"
    assert words in refused(command("bench", "-o", folder, *arguments))
    assert not folder.exists()
    assert "expected a folder of vermilion bench" in refused(command("reproduce", folder))


def test_a_table_is_latex():
    table = Table("t", "T", ["", "used (%)"], [["a_b", "9.5 ± 0.1"], ["c", "-"]])
    assert "a\\_b & 9.5$_{\\pm 0.1}$ \\\\" in table.latex()
    assert "used (\\%)" in table.latex()
    assert "c & -- \\\\" in table.latex()


STEADY = """
[queue]
discipline = "red"
limit = "100 packets"
min_threshold = "15 packets"
max_threshold = "45 packets"
max_probability = 0.4
weight = 0.05
gentle = true
"""


def test_a_steady_queue_has_all_points_and_an_oscillating_one_has_not(command, tmp_path):
    file, grade = tmp_path / "queue.toml", tmp_path / "grade.json"
    file.write_text(STEADY, encoding="utf-8")
    code, out, _ = command("check", file, "--assignment=red", f"--json={grade}")
    assert code == 0, out
    document = json.loads(grade.read_text(encoding="utf-8"))
    assert document["points"] == document["of"] == 10
    file.write_text(STEADY.replace("0.05", "0.002").replace("0.4", "0.1"), encoding="utf-8")
    code, out, _ = command("check", file, "--assignment=red")
    assert code == 1
    assert out.startswith("0 of 4  deviation of the queue")


def test_a_fair_sender_and_a_queue_for_each_flow_have_all_points(command, tmp_path):
    file = tmp_path / "reno.py"
    file.write_text(
        "from vermilion import CongestionControl\n"
        "class Mine(CongestionControl):\n"
        "    name = 'handed-in'\n"
        "    def on_ack(self, ack, window):\n"
        "        window.size += 1 if window.in_slow_start else 1 / window.size\n"
        "    def on_loss(self, loss, window):\n"
        "        return loss.base / 2\n",
        encoding="utf-8",
    )
    code, out, _ = command("check", file, "--assignment=aimd")
    vermilion.unregister_congestion_control("handed-in")
    assert code == 0, out
    file = tmp_path / "queue.toml"
    file.write_text('[queue]\ndiscipline = "fq-codel"\n', encoding="utf-8")
    code, out, _ = command("check", file, "--assignment=bufferbloat")
    assert code == 0, out
    file.write_text('[queue]\ndiscipline = "drop-tail"\n', encoding="utf-8")
    assert command("check", file, "--assignment=bufferbloat")[0] == 1


def test_what_is_no_submission_is_refused(command, tmp_path):
    file = tmp_path / "empty.toml"
    file.write_text("", encoding="utf-8")
    assert "a table [queue]" in refused(command("check", file, "--assignment=red"))
    assert "expected red, aimd, bufferbloat" in refused(command("check", file, "--assignment=x"))
