"""Optional packages, and the message where one is missing.

The message names the packages, not the extra: no package index has Vermilion.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any, Final

EXTRAS: Final = {
    "frames": ("pandas", "pyarrow"),
    "dask": ("dask[distributed]",),
    "gym": ("gymnasium",),
}
"""Packages of each extra, as in pyproject.toml."""


class MissingPackageError(ImportError):
    """Package that was not installed with Vermilion; ``str()`` says how to install it."""


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
        packages = " ".join(f"'{name}'" if "[" in name else name for name in EXTRAS[extra])
        message = (
            f"{package} is needed for {purpose} and cannot be imported ({error}); "
            f"{sys.executable} -m pip install {packages} brings it"
        )
        raise MissingPackageError(message, name=package) from error
