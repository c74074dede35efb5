"""A clock that only simulations move, so that deadlines are tested without waiting for them."""

from types import SimpleNamespace

from vermilion.tuning import engine, front_search, horizon, model_search, preparation, simulations

MODULES = (engine, model_search, horizon, simulations, preparation, front_search)
"""Those of vermilion.tuning that look at the clock."""


class SimulatedClock:
    """Stands in for ``time.monotonic`` in a tuning, on one core.

    Attributes:
        now: seconds.
    """

    def __init__(self, monkeypatch):
        self.now = 1000.0
        clock = SimpleNamespace(monotonic=lambda: self.now)
        for module in MODULES:
            monkeypatch.setattr(module, "time", clock)

    def slowed(self, run_many, each_s):
        """A simulator that takes so many seconds for each run, and gives up at its deadline."""

        def run(texts, seeds, *, deadline_s=None, **options):
            left, rows = deadline_s, []
            for text in texts:
                rows.append([])
                for seed in seeds:
                    if left is not None and left < each_s:
                        rows[-1].append(None)
                        continue
                    left = None if left is None else left - each_s
                    self.now += each_s
                    [[result]] = run_many([text], [seed], **options)
                    rows[-1].append(result)
            return rows

        return run


class Interrupting:
    """A simulator at which somebody presses Ctrl-C, once or several times.

    Args:
        run_many: what it does otherwise.
        moments: numbers of calls, from 1, at which that happens.
    """

    def __init__(self, run_many, *moments):
        self.run_many = run_many
        self.moments = moments
        self.calls = 0

    def __call__(self, texts, seeds, **options):
        self.calls += 1
        if self.calls in self.moments:
            raise KeyboardInterrupt
        return self.run_many(texts, seeds, **options)
