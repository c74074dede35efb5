"""Arithmetic of the reference: decimal numbers of 50 digits, and comparisons that refuse to guess.

A verdict hangs on comparisons (the average with a threshold, a coin with a probability). Where two
sides are so close that rounding to double precision could turn the answer, a vector would test the
rounding and not the algorithm. The reference refuses to make such a vector, except for cases that
sit on a boundary on purpose, whose numbers are chosen to be exact in binary.
"""

from decimal import Decimal, getcontext, localcontext

getcontext().prec = 50

MARGIN = Decimal("1e-9")
ZERO = Decimal(0)
ONE = Decimal(1)


class TooCloseError(ValueError):
    """Two numbers that double precision might not tell apart."""

    def __init__(self, left: Decimal, right: Decimal) -> None:
        super().__init__(f"{left} and {right}")


class Comparison:
    """Compares numbers; equal ones only where `ties` says that they are equal on purpose."""

    def __init__(self, *, ties: bool) -> None:
        self._ties = ties

    def below(self, left: Decimal, right: Decimal) -> bool:
        """Whether `left` is less than `right`."""
        self._refuse_close(left, right)
        return left < right

    def at_most(self, left: Decimal, right: Decimal) -> bool:
        """Whether `left` is less than or equal to `right`."""
        self._refuse_close(left, right)
        return left <= right

    def whole_part(self, value: Decimal) -> int:
        """The largest whole number that is at most `value`."""
        whole = int(value)
        for boundary in (whole, whole + 1):
            if boundary > 0:
                self._refuse_close(value, Decimal(boundary))
        return whole

    def _refuse_close(self, left: Decimal, right: Decimal) -> None:
        distance = abs(left - right)
        if distance == 0 and self._ties:
            return
        # Numbers that are both zero are exact in every arithmetic.
        if distance <= MARGIN * max(abs(left), abs(right)) and (left, right) != (ZERO, ZERO):
            raise TooCloseError(left, right)


def power(base: Decimal, exponent: Decimal) -> Decimal:
    """`base` to a power that may be zero or broken, with 0 to the 0 being 1."""
    if exponent == 0:
        return ONE
    if base == 0:
        return ZERO
    return base**exponent


def one_minus_exponential(value: Decimal) -> Decimal:
    """1 - exp(-value), without losing the digits of a small value."""
    with localcontext() as context:
        context.prec = 70
        result = ONE - (-value).exp()
    return +result
