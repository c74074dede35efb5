"""Savings by letting two settings meet the same seed, or by forking one warmed-up network.

    python benches/pairs.py [--seeds 200] > docs/figures/pairs.txt

Two REDs on `varying-load`, from the 13th second on: the 95th percentile of the queueing delay over
windows of some length. *Forks* begin as one network of 12 s, and settle for a second. With the
*same seed* each setting runs from the beginning. If pairs say no more than two runs that know
nothing of each other, the variance of their difference is the sum of both, and its part of that is
1.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

import numpy as np
from provenance import made_by

import vermilion

if TYPE_CHECKING:
    from numpy.typing import NDArray

LINK: Final = "bottleneck"
METRIC: Final = f"links.{LINK}.sojourn_ms.p95"
WINDOWS_S: Final = (0.3, 1.0, 3.0, 10.0)
SETTINGS: Final[tuple[dict[str, float], ...]] = (
    {"min_threshold": 24.0, "max_threshold": 66.0, "max_probability": 0.6, "weight": 0.2},
    {"min_threshold": 20.0, "max_threshold": 60.0, "max_probability": 0.5, "weight": 0.05},
)


def delays(network: vermilion.Simulation) -> list[float]:
    """The delay over each window from now on."""
    return [network.fork().mark().extend(each).record()[METRIC] for each in WINDOWS_S]


def pair(seed: int, *, forks: bool) -> NDArray[np.float64]:
    """The delays under both settings, a row each."""
    begun = vermilion.Simulation("varying-load", seed=seed)
    begin = begun.extend("12 s") if forks else begun
    rest = "1 s" if forks else "13 s"
    return np.array(
        [delays(begin.fork().set_queue(LINK, **each).extend(rest)) for each in SETTINGS]
    )


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=200)
    seeds = range(1, parser.parse_args().seeds + 1)
    found = {
        name: np.array([pair(seed, forks=forks) for seed in seeds])
        for name, forks in (("forks", True), ("same seed", False))
    }
    print(f"| window | {' | '.join(f'{each}: correlation | part' for each in found)} |")
    print("| ---: |" + " ---: |" * 2 * len(found))
    for place, window in enumerate(WINDOWS_S):
        cells = []
        for values in found.values():
            one, other = values[:, :, place].T
            whole = one.var(ddof=1) + other.var(ddof=1)
            correlation = np.corrcoef(one, other)[0, 1]
            cells += [f"{correlation:.2f}", f"{(one - other).var(ddof=1) / whole:.2f}"]
        print(f"| {window:g} s | {' | '.join(cells)} |")
    print(f"\n{made_by('benches/pairs.py')}")


if __name__ == "__main__":
    main()
