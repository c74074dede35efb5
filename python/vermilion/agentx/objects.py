"""What a subagent serves: objects to be read, and changes of them. Pure interface."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Protocol

from vermilion.agentx.protocol import Binding, SearchRange, Status, ValueType

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from vermilion.agentx.object_identifier import ObjectIdentifier


class SetRefused(Exception):  # noqa: N818 - reads as what it says
    """Values that cannot be set; nothing has changed.

    Attributes:
        status: for the manager.
        index: which binding is to blame, counted from 1.
    """

    def __init__(self, status: Status, index: int, why: str) -> None:
        super().__init__(why)
        self.status = status
        self.index = index


class ObjectsUnreadable(Exception):  # noqa: N818 - reads as what it says
    """The objects cannot be read now; the text says why."""


class ChangeFailed(Exception):  # noqa: N818 - reads as what it says
    """A change could not be made, or not be undone; the text says why and what is in force."""


class TestedChange(Protocol):
    """Values that have been tested and can be put in force."""

    def commit(self) -> None:
        """Put them in force, all or none.

        Raises:
            ChangeFailed: they are not. Whether what was there is in force, :meth:`undo` says.
        """

    def undo(self) -> None:
        """See to it that what was there before the commit is in force, whatever became of that.

        Raises:
            ChangeFailed: it could not be put back, or that is not known.
        """


class Snapshot:
    """Objects at one moment, in the order of their names.

    Args:
        values: every object with its value.
        kinds: what the names of objects begin with, of those too that have no instance now.
    """

    def __init__(
        self, values: Iterable[Binding], kinds: frozenset[ObjectIdentifier] = frozenset()
    ) -> None:
        self._values: Mapping[ObjectIdentifier, Binding] = {each.name: each for each in values}
        self._names: Sequence[ObjectIdentifier] = sorted(self._values)
        self._kinds = kinds

    def __len__(self) -> int:
        return len(self._names)

    def get(self, name: ObjectIdentifier) -> Binding:
        """The object of this name; if there is none, why (RFC 2741, 7.2.3.1)."""
        found = self._values.get(name)
        if found is not None:
            return found
        known = any(name[:length] in self._kinds for length in range(len(name)))
        return Binding(name, ValueType.NO_SUCH_INSTANCE if known else ValueType.NO_SUCH_OBJECT)

    def following(self, within: SearchRange) -> Binding:
        """The first object of a range; if there is none, the start with "end of view" (7.2.3.2)."""
        first = bisect_left if within.include else bisect_right
        at = first(self._names, within.start)
        if at < len(self._names) and (not within.end or self._names[at] < within.end):
            return self._values[self._names[at]]
        return Binding(within.start, ValueType.END_OF_MIB_VIEW)


class ManagedObjects(Protocol):
    """Objects that can be read and set."""

    def snapshot(self, *, walking: bool) -> Snapshot:
        """The objects now.

        Args:
            walking: whether one object after another is asked for, so that those of a moment ago
                will do.

        Raises:
            ObjectsUnreadable: they cannot be read.
        """

    def test(self, bindings: Sequence[Binding]) -> TestedChange:
        """Values that could be set, all of them together.

        Raises:
            SetRefused: they cannot.
        """
