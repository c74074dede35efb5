"""How thorough an answer has to be."""

from __future__ import annotations

from typing import Literal

TaskKind = Literal["quick", "refined"]
"""A quick answer is for conditions that nothing is known of; a refined one follows what was seen
under a setting and is searched longer, with more seeds."""
