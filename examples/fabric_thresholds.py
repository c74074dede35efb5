"""A fabric under five vendors' thresholds: what mice gain and elephants pay."""

from vermilion import fabric

VENDORS = ("alibaba", "conweave", "arista", "nvidia", "sonic")


def main(stop: str = "5 ms", seeds: int = 3) -> None:
    """Prints the slowdown of small and large transfers under each.

    Args:
        stop: when the last transfer begins.
        seeds: how many runs of each.
    """
    traffic = [fabric.poisson("websearch", load=0.5, stop=stop)]
    network = fabric.leaf_spine(
        leaves=4, hosts_per_leaf=8, spines=2, traffic=traffic, sender="dcqcn-mellanox"
    )
    published = fabric.published_thresholds()
    candidates = {
        name: network.with_settings(**published[name].settings(rate=100e9)) for name in VENDORS
    }
    print(f"{'':10} {'Kmin':>8} {'Kmax':>8} {'Pmax':>5}   mice p99   elephants mean   not done")
    for name, results in fabric.run_many(candidates, range(1, seeds + 1)).items():
        switch = candidates[name].table.switch
        mice = sum(each.slowdown_by_size[0]["p99"] for each in results) / seeds
        elephants = sum(each.slowdown_by_size[-1]["mean"] for each in results) / seeds
        not_done = sum(each.data["not_done"] for each in results)
        print(
            f"{name:10} {switch.kmin / 1e3:6.0f}kB {switch.kmax / 1e3:6.0f}kB {switch.pmax:5.2f}"
            f"   {mice:8.1f}   {elephants:14.2f}   {not_done:8}"
        )


if __name__ == "__main__":
    main()
