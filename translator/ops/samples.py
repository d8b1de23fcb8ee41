"""Values to draw test arguments from: the samples in a row drive the tests of it."""

from __future__ import annotations

from ..records import dataclass


@dataclass(frozen=True, slots=True)
class Domain:
    """`kinds` of dtype ("f", "c", "i", "u", "b") and an open interval of reals."""

    kinds: str = "f"
    low: float = -3.0
    high: float = 3.0


REALS = Domain()
POSITIVE = Domain(low=0.1)
UNIT = Domain(low=-0.9, high=0.9)
ABOVE_ONE = Domain(low=1.1, high=4.0)
NUMBERS = Domain(kinds="fiuc")
ORDERED = Domain(kinds="fiub")
INTEGERS = Domain(kinds="iu", low=0, high=8)
BITS = Domain(kinds="iub", low=0, high=8)
BOOLS = Domain(kinds="b")
