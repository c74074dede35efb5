"""``vermilion online --json``: the runs on simulated networks, and their price."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.online.entries import OnlineRun
    from vermilion.report.price_line import OtherQueue


def document(
    runs: Sequence[OnlineRun], queues: Sequence[tuple[list[OnlineRun], list[OtherQueue]]]
) -> dict[str, object]:
    """Return the document of ``--json``.

    Args:
        runs: one for each scenario and seed.
        queues: the runs as each queue has seen them, and its baselines.
    """
    from vermilion import _core

    return {
        "version": _core.VERSION,
        "runs": [_document(run) for run in runs],
        "price": [_price(views, others) for views, others in queues],
    }


def _price(runs: Sequence[OnlineRun], rivals: Sequence[OtherQueue]) -> dict[str, object]:
    """The price of a scenario over its seeds, for JSON."""
    from vermilion.report.price_line import as_document, price_lines

    return {
        "scenario": runs[0].scenario.origin,
        "link": runs[0].link,
        "phases": [as_document(line) for line in price_lines(runs, rivals)],
    }


def _document(run: OnlineRun) -> dict[str, object]:
    """A run for JSON."""
    return {
        "scenario": run.scenario.origin,
        "seed": run.seed,
        "link": run.link,
        **({"links": list(run.links)} if run.links else {}),
        "target_packets": run.target_packets,
        "objective": run.objective.label,
        "parameters": list(run.parameters),
        "decisions": [
            {
                "time_s": decision.time_s,
                "kind": decision.kind,
                "reason": decision.reason,
                "details": decision.details,
            }
            for decision in run.decisions
        ],
        "settings": [
            {"time_s": time_s, "parameters": parameters} for time_s, parameters in run.settings
        ],
        "tuned": run.tuned.data,
        "untouched": run.reference.data,
    }
