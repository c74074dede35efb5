"""What README and documentation show is what a reader gets."""

from __future__ import annotations

import importlib.util
import itertools
import platform
import re
import tomllib
from functools import cache
from pathlib import Path
from typing import NamedTuple

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
provenance = load(ROOT / "benches" / "provenance.py")
run_once = cache(refresh_examples.run)  # pages share examples


EXAMPLES = [pytest.param(each, id=each.command) for each in refresh_examples.examples()]

# Whose elementary functions the pages were written with; others may tip a controller's decision.
SAME_NUMBERS = platform.machine() == "x86_64" and platform.libc_ver()[0] == "glibc"


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


# A script or a source of this repository, or a command that a reader can run.
FILE = r"(?:benches|docs|tests|crates)/[\w./-]+"
NAMED = re.compile(rf"`({FILE})[^`]*`|`(?:cargo bench|make bench|vermilion [a-z]+)[^`]*`")
SHA = r"[0-9a-f]{7,40}"
# The two wordings that docs/style.md explains.
MEASURED = re.compile(rf"(?:measured at|recorded in) ({SHA}(?:(?:, | and ){SHA})*)")
UNSURE = re.compile("not committed|no known commit|no commit yet")
FIGURE = re.compile(r"[*<−+~±-]*\d")

DEFINITIONS = {
    ("README.md", "| | there | not there yet |"): "the one figure is of what is not there",
    ("docs/advise.md", "| on | noticeable is |"): "bounds that the program has",
    ("docs/advise.md", "| | may change by at most |"): "bounds that the program has",
    ("docs/atlas.md", "| rule | what it says |"): "settings that others recommend",
    ("docs/decisions.md", "| name | what is bounded | bound | in words |"): "bounds that it has",
    ("docs/limits.md", "| what | from | to | why |"): "what is accepted, which tests hold",
    ("docs/metrics.md", "| key | unit | definition |"): "ranges that a metric can have",
    ("docs/metrics.md", "| column | unit | meaning |"): "ranges that a column can have",
    ("docs/monitor.md", "| what | bound |"): "bounds that the program has",
    ("docs/online.md", "| what | test |"): "thresholds that the program has",
    ("docs/scenario-language.md", "| key | kind | default | meaning |"): "defaults",
    ("docs/scenario-library.md", "| name | section | what to look at | numbers |"): (
        "sections of the RFC that a scenario is of"
    ),
    ("docs/twin.md", "| of the scenario | from the capture |"): "what the program does",
    ("docs/validation.md", "| claim | expected | tolerance |"): (
        "closed forms and tolerances, which tests hold"
    ),
}
"""Tables whose figures nobody has measured, by page and headings, with the reason."""


class Table(NamedTuple):
    """A table of a page.

    Attributes:
        line: that it begins in, from 0.
        headings: its first line.
        rows: the cells of the others.
        below: the paragraph behind it.
    """

    line: int
    headings: str
    rows: list[list[str]]
    below: str


def tables(text):
    for found in re.finditer(r"(?:^\|.*(?:\n|\Z))+", text, re.MULTILINE):
        lines = found[0].splitlines()
        rows = [line.strip("| ").split(" | ") for line in lines[2:]]
        line = text.count("\n", 0, found.start())
        yield Table(line, lines[0], rows, paragraph(text[found.end() :]))


def paragraph(text):
    """The first paragraph of a text."""
    return text.strip().partition("\n\n")[0]


def has_figures(table):
    """Whether a cell beside the first column begins with a figure, or judges a paper's claim."""
    cells = [re.sub(r"`[^`]*`,? ?", "", cell).strip() for row in table.rows for cell in row[1:]]
    return "what the paper says" in table.headings or any(map(FIGURE.match, cells))


def says_what_made_it(text):
    """Whether a paragraph names what made a table, which is there, and the commit."""
    if not MEASURED.search(text) or not NAMED.search(text) or UNSURE.search(text):
        return False
    return all((ROOT / file).exists() for file in NAMED.findall(text) if file)


def head(text):
    """What a page says of all that is on it: paragraphs before its first section."""
    before = re.split(r"^## ", text, maxsplit=1, flags=re.MULTILINE)[0]
    return [each for each in before.split("\n\n") if "this page" in each]


def untold(text):
    """The tables of a page that have figures, with nothing that says what made them and when."""
    if any(map(says_what_made_it, head(text))):
        return []
    return [
        table for table in tables(text) if has_figures(table) and not says_what_made_it(table.below)
    ]


DOCUMENTED = [
    ROOT / "README.md",
    *sorted(
        page
        for page in (ROOT / "docs").rglob("*.md")
        if not {"_build", "disciplines"} & set(page.relative_to(ROOT / "docs").parts[:-1])
    ),
]
TEXT_FIGURES = sorted((ROOT / "docs" / "figures").glob("*.txt"))


def name_of(page):
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", DOCUMENTED, ids=name_of)
def test_every_table_of_measurements_says_what_made_it_and_at_which_commit(page):
    where = [
        f"{name_of(page)}:{table.line + 1}: {table.headings}"
        for table in untold(page.read_text(encoding="utf-8"))
        if (name_of(page), table.headings) not in DEFINITIONS
    ]
    assert not where, "docs/style.md says what has to stand below a table of measurements"


@pytest.mark.parametrize("figure", TEXT_FIGURES, ids=name_of)
def test_every_figure_of_words_says_what_made_it_and_at_which_commit(figure):
    told = figure.read_text(encoding="utf-8").split("\n\n")
    for page in DOCUMENTED:
        text = page.read_text(encoding="utf-8")
        for block in re.finditer(
            rf"^```{{\w+}} figures/{figure.name}\n(?:.*\n)*?```$", text, re.MULTILINE
        ):
            told.append(paragraph(text[block.end() :]))
    assert any(map(says_what_made_it, told)), "docs/style.md says what has to stand below it"


def test_every_table_that_is_listed_as_no_measurement_is_there_and_looks_like_one():
    found = {
        (name_of(page), table.headings)
        for page in DOCUMENTED
        for table in untold(page.read_text(encoding="utf-8"))
    }
    assert not DEFINITIONS.keys() - found


def test_every_commit_at_which_something_was_measured_is_in_the_history():
    top = provenance.git("rev-parse", "--show-toplevel")
    if top is None or Path(top).resolve() != ROOT.resolve():
        pytest.skip("there is no git repository here, so nobody can look for commits")
    if provenance.git("rev-parse", "--is-shallow-repository") != "false":
        pytest.skip("this clone is shallow, so that earlier commits are not in it")
    named = {
        commit: name_of(page)
        for page in [*DOCUMENTED, *TEXT_FIGURES]
        for commits in MEASURED.findall(page.read_text(encoding="utf-8"))
        for commit in re.findall(SHA, commits)
    }
    assert len(named) > 40
    asked = "".join(f"{commit}^{{commit}}\n" for commit in named)
    answers = provenance.git("cat-file", "--batch-check", told=asked).splitlines()
    unknown = {
        commit: page
        for (commit, page), answer in zip(named.items(), answers, strict=True)
        if answer.split()[1:2] != ["commit"]
    }
    assert not unknown


ROWS = "| a | b |\n| --- | --- |\n| x | 1.5 ± 0.1 |\n"
MADE = "*Made by `benches/tuning.py`, measured at 0123abc and 4567def.*"


@pytest.mark.parametrize(
    "text",
    [
        f"{ROWS}\n{MADE}\n",
        f"Tables of this page: {MADE}\n\n## Words\n\n{ROWS}",
        f"{ROWS}\n*Made by `make bench`, recorded in 0123abc.*\n",
        ROWS.replace("1.5 ± 0.1", "red"),
        ROWS.replace("1.5 ± 0.1", "`5 ms`"),
    ],
)
def test_a_table_of_measurements_is_told(text):
    assert not untold(text)


@pytest.mark.parametrize(
    "text",
    [
        ROWS,
        f"{MADE}\n\n{ROWS}",  # above it, and of no whole page
        f"{ROWS}\nwords\n\n{MADE}\n",
        f"{ROWS}\n*Made by `benches/tuning.py`.*\n",
        f"{ROWS}\n*Measured with care, recorded in 0123abc.*\n",
        f"{ROWS}\n*Made by `benches/gone.py`, recorded in 0123abc.*\n",
        f"{ROWS}\n*Made by `benches/tuning.py`, measured at no known commit.*\n",
        f"{ROWS}\n{MADE[:-2]} with changes that were not committed.*\n",
        ROWS.replace("b |", "what the paper says |").replace("1.5 ± 0.1", "**holds**"),
        ROWS.replace("1.5 ± 0.1", "`red` 1.12"),
    ],
)
def test_a_table_of_measurements_is_not_told(text):
    assert len(untold(text)) == 1


def test_a_check_that_is_switched_off_has_its_reason_beside_it():
    switched_off = re.compile(r"#\s*(?:noqa|type: ignore)\b.*")
    reason = re.compile(r"#\s*(?:noqa: [A-Z0-9, ]+ -|type: ignore\[[\w, -]+\] #) \S")
    without = [
        f"{file.relative_to(ROOT)}:{number}"
        for room in ("python", "benches", "docs", "tests", "examples")
        for file in sorted((ROOT / room).rglob("*.py"))
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
        for found in switched_off.findall(line)
        if not reason.match(found) and "re.compile" not in line
    ]
    assert not without
