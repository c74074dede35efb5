"""Earlier answers: conditions, their distance, the file, and what a tuning makes of them."""

import json
import math
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict

import pytest

import vermilion
from vermilion.files.document import read_as
from vermilion.objectives import objective_of
from vermilion.scenario import load_scenario
from vermilion.tuning import AnswerFile, AnswerFileError, earlier_answers
from vermilion.tuning.earlier_answers import (
    EarlierAnswer,
    ScenarioConditions,
    conditions_of,
    distance,
    nearest_answers,
)

QUEUE = "links.bottleneck.queue"
GOOD = {
    f"{QUEUE}.min_threshold": 11.0,
    f"{QUEUE}.max_threshold": 30.0,
    f"{QUEUE}.max_probability": 0.0075,
    f"{QUEUE}.weight": 0.085,
}


def conditions(name="varying-load", **changes):
    scenario = load_scenario(name).with_values(
        {path.replace("__", "."): value for path, value in changes.items()}
    )
    return conditions_of(scenario, scenario.tuning.parameters, objective_of(scenario))


def test_conditions_are_those_of_the_measured_time():
    link = conditions().links["bottleneck"]
    # 16 flows all the time and 48 from 20.5 s on average, of the time from 5 s to 80 s.
    assert link.flows == pytest.approx(16 + 48 * (80 - 20.5) / 75)
    assert link.rate_bit_per_s == 10e6
    assert link.round_trip_s == pytest.approx(0.028)
    assert (link.packet_bytes, link.ecn_share) == (1000.0, 0.0)


def test_round_trips_are_weighted_by_who_is_there():
    link = conditions("varying-round-trip-time").links["bottleneck"]
    # 16 near ones until 30 s and 16 far ones from then on, of the time from 5 s to 120 s.
    assert link.flows == pytest.approx(16.0)
    assert link.round_trip_s == pytest.approx((25 * 0.028 + 90 * 0.180) / 115)


def test_conditions_are_of_each_tuned_link():
    links = conditions("four-red-queues").links
    assert list(links) == ["first", "second", "third", "fourth"]
    assert links["third"].flows == pytest.approx(16.0)
    assert links["third"].round_trip_s == pytest.approx((0.048 + 0.018) / 2)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, 0.0),
        ({"links__bottleneck__rate": "20 Mbit/s"}, math.log(2)),
        ({"flows__early__count": 32, "flows__late__count": 96}, math.log(2)),
        ({"flows__early__rtt": "84 ms", "flows__late__rtt": "84 ms"}, math.log(3)),
        ({"tuning__objective__target": "15 packets"}, math.log(2)),
        ({"links__bottleneck__queue__limit": "200 packets"}, 0.0),
    ],
)
def test_the_distance_is_the_one_that_is_stated(changes, expected):
    assert distance(conditions(), conditions(**changes)) == pytest.approx(expected)
    assert distance(conditions(**changes), conditions()) == pytest.approx(expected)


def test_half_of_the_flows_with_ecn_are_half_a_unit_away():
    marked = {f"flows__{group}__sender": {"congestion_control": "newreno", "ecn": True}
              for group in ("early", "late")}  # fmt: skip
    assert distance(conditions(), conditions(**marked)) == pytest.approx(1.0)


def test_an_answer_that_would_not_fit_is_infinitely_far():
    assert distance(conditions(), conditions("four-red-queues")) == math.inf
    other = conditions(tuning__objective__name="published-queue-variance")
    assert distance(conditions(), other) == math.inf


def test_conditions_survive_json():
    for name in ("varying-load", "four-red-queues"):
        text = json.dumps(asdict(conditions(name)))
        assert read_as(ScenarioConditions, text) == conditions(name)


def test_the_nearest_come_first_and_the_newest_of_equals():
    answers = [
        EarlierAnswer(place, {"x": value})
        for place, value in ((9.0, 0.0), (1.0, 1.0), (5.0, 2.0), (1.0, 3.0), (2.0, 1.0))
    ]
    found = nearest_answers(answers, lambda place: abs(place - 1.0), 3)
    assert [(apart, answer.setting["x"]) for apart, answer in found] == [
        (0.0, 3.0), (0.0, 1.0), (4.0, 2.0),
    ]  # fmt: skip
    assert nearest_answers(answers, lambda _: math.inf, 3) == []


def test_a_file_forgets_the_oldest(tmp_path, monkeypatch):
    monkeypatch.setattr(earlier_answers, "MOST_ANSWERS", 2)
    path = tmp_path / "answers.json"
    of_tuning = AnswerFile(path)
    for name in ("first", "second", "third"):
        of_tuning.add(EarlierAnswer(conditions(), GOOD, name))
    assert sources(path) == [each.source for each in of_tuning.answers] == ["second", "third"]


@pytest.mark.evidence
def test_an_accepted_recommendation_is_where_the_next_tuning_begins(tmp_path):
    path = tmp_path / "answers.json"
    scenario = load_scenario("varying-load").with_values({"duration": "30 s"})
    first = vermilion.tune(scenario, budget=60, answers=AnswerFile(path))
    assert first.accepted
    assert first.warm_starts == ()
    similar = scenario.with_values({"flows.late.count": 40})
    second = vermilion.tune(similar, budget=2, answers=AnswerFile(path))
    [(source, apart)] = second.warm_starts
    assert source == first.scenario
    assert 0.0 < apart < math.log(64 / 56)
    assert second.parameters == pytest.approx(first.parameters)
    assert f"the nearest that to {source}" in str(second)
    assert second.accepted
    assert len(list(AnswerFile(path).answers)) == 2


def test_what_is_not_accepted_is_not_remembered(tmp_path):
    path = tmp_path / "answers.json"
    scenario = load_scenario("varying-load").with_values({"duration": "30 s", **GOOD})
    refused = vermilion.tune(scenario, budget=3, answers=AnswerFile(path))
    assert not refused.accepted
    assert not path.exists()


def sources(path):
    return [answer.source for answer in AnswerFile(path).answers]


def test_of_two_tunings_that_end_one_after_the_other_both_answers_are_kept(tmp_path):
    path = tmp_path / "answers.json"
    first, second = AnswerFile(path), AnswerFile(path)
    first.add(EarlierAnswer(conditions(), GOOD, "first"))
    second.add(EarlierAnswer(conditions(), GOOD, "second"))
    assert sources(path) == ["first", "second"]
    assert [answer.source for answer in second.answers] == ["first", "second"]
    assert [each.name for each in tmp_path.iterdir()] == ["answers.json"]


def test_of_tunings_that_end_together_all_answers_are_kept(tmp_path):
    path = tmp_path / "answers.json"
    names = [str(number) for number in range(8)]
    begin = threading.Barrier(len(names))

    def end(name):
        of_tuning = AnswerFile(path)
        begin.wait()
        for round_ in range(5):
            of_tuning.add(EarlierAnswer(conditions(), GOOD, f"{name}.{round_}"))

    with ThreadPoolExecutor(len(names)) as tunings:
        list(tunings.map(end, names))
    assert sorted(sources(path)) == [f"{name}.{round_}" for name in names for round_ in range(5)]


def test_an_answer_is_not_written_over_what_became_something_else(tmp_path):
    path = tmp_path / "answers.json"
    answers = AnswerFile(path)
    path.write_text("a diary")
    with pytest.raises(AnswerFileError, match="expected a file of an earlier tuning"):
        answers.add(EarlierAnswer(conditions(), GOOD, "mine"))
    assert path.read_text() == "a diary"


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"version": 2, "answers": []}', '{"version": 1, "answers": [3]}',
     '{"version": 1, "answers": [{"setting": {}, "conditions": {}, "source": ""}]}'],
)  # fmt: skip
def test_a_file_of_something_else_is_refused(tmp_path, text):
    path = tmp_path / "answers.json"
    path.write_text(text)
    with pytest.raises(AnswerFileError, match="expected a file of an earlier tuning"):
        AnswerFile(path)
    with pytest.raises(AnswerFileError, match="no such directory"):
        AnswerFile(tmp_path / "nowhere" / "answers.json")


def test_a_file_whose_numbers_were_spoiled_is_refused(tmp_path):
    path = tmp_path / "answers.json"
    AnswerFile(path).add(EarlierAnswer(conditions(), GOOD, "x"))
    assert len(list(AnswerFile(path).answers)) == 1
    for old, new in ((" 30.0", ' "much"'), (" 10000000.0", " -1.0"), (" 0.085", " NaN")):
        spoiled = tmp_path / "spoiled.json"
        assert old in path.read_text()
        spoiled.write_text(path.read_text().replace(old, new))
        with pytest.raises(AnswerFileError):
            AnswerFile(spoiled)
