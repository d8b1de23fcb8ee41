"""Which programs are so small that CPython has run them before a compiled one has been called.

    return x * y + 1.0                         0.1 us by CPython, 9 us by way of XLA
    return np.sqrt(v @ v)                      1 us on three numbers, 7 us by way of XLA

What counts is the way there and back: a program of few operations on numbers, or of one or two on arrays of few
elements. The estimate knows shapes and dtypes alone, as that of `by_numpy`, so a program goes the same way at every
call.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..translator.ir import Apply, Aval, Function, Fused, If, Raise, Statement
from ..translator.ops.core import Cast, Contract, Elementwise, Index, Put, Reduce
from ..translator.passes.alignment import is_free

BUDGET = 3_500.0  # nanoseconds: half of the way to XLA and back
NUMBER = 130.0  # an operation on numbers, Python's or NumPy's
VIEW = 250.0
ARRAY = 700.0  # an operation of NumPy on an array of few elements
STORE = 500.0
PRODUCT = 1_000.0
REDUCTION = 2_500.0
FEW = 64  # elements


def is_tiny(function: Function) -> bool:
    """Whether CPython is to run a program, given before fusion, on NumPy arrays and Python numbers."""
    atoms = (*function.body.params, *function.body.results)
    return not function.mutated and _are_few(a.aval for a in atoms) and _cost(function.body.statements) <= BUDGET


def _cost(statements: Sequence[Statement]) -> float:
    return sum(map(_of_statement, statements))


def _of_statement(s: Statement) -> float:
    match s:
        case If():
            return NUMBER + max(_cost(s.then.statements), _cost(s.orelse.statements))
        case Raise():
            return NUMBER
        case Fused():
            return _cost(s.body.statements)
        case Apply() if _are_few(a.aval for a in (*s.args, *s.targets)):
            return _of_operation(s)
    return BUDGET + 1


def _of_operation(s: Apply) -> float:
    if not any(a.aval.shape for a in (*s.args, *s.targets)):
        return NUMBER
    match s.op:
        case Elementwise() | Cast():
            return ARRAY
        case Contract():
            return PRODUCT
        case Reduce():
            return REDUCTION
        case Put():
            return STORE
        case Index():
            return VIEW
    return VIEW if is_free(s) else BUDGET + 1


def _are_few(avals: Iterable[Aval]) -> bool:
    return all(a.size <= FEW for a in avals)
