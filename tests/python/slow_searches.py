"""Searches for tests of the process that does them; it must be able to import them."""

import time

import vermilion
from online_world import best

ASLEEP_S = 600.0
THINKING_S = 1.0  # many readings, even where a machine has much else to do


def answers(task):
    """Finds what is best, at once."""
    return best(task)


def thinks(task):
    """Finds what is best, after a while."""
    time.sleep(THINKING_S)
    return best(task)


def hangs(_task):
    """Never ends, as far as a test is concerned."""
    time.sleep(ASLEEP_S)


def raises(_task):
    """Dies of its own mistake; the process goes on."""
    message = "no such model"
    raise ValueError(message)


def simulates(task):
    """Finds how many packets a discipline lets pass."""
    queue = f'{{ discipline = "{task.discipline}", limit = "50 packets" }}'
    network = f"""
duration = "1 s"
[links.b]
rate = "10 Mbit/s"
delay = "10 ms"
queue = {queue}
[flows.one]
path = ["b"]
rtt = "40 ms"
sender = "newreno"
"""
    result = vermilion.run(vermilion.parse_scenario(network))
    return result.link("b").total["packets_forwarded"]
