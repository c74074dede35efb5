"""A shaper kept at the right rate on a line whose rate nobody knows.

Pure are the probes (:mod:`.probes`), where packets wait (:mod:`vermilion.monitor.waits`), and the
law and the keeper that decide (``crates/shaping``). :mod:`.sockets` sends and listens, :mod:`.side`
reads, sets and writes down one direction, and :mod:`.drive` has the clock. :mod:`.guardian` leaves
a safe rate behind when all of that dies.
"""
