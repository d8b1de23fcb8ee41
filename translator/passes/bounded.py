"""Questions that the ranges of the loops around them answer.

    for k in range(5):
        for i in range(k + 1, 5):
            s += x[i] if i != k else 0.0            s += x[i]
            t = np.any(np.arange(5) >= k)           t = True
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .. import ops
from ..derive.differences import Bound, Makers, bounds_of, contradict, offset_of
from ..ir import Atom, Const, For, Var, const
from ..ops.core import ReduceAttrs
from .calls import Call, Definitions, Found, made_by

# x op y is x + less <= y, or where it is the other way round y + less <= x
_ORDERS = {
    ops.LESS: (1, True),
    ops.LESS_EQUAL: (0, True),
    ops.GREATER: (1, False),
    ops.GREATER_EQUAL: (0, False),
}


def answered(call: Call, loops: Sequence[For], makers: Makers) -> Const | None:
    """What a comparison of Python ints is in every trip of the loops; None where that differs or is not known."""
    if not loops or len(call.args) != 2 or not all(a.aval.weak and a.aval.dtype.kind == "i" for a in call.args):
        return None
    if call.op not in (*_ORDERS, ops.EQUAL, ops.NOT_EQUAL):
        return None
    (x, c), (y, d) = (offset_of(a, makers) for a in call.args)
    bounds = [b for s in loops for b in bounds_of(s, makers, {})]
    known = {u for u, v, _ in bounds} | {v for _, v, _ in bounds}
    if x not in known and y not in known:
        return None
    if call.op in (ops.EQUAL, ops.NOT_EQUAL):
        apart = contradict([*bounds, (x, y, d - c), (y, x, c - d)])
        return const(np.bool_(call.op is ops.NOT_EQUAL)) if apart else None
    less, forwards = _ORDERS[call.op]
    if not forwards:
        (x, c), (y, d) = (y, d), (x, c)
    holds: Bound = (x, y, d - c - less)
    fails: Bound = (y, x, c - d + less - 1)
    if contradict([*bounds, fails]):
        return const(np.bool_(True))
    return const(np.bool_(False)) if contradict([*bounds, holds]) else None


def any_place(call: Call, definitions: Definitions) -> Found:
    """`np.any(np.arange(n) >= k)` is `k <= n - 1`, and so on."""
    if call.op is not ops.ANY or not isinstance(call.attrs, ReduceAttrs) or call.attrs.keepdims:
        return None
    compared = definitions.get(call.args[0]) if isinstance(call.args[0], Var) else None
    if compared is None or compared.op not in _ORDERS or call.args[0].aval.ndim != 1:
        return None
    less, forwards = _ORDERS[compared.op]
    places, k = compared.args if not forwards else compared.args[::-1]
    n = call.args[0].aval.size
    if n and _counts(places, n, definitions) and _is_int(k):  # the last place is the one to ask
        return Call(ops.LESS_EQUAL, (k, const(n - 1 - less)))
    places, k = k, places
    if n and _counts(places, n, definitions) and _is_int(k):  # the first one
        return Call(ops.GREATER_EQUAL, (k, const(less)))
    return None


def _counts(a: Atom, n: int, definitions: Definitions) -> bool:
    return made_by(a, ops.IOTA, definitions) is not None and a.aval.shape == (n,) and a.aval.dtype.kind == "i"


def _is_int(a: Atom) -> bool:
    return not a.aval.shape and a.aval.dtype.kind == "i"
