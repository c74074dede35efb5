"""A plug-in to begin with: a file of Python, or a crate of Rust."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Final

from vermilion.scenario import algorithms
from vermilion.scenario.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Mapping

_NAME: Final = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")

_FILES: Final = {
    "Cargo.toml": "Cargo.toml.txt",
    "README.md": "README.md.txt",
    "src/lib.rs": "{kind}.rs.txt",
    "tests/vectors.rs": "{kind}_vectors.rs.txt",
}


@dataclass(frozen=True)
class PluginCrate:
    """Files of a crate.

    Attributes:
        folder: name of the folder they belong into.
        files: their text by place.
        library: place of what cargo builds of them.
        sources: folder or address of what they are built against.
    """

    folder: str
    files: Mapping[str, str]
    library: str
    sources: str


def plugin_crate(kind: str, name: str, crates: str | None) -> PluginCrate:
    """Return a crate with a discipline or a congestion control.

    Args:
        kind: "sender" or "discipline".
        name: its name in scenarios; it has to be new.
        crates: folder or git address of Vermilion's sources; ``None`` for those around this
            package.

    Raises:
        ScenarioError: a name that is taken or cannot be used, or sources that are not there.
    """
    _check_name(kind, name)
    sources, dependency = _dependency(crates)
    library = f"target/release/{_library_name(name.replace('-', '_'))}"
    words = {
        **_words(name),
        "@CRATE@": name,
        "@DEPENDENCY@": dependency,
        "@KIND@": "congestion control" if kind == "sender" else "queue discipline",
        "@LIST@": f"{kind}s",
        "@OPTION@": kind,
        "@VARIANTS@": f"--{kind} {'cubic' if kind == 'sender' else 'red'} --{kind} {name}",
        "@LIBRARY@": library,
    }
    files = {place: _filled(each.format(kind=kind), words) for place, each in _FILES.items()}
    return PluginCrate(name, files, library, sources)


def plugin_file(kind: str, name: str) -> tuple[str, str]:
    """Return the name of a file of Python with a discipline or a congestion control, and its text.

    Raises:
        ScenarioError: a name that is taken or cannot be used.
    """
    _check_name(kind, name)
    words = _words(name)
    return f"{words['@MODULE@']}.py", _filled(f"{kind}.py.txt", words)


def _check_name(kind: str, name: str) -> None:
    if not _NAME.fullmatch(name):
        accepted = 'small letters, digits and hyphens, a letter first, like "my-red"'
        raise ScenarioError(f"--{kind}", name, accepted)
    known = algorithms.senders() if kind == "sender" else algorithms.disciplines()
    if name in known:
        raise ScenarioError(f"--{kind}", name, f"a name that no {kind} of Vermilion has")


def _words(name: str) -> dict[str, str]:
    """Names of a plug-in in a template."""
    capitals = "".join(part.capitalize() for part in name.split("-"))
    return {"@NAME@": name, "@MODULE@": name.replace("-", "_"), "@TYPE@": capitals}


def _filled(template: str, words: Mapping[str, str]) -> str:
    text = (resources.files("vermilion.scenario") / "plugin_crate" / template).read_text("utf-8")
    for word, meaning in words.items():
        text = text.replace(word, meaning)
    return text


def _library_name(module: str) -> str:
    endings = {"darwin": "lib{}.dylib", "win32": "{}.dll"}
    return endings.get(sys.platform, "lib{}.so").format(module)


def _dependency(crates: str | None) -> tuple[str, str]:
    """The sources that are meant, and cargo's table of them."""
    if crates is not None and ("://" in crates or crates.startswith("git@")):
        return crates, f"{{ git = {json.dumps(crates)} }}"
    # A checkout has this package at python/vermilion.
    root = Path(__file__).parents[3] if crates is None else Path(crates).resolve()
    place = root / "crates" / "plugin"
    if not (place / "Cargo.toml").is_file():
        accepted = (
            "the folder or git address of Vermilion's sources, which has crates/plugin: the crates "
            "are not on crates.io yet"
        )
        raise ScenarioError("--crates", crates, accepted)
    return str(root), f"{{ path = {json.dumps(str(place))} }}"
