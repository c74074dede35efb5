"""Settings of RED race in forks of one warmed-up network: the worse half leaves, others go on."""

import vermilion

TARGET = 30.0  # packets


def main(settings: int = 16, stretch_s: float = 0.5) -> None:
    """Prints which setting leads after each round.

    Args:
        settings: how many begin.
        stretch_s: seconds for which each settles, and half of those of the first round.
    """
    network = vermilion.Simulation("varying-load", seed=1).extend(4.0)
    racing = {}
    for number in range(settings):
        low, share = 4 + number % 4 * 8, 0.02 * 2 ** (number // 4)
        setting = {"min_threshold": low, "max_probability": share}
        fork = network.fork().set_queue("bottleneck", max_threshold=90, **setting)
        racing[fork.extend(stretch_s).mark()] = setting
    while len(racing) > 1:
        stretch_s *= 2  # nobody starts again: who is left is measured for longer
        means = {
            fork: fork.extend(stretch_s).record()["links.bottleneck.queue_packets.mean"]
            for fork in racing
        }
        ranked = sorted(racing, key=lambda fork: abs(means[fork] - TARGET))
        racing = {fork: racing[fork] for fork in ranked[: len(racing) // 2]}
        print(f"{ranked[0].now_s:g} s:", len(racing), "left;", racing[ranked[0]], means[ranked[0]])


if __name__ == "__main__":
    main()
