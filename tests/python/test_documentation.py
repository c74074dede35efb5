"""What README and documentation show is what a reader gets."""

from __future__ import annotations

import importlib.util
import itertools
import platform
import re
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "python" / "README.md",
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


EXAMPLES = [pytest.param(each, id=each.command) for each in refresh_examples.examples()]

# Whose elementary functions the pages were written with; others may tip a controller's decision.
SAME_NUMBERS = platform.machine() == "x86_64" and platform.libc_ver()[0] == "glibc"


@pytest.mark.evidence
@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_runs_and_shows_what_the_page_shows(example):
    output = run_once(example.command)
    if " online " in example.command and not SAME_NUMBERS:
        pytest.skip("it ran, but its numbers are compared on x86-64 Linux with glibc only")
    differing = refresh_examples.differences(example.output, output)
    assert not differing, "make examples refreshes the pages"


@pytest.mark.parametrize(
    ("shown", "came"),
    [
        ("mean 12.3 ms", "mean 12.4 ms"),  # one in the last digit
        ("99,470 packets in 0.018 s (9.2 million per CPU second)",
         "99,470 packets in 0.5 s (0.3 million per CPU second)"),
        ("rate 123456 bit/s", "rate 123500 bit/s"),  # within a thousandth
        ("a  b\n────", "a b\n──────"),
    ],
)  # fmt: skip
def test_an_output_may_differ_by_rounding_and_by_time(shown, came):
    assert not refresh_examples.differences(shown, came)


@pytest.mark.parametrize(
    ("shown", "came"),
    [
        ("mean 12.3 ms", "mean 12.5 ms"),
        ("mean 12.3 ms", "mean -12.3 ms"),
        ("mean 12.3 ms", "median 12.3 ms"),
        ("16 flows", "17 flows"),  # a whole number has no last digit to round
        ("rate 123456 bit/s", "rate 123600 bit/s"),
        ("1.2e-05", "1.4e-05"),
        ("one\ntwo", "one"),
        ("6.2 +- 0.1*", "6.2 +- 0.1"),
    ],
)
def test_an_output_may_not_differ_otherwise(shown, came):
    assert len(refresh_examples.differences(shown, came)) == 1


def python_blocks():
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for block in re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
            yield pytest.param(block, id=page.name)


@pytest.mark.evidence
@pytest.mark.parametrize("block", list(python_blocks()))
def test_a_python_example_runs(block, capsys, tmp_path, monkeypatch):
    # Some write files, and some read the vectors, as from the root of the repository.
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    exec(compile(block, "example", "exec"), {"__name__": "example"})  # noqa: S102 - our own pages
    capsys.readouterr()


def test_no_link_between_pages_is_dead():
    dead = [
        f"{page.name} -> {target}"
        for page in PAGES
        for target in re.findall(
            r"\]\((?!https?:|#|mailto:)([^)#\s]+)", page.read_text(encoding="utf-8")
        )
        if not (page.parent / target).exists()
    ]
    assert not dead


def test_no_example_needs_a_filter():
    filtered = [
        f"{page.name}: {line}"
        for page in PAGES
        for line in page.read_text(encoding="utf-8").splitlines()
        if re.search(r"vermilion .*\|\s*(sed|cut|grep|head|awk|tail)\b", line)
        and "... | head" not in line
    ]
    assert not filtered


def test_every_command_has_a_section():
    import typer

    from vermilion.cli.application import application

    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    headings = " ".join(re.findall(r"^## (.*)$", page, re.MULTILINE))
    group = typer.main.get_command(application())
    for command in group.list_commands(typer.Context(group)):
        assert f"`vermilion {command}`" in headings


def test_every_command_has_its_options_on_the_page():
    sys.path.insert(0, str(ROOT / "docs" / "_extensions"))
    from command_options import PLACE, table

    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    named = PLACE.findall(page)
    assert len(named) == len(set(named)) >= 20
    assert "| `--budget COUNT` |" in table("tune")
    assert all(table(command).count("\n") >= 2 for command in named)


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
