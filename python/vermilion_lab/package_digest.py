"""Digest of the package, on which cached numbers depend beside their own description."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.resources.abc import Traversable


@cache
def package_digest() -> str:
    """A digest of every file of the package: the core, the scenarios and all of the Python."""
    digest = hashlib.sha256()
    for name, file in sorted(_files(resources.files("vermilion"), "")):
        digest.update(name.encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _files(directory: Traversable, prefix: str) -> Iterator[tuple[str, Traversable]]:
    for entry in directory.iterdir():
        name = f"{prefix}/{entry.name}"
        if entry.is_dir():
            if entry.name != "__pycache__":
                yield from _files(entry, name)
        else:
            yield name, entry
