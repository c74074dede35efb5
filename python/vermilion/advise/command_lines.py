"""The lines of a recommendation that somebody pastes."""

from __future__ import annotations

from dataclasses import dataclass

from vermilion.files.document import document


@document()
@dataclass(frozen=True, slots=True)
class Commands:
    """Lines to be pasted.

    Attributes:
        check: shows what stands there, before and after.
        apply: sets what is recommended; empty where nothing is to be set, or nobody has said where.
        undo: brings back what stood there before, as far as that is known
            (:func:`vermilion.advise.caveats.undo_caveats` says how far), after ``apply`` or
            ``if_elsewhere``; empty where both are.
        if_elsewhere: where the queue is to stay as it is: what brings the bottleneck to it, if
            packets now wait in something behind it; empty where that cannot be or is not known.
        shaper: whether the commands put a shaper before the queue.
        save: keeps what stands there now, to be pasted before ``apply`` or ``if_elsewhere``; empty
            where it is known, so that ``undo`` has it.
    """

    check: str
    apply: str = ""
    undo: str = ""
    if_elsewhere: str = ""
    shaper: bool = False
    save: str = ""
