"""Packages that only some users need, and what to say where one is missing.

Vermilion itself depends on none of them: ``pip install 'vermilion[frames]'`` brings pandas and
pyarrow, ``pip install 'vermilion[dask]'`` Dask.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


class MissingPackageError(ImportError):
    """A package that was not installed with Vermilion; ``str()`` says what to install."""


def optional(package: str, purpose: str, extra: str = "frames") -> Any:  # noqa: ANN401 - any module
    """An optional package, imported now.

    Args:
        package: its name.
        purpose: what it is needed for, in words that follow "for".
        extra: of Vermilion, which brings it.

    Raises:
        MissingPackageError: it is not there.
    """
    try:
        return import_module(package)
    except ImportError as error:
        message = (
            f"{package} is needed for {purpose} and cannot be imported ({error}); "
            f"pip install 'vermilion[{extra}]' brings it"
        )
        raise MissingPackageError(message, name=package) from error
