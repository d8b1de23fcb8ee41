"""Which Python numbers NumPy refuses, because the dtype of the array that they meet cannot hold them.

np.zeros(3, np.int8) + 300            OverflowError: Python integer 300 out of bounds for int8
x[0] = 1j                             TypeError where x is an array of floats
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .ir import Atom, Aval, Const, DType
from .ops.core import Elementwise


def check_beside(op: Elementwise, atoms: Sequence[Atom]) -> None:
    """Raises OverflowError where a Python int among the operands is outside the range of the dtype that it takes."""
    known = any(isinstance(a, Const) and a.aval.weak and a.aval.dtype.kind == "i" for a in atoms)
    if not known or all(a.aval.weak for a in atoms):
        return
    dtypes, result = op.loop_dtypes([a.aval for a in atoms])
    if result.kind == "b" or op.name == "where":  # comparisons are exact, and np.where wraps
        return
    for a, dtype in zip(atoms, dtypes, strict=True):
        if a.aval.dtype.kind == "i":
            check_holds(dtype, a)


def check_holds(dtype: Any, x: Atom) -> None:
    """Raises what NumPy raises where a Python number is put into an array of a dtype that cannot hold it."""
    dtype, given = np.dtype(dtype), x.aval.dtype.kind
    if not x.aval.weak or dtype.kind not in "iuf":
        return
    if given == "c":
        kind = "float" if dtype.kind == "f" else "int"
        raise TypeError(f"{kind}() argument must be a string or a real number, not 'complex'")
    if isinstance(x, Const) and given in "if" and dtype.kind != "f":
        if np.isnan(x.value):
            raise ValueError("cannot convert float NaN to integer")
        if np.isinf(x.value):
            raise OverflowError("cannot convert float infinity to integer")
        number, info = int(x.value), np.iinfo(dtype)
        if not int(info.min) <= number <= int(info.max):
            raise OverflowError(f"Python integer {number} out of bounds for {dtype}")


COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "equal": operator.eq,
    "not_equal": operator.ne,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
}


def exact_dtypes(op: Elementwise, avals: Sequence[Aval], constants: Sequence[object]) -> tuple[DType, ...]:
    """In which dtypes the operands are taken: those of the operation's loop, but for comparisons of narrow integers
    with a Python int of the run, since NumPy compares exactly: those are made in 64 bits. Beside uint64 it is checked.

    `constants`: which operands are a Const.
    """
    dtypes, _ = op.loop_dtypes(avals)
    narrow = op.name in COMPARISONS and all(d.kind in "iu" and d.itemsize < 8 for d in dtypes)
    of_the_run = narrow and any(a.weak and not isinstance(c, Const) for a, c in zip(avals, constants, strict=True))
    return (np.dtype(np.int64),) * len(dtypes) if of_the_run else dtypes


def decided(op: Elementwise, args: Sequence[object], dtypes: Sequence[DType]) -> bool | None:
    """What a comparison with a constant Python int gives that the dtype of the other operand cannot hold: NumPy
    compares exactly, so all elements have one answer. None for any other operation.
    """
    for k, a in enumerate(args if op.name in COMPARISONS else ()):
        if isinstance(a, Const) and a.aval.weak and type(a.value) is int and dtypes[k].kind in "iu":
            info = np.iinfo(dtypes[k])
            if not int(info.min) <= a.value <= int(info.max):
                return COMPARISONS[op.name](*((a.value, 0) if k == 0 else (0, a.value)))
    return None
