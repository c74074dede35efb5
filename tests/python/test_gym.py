"""Environments for reinforcement learning: they are Gymnasium's, repeat, and share networks."""

import numpy as np
import pytest

pytest.importorskip("gymnasium")

import gymnasium
from gymnasium.utils.env_checker import check_env

import vermilion
from vermilion.gym import (
    BASELINES,
    ForkedVectorEnv,
    QueueEnv,
    ShaperEnv,
    WindowEnv,
    episode_return,
)
from vermilion.scenario import ScenarioError

KINDS = {"Queue": QueueEnv, "Window": WindowEnv, "Shaper": ShaperEnv}


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_each_is_an_environment_of_gymnasium(name):
    env = gymnasium.make(f"vermilion/{name}-v0").unwrapped
    assert type(env) is KINDS[name]
    check_env(env, skip_render_check=True)


@pytest.mark.parametrize("kind", KINDS.values())
def test_a_seed_gives_the_same_episode(kind):
    env, other = kind(episode_s=0.3), kind(episode_s=0.3)
    env.reset(seed=2)  # another episode before changes nothing
    for each in (env, other):
        each.action_space.seed(1)
    actions = [env.action_space.sample() for _ in range(30)]
    one, two = env.reset(seed=7)[0], other.reset(seed=7)[0]
    assert np.array_equal(one, two)
    for number, action in enumerate(actions):
        one, two = env.step(action), other.step(action)
        assert np.array_equal(one[0], two[0])
        assert one[1:] == two[1:]
        assert one[3] == (number == 29)


def test_a_queue_takes_what_the_action_says():
    env = QueueEnv(parameters=("min_threshold", "max_probability"), episode_s=1)
    env.reset(seed=1)
    env.step(np.array([1.0, -1.0]))
    queue = env.network.queue("line")
    table = env.scenario.links["line"].queue.algorithm.parameters
    low, _ = table["max_probability"].search
    assert queue["max_probability"] == pytest.approx(low)
    # The upper end of its box is above the maximum in force, which it has to stay below.
    assert table["min_threshold"].search[1] > queue["max_threshold"] == 15
    assert queue["min_threshold"] == pytest.approx(0.95 * 15)
    with pytest.raises(ScenarioError, match='parameters: "speed"'):
        QueueEnv(parameters=("speed",))


def test_a_window_is_what_the_policy_says():
    env = WindowEnv(episode_s=3.0)
    assert episode_return(env, BASELINES["window"]["hold-delay"], 1) > episode_return(
        env, BASELINES["window"]["aimd"], 1
    )
    env.reset(seed=1)
    for _ in range(3):
        env.step([1.0])
    assert env.measured["window"] == 80.0
    for _ in range(50):
        env.step([0.0])
    assert env.measured["delay_ms"] > 20  # 80 packets and 33 of the path: others wait
    assert env.measured["used"] > 0.99


def test_a_policy_does_not_reach_into_another_network():
    one, other = WindowEnv(), WindowEnv()
    other.reset(seed=1)
    alone = [other.step([0.1])[1] for _ in range(20)]
    one.reset(seed=1)
    other.reset(seed=1)
    beside = []
    for _ in range(20):
        one.step([-1.0])
        beside.append(other.step([0.1])[1])
    assert beside == alone


def test_a_shaper_moves_the_queue():
    env = ShaperEnv(wander=0.0, episode_s=4.0)
    waits = {}
    for name, action in (("slow", -0.05), ("fast", 0.3)):
        env.reset(seed=1)
        for _ in range(300):
            env.step([action if env.shaped < 2e7 else 0.0])
        waits[name] = env.measured["line_delay_ms"]
    assert waits["slow"] < 2.0
    assert waits["fast"] > 50.0


def test_forks_of_one_network_differ_by_their_actions_alone():
    envs = ForkedVectorEnv(lambda: ShaperEnv(episode_s=0.05), 4, same=True)
    observations, _ = envs.reset(seed=3)
    assert (observations == observations[0]).all()
    actions = np.array([[0.0], [0.0], [1.0], [-1.0]])
    _, rewards, _, truncated, _ = envs.step(actions)
    assert rewards[0] == rewards[1]
    for _ in range(4):
        observations, rewards, _, truncated, _ = envs.step(actions)
    assert truncated.all()
    observations, rewards, _, truncated, _ = envs.step(actions)
    assert not truncated.any()
    assert (rewards == 0).all()
    assert observations in envs.observation_space


def test_a_scenario_of_ones_own_needs_its_links():
    with pytest.raises(ScenarioError, match='links: "line" is not accepted'):
        QueueEnv("varying-load")
    assert "steered" not in vermilion.load_scenario("varying-load").core_json()
