"""Guarding against copies of arrays in loops, which XLA makes where the order of reads and stores is open.

    for i in range(n):                  y[i] needs the old x[i - 1], and nothing says that it comes first:
        x[i] = f(x[i - 1])              XLA keeps the old x for it, in every iteration
        y[i] = g(x[i - 1])

Its other analysis of live ranges puts the reads first instead. It is used where the first program copies: loops cannot
be native functions with it, as their outlining forgets that order.
"""

from __future__ import annotations

import math
import re
from typing import Any

from ...translator.patterns import pattern

NEGLIGIBLE = 4_096  # bytes: copying them takes about as long as the other operations of an iteration

LONG = 30_000  # characters of a program that takes half a second or more to compile

_COPY = pattern(r" = [a-z]+(\d*)\[([\d,]*)\]\S* copy\(")
_WRITE = pattern(r" = [a-z]+(\d*)\[([\d,]*)\]\S* (?!get-tuple-element|parameter|bitcast|constant|copy)[a-z]")


def copies_too_much(loaded: Any, text: str) -> bool:
    """Whether a program is worth compiling again for what it copies in its loops: a long one where that is most of what
    they write.
    """
    copied = copied_in_loops(loaded)
    return copied > NEGLIGIBLE and (len(text) < LONG or copied > _in_loops(loaded, _WRITE) / 2)


def copied_in_loops(loaded: Any) -> int:
    """Bytes that a compiled program copies in one iteration of each of its loops and once in each of its branches."""
    return _in_loops(loaded, _COPY)


def _in_loops(loaded: Any, results: re.Pattern[str]) -> int:
    computations = loaded.hlo_modules()[0].to_string().split("\n\n")
    inner = [c for c in computations if not c.lstrip().startswith(("ENTRY", "%fused", "%wrapped", "HloModule"))]
    return sum(_bytes(bits, sizes) for c in inner for bits, sizes in results.findall(c))


def _bytes(bits: str, sizes: str) -> int:
    width = int(bits) // 8 if bits else 1  # pred[...]
    return width * math.prod(int(n) for n in sizes.split(",") if n)
