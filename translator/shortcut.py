"""When `a and b` or `a or b` of bool scalars is one operation: where `b` costs next to nothing and cannot fail.

    while x > 0 and n < 50: ...          np.logical_and(x > 0, n < 50)
    while x > 0 and y[n] < 50: ...       a branch: y[n] may be out of range where x <= 0
"""

from __future__ import annotations

from collections.abc import Sequence

from . import ops
from .ir import Apply, Statement
from .ops.core import Elementwise

MOST = 8  # operations
_MAY_RAISE = frozenset({ops.DIVIDE, ops.FLOOR_DIVIDE, ops.REMAINDER, ops.POWER, ops.LEFT_SHIFT, ops.RIGHT_SHIFT})


def runs_always(statements: Sequence[Statement]) -> bool:
    """Whether the statements behind the second operand may as well run where the first decides."""
    return len(statements) <= MOST and all(
        isinstance(s, Apply)
        and isinstance(s.op, Elementwise)
        and s.op not in _MAY_RAISE
        and not any(t.aval.shape for t in s.targets)
        for s in statements
    )
