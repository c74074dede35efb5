"""A journal of a queue that somebody looks at ten times a second."""

from vermilion.online.record.journal import Journal
from vermilion.online.sense.sampler import Sample


def book(path, network=None):
    return Journal(
        path,
        version="1.2.3",
        title="linux:eth0",
        router="linux",
        link="linux:eth0",
        discipline="red",
        target_packets=30.0,
        network=network,
    )


def look(time_s, **changed):
    """A look at a queue of 10 packets, 15,000 bytes, that forwards 1.2 Mbit/s."""
    values = {
        "time_s": time_s,
        "interval_s": 0.1,
        "backlog_before_packets": 10,
        "backlog_packets": 10,
        "backlog_bytes": 15_000,
        "packets": 10,
        "bytes": 15_000,
        "drops": 0,
        "marks": 0,
        "active_flows": 4,
        "heard_flows": 4,
        "rtt_samples": 2,
        "mean_rtt_s": 0.05,
    }
    return Sample(**{**values, **changed})


def looks(journal, first, last, **changed):
    """Looks a tenth of a second apart, from the first to the last tenth."""
    for tenth in range(first, last + 1):
        journal.keep(look(tenth / 10, **changed))
