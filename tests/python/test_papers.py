"""The papers: what they consist of, how they are run, kept, judged and shown."""

import json
import re
from dataclasses import replace

import pytest

from html_page import Page
from vermilion.files.document import as_json
from vermilion.scenario import load_scenario, scenario_names
from vermilion_lab.papers import (
    Check,
    Claim,
    Expected,
    Figure,
    FigureTable,
    Paper,
    papers,
    reproduce,
)
from vermilion_lab.papers.chapter import chapter
from vermilion_lab.papers.keeping import Keeper
from vermilion_lab.papers.measures import interval, of_phases
from vermilion_lab.papers.page import papers_page
from vermilion_lab.papers.plots import line, sheet

SEEDS = (1, 2)


def short_scenario():
    return load_scenario("varying-load").with_values(
        {"duration": "22 s", "warm_up": "1 s", "settle": "0.5 s"}
    )


def measure(bench):
    bench.expect(len(bench.seeds))
    results = bench.run_many({"standard": short_scenario()})
    return {"utilization": of_phases(results["standard"], "bottleneck", "utilization")}


def draw(numbers):
    figure, panels = sheet(1, 1, 3.0)
    line(panels[0][0], (16,), numbers["utilization"][:1], "standard RED", 0)
    return figure


def checks(evidence):
    return [
        Check("utilisation", interval(evidence["load"]["utilization"][0]), Expected(low=0.5)),
        Check("utilisation", interval(evidence["load"]["utilization"][0]), Expected(high=0.2)),
    ]


TINY = Paper(
    name="tiny",
    title="A <tiny> paper",
    authors="Nobody",
    published="nowhere",
    story=("A network with *one* queue.",),
    open_questions=("Everything.",),
    figures=(
        Figure(
            id="load",
            place="figure 1",
            title="The load",
            caption="One panel.",
            settings="Short.",
            scenarios=("varying-load",),
            effort=1.0,
            measure=measure,
            draw=draw,
            tables=lambda numbers: [
                FigureTable("Utilisation", ("phase", "first"), (("16", str(len(numbers))),))
            ],
        ),
    ),
    claims=(
        Claim("full", "figure 1", "The link is used.", "More than half.", ("load",), checks),
        Claim("other", "figure 9", "Something else.", "Not measured.", ("absent",), checks),
    ),
)


def test_a_paper_is_measured_judged_and_shown():
    shares = []
    outcome = reproduce(TINY, SEEDS, progress=shares.append)
    assert shares[-1] == 1.0
    assert shares == sorted(shares)
    [judged] = outcome.claims  # the other needs a figure that there is not
    assert judged.verdict.value == "holds in part"
    page = papers_page([outcome])
    assert page.count("<svg") == 1
    assert "A &lt;tiny&gt; paper" in page
    assert "holds in part" in page
    assert "vermilion papers tiny --figure load --seeds 2" in page
    assert re.search(r'(?:src|href)="(?!#)', page) is None, "a page fetches nothing"
    assert Page(page.replace("<meta", "<br").replace("<path", "<br")).texts
    text = chapter([outcome], "figures/{paper}-{figure}.svg", made="Made now.")
    assert "```{figure} figures/tiny-load.svg" in text
    assert "A network with \\*one\\* queue." in text
    # A paper that is measured again takes its own place, and the others stay as they were.
    other = replace(outcome, paper=replace(TINY, name="other"))
    both = chapter([other], "figures/{paper}-{figure}.svg", kept=text)
    assert both.count("(#tiny)") == both.count("(#other)") == 1
    assert both.count("Made now.") == 1
    assert chapter([outcome], "{paper}-{figure}", made="Made now.", kept=both).count("(tiny)=") == 1


def test_the_page_is_repeated_with_the_figures_that_it_shows():
    more = replace(TINY.figures[0], id="more")
    both = reproduce(replace(TINY, figures=(*TINY.figures, more)), SEEDS)
    part = replace(both, numbers={"more": both.numbers["more"]})

    def repeated(*outcomes):
        section = papers_page(outcomes).split('<section id="repeat">')[1]
        return re.search(r"<pre>(.*?)</pre>", section, re.DOTALL)[1].splitlines()

    assert repeated(both) == ["vermilion papers tiny --seeds 2 --report papers.html"]
    only = "vermilion papers tiny --figure more --seeds 2 --report"
    assert repeated(part) == [f"{only} papers.html"]
    assert repeated(both, both) == ["vermilion papers tiny tiny --seeds 2 --report papers.html"]
    assert repeated(part, both) == [
        f"{only} tiny.html", "vermilion papers tiny --seeds 2 --report tiny.html"
    ]  # fmt: skip
    assert repeated(replace(part, seeds=(3, 4)))[0] == (
        "vermilion papers tiny --figure more --seeds 2 --seed 3 --report papers.html"
    )


def test_the_same_seeds_give_the_same_document():
    first, second = (json.dumps(as_json(reproduce(TINY, SEEDS))) for _ in range(2))
    assert first == second
    assert json.dumps(as_json(reproduce(TINY, (3, 4)))) != first


def test_what_was_kept_is_not_measured_again(tmp_path):
    keeper = Keeper(tmp_path / "kept")
    first = reproduce(TINY, SEEDS, keeper=keeper)
    [file] = (tmp_path / "kept").iterdir()
    numbers = json.loads(file.read_text())
    numbers["utilization"][0] = [0.1, 0.1]
    file.write_text(json.dumps(numbers))
    again = reproduce(TINY, SEEDS, keeper=keeper)
    assert again.numbers["load"]["utilization"][0] == [0.1, 0.1]
    # Other seeds are another matter, and a damaged file is measured anew.
    assert reproduce(TINY, (3, 4), keeper=keeper).numbers["load"]["utilization"][0] != [0.1, 0.1]
    file.write_text("{")
    assert reproduce(TINY, SEEDS, keeper=keeper).numbers == first.numbers


@pytest.mark.parametrize("paper", papers(), ids=lambda paper: paper.name)
def test_a_paper_is_complete(paper):
    figures = [figure.id for figure in paper.figures]
    claims = [claim.id for claim in paper.claims]
    assert len(set(figures)) == len(figures) > 0
    assert len(set(claims)) == len(claims) > 0
    for text in (*figures, *claims, paper.name):
        assert re.fullmatch(r"[a-z0-9-]+", text)
    for figure in paper.figures:
        assert figure.effort > 0
        assert set(figure.scenarios) <= set(scenario_names())
        assert figure.title
        assert figure.caption
        assert figure.settings
    for claim in paper.claims:
        assert claim.figures
        assert set(claim.figures) <= set(figures)
        assert claim.says.endswith((".", ")."))
        assert claim.measured.endswith(".")
    # Every figure has something said about it.
    assert {name for claim in paper.claims for name in claim.figures} == set(figures)


def test_every_scenario_of_the_papers_has_its_place_in_a_figure():
    used = {name for paper in papers() for figure in paper.figures for name in figure.scenarios}
    assert {name for name in scenario_names() if name.startswith("papers/")} <= used
