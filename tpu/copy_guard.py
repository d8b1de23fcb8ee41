"""Guards against copies of arrays in loops, which XLA makes where the order of reads and stores is left open.

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

NEGLIGIBLE = 4_096  # bytes: copying them takes about as long as the other operations of an iteration

_COPY = re.compile(r" = [a-z]+(\d*)\[([\d,]*)\]\S* copy\(")


def copied_in_loops(loaded: Any) -> int:
    """Bytes that a compiled program copies in one iteration of each of its loops and once in each of its branches."""
    computations = loaded.hlo_modules()[0].to_string().split("\n\n")
    inner = [c for c in computations if " copy(" in c and not c.lstrip().startswith(("ENTRY", "%fused"))]
    return sum(_bytes(bits, sizes) for c in inner for bits, sizes in _COPY.findall(c))


def _bytes(bits: str, sizes: str) -> int:
    width = int(bits) // 8 if bits else 1  # pred[...]
    return width * math.prod(int(n) for n in sizes.split(",") if n)
