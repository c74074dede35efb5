"""A fabric that has been checked, from a file, a text or nested dictionaries."""

from __future__ import annotations

import os
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from vermilion import _core
from vermilion.fabric.lowering import lowered, notes
from vermilion.fabric.tables import Document, FabricTable, Switch, read
from vermilion.fabric.topologies import Graph, graph_of
from vermilion.scenario.errors import FieldError, ScenarioError, from_core
from vermilion.scenario.overrides import value_of_text
from vermilion.scenario.toml_text import TomlError, parse_toml, toml_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LARGEST_FILE_BYTES: Final = 256 * 1024 * 1024
"""A list of transfers may be long."""


@dataclass(frozen=True, slots=True)
class Fabric:
    """A fabric with its traffic. It has been checked, and the core has built it once.

    Attributes:
        title: one line.
        table: everything of it, in SI units.
        document: the nested dictionaries that it was made of.
        origin: names it in messages.
    """

    title: str
    table: FabricTable
    document: Mapping[str, Any] = field(repr=False)
    origin: str = "fabric"
    core: str = field(repr=False, default="")

    @property
    def graph(self) -> Graph:
        """Hosts, switches and links by name."""
        return graph_of(self.table.topology)

    @property
    def notes(self) -> list[str]:
        """Remarks before it runs: which packets its switches will drop where they mark others."""
        return notes(self.table)

    def with_settings(self, **settings: object) -> Fabric:
        """The same fabric with other settings.

        Args:
            settings: keys of the switch (``kmin``, ``kmax``, ``pmax``, ``alpha``, ...) or of
                the fabric (``sender``, ``traffic``, ``duration``, ...), with their new values.

        Raises:
            ScenarioError: a key that is not there, or a value that is not accepted.
        """
        document = deepcopy(dict(self.document))
        for name, value in settings.items():
            if name in Switch.model_fields:
                document["fabric"].setdefault("switch", {})[name] = value
            else:
                document["fabric"][name] = value
        return fabric_from_document(document, self.origin)

    def to_toml(self) -> str:
        """The fabric as the text of a file."""
        return toml_text(self.document)


def load_fabric(path: str | Path, overrides: Sequence[str] = ()) -> Fabric:
    """Read a fabric from a TOML file.

    Args:
        path: of the file.
        overrides: texts "path=value", like "fabric.switch.kmin='400 kB'".

    Raises:
        ScenarioError: whatever is wrong with it.
    """
    origin = os.fspath(path)
    try:
        content = Path(origin).read_bytes()
        if len(content) > LARGEST_FILE_BYTES:
            raise ScenarioError("", "is larger than 256 MiB", "a fabric in TOML", origin)
        text = content.decode("utf-8-sig")
    except OSError as error:
        reason = f"cannot be read ({error.strerror})"
        raise ScenarioError("", reason, "a fabric in TOML", origin) from None
    except UnicodeDecodeError:
        raise ScenarioError("", "is not UTF-8", "a fabric in TOML", origin) from None
    return parse_fabric(text, origin, overrides)


def parse_fabric(text: str, origin: str = "fabric", overrides: Sequence[str] = ()) -> Fabric:
    """Read a fabric from TOML text; ``origin`` names it in messages.

    Raises:
        ScenarioError: whatever is wrong with it.
    """
    try:
        document = parse_toml(text)
    except TomlError as error:
        reason = f"is not valid TOML: {error}"
        raise ScenarioError("", reason, "a fabric in TOML (https://toml.io)", origin) from None
    try:
        for override in overrides:
            _override(document, override)
    except FieldError as error:
        raise error.at(origin) from None
    return fabric_from_document(document, origin)


def _override(document: dict[str, Any], override: str) -> None:
    path, equals, text = override.partition("=")
    *tables, key = path.strip().split(".")
    if not equals or not key:
        raise FieldError("--set", override, "path=value, like fabric.switch.kmin='400 kB'")
    here: Any = document
    for part in tables:
        here = here.setdefault(part, {}) if isinstance(here, dict) else _entry(here, part, path)
    if isinstance(here, dict):
        here[key] = value_of_text(text)
    elif isinstance(here, list):
        _entry(here, key, path)
        here[int(key)] = value_of_text(text)
    else:
        raise FieldError("--set", path, "a path to a table's key")


def _entry(here: object, part: str, path: str) -> Any:  # noqa: ANN401 - TOML
    if isinstance(here, list) and part.isdecimal() and int(part) < len(here):
        return here[int(part)]
    raise FieldError("--set", path, "a path that exists")


def fabric_from_document(document: Mapping[str, Any], origin: str = "fabric") -> Fabric:
    """Make a fabric from the nested dictionaries of its TOML.

    Raises:
        ScenarioError: whatever is wrong with it.
    """
    folder = Path(origin).parent
    try:
        whole: Document = read(Document, document)
        try:
            core = lowered(whole.fabric, folder)
        except FieldError as error:
            raise error.under("fabric") from None
        _core.check_fabric(core)
    except FieldError as error:
        raise error.at(origin) from None
    except _core.ParameterError as error:
        raise from_core(error, origin) from None
    return Fabric(whole.title, whole.fabric, document, origin, core)


def is_fabric(path: str) -> bool:
    """Return whether a file's top table is ``[fabric]``; false where that cannot be told."""
    try:
        with Path(path).open("rb") as file:
            head = file.read(LARGEST_FILE_BYTES)
        return b"[fabric" in head and "fabric" in parse_toml(head.decode("utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return False
