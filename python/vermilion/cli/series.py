"""Where the time series of ``vermilion run`` go: CSV or Parquet, by the file's name."""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from vermilion.cli.output import STANDARD_OUTPUT, binary_output_file, output_file
from vermilion.cli.user_error import UserError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from vermilion.simulate import Result


@contextmanager
def series_output(option: str, target: str) -> Iterator[Callable[[Result], None]]:
    """What writes a result's time series to a file that appears only when it is complete.

    Raises:
        UserError: a name that asks for no known format, a package that is missing, or a file that
            cannot be written; before any work is done.
    """
    from vermilion.simulate import traces
    from vermilion.simulate.extras import MissingPackageError
    from vermilion.simulate.tables import check_format, format_of

    try:
        if target != STANDARD_OUTPUT:
            check_format(target)
    except (ValueError, MissingPackageError) as error:
        message = f"{option}: {error}"
        raise UserError(message) from None
    if target != STANDARD_OUTPUT and format_of(target) == "parquet":
        with binary_output_file(option, target) as file:
            yield partial(traces.write_parquet, file)
    else:
        with output_file(option, target) as text:
            yield partial(traces.write_csv, text)
