"""What every constructor begins with: operands as atoms, statements appended or folded, axes normalised."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence

import numpy as np

from ..builder import Builder
from ..errors import AxisError, ShapeError
from ..evaluate import apply_op
from ..ir import Apply, Atom, Const, Var, const
from ..ops.core import NO_ATTRS, Attrs, Op

FOLD_LIMIT = 64  # elements: larger constants would be unreadable in the printed source
Axes = int | Iterable[int] | None


def lift(x: object) -> Atom:
    """An atom as it is; a number or array as a constant."""
    return x if isinstance(x, Var | Const) else const(x)


def emit(b: Builder, op: Op, *args: Atom, attrs: Attrs = NO_ATTRS) -> Atom:
    """`op(*args)`, folded where all arguments are constants. Raises ShapeError, DTypeError."""
    if args and all(isinstance(a, Const) for a in args):
        folded = _fold(op, args, attrs)
        if folded is not None:
            return folded
    return b.apply(op, *args, attrs=attrs)


def _fold(op: Op, args: Sequence[Atom], attrs: Attrs) -> Const | None:
    """The constant result; None where it is large, or where NumPy would warn or raise."""
    (aval,) = op.infer([a.aval for a in args], attrs)
    if aval.size > FOLD_LIMIT:
        return None
    values = [a.value for a in args if isinstance(a, Const)]
    try:
        with np.errstate(all="raise"), warnings.catch_warnings():
            warnings.simplefilter("error")
            value = apply_op(op, values, attrs)
            result = const(value if aval.weak else np.asarray(value, aval.dtype))
    except (ArithmeticError, ValueError, IndexError, TypeError, Warning):
        return None
    return result if result.aval == aval else None


def definition(b: Builder, x: Atom, op: Op) -> Apply | None:
    """The statement that made `x`, if it stands in this block and applies `op`."""
    made = b.definitions.get(x) if isinstance(x, Var) else None
    return made if made is not None and made.op is op else None


def normalize_axis(axis: int, ndim: int) -> int:
    """A non-negative axis; AxisError when out of range."""
    if not -ndim <= axis < ndim:
        raise AxisError(int(axis), ndim)
    return int(axis) % ndim


def normalize_axes(axes: Axes, ndim: int) -> tuple[int, ...]:
    """Sorted, non-negative; all of them for None. AxisError when one is out of range, ShapeError when repeated."""
    if axes is None:
        return tuple(range(ndim))
    given = (axes,) if isinstance(axes, int | np.integer) else tuple(axes)
    normal = sorted(normalize_axis(a, ndim) for a in given)
    if len(set(normal)) != len(normal):
        raise ShapeError(f"an axis is repeated in {given}")
    return tuple(normal)
