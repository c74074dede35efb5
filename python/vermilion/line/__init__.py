"""A shaper kept at the right rate on a line whose rate nobody knows.

Pure are the probes (:mod:`.probes`), where packets wait (:mod:`vermilion.monitor.waits`) and what
is done (:mod:`.keeper`); :mod:`.sockets` sends and listens, :mod:`.drive` has the clock and the
shaper, and :mod:`.guardian` leaves a safe rate behind when all of that dies.
"""
