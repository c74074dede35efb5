"""A RED queue that swings between empty and full, and the one number that stops it."""

from pathlib import Path

import vermilion

SWINGING = vermilion.load_scenario("oscillating-red")
STEADY = SWINGING.with_values({"links.bottleneck.queue.weight": 0.1})


def main(folder: Path = Path()) -> None:
    """Prints how far the queue strays under both settings, and draws them into a folder."""
    for name, scenario in (("swinging", SWINGING), ("steady", STEADY)):
        result = vermilion.run(scenario, seed=1, probe_interval_s=0.1)
        busy = result.link("bottleneck").phases[-1]
        queue = busy["queue_packets"]
        print(
            f"{name}: {queue['mean']:.0f} packets wait, +- {queue['sd']:.0f}; "
            f"the link is used {100 * busy['utilization']:.0f} % of the time"
        )
        figure = vermilion.run_figure(scenario, result)
        (folder / f"{name}.svg").write_bytes(figure.rendered("svg"))


if __name__ == "__main__":
    main()
