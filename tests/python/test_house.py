"""The house keeps its order: arrows point down, everything derives from one place."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib.util import resolve_name
from itertools import takewhile
from pathlib import Path

import pytest

import vermilion
from vermilion import _core

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "python" / "vermilion"
LABORATORY = ROOT / "python" / "vermilion_lab"

# Which rooms a room may know. What it may know, it may know all of.
ROOMS_BELOW = {
    "files": {"_core"},
    "monitor": {"files", "_core"},
    "scenario": {"files", "_core"},
    "networks": {"scenario"},
    "simulate": {"files", "scenario", "_core"},
    "fabric": {"simulate", "scenario", "_core"},
    "objectives": {"simulate", "scenario"},
    "search": {"scenario"},
    "profiles": {"search", "scenario"},
    "tuning": {"files", "profiles", "search", "objectives", "simulate", "scenario", "_core"},
    "autorate": {"files"},
    "bench": {"files", "report", "fabric", "simulate", "scenario", "_core"},
    "gym": {"simulate", "scenario", "_core"},
    "agentx": set(),
    "routers": {"agentx", "files", "monitor", "profiles", "simulate", "scenario", "_core"},
    "link": {"monitor", "routers", "scenario", "_core"},
    "online": {
        "files",
        "tuning",
        "routers",
        "search",
        "objectives",
        "simulate",
        "scenario",
        "_core",
    },
    "line": {"files", "monitor", "online", "routers", "scenario", "_core"},
    "status": {"files", "monitor", "online", "routers", "_core"},
    "twin": {"files", "monitor", "report", "simulate", "scenario", "_core"},
    "report": {"files", "online", "tuning", "objectives", "simulate", "scenario", "_core"},
    "advise": {
        "files",
        "monitor",
        "report",
        "tuning",
        "profiles",
        "search",
        "objectives",
        "simulate",
        "scenario",
        "_core",
    },
    "cli": {
        "files",
        "advise",
        "autorate",
        "line",
        "bench",
        "link",
        "monitor",
        "agentx",
        "fabric",
        "online",
        "report",
        "status",
        "tuning",
        "twin",
        "profiles",
        "routers",
        "search",
        "objectives",
        "simulate",
        "scenario",
        "_core",
    },
}

# Which rooms of the laboratory a room of it may know, beside those of the product.
LABORATORY_BELOW = {
    "interchange": set(),
    "kernel_plant": set(),
    "emulator_plant": {"kernel_plant"},
    "papers": {"package_digest"},
    "atlas": {"package_digest"},
    "cli": {"atlas", "emulator_plant", "interchange", "kernel_plant", "papers"},
}

CRATES_BELOW = {
    "parameters": set(),
    "aqm": {"parameters"},
    "port": {"aqm", "parameters"},
    "tcp": {"parameters"},
    "rdma": {"parameters"},
    "shaping": {"parameters"},
    "netsim": {"port", "aqm", "tcp", "shaping", "parameters"},
    "fabric": {"netsim", "rdma", "tcp", "port", "parameters"},
    "plugin": {"aqm", "tcp", "parameters"},
    "monitor": set(),
    "link": {"monitor", "netsim", "aqm", "parameters"},
    "link-io": {"link"},
    "line-daemon": {"shaping", "parameters"},
    "python": {
        "link-io",
        "link",
        "monitor",
        "plugin",
        "fabric",
        "netsim",
        "port",
        "aqm",
        "rdma",
        "shaping",
        "tcp",
        "parameters",
    },
}

HEAVY_MODULES = {
    "cmaes",
    "cryptography",
    "dask",
    "distributed",
    "gymnasium",
    "jinja2",
    "matplotlib",
    "numpy",
    "pandas",
    "pint",
    "pyarrow",
    "pyasn1",
    "pydantic",
    "pysnmp",
    "scipy",
}


def rooms(package: Path) -> set[str]:
    return {path.parent.name for path in package.glob("*/__init__.py")}


def imported_rooms(file: Path, package: str = "vermilion") -> set[str]:
    """The rooms of a package that a file imports, wherever in it the import stands."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            parts = name.split(".")
            if parts[0] == package and len(parts) > 1:
                found.add(parts[1])
    return found


def module_of(file: Path, source: Path) -> str:
    """The module that a file is: its own name, or of a front (``__init__``) its room's."""
    parts = file.relative_to(source).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_names(file: Path, module: str) -> list[tuple[str, str | None, str]]:
    """The imports in a file, wherever they stand: module, name in it, and what it is called here.

    For types alone and inside functions counts too.
    """
    package = module if file.stem == "__init__" else module.rpartition(".")[0]
    found = []
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [(alias.name, None, "") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            origin = resolve_name("." * node.level + (node.module or ""), package)
            found += [(origin, alias.name, alias.asname or alias.name) for alias in node.names]
    return found


def imports_among(source: Path) -> dict[str, set[str]]:
    """Which modules below a folder import which others.

    A name taken from a room's front counts as one taken from the file where the front gets it.
    """
    files = {
        module_of(file, source): file
        for kind in ("*.py", "*.pyi")
        for file in sorted(source.rglob(kind))
    }
    imports = {module: imported_names(file, module) for module, file in files.items()}
    shown_by_fronts = {
        (module, here): (origin, name)
        for module, file in files.items()
        if file.stem == "__init__"
        for origin, name, here in imports[module]
        if name is not None
    }

    def home(module: str, name: str | None) -> str:
        while name is not None and f"{module}.{name}" not in files:
            if (module, name) not in shown_by_fronts:
                return module
            module, name = shown_by_fronts[module, name]
        return module if name is None else f"{module}.{name}"

    return {
        module: {home(origin, name) for origin, name, _ in names} & files.keys() - {module}
        for module, names in imports.items()
    }


def circle_in(uses: dict[str, set[str]]) -> str | None:
    """Return a circle among files as text, or ``None``."""
    try:
        TopologicalSorter(uses).prepare()
    except CycleError as error:
        # Each is used by the one after it.
        return " uses ".join(reversed(error.args[1]))
    return None


def test_no_imports_form_a_circle():
    circle = circle_in(imports_among(PACKAGE.parent))
    assert circle is None, circle


def imports_among_rooms(imports: dict[str, set[str]]) -> dict[str, dict[str, set[str]]]:
    """For each folder, which of what lies in it imports which other, with all that each holds."""
    within: dict[str, dict[str, set[str]]] = {}
    for module, others in imports.items():
        for other in others:
            paths = module.split("."), other.split(".")
            shared = sum(
                1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(*paths, strict=False))
            )
            folder = ".".join(paths[0][:shared])
            if shared < min(map(len, paths)):
                here, there = (path[shared] for path in paths)
                within.setdefault(folder, {}).setdefault(here, set()).add(there)
    return within


def test_no_rooms_within_a_room_import_each_other_in_a_circle():
    for folder, imports in imports_among_rooms(imports_among(PACKAGE.parent)).items():
        circle = circle_in(imports)
        assert circle is None, f"in {folder}, {circle}"


def test_every_room_has_its_place_in_the_house():
    assert rooms(PACKAGE) == set(ROOMS_BELOW)
    assert rooms(LABORATORY) == set(LABORATORY_BELOW)


def test_the_product_never_imports_the_laboratory():
    for module, imports in imports_among(PACKAGE.parent).items():
        if module.partition(".")[0] == "vermilion":
            known = {each for each in imports if each.partition(".")[0] == "vermilion_lab"}
            assert not known, f"{module} knows {', '.join(sorted(known))}"


@pytest.mark.parametrize("room", LABORATORY_BELOW)
def test_a_room_of_the_laboratory_knows_only_rooms_below_it(room):
    for file in (LABORATORY / room).rglob("*.py"):
        upward = imported_rooms(file, LABORATORY.name) - LABORATORY_BELOW[room] - {room}
        if room != "cli":
            upward |= imported_rooms(file) & {"cli"}
        assert not upward, f"{file.relative_to(ROOT)} knows {', '.join(sorted(upward))}"


@pytest.mark.parametrize("room", ROOMS_BELOW)
def test_a_room_knows_only_rooms_below_it(room):
    for file in (PACKAGE / room).rglob("*.py"):
        upward = imported_rooms(file) - ROOMS_BELOW[room] - {room}
        assert not upward, f"{file.relative_to(ROOT)} knows {', '.join(sorted(upward))}"


def test_no_table_has_a_cycle():
    TopologicalSorter(ROOMS_BELOW).prepare()
    TopologicalSorter(LABORATORY_BELOW).prepare()
    TopologicalSorter(CRATES_BELOW).prepare()


@pytest.mark.parametrize("crate", CRATES_BELOW)
def test_a_crate_knows_only_crates_below_it(crate):
    manifest = tomllib.loads((ROOT / "crates" / crate / "Cargo.toml").read_text(encoding="utf-8"))
    known = {
        name.removeprefix("vermilion-")
        for table in ("dependencies", "dev-dependencies", "build-dependencies")
        for name in manifest.get(table, {})
        if name.startswith("vermilion-")
    }
    assert known <= CRATES_BELOW[crate]


def test_every_crate_has_its_place_in_the_house():
    assert {path.parent.name for path in ROOT.glob("crates/*/Cargo.toml")} == set(CRATES_BELOW)


def modules_of(program: Path, folder: Path) -> set[Path]:
    """The files of Rust that `program` is made of, as far as they are in its folder."""
    files = {program}
    for name in re.findall(r"^(?:pub )?mod (\w+);", program.read_text(), re.MULTILINE):
        places = (folder / f"{name}.rs", folder / name / "mod.rs")
        files.update(*(modules_of(place, folder / name) for place in places if place.exists()))
    return files


def programs_of_tests(crate: str) -> list[str]:
    """What the crate names as its programs of tests; none where cargo finds each file by itself."""
    manifest = tomllib.loads((ROOT / "crates" / crate / "Cargo.toml").read_text())
    return [test["name"] for test in manifest.get("test", [])]


@pytest.mark.parametrize("crate", [crate for crate in CRATES_BELOW if programs_of_tests(crate)])
def test_every_file_of_rust_tests_is_compiled(crate):
    tests = ROOT / "crates" / crate / "tests"
    programs = [tests / f"{name}.rs" for name in programs_of_tests(crate)]
    compiled = set().union(*(modules_of(program, tests) for program in programs))
    assert compiled == set(tests.rglob("*.rs"))


@pytest.mark.parametrize("discipline", [entry["name"] for entry in json.loads(_core.disciplines())])
def test_every_discipline_has_its_test_vectors(discipline):
    vectors = ROOT / "tests" / "vectors" / f"{discipline}.json"
    assert vectors.exists(), f"{vectors.relative_to(ROOT)} is missing"
    json.loads(vectors.read_text(encoding="utf-8"))


@pytest.mark.parametrize("references", ["reference", "reference/senders", "reference/shaping"])
def test_the_vectors_are_what_the_references_give(references):
    command = [sys.executable, ROOT / "tests" / "vectors" / references, "--check"]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    assert outcome.returncode == 0, outcome.stderr


def test_no_vectors_are_left_of_a_discipline_that_is_gone():
    known = {entry["name"] for entry in json.loads(_core.disciplines())}
    known |= {entry["name"] for entry in json.loads(_core.senders())}
    assert {path.stem for path in (ROOT / "tests" / "vectors").glob("*.json")} <= known


def test_help_loads_no_heavy_module():
    program = (
        "import sys; from vermilion.cli import main\n"
        "sys.argv = ['vermilion', '--help']\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print('loaded:', *sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    output = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout
    loaded = set(output.rpartition("loaded:")[2].split())
    assert "vermilion" in loaded
    assert not loaded & HEAVY_MODULES


def test_importing_the_package_loads_nothing_else():
    program = "import sys, vermilion; print(*(n for n in sys.modules if n.startswith('vermilion')))"
    output = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout
    assert output.split() == ["vermilion"]


def test_every_name_the_package_promises_is_there():
    for name in vermilion.__all__:
        assert getattr(vermilion, name) is not None


def test_the_scenario_page_names_every_key_of_the_language():
    from vermilion import scenario

    page = (ROOT / "docs" / "scenario-language.md").read_text(encoding="utf-8")
    for table in ("Scenario", "Link", "FlowGroup", "Change", "Tuning"):
        for key in getattr(scenario, table).model_fields:
            assert f"`{key}`" in page, f"{table}.{key}"


def test_every_example_scenario_is_reached_by_its_name():
    shelf = ROOT / "scenarios"
    shipped = {str(path.relative_to(shelf).with_suffix("")) for path in shelf.rglob("*.toml")}
    from vermilion.scenario import scenario_names

    assert shipped == set(scenario_names())


# --- files of a crate ---

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
    """Modules of a crate, and what each names.

    A path in ``use`` or elsewhere (``crate::x::Y``, ``super::Y``, ``child::Y``) names the file that
    defines it, whichever file re-exports it. Code for tests alone does not count, and methods are
    not seen. That a parent declares a child (``mod child;``) or re-exports its names is no use of
    it.
    """

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


@pytest.mark.parametrize("crate", CRATES_BELOW)
def test_no_files_of_a_crate_form_a_circle(crate):
    circle = circle_in(uses_in(crate))
    assert circle is None, circle


@pytest.mark.parametrize(
    ("low", "is_circle"),
    [
        ("use crate::{other::Thing, room::{self, high::{High, Further as Lower}}};", True),
        ("use super::Top;", True),
        ("fn low() { use crate::room::high; high::new() }", True),
        ("#[cfg(test)]\nmod tests { use crate::room::high::High; fn f() { if a { b } } }", False),
        ('// crate::room::high::High\nconst LOW: &str = "crate::room::high::High";', False),
    ],
)
def test_a_circle_of_rust_files_is_found_wherever_a_name_stands(tmp_path, low, is_circle):
    (tmp_path / "room").mkdir()
    for name, text in (
        ("lib.rs", "mod low;\nmod room;\npub(crate) use room::high::High as Top;\n"),
        ("room/mod.rs", "mod high;\npub use high::High;\n"),
        ("room/high.rs", "use super::super::low::Low;"),
        ("low.rs", low),
    ):
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert (circle_in(Crate(tmp_path).uses()) is not None) == is_circle
