"""No files of a crate name each other in a circle.

What a file names are the paths of its source: in ``use``, and wherever else one stands
(``crate::x::Y``, ``super::Y``, ``child::Y``). A name belongs to the file that defines it, whichever
file shows it (``pub use``) or has imported it for its children. Code that is only there for tests
does not count, and methods are not seen: a call does not name the file where it is defined.

A parent is a file like any other, but for two things that it is there for and that are no use of a
child: that it declares it (``mod child;``), and that it shows names of it (``pub use child::Y``)
which it does not use itself. So a child may use what its parent defines, if its parent uses neither
that child nor anything that needs it; and a parent may use its children, if they can do without it.
"""

from __future__ import annotations

import re
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CRATES = sorted(path.parent.name for path in ROOT.glob("crates/*/Cargo.toml"))

# Comments, and what is quoted.
SILENT = re.compile(
    r"//[^\n]*|/\*.*?\*/"
    r'|\bb?r(#*)".*?"\1|"(?:\\.|[^"\\])*"'
    r"|'(?:\\(?:u\{\w+\}|x\w\w|.)|[^'\\])'",
    re.DOTALL,
)
FOR_TESTS = re.compile(r"#\[cfg\(test\)\]")
USE = re.compile(r"(?:\b(pub)(?:\([^)]*\))?\s+)?\buse\s+([^;]+);")
CHILD = re.compile(r"\bmod\s+(\w+)\s*;")
NAME_PATH = re.compile(r"(?<![\w:$])(?:\$crate|[A-Za-z_]\w*)(?:\s*::\s*[A-Za-z_]\w*)+")

Module = tuple[str, ...]


def end_of_item(text: str, begin: int) -> int:
    """Where the item that begins at ``begin`` ends: a declaration, or what has a body."""
    depth = 0
    has_body = not re.match(r"\s*(?:#\[[^\]]*\]\s*)*(?:pub(?:\([^)]*\))?\s+)?use\b", text[begin:])
    for place in range(begin, len(text)):
        depth += (text[place] in "([{") - (text[place] in ")]}")
        if depth == 0 and (text[place] == ";" or (text[place] == "}" and has_body)):
            return place + 1
    return len(text)


def split_by_tests(text: str) -> tuple[str, str]:
    """The text without what is there for tests alone, and that."""
    rest, tests = "", ""
    while found := FOR_TESTS.search(text):
        end = end_of_item(text, found.end())
        rest += text[: found.start()]
        tests += text[found.end() : end]
        text = text[end:]
    return rest + text, tests


def branches(tree: str) -> list[tuple[Module, str]]:
    """The paths of a tree of ``use``, each with the name that it has here."""
    tree = tree.strip()
    head, brace, inner = tree.partition("{")
    if not brace:
        path, _, alias = (part.strip() for part in re.sub(r"\s", " ", tree).partition(" as "))
        names = tuple(name.strip() for name in path.split("::") if name.strip())
        names = names[:-1] if names[-1:] == ("self",) and len(names) > 1 else names
        return [(names, alias or names[-1])] if names else []
    stem = tuple(name.strip() for name in head.split("::") if name.strip())
    found, depth, begin = [], 0, 0
    inner = inner.rstrip().removesuffix("}") + ","
    for place, letter in enumerate(inner):
        depth += (letter == "{") - (letter == "}")
        if letter == "," and depth == 0:
            each = inner[begin:place].strip()
            if each == "self":
                found.append((stem, stem[-1]))
            else:
                found += [((*stem, *path), alias) for path, alias in branches(each)]
            begin = place + 1
    return found


class Crate:
    """The files of a crate by their modules, and what each names."""

    def __init__(self, source: Path) -> None:
        texts = {}
        for file in sorted(source.rglob("*.rs")):
            parts = file.relative_to(source).with_suffix("").parts
            silent = SILENT.sub(" ", file.read_text(encoding="utf-8"))
            texts[() if parts == ("lib",) else parts[: -1 if parts[-1] == "mod" else None]] = silent
        apart = {module: split_by_tests(text) for module, text in texts.items()}
        for module, (_, tests) in list(apart.items()):
            for child in CHILD.findall(tests):
                apart.pop((*module, child), None)
        self.texts = {module: text for module, (text, _) in apart.items()}
        self.children = {module: set(CHILD.findall(text)) for module, text in self.texts.items()}
        self.imported: dict[Module, dict[str, Module]] = {}
        self.shown: dict[Module, set[str]] = {}
        self.named: dict[Module, list[Module]] = {}
        for module, text in self.texts.items():
            self._read(module, text)

    def _read(self, module: Module, text: str) -> None:
        imported = self.imported.setdefault(module, {})
        shown = self.shown.setdefault(module, set())
        for found in USE.finditer(text):
            for path, alias in branches(found[2]):
                if (absolute := self._absolute(module, path)) is not None:
                    imported[alias] = absolute
                    if found[1]:
                        shown.add(alias)
        rest = USE.sub(" ", text)
        self.named[module] = []
        for found in NAME_PATH.finditer(rest):
            path = tuple(re.split(r"\s*::\s*", found[0].removeprefix("$")))
            if (absolute := self._absolute(module, path)) is not None:
                self.named[module].append(absolute)
            elif path[0] in imported:
                self.named[module].append((*imported[path[0]], *path[1:]))
        for alias, path in imported.items():
            # A name of a child that is only shown is no use of it, nor is a module itself.
            only_shown = alias in shown and path[: len(module)] == module
            if path in self.texts or (only_shown and not re.search(rf"\b{alias}\b", rest)):
                continue
            self.named[module].append(path)

    def _absolute(self, module: Module, path: Module) -> Module | None:
        """A path from the crate's root; ``None`` for one that leads out of the crate."""
        match path[0]:
            case "crate":
                return path[1:]
            case "self":
                return (*module, *path[1:])
            case "super":
                up = next((n for n, name in enumerate(path) if name != "super"), len(path))
                return (*module[: len(module) - up], *path[up:])
            case child if child in self.children[module]:
                return (*module, *path)
        return None

    def home(self, path: Module) -> Module:
        """The file where what a path leads to is defined."""
        for _ in range(20):
            module = next(
                path[:length] for length in range(len(path), -1, -1) if path[:length] in self.texts
            )
            rest = path[len(module) :]
            further = self.imported[module].get(rest[0]) if rest else None
            if further is None or further == path:
                return module
            path = (*further, *rest[1:])
        message = f"{'::'.join(path)} is shown in a circle"
        raise AssertionError(message)

    def uses(self) -> dict[str, set[str]]:
        """Which files use which others."""
        return {
            spelt(module): {spelt(self.home(path)) for path in paths} - {spelt(module)}
            for module, paths in self.named.items()
        }


def spelt(module: Module) -> str:
    """A module as it is written down here."""
    return "::".join(module) or "crate"


@cache
def uses_in(crate: str) -> dict[str, set[str]]:
    return Crate(ROOT / "crates" / crate / "src").uses()


def circle_in(uses: dict[str, set[str]]) -> str | None:
    """A circle among files, in words; ``None`` where there is none."""
    try:
        TopologicalSorter(uses).prepare()
    except CycleError as error:
        # Each is used by the one after it.
        return " uses ".join(reversed(error.args[1]))
    return None


@pytest.mark.parametrize("crate", CRATES)
def test_no_files_of_a_crate_form_a_circle(crate):
    circle = circle_in(uses_in(crate))
    assert circle is None, circle


def written(folder: Path, files: dict[str, str]) -> dict[str, set[str]]:
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return Crate(folder).uses()


FRONT = "mod low;\nmod room;\npub(crate) use room::high::High as Top;\n"


@pytest.mark.parametrize(
    "low",
    [
        "use crate::room::high::High;",
        "use crate::{other::Thing, room::{self, high::{High, Further as Lower}}};",
        "use super::Top;",
        "use crate::room;\nfn low() -> room::High { todo!() }",
        "fn low() { crate::Top::new() }",
        "fn low() { use crate::room::high; high::new() }",
        "macro_rules! low { () => { $crate::room::High } }",
        "fn low() { crate :: room :: High }",
    ],
)
def test_a_circle_is_found_wherever_a_name_stands(tmp_path, low):
    files = {"lib.rs": FRONT, "room/mod.rs": "mod high;\npub use high::High;\n"}
    high = {"room/high.rs": "use super::super::low::Low;"}
    assert circle_in(written(tmp_path, {**files, "low.rs": low, "room/high.rs": ""})) is None
    circle = circle_in(written(tmp_path, {**files, "low.rs": low, **high}))
    assert circle is not None
    assert set(circle.split(" uses ")) == {"low", "room::high"}


@pytest.mark.parametrize(
    "low",
    [
        "// use crate::high::High;\n/// [`crate::high::High`]\n/* crate::high::High */",
        'const LOW: &str = "crate::high::High"; const R: &str = r#"use "crate::high::High";"#;',
        "#[cfg(test)]\nmod tests { use crate::high::High; fn f() { if a { b } } }",
        "#[cfg(test)]\nuse crate::{high::High, high::Other};\nconst A: char = '\"';",
        "#[cfg(test)]\npub fn low() -> crate::high::High { crate::high::High {} }",
        "use std::high::High;\nfn low() { other_crate::high::High }",
        "#[cfg(test)]\nmod tests;",
    ],
)
def test_what_no_build_names_is_left_out(tmp_path, low):
    files = {"lib.rs": "mod high;\nmod low;\n", "high.rs": "use crate::low::Low;", "low.rs": low}
    if low.endswith("tests;"):
        files["low/tests.rs"] = "use crate::high::High;"
    assert circle_in(written(tmp_path, files)) is None


CHILD_OF = "use super::Shared;\npub struct Child(Shared);"


@pytest.mark.parametrize(
    ("parent", "is_circle"),
    [
        ("mod child;\npub use child::Child;\npub struct Shared;", False),
        ("mod child;\npub use child::Child;\npub struct Shared;\nfn f(of: Child) {}", True),
        ("mod child;\nuse child::Child;\npub struct Shared;", True),
        ("mod child;\npub struct Shared;\nfn f() { child::grow() }", True),
        ("mod child;\nuse crate::below::Shared;\nfn f() { child::grow() }", False),
    ],
)
def test_a_parent_may_use_a_child_or_a_child_its_parent(tmp_path, parent, is_circle):
    files = {"lib.rs": "mod below;\nmod parent;\n", "below.rs": "pub struct Shared;"}
    files |= {"parent.rs": parent, "parent/child.rs": CHILD_OF}
    assert (circle_in(written(tmp_path, files)) is not None) == is_circle
