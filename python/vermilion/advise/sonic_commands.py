"""The commands for a queue of a SONiC switch: a patch of its configuration, and the way back.

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
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vermilion.advise.command_lines import Commands
from vermilion.advise.conditions import LINK, condition, network
from vermilion.advise.sonic_queue import USUALLY_LOSSLESS, profile_name, queue_numbers
from vermilion.profiles import PROFILES, Place

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vermilion.advise.present import Present
    from vermilion.advise.question import Question
    from vermilion.advise.queue_setting import QueueSetting
    from vermilion.advise.sonic_queue import SonicQueue

    Operation = dict[str, object]


def is_named(question: Question) -> bool:
    """Whether the operator has said which queue of which interface is meant."""
    return question.interface is not None and question.parent is not None


def may_be_lossless(question: Question, present: Present) -> bool:
    """Whether the queue named is usually lossless, and nothing shown says otherwise."""
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
    low = condition(question, question.flows[0], question.round_trip_s[0], "bulk", 0.0)
    profile = PROFILES["sonic"](network(question, low, chosen), LINK)
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
    """From what stands there to what is meant, and back; each tests where it starts."""
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
