"""State of a controller for people, log files and Prometheus.

Nothing in here decides or changes anything.
"""

from __future__ import annotations

from vermilion.status.decisions import log_line
from vermilion.status.from_journal import QueueStatus, read_status

__all__ = ["QueueStatus", "log_line", "read_status"]
