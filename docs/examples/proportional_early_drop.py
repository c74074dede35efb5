"""A discipline of one's own: the example of docs/own-discipline.md."""
# ruff: noqa: ANN001, ANN201, ARG002, D102 - as short as one would write it

from vermilion import Discipline, Verdict, number


class ProportionalEarlyDrop(Discipline):
    """Drops with a probability in proportion to the packets that wait."""

    name = "proportional-early-drop"
    parameters = (
        number("limit", "packets", 100, 1, 1e6, whole=True, meaning="what the buffer holds"),
        number("certain_at", "packets", 300, 1, 1e6, search=(20, 20_000), scale="log"),
    )

    def on_arrival(self, packet, queue, coin):
        if queue.packets >= self.limit:
            return Verdict.OVERFLOW
        if coin() * self.certain_at < queue.packets:
            return Verdict.NOTIFY
        return Verdict.ACCEPT
