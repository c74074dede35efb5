"""Disciplines compared on the same seeds, with intervals: what differs by more than chance."""

import vermilion


def main(seeds: int = 10) -> None:
    """Prints how much longer or shorter 95 % of packets wait than under RED.

    Args:
        seeds: how many runs of each; more make the intervals narrower.
    """
    comparison = vermilion.compare("varying-load", ["red", "pie", "codel"], seeds=seeds)
    for number, name in enumerate(comparison.names[1:], start=1):
        difference = comparison.difference(number, "bottleneck", -1, "sojourn_ms.p95")
        sure = difference.low > 0 or difference.high < 0
        print(
            f"{name}: {difference.mean:+.1f} ms [{difference.low:+.1f}, {difference.high:+.1f}] "
            f"than red: {'a difference' if sure else 'perhaps chance'}"
        )


if __name__ == "__main__":
    main()
