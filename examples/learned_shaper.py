"""A policy for a shaper's rate, learned by cross-entropy, beside two baselines.

Needs Gymnasium: pip install gymnasium
"""

from collections.abc import Callable

import numpy as np

from vermilion.gym import BASELINES, ShaperEnv, episode_return


def policy(weights: np.ndarray) -> Callable[..., list[float]]:
    """A line through the observation, squeezed to -1 .. 1."""
    return lambda observation, _env: [np.tanh(observation @ weights[:-1] + weights[-1])]


def train(
    env: ShaperEnv, rounds: int = 12, tried: int = 24, kept: int = 6, episodes: int = 2
) -> np.ndarray:
    """Cross-entropy: draw policies, keep the best, and draw around them.

    Args:
        env: to learn in.
        rounds: how many times.
        tried: policies in a round.
        kept: of them.
        episodes: of each; a round meets the same networks.
    """
    random = np.random.default_rng(1)
    size = env.observation_space.shape[0] + 1
    mean, spread = np.zeros(size), np.ones(size)
    for number in range(rounds):
        drawn = mean + spread * random.standard_normal((tried, size))
        seeds = random.integers(1, 17, episodes)
        returns = [np.mean([episode_return(env, policy(w), int(s)) for s in seeds]) for w in drawn]
        best = drawn[np.argsort(returns)[-kept:]]
        mean, spread = best.mean(axis=0), best.std(axis=0) + 0.3 / (number + 2)
    return mean


def main(rounds: int = 12, tests: int = 8) -> None:
    """Prints the mean reward of each policy over networks that the training has not met."""
    env = ShaperEnv(episode_s=5.0)
    policies = {**BASELINES["shaper"], "learned": policy(train(env, rounds))}
    for name, each in policies.items():
        returns = [episode_return(env, each, seed) for seed in range(101, 101 + tests)]
        print(f"{name}: {np.mean(returns):.3f} +- {np.std(returns) / np.sqrt(tests):.3f}")


if __name__ == "__main__":
    main()
