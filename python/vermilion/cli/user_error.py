"""A mistake of the user that no room below can know of."""

from __future__ import annotations


class UserError(Exception):
    """A mistake of the user that is not in a scenario; ``str()`` is the line to show."""
