"""Errors of Python's numbers, trip by trip, as checks over all trips, where arrays would give inf or nan or wrap.

    for i in range(n):                  t = x - 3
        y[i] = 1.0 / (x[i] - 3)         if np.any(t == 0): raise ZeroDivisionError("division by zero")
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from .. import make, ops
from ..bounds import (
    Interval,
    divides_python_numbers,
    interval_of,
    is_natural_power,
    is_python_function,
    is_python_int,
    is_python_power,
    may_grow,
    narrowed_numbers,
    refuses_negative,
    shifts_python_ints,
)
from ..builder import Builder
from ..errors import TOO_WIDE, WideIntError
from ..ir import Apply, Atom, Block, Const, For, If, Statement, Var, While, const
from ..ops.core import Dyn, Elementwise, IndexAttrs, Run
from ..ops.pythonic import error_of_infinity
from ..records import dataclass
from .stores import Dependence


@dataclass(frozen=True, slots=True)
class Guard:
    """Adds what is raised to the statements of a trip. `varying`: the variables that differ between trips; `apart`:
    what becomes a loop over the trips, which checks itself."""

    varying: set[Var]
    known: dict[Var, Interval]
    apart: Callable[[If | For | While], bool] = lambda s: False

    def block(self, block: Block, masked: bool) -> Block:
        return replace(block, statements=tuple(self.statements(block.statements, masked)))

    def statements(self, statements: Sequence[Statement], masked: bool) -> list[Statement]:
        made: list[Statement] = []
        for s in statements:
            match s:
                case If() | For() | While() if not masked and self.apart(s):
                    made.append(s)
                case Apply():
                    made += self.apply(s, masked)
                case If():
                    under = masked or self.differs(s.condition)
                    made.append(replace(s, then=self.block(s.then, under), orelse=self.block(s.orelse, under)))
                case For(range=r):
                    under = masked or any(map(self.differs, (r.start, r.stop, r.step)))
                    if not isinstance(r.step, Const):
                        raise Dependence("the step of an inner range is known only when it runs", s.span)
                    made.append(replace(s, body=self.block(s.body, under)))
                case While():
                    under = masked or self.differs(s.condition.results[0])
                    test, body = self.block(s.condition, under), self.block(s.body, under)
                    made.append(replace(s, condition=test, body=body))
                case _:
                    made.append(s)
        return made

    def differs(self, a: Atom) -> bool:
        return a in self.varying

    def interval(self, a: Atom) -> Interval:
        return interval_of(a, self.known)

    def apply(self, s: Apply, masked: bool) -> list[Statement]:
        varies = any(map(self.differs, s.args))
        fails, leaving = self.may_fail(s), self.leaving(s)
        if not (varies or masked) or not (fails or leaving):
            return [s]
        if not varies:
            raise Dependence("only some iterations come to what may raise an exception", s.span)
        b = Builder(s.span)
        b.append(s)
        for start, low, high in leaving:
            outside = make.logical_or(b, make.less(b, start, low), make.greater(b, start, high))
            make.raise_if(b, outside, IndexError, "a slice leaves its axis")
        if not fails:
            return b.statements
        if divides_python_numbers(s):
            make.raise_if(b, make.equal(b, s.args[1], 0), ZeroDivisionError, "division by zero")
        elif shifts_python_ints(s) and not self.outgrows(s):
            make.raise_if(b, make.less(b, s.args[1], 0), ValueError, refuses_negative(s))
        elif is_python_function(s):
            _check_function(b, s)
        elif is_python_power(s) and is_natural_power(s):
            _check_size(b, s, OverflowError, "(34, 'Numerical result out of range')")
        elif is_python_int(s):
            x = s.args[0]
            if x.aval.dtype.kind == "u":
                make.raise_if(b, make.greater(b, x, const(np.uint64(2**63 - 1))), WideIntError, TOO_WIDE)
                return b.statements
            make.raise_if(b, make.not_equal(b, x, x), ValueError, "cannot convert float NaN to integer")
            far = make.greater_equal(b, _absolute(b, x), 2.0**63)
            make.raise_if(b, far, OverflowError, "cannot convert float infinity to integer")
        else:
            raise Dependence("Python's own numbers may outgrow 64 bits here, or raise", s.span)
        return b.statements

    def may_fail(self, s: Apply) -> bool:
        """Whether Python may raise, or leave 64 bits, where arrays go on."""
        if not isinstance(s.op, Elementwise):
            return is_python_int(s) or self.narrows(s)
        if divides_python_numbers(s):
            return s.args[1].aval.dtype.kind == "f" or 0 in self.interval(s.args[1])
        if refuses_negative(s) and not self.interval(s.args[1]).within(0, 2**63 - 1):
            return True
        return is_python_power(s) or is_python_function(s) or self.outgrows(s) or self.narrows(s)

    def leaving(self, s: Apply) -> list[tuple[Atom, int, int]]:
        """Where slices begin, in each trip elsewhere, and the least and the greatest place where they may: of arrays of
        places, one before the axis would count from its end.
        """
        if not isinstance(s.attrs, IndexAttrs):
            return []
        found = []
        for d, n in zip(s.attrs.dims, s.args[0].aval.shape, strict=True):
            if isinstance(d, Run) and isinstance(d.start, Dyn) and d.size and self.differs(s.args[d.start.arg]):
                start, (low, high) = s.args[d.start.arg], d.starts(n)
                if not self.interval(start).within(low, high):
                    found.append((start, low, high))
        return found

    def narrows(self, s: Apply) -> bool:
        for i, dtype in narrowed_numbers(s):
            info = np.iinfo(dtype)
            if not self.interval(s.args[i]).within(int(info.min), int(info.max)):
                return True
        return False

    def outgrows(self, s: Apply) -> bool:
        if not may_grow(s):
            return False
        x, y = (self.interval(a) for a in s.args)
        if s.op.name in ("add", "subtract"):
            return not (_fits(x, 62) and _fits(y, 62)) and not (_fits(x, 31) or _fits(y, 31))
        if s.op.name == "power":
            return not any(_fits(x, n) and y.within(0, 62 // n) for n in (1, 2, 4, 8, 16, 20, 31))
        return s.op.name != "multiply" or not any(_fits(x, n) and _fits(y, 62 - n) for n in (8, 16, 31, 46, 54))


def _fits(x: Interval, bits: int) -> bool:
    return x.within(-(2**bits), 2**bits)


def _absolute(b: Builder, x: Atom) -> Atom:
    return make.elementwise(b, ops.ABSOLUTE, x)


def _check_function(b: Builder, s: Apply) -> None:
    """Of a function of `math`: nan from numbers, and infinity from finite ones."""
    assert isinstance(s.op, Elementwise)
    if s.op.name in ("math_pow", "math_lgamma"):
        raise Dependence(f"{s.op.numpy} may raise here", s.span)
    y, (x, *more) = s.targets[0], s.args
    nan, number = make.not_equal(b, y, y), make.equal(b, x, x)
    for a in more:
        number = make.logical_and(b, number, make.equal(b, a, a))
    make.raise_if(b, make.logical_and(b, nan, number), ValueError, "math domain error")
    infinite = error_of_infinity(s.op)
    if infinite is not None:
        _check_size(b, s, *infinite)


def _check_size(b: Builder, s: Apply, error: type[Exception], message: str) -> None:
    """Of infinity from a finite number."""
    far = make.equal(b, _absolute(b, s.targets[0]), np.inf)
    finite = make.less(b, _absolute(b, s.args[0]), np.inf)
    make.raise_if(b, make.logical_and(b, far, finite), error, message)
