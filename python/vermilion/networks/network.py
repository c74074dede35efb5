"""A scenario that is put together in Python, a link and a group of flows at a time.

What a method is given is what the table of the same name holds in TOML: the same keys, the same
texts with units, the same defaults, and the same messages for what is not accepted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy
from functools import wraps
from inspect import Parameter, signature
from types import FunctionType
from typing import TYPE_CHECKING, Any, ParamSpec, Self, TypeVar

from vermilion.scenario import scenario_from_document
from vermilion.scenario.checked import check_tables
from vermilion.scenario.errors import ScenarioError, did_you_mean, errors_of
from vermilion.scenario.own_predicate import registered_predicate
from vermilion.scenario.plugins import registered_name
from vermilion.scenario.quantities import whole_number
from vermilion.scenario.toml_text import toml_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from vermilion.scenario import Scenario


class Network:
    """A network, its traffic and what changes in it.

        >>> network = vermilion.Network("Two senders", duration="20 s", warm_up="5 s")
        >>> network.link("bottleneck", rate="10 Mbit/s", delay="10 ms", queue="red")
        >>> network.flows("all", count=2, path=["bottleneck"], rtt="40 ms", sender="cubic")
        >>> result = vermilion.run(network.scenario())

    Every method gives the network back, so that calls can be chained, and refuses at once what its
    table would refuse; :meth:`scenario` checks what only the whole can tell.
    """

    def __init__(self, title: str = "", **table: object) -> None:
        """An empty network.

        Args:
            title: of the scenario.
            table: its own keys: ``duration``, ``warm_up``, ``settle``, ``description``.

        Raises:
            ScenarioError: one that is not accepted.
        """
        self._document: dict[str, Any] = {}
        if title:
            self._document["title"] = title
        for key, value in table.items():
            if key in _METHODS:
                raise ScenarioError(key, value, f"the method Network.{_METHODS[key]}", title)
        self._document |= _to_toml_table(table)
        self._check(self._document)

    @property
    def title(self) -> str:
        """Name of the network in messages."""
        return str(self._document.get("title", "")) or "network"

    @property
    def document(self) -> dict[str, Any]:
        """Document as TOML would hold it, as nested dictionaries: a copy."""
        return deepcopy(self._document)

    def link(self, name: str, **table: object) -> Self:
        """Add a link: ``rate``, ``delay``, ``queue`` and the other keys of ``[links.NAME]``.

        Args:
            name: of the link.
            table: its keys. ``queue`` is a table, the name of a discipline for its defaults, or a
                class derived from :class:`vermilion.Discipline`; without one it is drop-tail.

        Raises:
            ScenarioError: a key or a value that is not accepted, or a name for the second time.
        """
        written = _to_toml_table(table)
        written.setdefault("queue", "drop-tail")
        if isinstance(written["queue"], str):
            written["queue"] = {"discipline": written["queue"]}
        return self._add("links", name, written)

    def add_links(self, names: Iterable[str], **table: object) -> Self:
        """Add several links that differ only in name; see :meth:`link`.

        Raises:
            ScenarioError: what :meth:`link` refuses.
        """
        for name in names:
            self.link(name, **table)
        return self

    def flows(self, name: str, **table: object) -> Self:
        """Add a group of flows: ``path``, ``rtt``, ``sender`` and the other keys of its table.

        Args:
            name: of the group.
            table: the keys of ``[flows.NAME]``. ``path`` may be one link's name; ``sender`` may
                be a class derived from :class:`vermilion.CongestionControl`.

        Raises:
            ScenarioError: a key or a value that is not accepted, or a name for the second time.
        """
        written = _to_toml_table(table)
        for key in ("path", "return_path"):
            if isinstance(written.get(key), str):
                written[key] = [written[key]]
        return self._add("flows", name, written)

    def change(self, **table: object) -> Self:
        """Add a change: ``at``, ``link`` and the other keys of ``[[changes]]``.

        Raises:
            ScenarioError: a key or a value that is not accepted.
        """
        return self._append("changes", table)

    def scripted_loss(self, **table: object) -> Self:
        """Drop or mark chosen packets: ``flows``, ``segments`` and the other keys of the table.

        Args:
            table: the keys of ``[[scripted_losses]]``. ``when`` may be a function of one packet;
                see :func:`vermilion.packet_predicate`.

        Raises:
            ScenarioError: a key or a value that is not accepted.
        """
        return self._append("scripted_losses", table)

    def tuning(self, **table: object) -> Self:
        """Set the keys of ``[tuning]``.

        Raises:
            ScenarioError: a key or a value that is not accepted.
        """
        written = _to_toml_table(table)
        self._check({"tuning": written})
        self._document["tuning"] = written
        return self

    def scenario(self) -> Scenario:
        """The scenario, checked as a whole.

        Raises:
            ScenarioError: whatever is wrong with it.
        """
        return scenario_from_document(self._document, self.title)

    def to_toml(self) -> str:
        """The scenario as TOML; :func:`vermilion.parse_scenario` reads it back."""
        return toml_text(self._document)

    def _add(self, kind: str, name: str, table: dict[str, Any]) -> Self:
        if name in self._document.get(kind, {}):
            raise ScenarioError(kind, name, "each name once", self.title)
        self._check({kind: {name: table}})
        self._document.setdefault(kind, {})[name] = table
        return self

    def _append(self, kind: str, table: Mapping[str, object]) -> Self:
        entries = self._document.setdefault(kind, [])
        entries.append(_to_toml_table(table))
        try:
            self._check({kind: entries})
        except ScenarioError:
            entries.pop()
            if not entries:
                del self._document[kind]
            raise
        return self

    def _check(self, document: Mapping[str, Any]) -> None:
        with errors_of(self.title):
            check_tables(document)


OWN_KEYS = ("duration", "warm_up", "settle", "description")
"""The keys of a scenario that no method adds."""

_METHODS = {
    "links": "link",
    "flows": "flows",
    "changes": "change",
    "scripted_losses": "scripted_loss",
    "tuning": "tuning",
}


def _to_toml_table(table: Mapping[str, object]) -> dict[str, Any]:
    """Convert a table for TOML: classes and functions by their names, ``None`` left out."""
    return {key: _to_toml_value(value) for key, value in table.items() if value is not None}


def _to_toml_value(value: object) -> object:
    number = whole_number(value)
    if number is not None:
        return number  # NumPy has whole numbers of its own
    if isinstance(value, type):
        return registered_name(value)
    if isinstance(value, FunctionType):
        return registered_predicate(value)
    if isinstance(value, Mapping):
        return _to_toml_table(value)
    if isinstance(value, list | tuple):
        return [_to_toml_value(entry) for entry in value]
    return value


Arguments = ParamSpec("Arguments")
Built = TypeVar("Built")


def with_known_keywords(builder: Callable[Arguments, Built]) -> Callable[Arguments, Built]:
    """Make a builder refuse keywords that neither it nor a scenario has."""
    own = [
        name
        for name, parameter in signature(builder).parameters.items()
        if parameter.kind is not Parameter.VAR_KEYWORD
    ]

    @wraps(builder)
    def checked(*arguments: Arguments.args, **keywords: Arguments.kwargs) -> Built:
        known = dict.fromkeys([*own, *OWN_KEYS])
        for name, value in keywords.items():
            if name not in known:
                accepted = f"a keyword of {builder.__name__}: {did_you_mean(name, known)}"
                raise ScenarioError(name, value, accepted)
        return builder(*arguments, **keywords)

    return checked
