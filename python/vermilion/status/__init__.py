"""What a controller is doing, for who looks at it from outside: people, log files, Prometheus.

Nothing in here decides or changes anything.
"""

from __future__ import annotations

from vermilion.status.from_journal import QueueStatus, read_status
from vermilion.status.log_line import log_line

__all__ = ["QueueStatus", "log_line", "read_status"]
