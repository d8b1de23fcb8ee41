"""Counters of arrays of several axes as sums of indices, which kernels have without loading them.

    before                                  after
    i = np.arange(6).reshape(2, 3)          i = np.arange(2)[:, None] * 3 + np.arange(3)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from .. import make, ops
from ..builder import Builder
from ..ir import Apply, Function, Statement, Var, walk
from ..ops.core import Create, Reshape
from ..rewrite import spelled_out


def counters(function: Function) -> Function:
    """Apply to every np.arange that takes another shape."""
    counts = {
        s.targets[0]
        for s in walk(function.body)
        if isinstance(s, Apply) and isinstance(s.op, Create) and s.op.name == "iota"
    }

    def spelled(s: Apply) -> Sequence[Statement]:
        is_count = isinstance(s.op, Reshape) and s.op.name == "reshape" and s.args[0] in counts
        return _sum_of_indices(s) if is_count and s.targets[0].aval.ndim > 1 else (s,)

    return replace(function, body=spelled_out(function.body, spelled)) if counts else function


def _sum_of_indices(s: Apply) -> Sequence[Statement]:
    (target,) = s.targets
    shape, dtype = target.aval.shape, target.aval.dtype
    wide = [k for k, n in enumerate(shape) if n > 1]
    if len(wide) < 2 or 0 in shape:  # the axes of one count, or of none
        return (s,)
    b = Builder()
    with b.at(s.span):
        total = None
        for k in wide:
            index = make.iota(b, shape[k], dtype)
            index = make.expand_dims(b, index, tuple(i for i in range(len(shape)) if i != k))
            stride = math.prod(shape[k + 1 :])
            if stride > 1:
                index = make.elementwise(b, ops.MULTIPLY, index, dtype.type(stride))
            total = index if total is None else make.elementwise(b, ops.ADD, total, index)
    last = b.statements[-1]
    assert isinstance(total, Var) and isinstance(last, Apply) and last.targets == (total,)
    return (*b.statements[:-1], replace(last, targets=s.targets))
