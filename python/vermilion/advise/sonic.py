"""Queues of a SONiC switch: reading its configuration, a patch of it, and the way back.

Source: the schema and template that :mod:`vermilion.advise.sonic_queue` names. What is read is
CONFIG_DB as "sonic-cfggen -d --print-data" writes it, all of it or the tables alone. A queue with a
profile is WRED with the thresholds of green packets; one without, or with green ones switched off,
is drop-tail. A lossless queue is refused: priority flow control is not simulated.

Sources: SONiC's command reference ("config apply-patch", "config checkpoint", "config rollback",
"show ecn") and generic_config_updater of sonic-utilities (2026). A patch is applied as a whole or
not at all: where a "test" fails (RFC 6902, section 4.6), or a table would be left empty, nothing is
changed.

- With the configuration (--now), the patch tests that the queue's entry is still what was shown,
  and undo puts back that entry and the profile's.
- Without it, JSON has no test for what is not there. So a checkpoint comes first, and undo rolls
  back to it.
- Nothing is set on a queue that nobody has named, nor, unseen, on one that is usually lossless.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from vermilion.advise.command_lines import Commands
from vermilion.advise.conditions import PACKET_BYTES, on_device, plain_network
from vermilion.advise.families import SONIC_QUEUE_BYTES, SWITCH_RED, device_default
from vermilion.advise.present import Present
from vermilion.advise.question import QueueSetting
from vermilion.advise.sonic_queue import USUALLY_LOSSLESS, SonicQueue, profile_name, queue_numbers
from vermilion.profiles import PROFILES, Place
from vermilion.scenario.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vermilion.advise.question import Question

    Fields = Mapping[str, str]
    Tables = Mapping[str, Mapping[str, Fields]]

    Operation = dict[str, object]


_LARGEST_TEXT: Final = 10_000_000
_ACCEPTED: Final = (
    'CONFIG_DB from \'sonic-cfggen -d --print-data\', like {"QUEUE": {"Ethernet4|1": {...}}}'
)
_READ: Final = ("QUEUE", "WRED_PROFILE", "PORT_QOS_MAP", "MAP_PFC_PRIORITY_TO_QUEUE")
_TELLING: Final = frozenset({*_READ, "PORT", "DEVICE_METADATA"})
"""Tables of which one at least is there in what is a configuration."""

_GREEN_MARKED: Final = frozenset({"ecn_green", "ecn_green_yellow", "ecn_green_red", "ecn_all"})
_PERCENT: Final = 100.0
_DIGITS: Final = 12


def sonic_present(question: Question, text: str, option: str) -> Present:
    """Queue in force, from the switch's configuration.

    Args:
        question: with the interface and the queue that are meant.
        text: the configuration.
        option: that it was given with, for messages.

    Raises:
        ScenarioError: it is no configuration, no queue is named, or it is one that is not judged.
    """
    tables = _tables(text, option)
    interface, index = question.interface, question.parent
    numbers = None if index is None else queue_numbers(index)
    if interface is None or index is None or numbers is None:
        expected = "one queue of it, like --interface 'Ethernet4|1'"
        raise ScenarioError("--interface", interface or "nothing", expected)
    key = f"{interface}|{index}"
    lossless = _lossless(tables, interface) & set(numbers)
    if lossless:
        expected = "a queue that may drop; this one is lossless (pfc_enable in PORT_QOS_MAP)"
        raise ScenarioError("--interface", key, expected)
    queues = tables.get("QUEUE", {})
    for other in queues:
        if other != key and _overlap(other, interface, numbers):
            raise ScenarioError("--interface", key, f"the queue as {option} has it: {other}")
    entry, profiles = queues.get(key), tables.get("WRED_PROFILE", {})
    named = (entry or {}).get("wred_profile")
    if named is not None and named not in profiles:
        expected = f"the table WRED_PROFILE too, with {named}, the profile of {key}"
        raise ScenarioError(option, f"wred_profile {named}", expected)
    setting = device_default(question)
    words = "tail drop"
    note = "The buffer of the queue is taken to be about 1 MB."
    if named is not None and profiles[named].get("wred_green_enable") == "true":
        setting = _wred(question, named, profiles[named], option)
        words = f"wred, profile {named}"
    known = SonicQueue(
        entry,
        profiles.get(profile_name(interface, index)),
        has_queues="QUEUE" in tables,
        has_profiles="WRED_PROFILE" in tables,
    )
    return Present(setting, words, stated=True, interface=interface, sonic=known, notes=(note,))


def _tables(text: str, option: str) -> Tables:
    """The tables that are read."""
    shown = " ".join(text.split())[:60] or "nothing"
    refusal = ScenarioError(option, shown, _ACCEPTED)
    if len(text) > _LARGEST_TEXT:
        raise refusal
    try:
        whole: Any = json.loads(text)
    except (ValueError, RecursionError):
        raise refusal from None
    if not isinstance(whole, dict) or _TELLING.isdisjoint(whole):
        raise refusal
    found = {name: whole[name] for name in _READ if name in whole}
    for table in found.values():
        if not isinstance(table, dict) or not all(_is_member(each) for each in table.values()):
            raise refusal
    return found


def _is_member(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(each, str) for each in value.values())


def _lossless(tables: Tables, interface: str) -> set[int]:
    """The queues of an interface whose senders are stopped before they are full."""
    own = tables.get("PORT_QOS_MAP", {}).get(interface, {})
    queues = tables.get("MAP_PFC_PRIORITY_TO_QUEUE", {}).get(own.get("pfc_to_queue_map", ""), {})
    priorities = [each.strip() for each in own.get("pfc_enable", "").split(",") if each.strip()]
    numbers = [queues.get(each, each) for each in priorities]
    return {int(each) for each in numbers if each.isascii() and each.isdigit()}


def _overlap(key: str, interface: str, numbers: range) -> bool:
    """Check whether another entry shares a queue; older entries name several interfaces."""
    names, _, index = key.rpartition("|")
    other = queue_numbers(index)
    if other is None or interface not in names.split(","):
        return False
    return not set(other).isdisjoint(numbers)


def _wred(question: Question, name: str, profile: Fields, option: str) -> QueueSetting:
    """WRED with the numbers of green packets."""
    low, high, percent = (
        _number(profile, f"green_{each}", option, usual)
        for each, usual in (
            ("min_threshold", None), ("max_threshold", None), ("drop_probability", _PERCENT),
        )
    )  # fmt: skip
    low = max(low / PACKET_BYTES, 1.0)
    high = max(high / PACKET_BYTES, low + 1.0)
    values = {
        **SWITCH_RED,
        "ecn": question.ecn and profile.get("ecn") in _GREEN_MARKED,
        "green_min_threshold": low,
        "green_max_threshold": high,
        "green_max_probability": min(max(percent, 1.0), _PERCENT) / _PERCENT,
        "limit": float(math.ceil(max(SONIC_QUEUE_BYTES / PACKET_BYTES, 2.0 * high))),
    }
    setting = QueueSetting(f"wred, profile {name}", "wred", "wred", values)
    plain_network(question, setting)  # which refuses what cannot be simulated
    return setting


def _number(profile: Fields, name: str, option: str, usual: float | None) -> float:
    text = profile.get(name)
    if text is None and usual is not None:
        return usual
    if text is None or not (text.isascii() and text.isdigit() and len(text) <= _DIGITS):
        raise ScenarioError(option, f"{name} {text}", "a whole number, as CONFIG_DB has it")
    return float(text)


def is_named(question: Question) -> bool:
    """Check whether the operator has said which queue of which interface is meant."""
    return question.interface is not None and question.parent is not None


def may_be_lossless(question: Question, present: Present) -> bool:
    """Check whether the queue named is usually lossless, and nothing shown says otherwise."""
    numbers = queue_numbers(question.parent or "") or ()
    return present.sonic is None and not USUALLY_LOSSLESS.isdisjoint(numbers)


def sonic_commands(
    question: Question, present: Present, chosen: QueueSetting, interface: str, *, keep: bool
) -> Commands:
    """The commands of a recommendation for a SONiC switch."""
    index = question.parent
    key = f"{interface}|{index}"
    entry = [f"sonic-db-cli CONFIG_DB HGETALL 'QUEUE|{key}'"] if index is not None else []
    check = "\n".join(
        [*entry, "show ecn", f"show queue counters {interface}", "show queue watermark unicast"]
    )
    if keep or index is None or not is_named(question) or may_be_lossless(question, present):
        return Commands(check)
    name = profile_name(interface, index)
    profile = _profile(question, chosen)
    known = present.sonic
    if known is None:
        place = f"/QUEUE/{_escaped(key)}/wred_profile"
        apply = [
            _operation("add", f"/WRED_PROFILE/{name}", profile),
            _operation("add", place, name),
        ]
        return Commands(
            check,
            _patch(name, apply),
            f"sudo config rollback {name}-before",
            save=f"sudo config checkpoint {name}-before",
        )
    apply, undo = _known(known, key, name, profile)
    return Commands(check, _patch(name, apply), _patch(f"{name}-undo", undo))


def _profile(question: Question, chosen: QueueSetting) -> dict[str, str]:
    """The entry of WRED_PROFILE."""
    profile = on_device(PROFILES["sonic"], question, chosen)
    members = json.loads(profile.command({}, Place()))
    return {each["path"].rpartition("/")[2]: each["value"] for each in members}


@dataclass(frozen=True, slots=True)
class _Member:
    """A member of a table, as it stands now.

    Attributes:
        table: like "QUEUE".
        key: like "Ethernet4|1".
        now: its fields; ``None`` where there is no such member.
        has_table: whether there is the table.
    """

    table: str
    key: str
    now: Mapping[str, str] | None
    has_table: bool

    def set(self, fields: Mapping[str, str]) -> tuple[list[Operation], Operation]:
        """The test that the member is as it was shown, and what gives it other fields."""
        tests = [] if self.now is None else [_operation("test", self._path, self.now)]
        return tests, _operation("add", *self._whole(fields))

    def unset(self, fields: Mapping[str, str]) -> tuple[Operation, Operation]:
        """The test that the member has those fields, and what makes it as it was shown."""
        path, value = self._whole(fields)
        test = _operation("test", path, value)
        if self.now is None:
            return test, _operation("remove", path)
        return test, _operation("add", self._path, self.now)

    @property
    def _path(self) -> str:
        return f"/{self.table}/{_escaped(self.key)}"

    def _whole(self, fields: Mapping[str, str]) -> tuple[str, Mapping[str, object]]:
        """The member, or the table with it alone: SONiC keeps no empty tables."""
        if self.has_table:
            return self._path, fields
        return f"/{self.table}", {self.key: fields}


def _known(
    known: SonicQueue, key: str, name: str, profile: Mapping[str, str]
) -> tuple[list[Operation], list[Operation]]:
    """Patch from the present entry to the wanted one, and back; each tests its start."""
    entry = {**(known.entry or {}), "wred_profile": name}
    queue = _Member("QUEUE", key, known.entry, known.has_queues)
    own = _Member("WRED_PROFILE", name, known.own_profile, known.has_profiles)
    queue_tests, set_queue = queue.set(entry)
    own_tests, set_profile = own.set(profile)
    queue_after, unset_queue = queue.unset(entry)
    own_after, unset_profile = own.unset(profile)
    return (
        [*queue_tests, *own_tests, set_profile, set_queue],
        [queue_after, own_after, unset_queue, unset_profile],
    )


def _escaped(key: str) -> str:
    """A key as RFC 6901 writes it in a path."""
    return key.replace("~", "~0").replace("/", "~1")


def _operation(kind: str, path: str, value: object = None) -> Operation:
    own = {} if value is None else {"value": value}
    return {"op": kind, "path": path, **own}


def _patch(name: str, patch: list[Operation]) -> str:
    body = json.dumps(patch, indent=1)
    return f"cat > {name}.json <<'END'\n{body}\nEND\nsudo config apply-patch {name}.json"
