"""A controller beside a network that changes: what it decided, and what came of it."""

import vermilion


def main(scenario: "vermilion.Scenario | None" = None) -> None:
    """Prints every decision, and the queue left alone and kept tuned.

    Args:
        scenario: with a [tuning] table; a shipped one by default.
    """
    scenario = scenario or vermilion.load_scenario("varying-load")
    run = vermilion.run_online(scenario, clock="fixed", on_event=tell)
    for name, result in (("left alone", run.reference), ("kept tuned", run.tuned)):
        wait = result.link(run.link).phases[-1]["sojourn_ms"]
        print(f"{name}: 95 % of packets wait less than {wait['p95']:.0f} ms")


def tell(decision: vermilion.Decision) -> None:
    """Prints a decision as it is made."""
    print(f"{decision.time_s:6.1f} s  {decision.kind:<16} {decision.reason[:80]}")


if __name__ == "__main__":
    main()
