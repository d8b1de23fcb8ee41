"""The checks in a native loop: each error of Python or NumPy is a number that the loop returns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from ...translator.bounds import (
    Interval,
    divides_python_numbers,
    is_natural_power,
    is_python_power,
    refuses_negative,
)
from ...translator.errors import TOO_WIDE, PythonComplexError, Span, WideIntError, tell_place
from ...translator.ir import Apply, Const, DType, Statement, Var
from ...translator.ops import FLOOR_DIVIDE, REMAINDER
from ...translator.ops.core import Elementwise
from ...translator.ops.pythonic import error_of_infinity
from ...translator.records import dataclass
from ..lifetimes import Lifetimes
from .host import HOST, Scalar
from .values import Values

INT = np.dtype(np.int64)
DOUBLE = np.dtype(np.float64)
_INFINITY = HOST.literal(np.inf, DOUBLE)


@dataclass(frozen=True, slots=True)
class Failure:
    """One thing that can go wrong in a loop; its number is its place in the list, from 1."""

    error: type[Exception]
    message: str
    span: Span

    def exception(self, code: int) -> Exception:
        """The exception at the user's line, from what the loop has reported: `index * 65536 + number`."""
        error = self.error(self.message.format(index=code >> 16))
        if self.span.line:
            tell_place(error, self.span)
        return error


def divides_counts(s: Apply, interval: Callable[[Var | Const], Interval]) -> bool:
    """Whether C's division, which rounds to zero, is Python's: of numbers that are not negative by a constant."""
    if s.op not in (FLOOR_DIVIDE, REMAINDER) or s.targets[0].aval.dtype.kind != "i":
        return False
    x, y = s.args
    low = interval(x).low
    return isinstance(y, Const) and not y.aval.shape and y.value > 0 and low is not None and low >= 0


class Checks(Protocol):
    """Which statements need a run-time check."""

    @property
    def enabled(self) -> bool: ...
    def interval(self, atom: Var | Const) -> Interval: ...
    def statement(self, s: Statement) -> bool: ...
    def too_large(self, s: Apply) -> list[tuple[int, DType]]: ...
    def outgrows(self, s: Apply) -> bool: ...


class Checking(Values):
    """Writes the checks of a statement beside it."""

    def __init__(self, lifetimes: Lifetimes, checks: Checks) -> None:
        super().__init__(lifetimes)
        self.checks = checks
        self.failures: list[Failure] = []
        self._decomposing = 0

    # ---- failing -----------------------------------------------------------------------------------

    def fail_where(self, bad: str, index: str, error: type[Exception], message: str, span: Span) -> None:
        self.failures.append(Failure(error, message, span))
        self.line(f"if (__builtin_expect({bad}, 0)) return failed({index}, {len(self.failures)});")

    def needs_check(self, s: Statement) -> bool:
        return not self._decomposing and self.checks.statement(s)

    # ---- what Python refuses -----------------------------------------------------------------------

    def check_before(self, s: Apply, args: Sequence[Scalar]) -> None:
        """Divisors and exponents."""
        if divides_python_numbers(s):
            rounded = all(a.aval.dtype.kind == "i" for a in s.args)
            kind = "integer division or modulo" if rounded else "float floor division"
            what = "division" if s.op.name == "divide" else kind
            zero = f"{args[1].text} == 0"
            self.fail_where(zero, "0", ZeroDivisionError, f"{what} by zero", s.span)
        message = refuses_negative(s)
        if message:
            self.fail_where(f"{args[1].text} < 0", "0", ValueError, message, s.span)

    def check_after(self, s: Apply, op: Elementwise, args: Sequence[Scalar], made: Scalar) -> None:
        if self.checks.outgrows(s):
            self.check_growth(s, args, made)
        if op.plain is None and not is_python_power(s):
            return  # a division, of complex numbers perhaps
        numbers = [a.as_type(DOUBLE) for a in args]
        known = " && ".join(f"{x} == {x}" for x in numbers)
        finite = " && ".join(f"fabs({x}) < {_INFINITY}" for x in numbers)
        nan, infinite = f"{made.text} != {made.text}", f"fabs({made.text}) == {_INFINITY}"
        if op.plain is not None:
            domain = "math domain error"
            self.fail_where(f"{nan} && {known}", "0", ValueError, domain, s.span)
            beyond = error_of_infinity(op)
            if beyond is not None:
                if op.name == "math_pow":
                    self.fail_where(f"{infinite} && {finite} && {numbers[0]} == 0", "0", ValueError, domain, s.span)
                if op.name == "math_lgamma":
                    self.fail_where(f"{infinite} && {finite} && {numbers[0]} <= 0", "0", ValueError, domain, s.span)
                self.fail_where(f"{infinite} && {finite}", "0", *beyond, s.span)
        if is_python_power(s):
            if not is_natural_power(s):
                x, y = numbers
                pole = f"{x} == 0 && {y} < 0"
                self.fail_where(pole, "0", ZeroDivisionError, "zero to a negative power", s.span)
                message = "a negative Python float to a fractional power is a complex number"
                self.fail_where(f"{nan} && {known}", "0", PythonComplexError, message, s.span)
            message = "(34, 'Numerical result out of range')"
            self.fail_where(f"{infinite} && {finite}", "0", OverflowError, message, s.span)

    def check_growth(self, s: Apply, args: Sequence[Scalar], made: Scalar) -> None:
        """Check that a Python int, which has no bounds in Python, still fits 64 bits."""
        x, y = (a.as_type(INT) for a in args)
        if s.op.name == "left_shift":
            self.fail_where(f"{y} > 63 || {made.text} >> {y} != {x}", "0", WideIntError, TOO_WIDE, s.span)
        elif s.op.name == "power":
            about = f"__builtin_pow({x}, {y})"
            bad = f"!(fabs({made.text} - {about}) < 4611686018427387904.0)"
            self.fail_where(bad, "0", WideIntError, TOO_WIDE, s.span)
        else:
            kind = {"add": "add", "subtract": "sub", "multiply": "mul"}[s.op.name]
            spare = self.names.fresh("spare")
            self.line(f"long long {spare};")
            bad = f"__builtin_{kind}_overflow((long long){x}, (long long){y}, &{spare})"
            self.fail_where(bad, "0", WideIntError, TOO_WIDE, s.span)

    def check_range(self, s: Apply, x: Scalar, dtype: DType) -> None:
        """Check that a Python number fits the integer dtype it is cast to."""
        info = np.iinfo(dtype)
        if x.dtype.kind == "f":
            inside = f"{x.text} > {float(info.min) - 1!r} && {x.text} < {float(info.max) + 1!r}"
            self.fail_where(f"!({inside})", "0", OverflowError, f"a Python float out of bounds for {dtype}", s.span)
            return
        low = HOST.literal(max(int(info.min), -(2**63)), INT)
        high = HOST.literal(min(int(info.max), 2**63 - 1), INT)
        message = f"Python integer {{index}} out of bounds for {dtype}"
        self.fail_where(f"{x.text} < {low} || {x.text} > {high}", x.text, OverflowError, message, s.span)
