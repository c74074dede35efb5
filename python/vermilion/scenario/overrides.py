"""Setting values in a scenario's document, before it is checked: ``--set path=value``."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from vermilion.scenario.algorithms import disciplines, senders
from vermilion.scenario.errors import FieldError, did_you_mean
from vermilion.scenario.toml_text import TomlError, parse_toml
from vermilion.scenario.traffic import example_of, keys_of, sends_by_itself

if TYPE_CHECKING:
    from collections.abc import Sequence

if TYPE_CHECKING:
    from collections.abc import Callable

    from vermilion.scenario.algorithms import Algorithm

    _Written = Mapping[str, object]


def why_unfit(written: object, below: str) -> str:
    """Reason why a link or a group of flows has nothing at a path; "" where it may have.

    Args:
        written: its table.
        below: the path within it, like ``queue.limit``.
    """
    table, _, rest = below.partition(".")
    key = rest.partition(".")[0]
    if not isinstance(written, Mapping) or table not in _TABLES:
        return ""
    return _TABLES[table](written, key)


def _why_unfit_for_queue(link: _Written, key: str) -> str:
    return _why_unfit_for_algorithm(link.get("queue"), "discipline", disciplines, key)


def _why_unfit_for_sender(group: _Written, key: str) -> str:
    traffic = group.get("traffic", "bulk")
    if sends_by_itself(traffic):
        return f"there is no sender, for its traffic is like {example_of(traffic)}"
    return _why_unfit_for_algorithm(group.get("sender"), "congestion_control", senders, key)


def _why_unfit_for_traffic(group: _Written, key: str) -> str:
    traffic = group.get("traffic", "bulk")
    known = keys_of(traffic)
    if not key or known is None or key in known:
        return ""
    return f"there is no {key}, for its traffic is like {example_of(traffic)}"


_TABLES: Final[Mapping[str, Callable[[_Written, str], str]]] = {
    "queue": _why_unfit_for_queue,
    "sender": _why_unfit_for_sender,
    "traffic": _why_unfit_for_traffic,
}


def _why_unfit_for_algorithm(
    written: object, named_by: str, known: Callable[[], dict[str, Algorithm]], key: str
) -> str:
    """Reason why the algorithm of a table, or a bare name, has no such parameter; else ""."""
    name = written.get(named_by) if isinstance(written, Mapping) else written
    algorithm = known().get(name) if isinstance(name, str) else None
    if algorithm is None or not key or key == named_by or key in algorithm.parameters:
        return ""
    return f"{algorithm.name} has {did_you_mean(key, algorithm.parameters)}"


# Tables that may be written as a single word, and the key which that word is the value of.
_SHORT_FORMS: Final = {"queue": "discipline", "sender": "congestion_control", "traffic": "kind"}
_OPTIONAL_TABLES: Final = {"loss", "queue", "reordering", "space", "traffic", "tuning"}
_NAMED_TABLES: Final = (["links"], ["flows"])


def apply_overrides(document: dict[str, Any], overrides: Sequence[str]) -> None:
    """Apply texts "path=value" to a document, in order.

    A value is read as TOML if it is TOML, and taken as a text otherwise, so that
    ``links.bottleneck.rate=8 Mbit/s`` needs no quotes within the shell's. A ``*`` in the name of a
    link or of a group of flows stands for any letters: ``flows.*.count=4`` sets all groups. Those
    in which the path has no meaning are left alone: ``flows.*.sender=bbr`` sets no UDP group.

    Raises:
        FieldError: no "=", or a path that leads nowhere, or one with ``*`` that has a meaning in
            none of those it stands for.
    """
    for override in overrides:
        path, equals, text = override.partition("=")
        path = path.strip()
        if not equals or not path:
            raise FieldError("--set", override, "path=value, like links.bottleneck.rate='8 Mbit/s'")
        try:
            for one in _expand_path(document, path):
                set_value(document, one, value_of_text(text))
        except FieldError as error:
            raise FieldError("--set", error.value, error.accepted) from None


def _expand_path(document: dict[str, Any], path: str) -> list[str]:
    """Expand a path with ``*`` for a name."""
    table, _, rest = path.partition(".")
    pattern, dot, below = rest.partition(".")
    if "*" not in pattern or [table] not in _NAMED_TABLES:
        return [path]
    here = document.get(table)
    names = [str(name) for name in here] if isinstance(here, dict) else []
    # Only "*" is special here: names have no other letters that fnmatch knows.
    meant = fnmatch.filter(names, pattern)
    if not meant:
        raise _unknown_path_error(path, [table], pattern, names)
    unfit = {name: why_unfit(document[table][name], below) for name in meant}
    if all(unfit.values()):
        accepted = f"a path that one of them has; in {table}.{meant[0]} {unfit[meant[0]]}"
        raise FieldError("path", path, accepted)
    return [f"{table}.{name}{dot}{below}" for name in meant if not unfit[name]]


def set_value(document: dict[str, Any], path: str, value: object) -> None:
    """Set one value; optional tables are made where they are absent.

    What a table accepts is said when the scenario is checked; here only the way to it counts.

    Raises:
        FieldError: the path leads nowhere.
    """
    parts = path.split(".")
    if parts[:2] == ["tuning", "space"] and len(parts) > 2:  # noqa: PLR2004 - below the table
        # The keys of this table are paths themselves.
        parts = ["tuning", "space", ".".join(parts[2:])]
    here: Any = document
    for position, part in enumerate(parts[:-1]):
        here = _descend(here, part, parts[:position], path)
    last, walked = parts[-1], parts[:-1]
    if isinstance(here, list):
        here[_index(here, last, walked, path)] = value
    elif not isinstance(here, dict) or (walked in _NAMED_TABLES and last not in here):
        raise _unknown_path_error(path, walked, last, here)
    else:
        here[last] = value


def _descend(here: Any, part: str, walked: list[str], path: str) -> Any:  # noqa: ANN401 - TOML
    if isinstance(here, list):
        return here[_index(here, part, walked, path)]
    if not isinstance(here, dict):
        raise _unknown_path_error(path, walked, part, here)
    below = here.get(part)
    if isinstance(below, str) and part in _SHORT_FORMS:
        below = here[part] = {_SHORT_FORMS[part]: below}
    if below is None and part in _OPTIONAL_TABLES:
        below = here[part] = {}
    if not isinstance(below, dict | list):
        raise _unknown_path_error(path, walked, part, here)
    return below


def _index(here: list[Any], part: str, walked: list[str], path: str) -> int:
    indices = [str(index) for index in range(len(here))]
    if part not in indices:
        raise _unknown_path_error(path, walked, part, indices)
    return int(part)


def _unknown_path_error(path: str, walked: list[str], part: str, here: object) -> FieldError:
    names = [str(name) for name in here] if isinstance(here, dict | list) else []
    place = f"in {'.'.join(walked)}: " if walked else ""
    return FieldError("path", path, f"a path that exists, {place}{did_you_mean(part, names)}")


def value_of_text(text: str) -> object:
    """Read a text as a TOML value if it is one; else return the text itself."""
    try:
        read = parse_toml(f"value = {text}")
    except TomlError:
        return text.strip()
    # A line break in the text could have added keys of its own.
    return read["value"] if len(read) == 1 else text.strip()
