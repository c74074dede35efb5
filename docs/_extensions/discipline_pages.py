"""Writes a page for each queue discipline while the documentation is built.

Nothing on these pages is kept by hand: the model and its departures are the comment of the
discipline's type, the parameters and the example come from its table, what it has been held
against from the vectors and the tests, and the picture is drawn by running it
(:mod:`discipline_pictures`). A new discipline has its page without anybody writing one.
"""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from algorithm_tables import parameter_table
from discipline_pictures import draw

from vermilion.scenario import disciplines

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sphinx.application import Sphinx

    from vermilion.scenario import Algorithm, Parameter

ROOT: Final = Path(__file__).parents[2]
FOLDER: Final = ROOT / "docs" / "disciplines"
SIMULATORS: Final = {
    "ns2_reference": "ns-2.35",
    "ns3_reference": "ns-3.37",
    "linux_reference": "Linux 6.12",
}
"""Modules of the tests that hold outcomes of others, and who these are."""

CAPTION: Final = (
    "With its defaults, one run each, 10 Mbit/s and packets of 1000 bytes. Left and middle: "
    "packets without a sender, Poisson, whose load grows from 0.8 of the link to 1.3 and falls "
    "back after 50 s. Right: NewReno flows, round trip 40 ms. All pages have the same scales; "
    "what is off the scale is drawn at its edge."
)

READINGS: Final = ROOT / "docs" / "laboratory" / "disciplines-readings.md"
"""Has a section about each discipline whose sources leave a question."""
READ: Final = ("dualpi2", "red-light", "vred")

_LIST = "<!-- list of disciplines -->"


def setup(app: Sphinx) -> dict[str, bool]:
    """Registers the extension with Sphinx."""
    app.connect("builder-inited", _write_pages)
    app.connect("source-read", _fill_in)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _write_pages(_app: Sphinx) -> None:
    FOLDER.mkdir(exist_ok=True)
    compared = _compared()
    for algorithm in disciplines().values():
        draw(algorithm.name, FOLDER / f"{algorithm.name}.svg")
        text = "\n".join(_page(algorithm, compared)) + "\n"
        (FOLDER / f"{algorithm.name}.md").write_text(text, encoding="utf-8")
    for left_over in FOLDER.iterdir():
        if left_over.stem not in disciplines():
            left_over.unlink()


def _fill_in(_app: Sphinx, _page: str, source: list[str]) -> None:
    if _LIST in source[0]:
        source[0] = source[0].replace(_LIST, "\n".join(_overview()))


def _overview() -> Iterator[str]:
    yield "| name | what it does | source |"
    yield "| --- | --- | --- |"
    for algorithm in disciplines().values():
        cells = (f"{{doc}}`{algorithm.name} <disciplines/{algorithm.name}>`", algorithm.summary)
        yield f"| {cells[0]} | {cells[1]} | {algorithm.source} |"
    yield from ("", "```{toctree}", ":hidden:", "")
    yield from (f"disciplines/{name}" for name in disciplines())
    yield "```"


def _page(algorithm: Algorithm, compared: Mapping[str, list[str]]) -> Iterator[str]:
    yield from (f"# `{algorithm.name}`: {algorithm.title}", "")
    yield from (f"{algorithm.summary}. Source: {algorithm.source}.", "")
    if algorithm.name in READ:
        yield from (*readings(algorithm.name), "")
    yield from (
        f"```{{figure}} {algorithm.name}.svg",
        ":width: 100%",
        f":alt: What {algorithm.name} drops, and the queue behind it",
        "",
        CAPTION,
        "```",
        "",
    )
    yield from ("## Model and departures", "", *head(algorithm.name), "")
    yield from ("## Parameters", "", *parameter_table(algorithm.parameters.values()), "")
    for lower, upper in algorithm.ordered:
        yield from (f"`{lower}` must be below `{upper}`.", "")
    yield from ("## Example", "", "With every default spelled out:", "")
    yield from ("```toml", *example(algorithm), "```", "")
    yield from ("## Validation", "", *_validation(algorithm.name, compared), "")


def readings(name: str) -> Iterator[str]:
    """Where a question that the discipline's sources leave is looked into, and what came of it."""
    if name == "dualpi2":
        least, most = prague_shares(READINGS.read_text(encoding="utf-8"))
        yield (
            "The same rate holds roughly. As measured, a flow of Prague has "
            f"{least:.2f} to {most:.2f} times the rate of one of NewReno or CUBIC, by the link and "
            "the round trip; {doc}`/laboratory/disciplines-readings` has the table and the causes."
        )
    else:
        page = "{doc}`/laboratory/disciplines-readings`"
        yield f"What each reading of its sources does is measured in {page}."


def prague_shares(page: str) -> tuple[float, float]:
    """The least and the most that the page's table has of Prague's rate over the others'."""
    [table] = re.findall(r"<!-- table: dualpi2-shares -->\n(.*?)<!-- end -->", page, re.DOTALL)
    rates = [float(each) for each in re.findall(r"(?:newreno|cubic) \| ([\d.]+) ±", table)]
    return min(rates), max(rates)


def example(algorithm: Algorithm) -> Iterator[str]:
    """A queue in the scenario language, with each parameter at its default."""
    yield "[links.bottleneck.queue]"
    yield f'discipline = "{algorithm.name}"'
    yield from (f"{row.name} = {_written(row)}" for row in algorithm.parameters.values())


def _written(row: Parameter) -> str:
    if isinstance(row.default, bool):
        return str(row.default).lower()
    readable = row.readable(row.default)
    bare = row.unit in {"1", "probability"} and isinstance(row.default, int | float)
    return f"{row.default!r}" if bare else f'"{readable}"'


def head(name: str) -> Iterator[str]:
    """The comment of the discipline's type, as Markdown one level below the page's title."""
    path = ROOT / "crates" / "aqm" / "src" / f"{name.replace('-', '_')}.rs"
    comments = re.findall(r"((?:^///.*\n)+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    [comment] = (text for text in comments if re.search(r"^/// Sources?: ", text, re.MULTILINE))
    for line in comment.splitlines():
        text = line.removeprefix("///").removeprefix(" ")
        text = re.sub(r"^#+ ", "### ", text)
        yield re.sub(r"\[(`[^`]+`)\](?:\([^)]*\))?", r"\1", text)


def _steps(case: dict[str, list[Any]]) -> int:
    """Steps of a case of test vectors, each as often as it is repeated."""
    rows = (
        dict(zip(case["kinds"][kind], values, strict=True))
        for kind, *values in case.get("rows", [])
    )
    return sum(step.get("times", 1) for step in (*case.get("steps", []), *rows))


def _validation(name: str, compared: Mapping[str, list[str]]) -> Iterator[str]:
    path = ROOT / "tests" / "vectors" / f"{name}.json"
    cases = json.loads(path.read_text(encoding="utf-8"))["cases"]
    by_hand = [case["name"] for case in cases if case["origin"] == "by hand"]
    steps = sum(_steps(case) for case in cases)
    yield (
        f"Test vectors, `tests/vectors/{name}.json`: {len(cases)} cases with {steps} steps, made "
        f"without this code; {len(by_hand)} were worked out by hand:"
    )
    yield from ("", *(f"- {case}" for case in by_hand), "")
    if name in compared:
        yield from ("Outcomes of whole networks, held against those of others:", "")
        yield from compared[name]
    else:
        yield "No outcome of another simulator or of a kernel is at hand to hold it against."


def _compared() -> dict[str, list[str]]:
    """By discipline: whose outcomes it has been compared with, and in which cases."""
    sys.path.insert(0, str(ROOT / "tests" / "python"))
    found: dict[str, list[str]] = defaultdict(list)
    for module_name, simulator in SIMULATORS.items():
        module = import_module(module_name)
        cases: dict[str, list[str]] = defaultdict(list)
        for name, case in module.CASES.items():
            for discipline in set(
                re.findall(r'discipline = "([^"]+)"', module.scenario_text(case))
            ):
                cases[discipline].append(name)
        for discipline, names in cases.items():
            page = "{doc}`/laboratory/validation`"
            found[discipline].append(f"- {simulator} ({page}): {'; '.join(names)}")
    return found
