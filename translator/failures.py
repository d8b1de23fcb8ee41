"""When a statement of the program raises what Python or NumPy would raise there, as conditions on what goes into it.

    y = 1.0 / x         ZeroDivisionError where x == 0, if both are numbers of Python's
    y = math.log(x)     ValueError where x <= 0
    y = a[i]            IndexError where i < -n or i >= n
    raise E             E where the condition of the branch holds
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from . import make, ops
from .bounds import divides_python_numbers, is_python_function, is_python_int, shifts_python_ints
from .builder import Builder
from .ir import Apply, Atom, Const, For, Fused, If, Invoke, Raise, Statement, While, blocks_of
from .ops.core import At, Dyn, Gather, IndexAttrs

Condition = Callable[[Builder], Atom]


def failures_of(s: Statement) -> Iterator[tuple[type[Exception], Condition]]:
    """What the statement may raise, and when, where that is known: of LAPACK's errors, that of factors and systems."""
    match s:
        case Raise(condition=condition, error=error):
            yield error.error, lambda b: condition
        case Apply() if divides_python_numbers(s):
            yield ZeroDivisionError, lambda b: make.equal(b, s.args[1], 0)
        case Apply() if _is_power_of_numbers(s) and isinstance(s.args[1], Const) and s.args[1].value < 0:
            yield ZeroDivisionError, lambda b: make.equal(b, s.args[0], 0)
        case Apply(attrs=IndexAttrs(dims=dims)):
            for d, n in zip(dims, s.args[0].aval.shape, strict=True):
                if isinstance(d, Gather) or (isinstance(d, At) and isinstance(d.index, Dyn)):
                    i = s.args[d.arg if isinstance(d, Gather) else d.index.arg]  # type: ignore[union-attr]
                    yield IndexError, lambda b, i=i, n=n: _any(b, outside_axis(b, i, n))  # type: ignore[misc]
        case Apply(op=ops.CHOLESKY):
            yield np.linalg.LinAlgError, lambda b: _any(b, make.linalg(b, ops.INDEFINITE, s.args[0]))
        case Apply(op=ops.SOLVE):
            yield np.linalg.LinAlgError, lambda b: _any(b, _is_singular(b, s.args[0]))
        case Apply() if s.op.name in _DOMAINS:
            yield from ((error, lambda b, f=fails: f(b, s.args[0])) for error, fails in _DOMAINS[s.op.name])


def unknown_failures(s: Statement) -> Iterator[type[Exception]]:
    """What the statement may raise besides: where no condition says when, or inside of branches and loops. Not LAPACK's
    LinAlgError, which a program raises by itself.
    """
    match s:
        case Apply() if is_python_function(s) and s.op.name not in _DOMAINS:
            yield from (ValueError, OverflowError)
        case Apply() if is_python_int(s) and s.args[0].aval.dtype.kind == "f":
            yield from (ValueError, OverflowError)
        case Apply() if shifts_python_ints(s):
            yield ValueError
        case Apply() if _is_power_of_numbers(s):
            yield OverflowError
            if not isinstance(s.args[1], Const):
                yield ZeroDivisionError
        case Invoke():
            yield Exception
        case If() | For() | While() | Fused():
            for t in (t for b in blocks_of(s) for t in b.statements):
                yield from (error for error, _ in failures_of(t) if error is not np.linalg.LinAlgError)
                yield from unknown_failures(t)


def _is_power_of_numbers(s: Apply) -> bool:
    return s.op.name == "power" and all(a.aval.weak for a in s.args)


def outside_axis(b: Builder, i: Atom, n: int) -> Atom:
    """Where indices are outside an axis of size n."""
    i = i if i.aval.weak else make.astype(b, i, np.dtype(np.int64))
    return make.logical_or(b, make.less(b, i, -n), make.greater_equal(b, i, n))


def _is_singular(b: Builder, a: Atom) -> Atom:
    """Whether LAPACK's factorisation has met a pivot that is zero: then the sign of the determinant is zero, too."""
    return make.equal(b, make.linalg(b, ops.SLOGDET_SIGN, a), 0)


def _any(b: Builder, x: Atom) -> Atom:
    return make.any(b, x) if x.aval.shape else x


def _absolute(b: Builder, x: Atom) -> Atom:
    return make.elementwise(b, ops.ABSOLUTE, x)


def _endless(b: Builder, x: Atom) -> Atom:
    return make.equal(b, _absolute(b, x), np.inf)


def _beyond(limit: float) -> Callable[[Builder, Atom], Atom]:
    """Of finite numbers over the limit, from which a function leaves the range of float64."""
    return lambda b, x: make.logical_and(b, make.greater(b, x, limit), make.less(b, x, np.inf))


_Domain = list[tuple[type[Exception], Callable[[Builder, Atom], Atom]]]
_TRIGONOMETRIC: _Domain = [(ValueError, _endless)]
_UNIT: _Domain = [(ValueError, lambda b, x: make.greater(b, _absolute(b, x), 1.0))]
_LOGARITHM: _Domain = [(ValueError, lambda b, x: make.less_equal(b, x, 0.0))]
_MOST = float(np.log(np.finfo(np.float64).max))  # math.exp of it is the largest number
_DOMAINS: dict[str, _Domain] = {
    "math_sqrt": [(ValueError, lambda b, x: make.less(b, x, 0.0))],
    "math_log": _LOGARITHM,
    "math_log2": _LOGARITHM,
    "math_log10": _LOGARITHM,
    "math_log1p": [(ValueError, lambda b, x: make.less_equal(b, x, -1.0))],
    "math_asin": _UNIT,
    "math_acos": _UNIT,
    "math_atanh": [(ValueError, lambda b, x: make.greater_equal(b, _absolute(b, x), 1.0))],
    "math_acosh": [(ValueError, lambda b, x: make.less(b, x, 1.0))],
    "math_sin": _TRIGONOMETRIC,
    "math_cos": _TRIGONOMETRIC,
    "math_tan": _TRIGONOMETRIC,
    "math_exp": [(OverflowError, _beyond(_MOST))],
    "math_expm1": [(OverflowError, _beyond(_MOST))],
}
