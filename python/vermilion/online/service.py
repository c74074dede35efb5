"""What of ``vermilion online --router`` is not about the controller: eyes, files, and what is told.

The keys of a policy file's top level that say so, each with the word of its option::

    router   = "linux:eth0"
    monitor  = true
    entrances = ["eth1"]
    metrics  = "127.0.0.1:9464"
    log_format = "json"
    page     = "127.0.0.1:8447"
    answers  = true

Pure: whoever reads the file hands over its table.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Final

from vermilion.scenario.errors import FieldError, one_of

if TYPE_CHECKING:
    from collections.abc import Mapping

LOG_FORMATS: Final = ("text", "json")


@dataclass(frozen=True, slots=True)
class Service:
    """What a file or the command line says; ``None`` leaves it to whoever is asked next.

    Attributes:
        router: the queue's address.
        journal: the file to keep the journal in.
        monitor: whether the interface's packets are listened to.
        entrances: the interfaces through which packets come into the queue, which a monitor listens
            to as well.
        metrics: where Prometheus may ask, an address and a port.
        metrics_from_outside: whether that may be an address that other machines can reach.
        metrics_token: the file with what a reader of metrics has to know.
        log_format: ``text`` or ``json``.
        page: where a page shows the controller at work, an address and a port.
        page_from_outside: whether that may be an address that other machines can reach.
        page_token: the file with what a reader of the page has to know.
        answers: whether a person may answer proposals, undo and pause on the page.
    """

    router: str | None = None
    journal: str | None = None
    monitor: bool | None = None
    entrances: tuple[str, ...] | None = None
    metrics: str | None = None
    metrics_from_outside: bool | None = None
    metrics_token: str | None = None
    log_format: str | None = None
    page: str | None = None
    page_from_outside: bool | None = None
    page_token: str | None = None
    answers: bool | None = None

    def or_else(self, other: Service) -> Service:
        """This one, and where it says nothing, another."""
        missing = {
            each.name: getattr(other, each.name)
            for each in fields(self)
            if getattr(self, each.name) is None
        }
        return replace(self, **missing)


SERVICE_KEYS: Final = tuple(each.name for each in fields(Service))
"""The keys that belong here."""

_SWITCHES: Final = ("monitor", "metrics_from_outside", "page_from_outside", "answers")


def read_service(document: Mapping[str, Any]) -> Service:
    """What a policy file's top level says.

    Raises:
        FieldError: a value that is not accepted.
    """
    given = {name: document[name] for name in SERVICE_KEYS if name in document}
    for name, value in given.items():
        if name in _SWITCHES:
            if not isinstance(value, bool):
                raise FieldError(name, value, "true or false")
        elif name == "entrances":
            names = isinstance(value, list) and all(
                each and isinstance(each, str) for each in value
            )
            if not names:
                raise FieldError(name, value, 'a list of interfaces, like ["eth1"]')
            given[name] = tuple(value)
        elif name == "log_format":
            if value not in LOG_FORMATS:
                raise FieldError(name, value, one_of(LOG_FORMATS))
        elif not isinstance(value, str) or not value:
            raise FieldError(name, value, "a text")
    return Service(**given)
