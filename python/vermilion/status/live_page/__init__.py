"""Live page of a controller, read from its journal alone.

:mod:`~vermilion.status.live_page.journal_reader` reads the file,
:mod:`~vermilion.status.live_page.broadcast` reads it once for all who watch, and
:mod:`~vermilion.status.live_page.application` answers browsers.
"""
