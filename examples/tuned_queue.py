"""The best setting of a queue, whether to use it, and what one goal costs in another."""

import vermilion


def main(budget: int = 100) -> None:
    """Prints a recommendation and a front.

    Args:
        budget: how many settings each search may simulate.
    """
    scenario = vermilion.load_scenario("varying-load")
    recommendation = vermilion.tune(scenario, budget=budget)
    print("use it" if recommendation.accepted else "keep the present one", recommendation.reason)
    for path, value in recommendation.parameters.items():
        print(f"  {path} = {value:.4g}")

    front = vermilion.tune_front(scenario, budget=budget)
    print(" against ".join(front.objectives))
    for point in front.points:
        print("  ", ", ".join(f"{value.mean:.4g}" for value in point.values))


if __name__ == "__main__":
    main()
