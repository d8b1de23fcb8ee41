"""argmax and argmin as reductions that kernels have: the extreme, then the least index where it stands.

    before                      after
    y = np.argmax(x, axis=1)    m = np.max(x, axis=1, keepdims=True)
                                k = np.expand_dims(np.arange(n), 0)
                                y = np.min(np.where((x == m) | (x != x), k, 2**63 - 1), axis=1)

The two reductions are along one row, so that a row is read once, together with the work around them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from .. import make, ops
from ..builder import Builder
from ..ir import Apply, Function, Statement
from ..ops.core import ArgReduce, ArgReduceAttrs
from ..rewrite import spelled_out

NOWHERE = np.int64(np.iinfo(np.int64).max)


def extremes(function: Function) -> Function:
    """Apply to every argmax and argmin of real numbers."""
    return replace(function, body=spelled_out(function.body, _place_of_extreme))


def _place_of_extreme(s: Apply) -> Sequence[Statement]:
    if not isinstance(s.op, ArgReduce) or s.args[0].aval.dtype.kind == "c":
        return (s,)
    assert isinstance(s.attrs, ArgReduceAttrs)
    (x,) = s.args
    axis, ndim = s.attrs.axis, x.aval.ndim
    b = Builder()
    with b.at(s.span):
        top = (make.max if s.op.name == "argmax" else make.min)(b, x, (axis,), True)
        here = make.elementwise(b, ops.EQUAL, x, top)
        if x.aval.dtype.kind != "b" and x.aval.dtype.kind not in "iu":  # a NaN is extreme
            here = make.elementwise(b, ops.LOGICAL_OR, here, make.elementwise(b, ops.NOT_EQUAL, x, x))
        others = tuple(i for i in range(ndim) if i != axis)
        index = make.expand_dims(b, make.iota(b, x.aval.shape[axis]), others)
        found = make.min(b, make.elementwise(b, ops.WHERE, here, index, NOWHERE), (axis,), s.attrs.keepdims)
    last = b.statements[-1]
    assert isinstance(last, Apply) and last.targets == (found,)
    return (*b.statements[:-1], replace(last, targets=s.targets))
