"""What all tests rest on."""

import signal

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Whoever starts the tests in the background may have Ctrl-C ignored, and what the tests start
    # would inherit that: then nothing that is interrupted would ever end.
    signal.signal(signal.SIGINT, signal.default_int_handler)
