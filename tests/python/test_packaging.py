"""What is published, and what a machine has to have: versions, the container, make's own words."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import vermilion
from vermilion import _core

ROOT = Path(__file__).parents[2]
CARGO = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]

# A stand-in for a machine: only these programs, and those that a test adds.
USUAL = ("bash", "sh", "cut", "sed", "sort", "head", "find", "grep", "expand", "printf", "dirname")


def test_the_citation_is_of_this_version():
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r"^version: (.*)$", text, re.MULTILINE)[1] == CARGO["version"]
    assert re.search(r"^license: (.*)$", text, re.MULTILINE)[1] == CARGO["license"]
    assert re.search(r"^repository-code: (.*)$", text, re.MULTILINE)[1] == CARGO["repository"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["urls"] == {"Repository": CARGO["repository"]}


def test_what_a_package_index_shows_has_no_link_that_is_dead_there():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    text = (ROOT / project["readme"]).read_text(encoding="utf-8")
    targets = re.findall(r"\]\(([^)\s]+)\)", text)
    assert len(targets) >= 5
    for target in targets:
        # The branch's files are those of this checkout.
        path = target.partition("#")[0].removeprefix(f"{CARGO['repository']}/blob/main/")
        assert path != target.partition("#")[0], f"{target} leads nowhere from a package index"
        assert (ROOT / path).is_file(), target
    front = (ROOT / "README.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (.*)$", front, re.MULTILINE)
    anchors = {re.sub(r"[^a-z -]", "", each.lower()).replace(" ", "-") for each in headings}
    assert {each.partition("#")[2] for each in targets if "/README.md#" in each} <= anchors


def test_what_a_binary_contains_of_others_is_named_with_its_licence():
    command = [sys.executable, ROOT / "docs" / "third_party.py", "--check"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert "THIRD-PARTY" in project["license-files"]
    named = (ROOT / "THIRD-PARTY").read_text(encoding="utf-8")
    demanded = set(re.findall(r"^\S+ \S+, https?://\S+ \((.*)\):$", named, re.MULTILINE))
    assert demanded <= set(project["license"].split(" AND "))


def test_the_laboratory_has_the_same_licence():
    # Its packages are made from the folder python alone, and no link may lead out of it.
    project = tomllib.loads((ROOT / "python" / "pyproject.toml").read_text(encoding="utf-8"))[
        "project"
    ]
    assert project["license"] == CARGO["license"]
    assert project["urls"] == {"Repository": CARGO["repository"]}
    for name in project["license-files"]:
        assert (ROOT / "python" / name).read_bytes() == (ROOT / name).read_bytes()


def test_the_lock_file_has_the_version_of_every_crate():
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text(encoding="utf-8"))
    own = [each for each in lock["package"] if each["name"].startswith("vermilion-")]
    assert own
    assert {each["version"] for each in own} == {CARGO["version"]}


def test_the_container_copies_what_there_is_and_nothing_that_is_kept_out():
    kept = (ROOT / ".containerignore").read_text(encoding="utf-8").splitlines()
    let_in = {line.removeprefix("!") for line in kept if line.startswith("!")}
    recipe = (ROOT / "Containerfile").read_text(encoding="utf-8")
    copied = [
        name
        for line in re.findall(r"^COPY (?!--)(.*)$", recipe, re.MULTILINE)
        for name in line.split()[:-1]
    ]
    assert copied
    for name in copied:
        assert (ROOT / name).exists()
        assert name in let_in


@pytest.fixture
def machine(tmp_path):
    """A checkout, and a machine that has only what a test puts there: its path."""
    for name in ("Makefile", "Cargo.toml", "Cargo.lock", "pyproject.toml", "requirements"):
        source = ROOT / name
        copy = shutil.copytree if source.is_dir() else shutil.copy
        copy(source, tmp_path / name)
    (tmp_path / "python").mkdir()
    shutil.copy(ROOT / "python" / "pyproject.toml", tmp_path / "python")
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in USUAL:
        if found := shutil.which(name):
            (programs / name).symlink_to(found)
    return programs


def add(machine, name, says):
    program = machine / name
    program.write_text(f"#!/bin/sh\necho {says}\n", encoding="utf-8")
    program.chmod(0o755)


def ask(machine, *words):
    environment = {"PATH": str(machine), "HOME": str(machine)}
    done = subprocess.run(
        [shutil.which("make"), "--no-print-directory", *words],
        cwd=machine.parent, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    lines = [line for line in done.stderr.splitlines() if not line.startswith("make: ***")]
    return done.returncode, lines


@pytest.mark.parametrize("target", ["build", "test", "demo", "test-rust", "docs", "bench", "wheel"])
def test_make_says_all_that_is_missing_in_a_line_each(machine, target):
    code, lines = ask(machine, target)
    assert code == 2
    assert len(lines) == 3
    assert "Python 3.11 or newer" in lines[0]
    assert "make PYTHON=/path/to/python3" in lines[0]
    assert "there is no cargo" in lines[1]
    assert "https://rustup.rs" in lines[1]
    assert "C compiler" in lines[2]
    assert "apt-get install gcc" in lines[2]


def test_what_is_there_is_not_asked_for(machine):
    (machine / "python3").symlink_to(sys.executable)
    add(machine, "cc", "cc")
    code, lines = ask(machine, "build")
    assert code == 2
    [only] = lines
    assert "there is no cargo" in only


def test_a_python_that_is_too_old_is_named(machine):
    (machine / "python3").write_text(
        "#!/bin/sh\n[ $1 = --version ] && echo Python 3.9.2 || exit 1\n"
    )
    (machine / "python3").chmod(0o755)
    add(machine, "cc", "cc")
    add(machine, "cargo", "cargo 1.95.0")
    code, lines = ask(machine, "build")
    assert code == 2
    [only] = lines
    assert "this is Python 3.9.2" in only


@pytest.mark.parametrize("version", ["1.63.0", "1.87.9"])
def test_a_cargo_that_is_too_old_is_named(machine, version):
    (machine / "python3").symlink_to(sys.executable)
    add(machine, "cc", "cc")
    add(machine, "cargo", f"cargo {version}")
    code, lines = ask(machine, "tools")
    assert code == 2
    [only] = lines
    assert f"this is {version}" in only
    assert "rustup update" in only


def test_a_toolchain_without_profiles_says_so_before_anything_is_installed(machine):
    (machine / "python3").symlink_to(sys.executable)
    add(machine, "cc", "cc")
    add(machine, "cargo", "cargo 1.95.0")
    add(machine, "rustc", "/nowhere")
    code, lines = ask(machine, "wheel", "PGO=1")
    assert code == 2
    [only] = lines
    assert "llvm-profdata" in only
    assert "rustup component add llvm-tools" in only
    assert not (machine.parent / ".venv").exists()


def test_a_machine_that_has_everything_hears_nothing(machine):
    (machine / "python3").symlink_to(sys.executable)
    add(machine, "cc", "cc")
    add(machine, "cargo", f"cargo {CARGO['rust-version']}.0")
    assert ask(machine, "tools") == (0, [])


LINUX_ALONE = ("fcntl", "resource", "termios", "pwd", "grp")


def test_nothing_of_linux_is_needed_to_simulate_and_to_tune():
    """What macOS and Windows lack is taken away; the rest of the difference nobody has tried."""
    program = f"""
import os, sys
for name in {LINUX_ALONE!r}:
    sys.modules[name] = None
for name in ("sched_getaffinity", "fork", "geteuid", "getuid"):
    delattr(os, name)
import vermilion.online.drive.run
from vermilion.cli import main
code = main(["run", "varying-load", "--set", "duration=30 s"])
arguments = ["tune", "varying-load", "--budget", "4", "--no-rivals", "--no-robustness"]
raise SystemExit(code or main(arguments))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "fresh seeds" in done.stdout


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
    ):
        assert (ROOT / "python" / "vermilion" / name).is_file()


def test_all_versions_agree():
    manifest = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))
    version = manifest["workspace"]["package"]["version"]
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert version == _core.VERSION == vermilion.__version__
    laboratory = tomllib.loads((ROOT / "python" / "pyproject.toml").read_text(encoding="utf-8"))
    assert laboratory["project"]["version"] == version
    assert re.search(rf"^## \[(Unreleased|{re.escape(version)})\]", changelog, re.MULTILINE)


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
