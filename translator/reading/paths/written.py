"""The size of a program whose loops are unrolled; where it grows too long, CPython runs the loop.

    for k in range(n):           if ok(0): rest
        if ok(k): break          else:
    rest                             if ok(1): rest        `rest` is read again for each way out of the loop
                                     else: ...
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence

from ...bounds import is_python_function, is_python_power
from ...ir import Apply, For, Statement, While, blocks_of, walk
from ...ops.core import ArgReduce, Contract, Cumulative, Fourier, Linalg, Reduce, Sort
from ..core.context import Context
from .flow import Flow
from .iterables import UNROLL_LIMIT

WRITTEN_LIMIT = 1000  # operations: XLA takes a second or more for them, and for the kernels that they make
PATHS_LIMIT = 1000  # ways to the end of the function that are read apart: 2**n of n branches
ELEMENTS_LIMIT = 3000  # the same for the elements of a container, of which each may be of another kind
_KERNEL = 20  # operations that a kernel of its own counts for: XLA takes 20 ms or more for each
_CHECKED = 7  # operations that a number of Python's counts for, where the run must see whether Python refuses it
_UNFUSED = (Reduce, ArgReduce, Cumulative, Sort, Fourier, Contract, Linalg)
_OFTEN = 16  # iterations between two looks at what stands in the block


class Written:
    """The code that a loop's iterations have become; `past` counts blocks that are closed or enclose the open one."""

    def __init__(self, ctx: Context, node: ast.AST) -> None:
        self.ctx, self.node, self.past = ctx, node, 0
        self.applies = ctx.keeps_changes  # a derivative has no choice: CPython can run no part of it

    def check(self, since: int, trip: int, nested: bool = False) -> None:
        """Check the start of iteration `trip`, whose earlier ones stand in the open block from `since` on."""
        if not self.applies or (trip % _OFTEN and not nested):
            return
        if trip > UNROLL_LIMIT:
            self.ctx.cut(
                self.node,
                f"more than {UNROLL_LIMIT} iterations of this loop would be read one by one",
                why="its elements are no numbers in an array, or something in it must be known in each iteration",
                instead="run over an array of numbers, or use the element as a number or an array index only",
            )
        written = self.past + size_of(self.ctx.b.statements[since:])
        if written > (WRITTEN_LIMIT if self.node in self.ctx.loops.unroll else ELEMENTS_LIMIT):
            self.ctx.cut(
                self.node,
                f"the first {trip} iterations of this loop, written out one by one, are {written} operations",
                why="something in it must be known when the function is translated, and compiling it all takes seconds",
                instead="let the loop variable be a number or an array index only, and keep types and shapes the same",
            )

    def behind(self, read: Callable[[], Flow]) -> Callable[[], Flow]:
        """`read`, what follows the loop where it is left in the middle, which counts each time that it is read."""

        def counted() -> Flow:
            block, since = self.ctx.b, len(self.ctx.b.statements)
            flow = read()
            self.add(block.statements[since:])
            return flow

        return counted

    def add(self, statements: Sequence[Statement]) -> None:
        """Count what was read behind one way through an iteration, up to the end of the function."""
        self.ctx.effort.ways += 1
        if self.ctx.effort.ways > PATHS_LIMIT:
            self.ctx.cut(
                self.node,
                f"this loop goes on in more than {PATHS_LIMIT} ways",
                why="what an iteration leaves is not one thing, so all that follows is read for each way through it",
                instead="give names one array and lists one length on all paths, e.g. with np.where or .copy()",
            )
        if self.applies:
            self.past += size_of(statements)


def size_of(statements: Sequence[Statement]) -> int:
    """The number of operations, kernels counted as many."""
    everything = [i for s in statements for i in (s, *(i for b in blocks_of(s) for i in walk(b)))]
    return len(everything) + _KERNEL * _kernels(everything) + _CHECKED * sum(map(_is_checked, everything))


def _is_checked(s: Statement) -> bool:
    return isinstance(s, Apply) and (is_python_power(s) or is_python_function(s))


def _kernels(statements: Iterable[Statement]) -> int:
    """How many kernels the statements become, roughly: one for each reduction, product, loop, and each new shape."""
    statements = list(statements)
    shapes = {t.aval.shape for s in statements for t in s.targets if t.aval.shape}
    loops = sum(isinstance(s, For | While) for s in statements)
    return loops + len(shapes) + sum(isinstance(s, Apply) and isinstance(s.op, _UNFUSED) for s in statements)
