"""What README and documentation show is what a reader gets."""

from __future__ import annotations

import importlib.util
import itertools
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted(
        page
        for page in (ROOT / "docs").rglob("*.md")
        if not {"_build", "disciplines"} & set(page.relative_to(ROOT).parts[:-1])
    ),
]


def load(path):
    specification = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


refresh_examples = load(ROOT / "docs" / "refresh_examples.py")
run_once = cache(refresh_examples.run)  # pages share examples


def shape(text):
    """The words and signs of an output without its numbers, which may differ between machines."""
    words = re.sub(r"-?\d[\d,.]*(e[-+]?\d+)?", "#", text)
    return [" ".join(line.split()) for line in words.splitlines() if line.strip()]


EXAMPLES = [pytest.param(each, id=each.command) for each in refresh_examples.examples()]


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_runs_and_shows_what_the_page_shows(example):
    output = run_once(example.command)
    if " online " in example.command:
        return  # what a controller decides may depend on the last bit of a number
    assert shape(output) == shape(example.output), "make examples refreshes the pages"


def python_blocks():
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for block in re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
            yield pytest.param(block, id=page.name)


@pytest.mark.parametrize("block", list(python_blocks()))
def test_a_python_example_runs(block, capsys, tmp_path, monkeypatch):
    # Some write files, and some read the vectors, as from the root of the repository.
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    exec(compile(block, "example", "exec"), {"__name__": "example"})  # noqa: S102 - our own pages
    capsys.readouterr()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_link_between_pages_is_dead(page):
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", text):
        assert (page.parent / target).exists(), f"{page.name} -> {target}"


def test_every_command_has_a_section():
    import typer

    from vermilion.cli.application import application

    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    headings = " ".join(re.findall(r"^## (.*)$", page, re.MULTILINE))
    for command in typer.main.get_command(application()).commands:
        assert f"`vermilion {command}`" in headings


def test_every_long_option_of_a_synopsis_exists():
    import typer

    from vermilion.cli.application import application

    commands = typer.main.get_command(application()).commands
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    synopses = re.findall(r"^```text\nvermilion (\S+)(.*?)```$", page, re.MULTILINE | re.DOTALL)
    assert len(synopses) >= 5
    for command, options in synopses:
        known = {name for parameter in commands[command].params for name in parameter.opts}
        assert set(re.findall(r"--[a-z-]+", options)) <= known


def declared():
    """Every package that the two languages' manifests ask for, but for our own crates."""
    crates = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = project["project"]["optional-dependencies"]
    lists = [project["project"]["dependencies"], *extras.values()]
    lists += project["dependency-groups"].values()
    names = {re.split(r"[^\w-]", each)[0] for each in itertools.chain(*lists)}
    return names | {name for name in crates["dependencies"] if not name.startswith("vermilion-")}


def test_the_page_of_dependencies_lists_what_is_asked_for_and_nothing_else():
    page = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    rows = [line.split(" | ") for line in page.splitlines() if line.startswith("| ")]
    # Where the table names an extra first, the package comes second.
    cells = [row[1] if row[0].startswith("| `") else row[0].strip("| ") for row in rows]
    [own] = re.findall(r"^For its tests: .*?\n\n", page, re.MULTILINE | re.DOTALL)
    listed = {name for cell in cells for name in re.findall(r"(?<!`)\b[a-z][\w-]+", cell)}
    listed -= {"package", "crate", "extra", "with", "distributed"}
    missing = {name for name in declared() - listed if not re.search(rf"\b{name}\b", own)}
    assert not missing
    assert not listed - declared()
