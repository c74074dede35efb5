"""From a SONiC switch's configuration to the queue that the simulator puts in its place.

Source: the schema and template that :mod:`vermilion.advise.sonic_queue` names. What is read is
CONFIG_DB as "sonic-cfggen -d --print-data" writes it, all of it or the tables alone. A queue with a
profile is WRED with the thresholds of green packets; one without, or with green ones switched off,
is drop-tail. A lossless queue is refused: priority flow control is not simulated.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, Final

from vermilion.advise.conditions import PACKET_BYTES, condition, network
from vermilion.advise.families import SONIC_QUEUE_BYTES, SWITCH_RED, device_default
from vermilion.advise.present import Present
from vermilion.advise.queue_setting import QueueSetting
from vermilion.advise.sonic_queue import SonicQueue, profile_name, queue_numbers
from vermilion.scenario.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vermilion.advise.question import Question

    Fields = Mapping[str, str]
    Tables = Mapping[str, Mapping[str, Fields]]

_LARGEST_TEXT: Final = 10_000_000
_ACCEPTED: Final = (
    "the tables of CONFIG_DB as 'sonic-cfggen -d --print-data' writes them, like "
    '{"QUEUE": {"Ethernet4|1": {...}}}'
)
_READ: Final = ("QUEUE", "WRED_PROFILE", "PORT_QOS_MAP", "MAP_PFC_PRIORITY_TO_QUEUE")
_TELLING: Final = frozenset({*_READ, "PORT", "DEVICE_METADATA"})
"""Tables of which one at least is there in what is a configuration."""

_GREEN_MARKED: Final = frozenset({"ecn_green", "ecn_green_yellow", "ecn_green_red", "ecn_all"})
_PERCENT: Final = 100.0
_DIGITS: Final = 12


def sonic_present(question: Question, text: str, option: str) -> Present:
    """What stands at the bottleneck, as the switch's configuration has it.

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
        expected = (
            "a queue that may drop; this one is lossless (pfc_enable in PORT_QOS_MAP), and "
            "priority flow control is not simulated"
        )
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
    note = "The buffer of the queue is taken to be about 1 MB: shared memory gives more or less."
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
    """Whether another entry is for one of the same queues; older ones name several interfaces."""
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
    at = condition(question, question.flows[0], question.round_trip_s[0], "bulk", 0.0)
    network(question, at, setting)  # which refuses what cannot be simulated
    return setting


def _number(profile: Fields, name: str, option: str, usual: float | None) -> float:
    text = profile.get(name)
    if text is None and usual is not None:
        return usual
    if text is None or not (text.isascii() and text.isdigit() and len(text) <= _DIGITS):
        raise ScenarioError(option, f"{name} {text}", "a whole number, as CONFIG_DB has it")
    return float(text)
