"""``--json``: every document by its schema.

The documents are the contract of the commands with programs: docs/json.md. A number that cannot be
computed is absent, and there is no NaN.
"""

from __future__ import annotations

from typing import TextIO

from vermilion.cli.endings import UserError
from vermilion.cli.output import output_file
from vermilion.files.document import json_text


def write_json(file: TextIO, document: object) -> None:
    """Write a document as strict JSON.

    Raises:
        UserError: it holds NaN or an infinity, which a journal may.
    """
    try:
        text = json_text(document)
    except ValueError as error:
        message = f"--json: what was read cannot be written as JSON ({error})"
        raise UserError(message) from None
    file.write(f"{text}\n")


def save_json(target: str, document: object) -> None:
    """Write a document where ``--json`` says.

    Raises:
        UserError: the file cannot be written, or the document has no JSON.
    """
    with output_file("--json", target) as file:
        write_json(file, document)
