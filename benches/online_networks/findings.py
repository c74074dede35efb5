"""Nine faults that a controller of this kind can have, each as a row of a table.

Each is a count over the runs, so that two controllers can be compared by it.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from online_networks.known import NETWORKS_BY_NAME, minutes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

Row: TypeAlias = dict[str, Any]

SHOWN = 3
UNEXPLAINED = ("senders", "sizes", "udp", "elsewhere")
RESTLESS = ("radio", "web", "changing", "idle")


@dataclass(frozen=True)
class Broken:
    """Phases in which constraints did not hold.

    Attributes:
        broken: how many, tuned.
        alone: how many, left alone.
        silently: of those tuned, of how many the log does not say it of the network.
        in_model: of these, of how many it says it of a setting in a model.
        phases: of how many.
    """

    broken: int
    alone: int
    silently: int
    in_model: int
    phases: int


def found(rows: Sequence[Row]) -> dict[str, str]:
    """The rows of the table, by the name of the fault."""
    ran = [row for row in rows if row["outcome"] == "ran"]
    return {
        "1 crash in an outage while flows grow": _crashes(rows),
        "2 starvation, a loop that feeds itself": _starvation(ran),
        "3 constraint broken silently": _silently(ran),
        "4 network not explained": _not_explained(ran),
        "5 verified without a measured predecessor": _verified(ran),
        "6 silence taken for traffic": _silence(ran),
        "7 churn": _churn(ran),
        "8 sentences of the log that are not so": _untrue(ran),
        "9 no flow count, no round trips": _unseen(rows),
    }


def decisions(rows: Sequence[Row]) -> dict[str, int]:
    """How many decisions of each kind, all runs together."""
    total: dict[str, int] = {}
    for row in rows:
        for kind, count in row["decisions"].items():
            total[kind] = total.get(kind, 0) + count
    return total


def broken(rows: Sequence[Row], wanted: Callable[[str], bool] = lambda _: True) -> Broken:
    """How often constraints were broken.

    Args:
        rows: of runs.
        wanted: which constraints, by their text.
    """
    entries = [each for row in rows for each in row["constraints"] if wanted(each["text"])]
    return Broken(
        sum(each["broken"] for each in entries),
        sum(each["broken_alone"] for each in entries),
        sum(each["broken"] - each["named"] for each in entries),
        sum(each["named_in_model"] for each in entries),
        sum(each["phases"] for each in entries),
    )


def harmed(rows: Sequence[Row]) -> dict[str, list[str]]:
    """For each bound of harm, the networks whose mean over the seeds breaks it in a phase."""
    margins: dict[tuple[str, str], list[list[float | None]]] = {}
    for row in rows:
        for each in row["harm"]:
            metric = each["text"].split()[0].split(".")[2]
            margins.setdefault((metric, row["network"]), []).append(each["margins"])
    total: dict[str, list[str]] = {}
    for (metric, network), seeds in margins.items():
        phases = zip(*seeds, strict=True) if len({len(each) for each in seeds}) == 1 else ()
        means = [
            statistics.fmean(known)
            for phase in phases
            if (known := [value for value in phase if value is not None])
        ]
        if any(mean < 0.0 for mean in means):
            total.setdefault(metric, []).append(network)
    return total


def _kind(row: Row) -> str:
    return NETWORKS_BY_NAME[row["network"]].kind


def _of(rows: Sequence[Row], *kinds: str) -> list[Row]:
    return [row for row in rows if _kind(row) in kinds]


def _crashes(rows: Sequence[Row]) -> str:
    outages = _of(rows, "outage")
    crashed = [row for row in outages if row["outcome"] == "crashed"]
    elsewhere = [row for row in rows if row["outcome"] == "crashed" and row not in outages]
    words = sorted({row["words"] for row in (*crashed, *elsewhere)})
    said = f"; {'; '.join(words[:SHOWN])}" if words else ""
    others = f"{len(elsewhere)} of the others{said}"
    return f"{len(crashed)} of {len(outages)} runs with an outage, {others}"


def _starvation(rows: Sequence[Row]) -> str:
    further: dict[str, list[float]] = {}
    for row in rows:
        prices = row["alone_price"], row["tuned_price"]
        if all("starved" in price for price in prices):
            change = prices[1]["starved"] - prices[0]["starved"]
            further.setdefault(row["network"], []).append(change)
    means = {name: statistics.fmean(values) for name, values in further.items()}
    worst = sorted(means, key=lambda name: -means[name])[:SHOWN]
    more = sum(mean > 1.0 for mean in means.values())
    runs = [each for values in further.values() for each in values]
    return (
        f"more than one further starved flow in {more} of {len(means)} networks and "
        f"{sum(each > 1.0 for each in runs)} of {len(runs)} runs; most: "
        + ", ".join(f"{name} {means[name]:+.1f}" for name in worst)
    )


def _silently(rows: Sequence[Row]) -> str:
    said = []
    asked = broken(_of(rows, "constraints", "wishes"))
    usual = broken([row for row in rows if _kind(row) not in {"constraints", "wishes"}])
    for label, each in (("asked for", asked), ("the usual one", usual)):
        said.append(
            f"{label}: {each.broken} of {each.phases} phases broken ({each.alone} alone), "
            f"{each.silently} silently (of {each.in_model} a model's setting is said to break it)"
        )
    return "; ".join(said)


def _not_explained(rows: Sequence[Row]) -> str:
    meant = _of(rows, *UNEXPLAINED)
    pushed = [row for row in meant if row["pushes"] and not row["not_explained"]]
    said = sum(row["not_explained"] > 0 for row in meant)
    return (
        f"of {len(meant)} runs with other senders, sizes, UDP or a bottleneck elsewhere {said} say "
        f"it; {len(pushed)} push without a word, {sum(row['pushes'] for row in pushed)} times"
    )


def _verified(rows: Sequence[Row]) -> str:
    total = decisions(rows).get("verified", 0)
    without = sum(row["verified_without_predecessor"] for row in rows)
    return f"{without} of {total}"


def _silence(rows: Sequence[Row]) -> str:
    runs = [row for row in rows if row["decided_in_silence"]]
    names = list(dict.fromkeys(row["network"] for row in runs))
    return (
        f"{sum(row['decided_in_silence'] for row in runs)} models, answers and pushes after a "
        f"second in which nothing was sent, in {len(runs)} runs"
        + (f" ({', '.join(names[:SHOWN])})" if names else "")
    )


def _churn(rows: Sequence[Row]) -> str:
    said = []
    for kind in RESTLESS:
        meant = _of(rows, kind)
        if meant:
            rate = sum(row["pushes"] for row in meant) / sum(
                minutes(row["network"]) for row in meant
            )
            most = max(row["most_in_a_minute"] for row in meant)
            said.append(f"{kind} {rate:.1f} a minute (at most {most})")
    return ", ".join(said)


def _untrue(rows: Sequence[Row]) -> str:
    def total(key: str) -> int:
        return sum(row.get(key, 0) for row in rows)

    return (
        f"“the answer is nearer”: false {total('nearer_false')} of {total('nearer_said')} times; "
        f"senders that explain best: none such {total('senders_named_falsely')} of "
        f"{total('senders_named')} times"
    )


def _unseen(rows: Sequence[Row]) -> str:
    by_network: dict[str, list[Row]] = {}
    for row in _of(rows, "unseen"):
        by_network.setdefault(row["network"], []).append(row)
    return "; ".join(f"{name}: {_outcome(each)}" for name, each in by_network.items())


def _outcome(rows: Sequence[Mapping[str, Any]]) -> str:
    ran = [row for row in rows if row["outcome"] == "ran"]
    if not ran:
        return f"{rows[0]['outcome']}: {rows[0]['words']}"
    ratios = [row["tuned"] / row["alone"] for row in ran]
    quiet = sorted({reason for row in ran for reason in row["quiet"]})
    said = f", “{quiet[0]}”" if quiet else ""
    return (
        f"{statistics.fmean(row['pushes'] for row in ran):.1f} pushes, deviation "
        f"{statistics.fmean(ratios):.2f} of alone{said}"
    )
