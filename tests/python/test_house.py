"""The house keeps its order: arrows point down, everything derives from one place."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
from graphlib import CycleError, TopologicalSorter
from importlib.util import resolve_name
from itertools import takewhile
from pathlib import Path

import pytest

import vermilion
from vermilion import _core

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "python" / "vermilion"

# Which rooms a room may know. What it may know, it may know all of.
ROOMS_BELOW = {
    "files": set(),
    "monitor": {"_core"},
    "scenario": {"_core"},
    "networks": {"scenario"},
    "simulate": {"files", "scenario", "_core"},
    "interchange": {"files", "simulate", "scenario"},
    "objectives": {"simulate", "scenario"},
    "search": {"scenario"},
    "profiles": {"search", "scenario"},
    "tuning": {"files", "profiles", "search", "objectives", "simulate", "scenario", "_core"},
    "agentx": set(),
    "routers": {"agentx", "monitor", "profiles", "simulate", "scenario", "_core"},
    "link": {"monitor", "routers", "scenario", "_core"},
    "emulator_plant": {"kernel_plant", "link", "routers", "simulate", "scenario", "_core"},
    "kernel_plant": {"agentx", "routers", "monitor", "simulate", "scenario", "_core"},
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
    "status": {"monitor", "online", "routers", "_core"},
    "twin": {"monitor", "report", "simulate", "scenario", "_core"},
    "report": {"files", "online", "tuning", "objectives", "simulate", "scenario", "_core"},
    "papers": {
        "files",
        "online",
        "report",
        "tuning",
        "search",
        "objectives",
        "simulate",
        "scenario",
        "_core",
    },
    "atlas": {
        "files",
        "report",
        "tuning",
        "search",
        "objectives",
        "simulate",
        "scenario",
        "_core",
    },
    "advise": {
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
        "atlas",
        "emulator_plant",
        "interchange",
        "kernel_plant",
        "link",
        "papers",
        "monitor",
        "agentx",
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

CRATES_BELOW = {
    "parameters": set(),
    "aqm": {"parameters"},
    "tcp": {"parameters"},
    "netsim": {"aqm", "tcp", "parameters"},
    "monitor": set(),
    "link": {"monitor", "netsim", "aqm", "parameters"},
    "link-io": {"link"},
    "python": {"link-io", "link", "monitor", "netsim", "aqm", "tcp", "parameters"},
}

HEAVY_MODULES = {
    "cmaes",
    "cryptography",
    "dask",
    "distributed",
    "jinja2",
    "matplotlib",
    "numpy",
    "optuna",
    "pandas",
    "pint",
    "pyarrow",
    "pyasn1",
    "pydantic",
    "pysnmp",
    "scipy",
}


def rooms():
    return sorted(path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists())


def imported_rooms(file: Path) -> set[str]:
    """The rooms of the package that a file imports, wherever in it the import stands."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            parts = name.split(".")
            if parts[0] == "vermilion" and len(parts) > 1:
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


def circle_in(imports: dict[str, set[str]]) -> str | None:
    """A circle of imports, in words; ``None`` where there is none."""
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        # Each is imported by the one after it.
        return " imports ".join(reversed(error.args[1]))
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


def test_a_circle_of_rooms_is_found_though_no_files_form_one():
    imports = {
        "a.b.one": {"a.c.two"},
        "a.c.three": {"a.b.four"},
        "a.c.two": set(),
        "a.b.four": set(),
    }
    assert circle_in(imports) is None
    assert circle_in(imports_among_rooms(imports)["a"]) is not None


@pytest.mark.parametrize(
    ("low", "high"),
    [
        ("from house.room.high import High\n", "from house.room.low import Low\n"),
        ("from house.room import High\n", "import house.room.low\n"),
        (
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from house import High\n",
            "from .low import Low\n",
        ),
        (
            "def low():\n    from house.room import high\n    return high\n",
            "def high():\n    from house.room import Bottom as low\n    return low\n",
        ),
    ],
)
def test_a_circle_is_found_wherever_its_imports_stand(tmp_path, low, high):
    room = tmp_path / "house" / "room"
    room.mkdir(parents=True)
    (tmp_path / "house" / "__init__.py").write_text("from house.room import High\n")
    (room / "__init__.py").write_text(
        "from house.room.high import High\nfrom house.room.low import Low as Bottom\n"
    )
    (room / "low.py").write_text(low)
    (room / "high.py").write_text("")
    assert circle_in(imports_among(tmp_path)) is None
    (room / "high.py").write_text(high)
    circle = circle_in(imports_among(tmp_path))
    assert circle is not None
    assert {"house.room.low", "house.room.high"} == set(circle.split(" imports "))


def test_every_room_has_its_place_in_the_house():
    assert set(rooms()) == set(ROOMS_BELOW)


@pytest.mark.parametrize("room", ROOMS_BELOW)
def test_a_room_knows_only_rooms_below_it(room):
    for file in (PACKAGE / room).rglob("*.py"):
        upward = imported_rooms(file) - ROOMS_BELOW[room] - {room}
        assert not upward, f"{file.relative_to(ROOT)} knows {', '.join(sorted(upward))}"


def test_neither_table_has_a_cycle():
    TopologicalSorter(ROOMS_BELOW).prepare()
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


def test_one_file_has_unsafe_code():
    rust = (path for path in (ROOT / "crates").rglob("*.rs") if "target" not in path.parts)
    unsafe = [path for path in rust if re.search(r"\bunsafe (\{|fn|impl|trait)", path.read_text())]
    assert unsafe == [ROOT / "crates" / "netsim" / "src" / "prefetch.rs"]


@pytest.mark.parametrize("discipline", [entry["name"] for entry in json.loads(_core.disciplines())])
def test_every_discipline_has_its_test_vectors(discipline):
    vectors = ROOT / "tests" / "vectors" / f"{discipline}.json"
    assert vectors.exists(), f"{vectors.relative_to(ROOT)} is missing"
    json.loads(vectors.read_text(encoding="utf-8"))


@pytest.mark.parametrize("references", ["reference", "reference/senders"])
def test_the_vectors_are_what_the_references_give(references):
    command = [sys.executable, ROOT / "tests" / "vectors" / references, "--check"]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    assert outcome.returncode == 0, outcome.stderr


def test_no_vectors_are_left_of_a_discipline_that_is_gone():
    known = {entry["name"] for entry in json.loads(_core.disciplines())}
    known |= {entry["name"] for entry in json.loads(_core.senders())}
    assert {path.stem for path in (ROOT / "tests" / "vectors").glob("*.json")} <= known


TWICE = re.compile(r"^\| (?:`(\w+)` )?\| `([\w/]+\.py)` \|", re.MULTILINE)
"""A row of the glossary's table of class names with two meanings; the name stands in the first."""


def told_twice(page):
    """The names of that table, with the files where each stands."""
    told, name = {}, ""
    for found in TWICE.finditer(page):
        name = found[1] or name
        told.setdefault(name, []).append(found[2])
    return told


def classes_defined_twice(package):
    """Public classes of which several modules have one, with these modules' paths."""
    found = {}
    for path in sorted(package.rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found.setdefault(node.name, []).append(path.relative_to(package).as_posix())
    return {name: paths for name, paths in found.items() if len(paths) > 1}


def test_every_class_with_the_name_of_another_is_in_the_glossary():
    page = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    assert classes_defined_twice(PACKAGE) == told_twice(page)


def test_a_name_that_two_files_define_is_found(tmp_path):
    for name, text in (
        ("a", "class One: ...\nclass _Own: ..."),
        ("b", "class One: ...\nclass _Own: ..."),
    ):
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    assert classes_defined_twice(tmp_path) == {"One": ["a.py", "b.py"]}


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


def test_the_types_and_the_templates_are_in_the_wheel():
    # maturin packs everything below its Python source that nobody excludes.
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"][
        "maturin"
    ]
    assert settings["python-source"] == "python"
    assert "exclude" not in settings
    for name in (
        "py.typed",
        "_core.pyi",
        "report/templates/comparison.html.j2",
        "papers/templates/papers.html.j2",
    ):
        assert (PACKAGE / name).is_file()


def test_every_name_the_package_promises_is_there():
    for name in vermilion.__all__:
        assert getattr(vermilion, name) is not None


def test_all_versions_agree():
    manifest = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))
    version = manifest["workspace"]["package"]["version"]
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert version == _core.VERSION == vermilion.__version__
    assert re.search(rf"^## \[(Unreleased|{re.escape(version)})\]", changelog, re.MULTILINE)


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


def test_no_lock_file_names_a_place_to_fetch_from():
    for file in (ROOT / "requirements").glob("*.txt"):
        text = file.read_text(encoding="utf-8")
        assert "--index-url" not in text
        assert "--extra-index-url" not in text
        assert "--find-links" not in text
        assert "://" not in text
        assert text.count("--hash=sha256:") >= len(re.findall(r"^\S+==", text, re.MULTILINE))


def test_every_direct_dependency_is_locked_and_explained():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    runtime = project["project"]["dependencies"] + project["dependency-groups"]["build"]
    groups = project["dependency-groups"]
    extras = project["project"]["optional-dependencies"]
    everything = sum(extras.values(), runtime) + groups["test"] + groups["lint"] + groups["docs"]
    page = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    locks = {
        "runtime": runtime,
        "development": everything,
        "benchmark": groups["benchmark"],
    }
    for lock, requirements in locks.items():
        text = (ROOT / "requirements" / f"{lock}.txt").read_text(encoding="utf-8")
        for requirement in requirements:
            name = re.split(r"[\[<>=]", requirement)[0]
            assert re.search(rf"^{re.escape(name)}==", text, re.MULTILINE), f"{name} in {lock}.txt"
            assert name in page
