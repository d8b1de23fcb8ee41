"""Grids to the last bit: the products in `np.linspace` and its kin are rounded before anything is added to them.

    a + i * step        two roundings in NumPy; LLVM makes one fused operation of it, with one

Elsewhere the last digit is within what a sum may differ by. Of a grid it decides what becomes of a point: in which bin
of a histogram it falls, or where a chaotic iteration that starts from it ends. Such products are few.
"""

from __future__ import annotations

import numpy as np

from ..translator.ir import Apply, Function, Fused, Var, walk
from ..translator.ops.core import Cast, Create, Elementwise, Reshape
from .writer import Value, Writer


def grid_products(function: Function) -> frozenset[Var]:
    """Products of an `np.arange` and a step, seen through casts, axes and groups."""
    counts: set[Var] = set()
    found: set[Var] = set()
    for s in walk(function.body):
        match s:
            case Fused(body=body, args=args):
                counts.update(p for p, a in zip(body.params, args, strict=True) if isinstance(a, Var) and a in counts)
            case Apply(targets=(target,), op=Create(name="iota")):
                counts.add(target)
            case Apply(targets=(target,), op=Cast() | Reshape(), args=(Var() as x,)) if x in counts:
                counts.add(target)
            case Apply(targets=(target,), op=Elementwise(name="multiply"), args=args):
                if target.aval.dtype.kind == "f" and any(isinstance(a, Var) and a in counts for a in args):
                    found.add(target)
    return frozenset(found)


def rounded(w: Writer, product: Value) -> Value:
    """The same number, which LLVM does not know to be a product any more."""
    return w.select(w.is_nan(product), w.splat(np.nan, product), product)
