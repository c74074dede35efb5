"""What all tests rest on."""

import os
import signal

from hypothesis import HealthCheck, settings

from vermilion.online.drive import locks

# How long an example takes is the machine's business, and no test's.
settings.register_profile(
    "any-machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any-machine")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Whoever starts the tests in the background may have Ctrl-C ignored, and what the tests start
    # would inherit that: then nothing that is interrupted would ever end.
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Tests of several processes use one network, and the same names of queues in it.
locks.PREFIX = f"{locks.PREFIX}tests-{os.getpid()}-"
