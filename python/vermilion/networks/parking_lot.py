"""Links in a row: the dumbbell and the parking lot."""

from __future__ import annotations

from vermilion.networks.network import Network, with_known_keywords
from vermilion.scenario.errors import ScenarioError
from vermilion.scenario.quantities import TIME, exact_text, parse_quantity, whole_number


@with_known_keywords
def dumbbell(
    *,
    rate: str = "10 Mbit/s",
    delay: str = "10 ms",
    queue: object = "drop-tail",
    title: str = "Dumbbell",
    **table: object,
) -> Network:
    """A bottleneck in both directions: the links ``bottleneck`` and ``back``, and no flows yet.

    Args:
        rate: of both links.
        delay: one way.
        queue: as for :meth:`Network.link`, of both.
        title: of the scenario.
        table: ``duration`` and the other keys of :class:`Network`.
    """
    network = Network(title, **table)
    for name in ("bottleneck", "back"):
        network.link(name, rate=rate, delay=delay, queue=queue)
    return network


@with_known_keywords
def parking_lot(
    hops: int = 3,
    *,
    rate: str = "10 Mbit/s",
    delay: str = "10 ms",
    queue: object = "drop-tail",
    through: int = 4,
    across: int = 4,
    rtt: str | None = None,
    sender: object = "sack",
    title: str = "",
    **table: object,
) -> Network:
    """A chain of links ``hop1``, ``hop2``, ... with flows over all of them and over each.

    Args:
        hops: number of bottlenecks.
        rate: of each.
        delay: one way, of each.
        queue: as for :meth:`Network.link`.
        through: flows over all hops, the group ``through``.
        across: flows over each hop alone, the groups ``across1``, ``across2``, ...
        rtt: of all flows; without one, twice the delay of the whole chain.
        sender: as for :meth:`Network.flows`.
        title: of the scenario.
        table: ``duration`` and the other keys of :class:`Network`.

    Raises:
        ScenarioError: a number or a value that is not accepted.
    """
    check_count("hops", hops, 1)
    network = Network(title or f"Parking lot of {hops} hops", **table)
    names = [f"hop{number}" for number in range(1, hops + 1)]
    for name in names:
        network.link(name, rate=rate, delay=delay, queue=queue)
    if rtt is None:
        rtt = exact_text(2 * hops * round(parse_quantity(delay, TIME) * 1e9) / 1e9, TIME)
    if through:
        network.flows("through", count=through, path=names, rtt=rtt, sender=sender)
    for number, name in enumerate(names, start=1):
        if across:
            network.flows(f"across{number}", count=across, path=[name], rtt=rtt, sender=sender)
    return network


def check_count(field: str, value: object, least: int, most: int = 1000) -> None:
    """Refuse values that are no number of hops, hosts or homes.

    Raises:
        ScenarioError: naming the field.
    """
    number = whole_number(value)
    if number is None or not least <= number <= most:
        raise ScenarioError(field, value, f"a whole number from {least} to {most}")
