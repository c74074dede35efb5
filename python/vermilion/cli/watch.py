"""``vermilion watch``: a page that shows what the on-line controller does while it does it."""

from contextlib import closing, suppress
from pathlib import Path
from typing import Annotated

import typer

from vermilion.cli.endings import UserError
from vermilion.cli.journals import check_journal, journals, unreadable
from vermilion.cli.output import say
from vermilion.files.sqlite import NONSENSE


def watch(
    journal: Annotated[
        Path | None,
        typer.Argument(
            metavar="JOURNAL",
            help="File of vermilion online or control (default: newest in --state-dir).",
            show_default=False,
        ),
    ] = None,
    *,
    state_dir: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Folder of journals. Default: $STATE_DIRECTORY, or ~/.local/state/vermilion.",
            show_default=False,
        ),
    ] = None,
    listen: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS:PORT",
            help="Address of the page; port 0 takes any.",
        ),
    ] = "127.0.0.1:0",
    listen_from_outside: Annotated[
        bool,
        typer.Option(
            "--listen-from-outside",
            help="Allow other machines to connect (unencrypted: use a TLS proxy).",
        ),
    ] = False,
    listen_token: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="File with the page's token: 16 characters or more, mode 0600 (default: random).",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Serve a page that shows a controller at work.

    It has the queue, drops, settings and every decision. All of it is read from the journal, while
    the controller writes it or afterwards. The controller is not asked, and nothing can be changed
    from this page. It runs until Ctrl-C.
    """
    from vermilion.status.listener import ListenerError, listener_of, read_token
    from vermilion.status.live_page.journal_reader import JournalReader
    from vermilion.status.live_page.server import PageServer

    path = _journal(journal, state_dir)
    try:
        JournalReader(path).runs()
    except NONSENSE as error:
        raise unreadable(path, error) from None
    try:
        token = None if listen_token is None else read_token(listen_token, "--listen")
        # The page never does without a token; from outside it has to be one that was chosen.
        listener = listener_of(
            listen, option="--listen", from_outside=listen_from_outside, token=token
        )
        server = PageServer(path, listener)
    except ListenerError as error:
        raise UserError(str(error)) from None
    with closing(server):
        say(f"The page is {server.address}\nIt shows {path}. Ctrl-C ends it.")
        # It runs until then, so that is its ordinary end.
        with suppress(KeyboardInterrupt):
            server.run()


def _journal(journal: Path | None, state_dir: Path | None) -> Path:
    """The one that is named, or the one of a folder that was written to last."""
    if journal is not None and state_dir is not None:
        message = "JOURNAL and --state-dir are both given; expected one"
        raise UserError(message)
    found = journals(journal, state_dir)
    if not found:
        message = "JOURNAL: none yet; expected the file of online --journal"
        raise UserError(message)
    newest = max(found, key=lambda path: path.stat().st_mtime if path.is_file() else 0.0)
    check_journal(newest)
    return newest
