"""Text of a ``config.primary.sh`` with other numbers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def with_changes(text: str, changes: Mapping[str, float], evidence: str) -> str:
    """Set numbers in a configuration; everything else stays as it is.

    Args:
        text: of the configuration; may be empty.
        changes: numbers by name.
        evidence: lines of comment above the numbers that the text did not set.
    """
    left = dict(changes)
    lines = []
    for line in text.splitlines():
        matched = re.match(r"(\s*(?:export\s+)?)([A-Za-z_]\w*)=(\S*)", line)
        if matched and matched[2] in left:
            value = number(left.pop(matched[2]))
            rest = line[matched.end() :]
            lines.append(f"{matched[1]}{matched[2]}={value}{rest}")
        else:
            lines.append(line)
    if lines:
        lines.append("")
    lines += [f"# {each}" for each in evidence.splitlines()]
    lines += [f"{name}={number(value)}" for name, value in left.items()]
    return "\n".join(lines) + "\n"


def number(value: float) -> str:
    """Write a number as a person does."""
    return f"{value:.0f}" if value == round(value) and abs(value) > 2 else f"{value:g}"  # noqa: PLR2004 - factors keep their form
