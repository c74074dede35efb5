"""The ``vermilion`` command. No logic: it reads options, calls the rooms below and prints."""

from __future__ import annotations

from vermilion.cli.entry import main

__all__ = ["main"]
