"""What the operator of a real router may write, and what is said of what is wrong."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from vermilion.objectives.queue_deviation import QueueDeviation
from vermilion.online.router_policy import (
    SERVICE_KEYS,
    Freedom,
    ManagedLink,
    policy_for,
    read_policy,
    scenario_of_routers,
)
from vermilion.scenario import ScenarioError

DOCS = Path(__file__).parents[2] / "docs"

CODEL = ManagedLink(
    interface="eth0.7",
    discipline="codel",
    in_force={"limit": 1000, "target": 0.005, "interval": 0.1, "ecn": False, "ce_threshold": None},
    settable=("limit", "target", "interval", "ce_threshold", "ecn"),
)
TAIL = ManagedLink("eth0", "drop-tail", {"limit": 1000}, ("limit",))

WHOLE = """
rate = "50 Mbit/s"
delay = "5 ms"
[tuning]
objective = { name = "queue-deviation", target = "6 ms" }
constraints = ["links.eth0-7.utilization >= 0.9"]
harm = ["flows.*.jain_index = none"]
parameters = ["target"]
space = { target = ["2 ms", "20 ms"] }
[freedom]
mode = "control"
changes_per_minute = 2
at_exit = "restore"
fall_back = { target = "8 ms" }
blind_after = "9 s"
"""


def policy(text="", link=CODEL, freedom=None):
    return policy_for(link, read_policy(text, "mine.toml"), freedom)


def refusal(text, link=CODEL):
    with pytest.raises(ScenarioError) as error:
        policy(text, link)
    return str(error.value)


def test_without_a_file_it_is_the_knee_by_the_disciplines_parameters_and_nothing_is_changed():
    found = policy_for(CODEL)
    assert "goodput at least 98 % of now" in found.objective.label
    assert found.parameters == ("target", "interval")
    assert (found.mode, found.at_exit, found.link) == ("observe", "keep", "eth0-7")


def test_every_word_of_a_file_counts():
    found = policy(WHOLE)
    # 50 Mbit/s are 25 packets of 1500 bytes in 6 ms.
    assert isinstance(found.objective, QueueDeviation)
    assert found.objective.target == pytest.approx(25.0)
    assert found.parameters == ("target",)
    assert found.constraints == ("links.eth0-7.utilization >= 0.9",)
    assert found.harm == ("flows.*.jain_index = none",)
    assert found.space == {"links.eth0-7.queue.target": ["2 ms", "20 ms"]}
    assert (found.mode, found.changes_per_minute, found.at_exit) == ("control", 2, "restore")
    assert (found.fall_back, found.blind_after_s) == ({"target": 0.008}, 9.0)


def test_the_command_line_wins_over_the_file():
    found = policy(WHOLE, freedom=Freedom(mode="propose", changes_per_minute=0, at_exit="keep"))
    assert (found.mode, found.changes_per_minute, found.at_exit) == ("propose", 0, "keep")
    assert found.blind_after_s == 9.0


def test_who_only_observes_restores_nothing():
    found = policy(WHOLE, freedom=Freedom(mode="observe"))
    assert found.at_exit == "keep"


def test_a_rate_is_needed_only_for_a_target_that_is_a_time():
    timed = '[tuning]\nobjective = { name = "queue-deviation", target = "6 ms" }'
    assert refusal(timed) == (
        'mine.toml: rate is missing; expected the link\'s rate, like rate = "50 Mbit/s", because '
        "the target is a time; or a target in packets"
    )
    assert policy(timed.replace("6 ms", "25 packets")).objective.target == 25.0


@pytest.mark.parametrize("rate", ["1 kbit/s", "10 Gbit/s"])
def test_nothing_of_the_made_up_traffic_reaches_the_policy(rate):
    assert policy(f'rate = "{rate}"') == policy()


def test_the_queue_of_the_scenario_is_as_it_is_in_force():
    queue = scenario_of_routers([CODEL], read_policy("")).links["eth0-7"].queue
    assert queue.algorithm.name == "codel"
    assert queue.parameters["target"] == 0.005


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("speed = 3", 'a key of a policy: one of "rate", "delay", "tuning", "freedom"'),
        ("[tuning]\ngoal = 3", '"objective", "constraints", "harm", "space", "parameters"'),
        ("[tuning]\nminimum_improvement = 0.1", "tuning.minimum_improvement: 0.1"),
        ("[freedom]\nmood = 3", 'a key of [freedom]: one of "mode", "changes_per_minute"'),
        ('[freedom]\nmode = "drive"', 'freedom.mode: "drive" is not accepted; expected one of'),
        ('[freedom]\nat_exit = "leave"', 'expected one of "keep", "restore"'),
        ("[freedom]\nchanges_per_minute = -1", "a whole number from 0"),
        ("[freedom]\nchanges_per_minute = true", "a whole number from 0"),
        ('[freedom]\nblind_after = "soon"', "freedom.blind_after"),
        ("[freedom]\nfall_back = 3", "a table of parameters"),
        ("[freedom.fall_back]\nflows = 3", "freedom.fall_back.flows: 3 is not accepted"),
        ('[freedom.fall_back]\ntarget = "8 apples"', 'freedom.fall_back.target: "8 apples"'),
        ("tuning = 3", "tuning: 3 is not accepted; expected a table"),
        ('rate = "fast"', 'rate: "fast" is not accepted; expected'),
        ("rate = 0", "rate: 0 is not accepted"),
        ('delay = "-1 s"', "delay"),
        ('[tuning]\nparameters = ["flows"]', 'one of "limit", "target", "interval"'),
        ("[tuning]\nparameters = []", "tuning.parameters: [] is not accepted"),
        ("[tuning]\nparameters = [3]", "tuning.parameters: 3 is not accepted"),
        ("[tuning]\nparameters = ['ecn']\nspace = { ecn = [0, 1] }", "a switch has none"),
        ("[tuning]\nspace = 3", "tuning.space: 3"),
        ("[tuning]\nspace = { limit = [1, 2] }", "a path listed in tuning.parameters"),
        ('[tuning]\nobjective = { name = "beauty" }', "queue-deviation"),
        ('[tuning]\nconstraints = ["links.eth1.utilization >= 0.9"]', "links.eth1"),
        ("rate = ", "is not valid TOML"),
        ("a = " + "[" * 5000, "is not valid TOML"),
    ],
)
def test_what_is_wrong_gets_one_line_that_names_it_and_what_is_accepted(text, words):
    message = refusal(text)
    assert words in message
    assert message.startswith("mine.toml: ")
    assert message.isprintable()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('mode = "propose"', '"answers"; mode belongs in [freedom]'),
        ("changes_per_minute = 2", "; changes_per_minute belongs in [freedom]"),
        ('[tuning]\nat_exit = "restore"', "; at_exit belongs in [freedom]"),
        ('objective = "knee"', "; objective belongs in [tuning]"),
        ('[freedom]\nlisten = "[::1]:80"', "; listen belongs at the top, before the first table"),
    ],
)
def test_a_key_in_the_wrong_table_is_told_where_it_belongs(text, words):
    assert refusal(text).endswith(words)


def test_a_key_that_no_table_has_is_told_of_no_other():
    assert "belongs" not in refusal("speed = 3")


def test_a_queue_without_parameters_to_search_needs_some_and_their_ends():
    assert 'some of "limit", with their ends in tuning.space' in refusal("", TAIL)
    with_ends = '[tuning]\nparameters = ["limit"]\nspace = { limit = ["10 packets", "99 packets"] }'
    assert policy(with_ends, TAIL).parameters == ("limit",)


def test_the_example_beside_the_service_is_a_policy():
    text = (DOCS / "examples" / "systemd" / "eth0.toml").read_text(encoding="utf-8")
    found = policy(text, replace(CODEL, interface="eth0"))
    assert (found.mode, found.at_exit, found.parameters) == (
        "observe",
        "keep",
        ("target", "interval"),
    )
    assert found.fall_back == {"target": 0.005, "interval": 0.1}


# A block of TOML on a page is a policy if it says what only policies say; a file that a transcript
# shows, if the transcript then hands it to --policy.
POLICY_WORDS = (*SERVICE_KEYS, *(each.removesuffix("_s") for each in Freedom.__slots__), "freedom")
TOML_BLOCK = re.compile(r"^```toml\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHOWN_FILE = re.compile(r"^\$ cat (\S+\.toml)\n(.*?)(?=^\$ |^```$)", re.MULTILINE | re.DOTALL)


def policies_of_pages():
    for page in sorted(DOCS.rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        blocks = [
            block
            for block in TOML_BLOCK.findall(text)
            if any(
                re.search(rf"^{word} *=|^\[{word}\]", block, re.MULTILINE) for word in POLICY_WORDS
            )
        ]
        blocks += [shown for name, shown in SHOWN_FILE.findall(text) if f"--policy {name}" in text]
        for block in blocks:
            yield pytest.param(block, id=page.relative_to(DOCS).as_posix())


POLICIES_OF_PAGES = list(policies_of_pages())


def test_the_pages_with_policies_are_found():
    assert [each.id for each in POLICIES_OF_PAGES] == ["operator/propose.md", "routers.md"]


@pytest.mark.parametrize("text", POLICIES_OF_PAGES)
def test_a_policy_that_a_page_shows_can_be_pursued_on_a_queue(text):
    pie = ManagedLink("eth0", "pie", {"target": 0.015, "limit": 1000}, ("target", "limit"))
    assert policy_for(pie, read_policy(text)).link == "eth0"


def test_the_policy_of_the_door_for_operators_asks_as_the_page_says():
    text = next(each.values[0] for each in POLICIES_OF_PAGES if each.id == "operator/propose.md")
    file = read_policy(text)
    assert (file.service.router, file.service.answers) == ("linux:eth0", True)
    assert file.freedom == Freedom(mode="propose", changes_per_minute=2, at_exit="restore")
