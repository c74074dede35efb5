"""A router that is asked once a second: what it tells is waited for, and used only once."""

from online_world import PACKET_BYTES, RATE_BIT_PER_S, World, best, controller_of
from vermilion.online.decide.step import step
from vermilion.online.events import Apply, Began, Done, Found, Search

SECONDS = 60


def searches(world):
    """The tasks of a run in which each search and each change is answered a second later."""
    controller, waiting, tasks = controller_of(), [], []
    events = [(0.0, Began(dict(world.in_force)))]
    for second in range(1, SECONDS + 1):
        events += [(second, event) for event in waiting] + [(second, world.observe(second))]
        waiting = []
        for now_s, event in events:
            controller, effects = step(controller, event, now_s)
            for effect in effects:
                match effect:
                    case Search(number, task):
                        tasks.append((now_s, task))
                        waiting.append(Found(number, best(task), 1.0))
                    case Apply(number, parameters):
                        world.in_force = {**world.in_force, **parameters}
                        waiting.append(Done(number, dict(world.in_force)))
        events = []
    return tasks


def test_a_first_answer_is_held_against_all_that_was_seen_of_it_and_then_left_alone():
    """It was searched anew every four seconds, as blindly as at first, for as long as it stood."""
    packets = round(RATE_BIT_PER_S / 8.0 / PACKET_BYTES)
    tasks = searches(World(packets=packets))
    kinds = [task.kind for _, task in tasks]
    assert kinds[0] == "quick"
    blind = [now_s for now_s, task in tasks[1:] if not task.settled]
    assert not blind
    assert 1 <= len(tasks) - 1 <= 2
    assert all(task.reading_interval_s == 1.0 for _, task in tasks)
