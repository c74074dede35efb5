"""Compares the searches: `python benches/searches networks`, `choices`, `tunings`, and so on.

`networks` and `coco` measure what results.jsonl does not hold yet, on one core: about ten minutes
each; interrupt and call again at will. `choices` does the same for choices.jsonl, the candidates
for the automatic search: about 40 minutes; `tunings` for tunings.jsonl, whole tunings with them:
about 15; `fronts` for fronts.jsonl: about five. `draw` makes the figures and tables of
docs/laboratory/search-benchmark.md from these files. `coco` needs requirements/benchmark.txt.
"""

from __future__ import annotations

import os
import sys
import time

# Before numpy is loaded: matrices of this size gain nothing from more threads.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import cells
from contenders import CONTENDERS


def measure_networks() -> None:
    """What is missing of our own instances."""
    import networks

    known = cells.load()
    for network in networks.NETWORKS:
        for search in CONTENDERS:
            if (network.name, network.dimensions, search) not in known:
                report(network.name, search)
                cells.add(networks.measure(network, search))


def measure_coco() -> None:
    """What is missing of coco's functions."""
    import coco_functions

    known = cells.load()
    for function, dimensions, search in coco_functions.plan():
        if (f"f{function}", dimensions, search) not in known:
            report(f"f{function}", dimensions, search)
            cells.add(coco_functions.measure(function, dimensions, search))


def measure_choices() -> None:
    """What is missing of the candidates for the automatic search, on networks drawn at random."""
    import choices
    from drawn_networks import DRAWN_NETWORKS

    known = cells.load(choices.RESULTS)
    for network in DRAWN_NETWORKS:
        for candidate in choices.candidates_on(network):
            if not any((network.name, candidate.name) == (key[0], key[2]) for key in known):
                report(network.name, candidate.name)
                cells.add(choices.measure(network, candidate), choices.RESULTS)


def measure_tunings() -> None:
    """What is missing of whole tunings with them."""
    import choices
    import tunings
    from drawn_networks import DRAWN_NETWORKS

    known = cells.load(tunings.RESULTS)
    for network in DRAWN_NETWORKS:
        for candidate in choices.candidates_on(network):
            if candidate.settings.get("spread") == 0:
                continue  # the searches alone have shown enough
            if not any((network.name, candidate.name) == (key[0], key[2]) for key in known):
                report(network.name, candidate.name)
                cells.add(tunings.measure(network, candidate), tunings.RESULTS)


def measure_fronts() -> None:
    """What is missing of fronts."""
    import fronts

    for found in fronts.measure():
        report(found.network, found.search, found.budget)
        fronts.add(found)


def report(*words: object) -> None:
    """Says what is being measured."""
    print(f"{time.strftime('%H:%M:%S')}", *words, file=sys.stderr, flush=True)


def draw() -> None:
    """The figures and the tables."""
    import choices
    import drawing
    import fronts
    import tunings

    drawing.draw(
        cells.load(), cells.load(choices.RESULTS), cells.load(tunings.RESULTS), fronts.load()
    )


COMMANDS = {
    "networks": measure_networks,
    "choices": measure_choices,
    "tunings": measure_tunings,
    "fronts": measure_fronts,
    "coco": measure_coco,
    "draw": draw,
}

if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in COMMANDS:  # noqa: PLR2004 - one argument
        sys.exit(f"one of: {', '.join(COMMANDS)}")
    COMMANDS[sys.argv[1]]()
