"""What keeps a link from being emulated."""

from __future__ import annotations


class LinkError(Exception):
    """A link that cannot be emulated here; ``str()`` is one line: what is missing, and the cure."""
