"""A stand-in for the simulator, in the place where tunings ask for simulations."""

from __future__ import annotations

from vermilion.tuning.measure import simulations


def promising(run):
    """What simulates promising settings with further seeds, by what simulates many."""

    def run_promising(texts, first, further, is_promising, **options):
        rows = run(texts, [first], **options)
        progress, done = options.pop("progress", None), len(texts)
        for index, row in enumerate(rows):
            if row[0] is None or not is_promising(index, row[0]):
                row.extend([None] * len(further))
                continue
            row.extend(run([texts[index]], further, **options)[0])
            done += len(further)
            if progress is not None:
                progress(done)
        return rows

    return run_promising


def simulated_by(monkeypatch, run):
    """Lets ``run``, called as :func:`vermilion.simulate.run_many` is, simulate."""
    monkeypatch.setattr(simulations, "run_many", run)
    monkeypatch.setattr(simulations, "run_promising", promising(run))
