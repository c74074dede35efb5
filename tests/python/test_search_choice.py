"""Which search is used when nobody says which."""

import pytest

from vermilion.search import AUTOMATIC, SEARCHES, chosen_search


@pytest.mark.parametrize(
    ("parameters", "search"),
    [(1, "localised-recursive-random-search"), (3, "localised-recursive-random-search"),
     (4, "cma-es"), (7, "cma-es"), (16, "cma-es")],
)  # fmt: skip
def test_the_number_of_parameters_chooses(parameters, search):
    assert chosen_search(AUTOMATIC, parameters) == search
    assert search in SEARCHES


@pytest.mark.parametrize(
    ("parameters", "search"),
    [(1, "gaussian-process"), (4, "gaussian-process"), (6, "gaussian-process"), (7, "cma-es"),
     (16, "cma-es")],
)  # fmt: skip
def test_for_a_front_a_surface_is_fitted(parameters, search):
    assert chosen_search(AUTOMATIC, parameters, "front") == search
    assert search in SEARCHES


@pytest.mark.parametrize(
    ("parameters", "search"),
    [(1, "localised-recursive-random-search"), (6, "localised-recursive-random-search"),
     (7, "cma-es")],
)  # fmt: skip
def test_in_a_hurry_the_line_lies_elsewhere(parameters, search):
    assert chosen_search(AUTOMATIC, parameters, "hurry") == search


@pytest.mark.parametrize("search", SEARCHES)
def test_whoever_names_one_gets_it(search):
    assert chosen_search(search, 4) == chosen_search(search, 16) == search
