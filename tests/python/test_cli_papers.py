"""``vermilion papers``: what there is, one figure run, and what is refused."""

import json

import pytest

from test_cli import refused, vermilion

__all__ = ["vermilion"]

QUICK = ("papers", "ye-2002", "--figure=figure-2", "--seeds=2")


def test_the_list_names_papers_figures_and_claims(vermilion):
    code, out, err = vermilion("papers", "--list")
    assert (code, err) == (0, "")
    for word in ("ye-2002", "athuraliya-2000", "feng-1999", "rfc-9332"):
        assert word in out
    code, out, _ = vermilion("papers", "ye-2002", "--list")
    assert code == 0
    assert "figure-6" in out
    code, out, _ = vermilion("papers", "athuraliya-2000", "--list")
    assert code == 0
    assert "red-grows" in out
    code, out, _ = vermilion("papers", "feng-1999", "--list", "--json=-")
    assert code == 0
    [paper] = json.loads(out)
    assert paper["name"] == "feng-1999"
    assert {"id", "place", "says", "measured", "figures"} == set(paper["claims"][0])


def test_one_figure_is_run_judged_kept_and_reported(vermilion, tmp_path):
    page, kept = tmp_path / "papers.html", tmp_path / "kept"
    code, out, err = vermilion(*QUICK, f"--report={page}", f"--keep={kept}")
    assert code == 0
    assert "2 seeds are few" in err
    assert "figure 2" in out
    assert "1 claim: " in out
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert len(list(kept.iterdir())) == 1


@pytest.mark.evidence
def test_json_has_claims_with_checks_and_figures_with_numbers(vermilion):
    code, out, _ = vermilion(*QUICK, "--json=-")
    assert code == 0
    document = json.loads(out)
    assert document["seeds"] == [1, 2]
    [paper] = document["papers"]
    [claim] = paper["claims"]
    assert claim["verdict"] in {"holds", "holds in part", "does not hold", "cannot be judged"}
    for check in claim["checks"]:
        assert check["outcome"] in {"holds", "fails", "open"}
        assert check["low"] <= check["mean"] <= check["high"]
    [figure] = paper["figures"]
    assert figure["numbers"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["papers", "ye-2003"], 'did you mean "ye-2002"'),
        (["papers", "ye-2002", "--figure=figure-55"], "figure-5"),
        (["papers", "--figure=figure-5"], "--figure"),
        (["papers", "ye-2002", "--seeds=1"], "at least 2"),
        (["papers", "ye-2002", "--seed=-1"], "seed"),
        (["papers", "--report=/nowhere/x.html"], "cannot be written"),
        (["papers", "--keep=/dev/null/x"], "--keep"),
        (["papers", "--report=-", "--json=-"], "cannot both"),
    ],
)
def test_mistakes_are_told_before_any_work(vermilion, arguments, words):
    assert words in refused(vermilion(*arguments))
