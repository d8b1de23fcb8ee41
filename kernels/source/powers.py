"""Powers by a number that the kernel's source knows: products, roots and quotients instead of a function.

    y = x ** 3                  y = x * x * x
    y = r ** -1.5               y = where(r == -inf, 0, 1 / (r * sqrt(r)))

The others beside `translator/powers` are within 2 units in the last place of the power, which CUDA's own function is
not. Products of half precision are rounded once, at the end.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ...translator import make
from ...translator.builder import Builder
from ...translator.ir import Apply, Atom, Const
from ...translator.ops import POWER, SQRT
from ...translator.ops.core import Elementwise
from ...translator.powers import WHOLE, product, whole
from .dialects import working

BROKEN = (0.5, 1.5, -0.5, -1.5, *(-n for n in WHOLE))


def exponent_of(s: Apply) -> float | None:
    """The exponent of a power that is a few products or a root; None for the others."""
    if s.op is not POWER or not isinstance(s.args[1], Const) or s.args[1].aval.shape or s.targets[0].aval.weak:
        return None
    assert isinstance(s.op, Elementwise)
    dtypes, _ = s.op.loop_dtypes([a.aval for a in s.args])
    kind, exponent = working(dtypes[0]).kind, s.args[1].value
    if kind not in "iuf" or np.imag(exponent) or float(exponent) not in (*WHOLE, *(BROKEN if kind == "f" else ())):
        return None
    return float(exponent)


def by_products(b: Builder, s: Apply) -> Atom | None:
    """The power as other operations; None where it is not a few."""
    exponent = exponent_of(s)
    if exponent is None:
        return None
    assert isinstance(s.op, Elementwise)
    dtypes, result = s.op.loop_dtypes([a.aval for a in s.args])
    # A square is rounded once as it stands.
    x = make.astype(b, s.args[0], dtypes[0] if exponent in (1, 2) else working(dtypes[0]))
    return make.broadcast_to(b, make.astype(b, _power(b, x, exponent), result), s.targets[0].aval.shape)


def _power(b: Builder, x: Atom, exponent: float) -> Atom:
    dtype = x.aval.dtype
    if (factors := whole(exponent)) is not None:
        return product(x, factors, partial(make.multiply, b))
    match exponent:
        case 0.5:
            return make.elementwise(b, SQRT, x)
        case 1.5:
            made = make.multiply(b, x, make.elementwise(b, SQRT, x))
        case -0.5:
            root = make.elementwise(b, SQRT, make.add(b, x, dtype.type(0)))  # whose root of -0.0 is 0.0
            made = make.divide(b, dtype.type(1), root)
        case -1.5:
            made = make.divide(b, dtype.type(1), make.multiply(b, x, make.elementwise(b, SQRT, x)))
        case _:
            return make.divide(b, dtype.type(1), _power(b, x, -exponent))
    # A power of -inf is no root's NaN.
    infinite = make.equal(b, x, dtype.type(-np.inf))
    return make.where(b, infinite, dtype.type(np.inf if exponent > 0 else 0), made)
