"""Rewrites of single operations that change no bit of the result (a NaN's sign and payload aside).

    y = np.broadcast_to(c, x.shape) * x        y = c * x
    y = (x * 0.1) * 2.0                        y = x * 0.2         # a power of two rounds nothing
    y = x - (-z)                               y = x + z
    y = x.astype(np.float64).astype(x.dtype)   y = x

Floating-point sums and products are never reassociated otherwise; `x + 0` stays, since it turns -0.0 into 0.0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from .. import make, ops
from ..builder import Builder
from ..errors import CutError, DTypeError
from ..ir import Apply, Atom, Aval, Const, DType, Var, const
from ..ops import bits
from ..ops.core import NO_ATTRS, AxesAttrs, Cast, Contract, CreateAttrs, Elementwise, Index, Op, Put, Reshape
from . import regions
from .calls import Call, Definitions, Found, Nested, aval_of, is_same, made_by
from .decided import literals, settled, where_true
from .numbers import is_exact, is_normal, is_power_of_two, number_of, python_number, shortest, strong, uniform

_INT = Aval((), np.dtype(np.int64), weak=True)


def rewrite(call: Call, aval: Aval, definitions: Definitions) -> Found:
    """A cheaper way to the same value of type `aval`: an atom, another call, or None when nothing is known."""
    found = _rules(call, definitions)
    if found is None:
        return None
    return found if aval_of(found) == aval else None


def opposite(a: Atom, definitions: Definitions) -> Found:
    """-a, where that is less work than `a`."""
    return _Elementwise(ops.NEGATIVE, (a,), definitions).opposite(a)


def _rules(call: Call, definitions: Definitions) -> Found:
    match call.op:
        case Elementwise():
            return _Elementwise(call.op, call.args, definitions).rewritten()
        case Cast():
            return regions.cast(call, definitions)
        case Index():
            return regions.index(call, definitions)
        case Reshape():
            return regions.reshape(call, definitions)
        case Put():
            return regions.put(call, definitions)
        case Contract():
            return regions.product(call)
        case _:
            return None


# ---- elementwise ---------------------------------------------------------------------------------


class _Elementwise:
    """One elementwise operation, and the ways in which it can be simpler."""

    def __init__(self, op: Elementwise, args: tuple[Atom, ...], definitions: Definitions) -> None:
        self.op, self.args, self.definitions = op, args, definitions

    def rewritten(self) -> Found:
        return self.simpler_operand() or self.of_uniform_operands() or self.identity()

    def made(self, atom: Atom, op: Op) -> Apply | None:
        return made_by(atom, op, self.definitions)

    def uses(self, a: Atom) -> int:
        return self.definitions.uses.get(a, 0) if isinstance(a, Var) else 0

    # operands that broadcasting and promotion make needless

    def simpler_operand(self) -> Call | None:
        """The same operation on an operand whose explicit broadcast or cast NumPy would do by itself."""
        loop = self.op.loop_dtypes([a.aval for a in self.args])[0]
        for i, a in enumerate(self.args):
            for candidate in self.simpler(a, loop[i]):
                call = Call(self.op, (*self.args[:i], candidate, *self.args[i + 1 :]))
                if self.computes_the_same(call):
                    return call
        return None

    def simpler(self, a: Atom, loop: DType) -> Iterator[Atom]:
        value = uniform(a, self.definitions)
        if value is not None:
            weak = python_number(value, loop)
            if weak is not None:
                yield weak
            if value is not a:
                yield value
            return
        made = self.definitions.get(a) if isinstance(a, Var) else None
        if made is None:
            return
        inner = made.args[0] if made.args else None
        if made.op is ops.BROADCAST_TO and inner is not None:
            yield inner
        elif made.op is ops.EXPAND_DIMS and inner is not None and isinstance(made.attrs, AxesAttrs):
            if made.attrs.axes == tuple(range(len(made.attrs.axes))):
                yield inner
        elif (
            made.op in (ops.ASTYPE, ops.FULL)
            and inner is not None
            and (not inner.aval.weak or self.is_idle_cast(made))
            and (a.aval.dtype == loop or is_exact(inner.aval.dtype, a.aval.dtype))
            and not self.is_unit(inner)
        ):
            yield inner

    def is_idle_cast(self, s: Apply) -> bool:
        """Whether a Python number is made a NumPy one of its own type for one use only."""
        return s.op is ops.ASTYPE and s.args[0].aval.dtype == s.targets[0].aval.dtype and self.uses(s.targets[0]) == 1

    def is_unit(self, a: Atom) -> bool:
        """Whether these are the ones of np.eye: people write it with numbers, not with bools."""
        compared = self.made(a, ops.EQUAL)
        return compared is not None and self.made(compared.args[1], ops.IOTA) is not None

    def computes_the_same(self, call: Call) -> bool:
        """Whether type and loop are those of the operation as it stands."""
        before, after = [a.aval for a in self.args], [a.aval for a in call.args]
        if self.op.name in bits.NAMES and after[0].weak:  # Python's numbers have no method `view`
            return False
        try:
            if self.op.infer(before, NO_ATTRS) != self.op.infer(after, NO_ATTRS):
                return False
            return self.op.loop_dtypes(before) == self.op.loop_dtypes(after)
        except (DTypeError, CutError):  # NumPy negates and subtracts no bools; a view is of the same size
            return False

    def of_uniform_operands(self) -> Found:
        """`np.zeros(3) + 1.0` is `np.full(3, 1.0)`."""
        (aval,) = self.op.infer([a.aval for a in self.args], NO_ATTRS)
        if aval.shape == () and not all(isinstance(a, Const) for a in self.args):
            return None
        values = [uniform(a, self.definitions) for a in self.args]
        if any(v is None for v in values):
            return None
        folded = make.emit(Builder(), self.op, *(v for v in values if v is not None))
        if not isinstance(folded, Const):
            return None
        if aval.shape == ():
            return folded
        return Call(ops.FULL, (strong(folded, aval.dtype),), CreateAttrs(aval.shape, aval.dtype))

    # algebra

    def identity(self) -> Found:
        rule = _ALGEBRA.get(self.op.name)
        return None if rule is None else rule(self)

    def negative(self) -> Found:
        (x,) = self.args
        product = self.made(x, ops.MULTIPLY) or self.made(x, ops.DIVIDE) if self.uses(x) <= 1 else None
        mean = product is not None and product.op is ops.DIVIDE and self.made(product.args[0], ops.SUM) is not None
        if product is not None and not mean and x.aval.dtype.kind == "f" and isinstance(product.args[1], Const):
            return self.negated_factor(product.op, product.args[0], product.args[1], product)
        return self.opposite(x)

    def negated_factor(self, op: Op, x: Atom, c: Const, like: Apply | Call) -> Call | None:
        number = number_of(c)
        if number is None or number != number:
            return None
        return self.scaled(op, x, -number, like)

    def add(self) -> Found:
        x, y = self.args
        for a, b in sorted(((x, y), (y, x)), key=lambda pair: self.made(pair[1], ops.NEGATIVE) is None):
            if (opposite := self.opposite(b)) is not None:
                return self.with_opposite(ops.SUBTRACT, a, opposite)
        if x is y and (twice := self.regrouped(x, 2.0)) is not None:
            return twice
        if x.aval.dtype.kind in "iu" and y.aval.dtype.kind in "iu":
            return x if number_of(y) == 0 else y if number_of(x) == 0 else self.shifted(y, 1)
        return None

    def shifted(self, by: Atom, sign: int) -> Found:
        """`k - 1` for `k + -1`, `k` for `(k + 1) - 1`, of Python's ints and of int64, in which that is exact."""
        x = self.args[0]
        if not isinstance(by, Const) or by.aval != _INT or x.aval.dtype != _INT.dtype:
            return None
        total = sign * int(by.value)
        inner = self.made(x, ops.ADD) or self.made(x, ops.SUBTRACT)
        if inner is not None and inner.args[0].aval == x.aval and isinstance(c := inner.args[1], Const) and c.aval.weak:
            x, total = inner.args[0], total + (int(c.value) if inner.op is ops.ADD else -int(c.value))
        elif sign * total > 0:
            return None
        return x if not total else Call(ops.ADD if total > 0 else ops.SUBTRACT, (x, const(abs(total))))

    def subtract(self) -> Found:
        x, y = self.args
        if (opposite := self.opposite(y)) is not None:
            return self.with_opposite(ops.ADD, x, opposite)
        return x if _is_positive_zero(y) else self.shifted(y, -1)

    def with_opposite(self, op: Elementwise, a: Atom, opposite: Atom | Call | Nested) -> Found:
        return Nested(op, (a, opposite)) if self.keeps_loop(a, opposite) else None

    def opposite(self, a: Atom) -> Found:
        """-a where that is less work than `a`: of -x, and of products and quotients with -x or a negative number,
        read here only.
        """
        if (inner := self.made(a, ops.NEGATIVE)) is not None:
            return inner.args[0] if self.negates_in_loop(a.aval) else None
        if (wider := self.made(a, ops.EXPAND_DIMS)) is not None and self.uses(a) == 1:
            inner = self.made(wider.args[0], ops.NEGATIVE)
            negates = inner is not None and self.negates_in_loop(a.aval)
            return Call(ops.EXPAND_DIMS, inner.args, wider.attrs) if inner is not None and negates else None
        product = self.made(a, ops.MULTIPLY) or self.made(a, ops.DIVIDE)
        if product is None or a.aval.dtype.kind != "f" or self.uses(a) != 1:
            return None
        x, y = product.args
        if isinstance(y, Const):
            number = number_of(y)
            if number is not None and number < 0.0:
                return self.negated_factor(product.op, x, y, product)
        above = number_of(x) if product.op is ops.DIVIDE and isinstance(x, Const) and x.aval.weak else None
        if above is not None and above < 0.0:
            return Call(ops.DIVIDE, (const(-above), y))
        for i, factor in enumerate((x, y)):
            negated = self.opposite(factor)
            if negated is not None and aval_of(negated) == factor.aval and isinstance(product.op, Elementwise):
                return Nested(product.op, (negated, y) if i == 0 else (x, negated))
        return None

    def negates_in_loop(self, aval: Aval) -> bool:
        """Whether -x is the same before a cast to this loop as after it: not of integers that wrap around, nor of
        Python's ints where the loop's dtype may hold x and not -x.
        """
        if aval.dtype.kind not in "iu":
            return True
        (loop, *_), _ = self.op.loop_dtypes([a.aval for a in self.args])
        return aval.dtype == loop or (aval.weak and loop.kind not in "iu")

    def multiply(self) -> Found:
        x, y = self.args
        for a, b in ((x, y), (y, x)):
            number = number_of(b)
            if number is None:
                continue
            if number == 1 and a.aval.dtype.kind in "iuf":
                return a
            if number == -1 and a.aval.dtype.kind in "if":
                return Call(ops.NEGATIVE, (a,))
            if (inner := self.made(a, ops.NEGATIVE)) is not None and a.aval.dtype.kind == "f" and isinstance(b, Const):
                return self.negated_factor(ops.MULTIPLY, inner.args[0], b, Call(self.op, self.args))
            return self.regrouped(a, number)
        left, right = self.opposite(x), self.opposite(y)
        if left is None or right is None:
            return None
        return Nested(ops.MULTIPLY, (left, right)) if self.keeps_loop(left, right) else None

    def divide(self) -> Found:
        x, y = self.args
        number = number_of(y)
        if number is None or x.aval.dtype.kind != "f":
            return None
        if abs(number) == 1:
            return x if number == 1 else Call(ops.NEGATIVE, (x,))
        if (inner := self.made(x, ops.NEGATIVE)) is not None and isinstance(y, Const):
            return self.negated_factor(ops.DIVIDE, inner.args[0], y, Call(self.op, self.args))
        return self.regrouped(x, 1.0 / number) if is_power_of_two(number) else None

    def power(self) -> Found:
        x, y = self.args
        return x if number_of(y) == 1 and x.aval.dtype.kind in "iuf" else None

    def regrouped(self, a: Atom, factor: float) -> Call | None:
        """`(x * c) * factor` as `x * (c * factor)`, `(x / c) * factor` as `x / (c / factor)`, where that is exact."""
        made = self.made(a, ops.MULTIPLY) or self.made(a, ops.DIVIDE)
        if made is None or a.aval.dtype.char not in "efd":
            return None
        x, y = made.args
        if made.op is ops.MULTIPLY and number_of(y) is None:
            x, y = y, x
        number = number_of(y)
        if number is None or isinstance(x, Const):
            return None
        rounded, by = (float(a.aval.dtype.type(n)) for n in (number, factor))
        if not (is_normal(rounded, a.aval.dtype) and is_normal(by, a.aval.dtype)):
            return None
        if made.op is ops.MULTIPLY and (is_power_of_two(rounded) or is_power_of_two(by)):
            return self.scaled(ops.MULTIPLY, x, rounded * by, made)
        if made.op is ops.DIVIDE and is_power_of_two(by):
            return self.scaled(ops.DIVIDE, x, rounded / by, made)
        return None

    def scaled(self, op: Op, x: Atom, factor: float, like: Apply | Call) -> Call | None:
        """`op(x, factor)` in the loop of `like`, the factor a Python number if the loop lets it."""
        assert isinstance(op, Elementwise) and isinstance(like.op, Elementwise)
        loop = like.op.loop_dtypes([a.aval for a in like.args])
        dtype = loop[1]
        if not is_normal(factor, dtype):
            return None
        for c in (const(shortest(dtype.type(factor))), const(dtype.type(factor))):
            call = Call(op, (x, c))
            if op.loop_dtypes([x.aval, c.aval]) == loop and call.aval().weak == Call(like.op, like.args).aval().weak:
                return call
        return None

    def keeps_loop(self, *args: Atom | Call | Nested) -> bool:
        """Whether an operation on these computes in the types in which this one does."""
        return self.op.loop_dtypes([*map(aval_of, args)]) == self.op.loop_dtypes([a.aval for a in self.args])

    def where(self) -> Found:
        condition, x, y = self.args
        if x is y:
            return x
        known = uniform(condition, self.definitions)
        if known is not None:
            return x if known.value else y
        negated = self.made(condition, ops.LOGICAL_NOT)
        if negated is not None and negated.args[0].aval.dtype.kind == "b":
            return Call(self.op, (negated.args[0], y, x))
        sides = [where_true(a, condition, side, self.definitions) for a, side in ((x, True), (y, False))]
        if sides != [None, None]:
            return self.choice_of(condition, sides[0] or x, sides[1] or y)
        return self.choice_in_choice(condition, x, y)

    def choice_in_choice(self, condition: Atom, x: Atom, y: Atom) -> Found:
        """`np.where(c, np.where(d, u, 0), 0)` with `c & d`, `np.where(c, 0, np.where(d, 0, u))` with `c | d`."""
        for inner, op in ((self.made(x, ops.WHERE), ops.LOGICAL_AND), (self.made(y, ops.WHERE), ops.LOGICAL_OR)):
            if inner is None or not self.definitions.is_read_once(inner.targets[0]):
                continue
            asked, first, second = inner.args
            if asked.aval != condition.aval or asked.aval.dtype.kind != "b":
                continue
            if op is ops.LOGICAL_AND and is_same(second, y):
                return self.choice_of(Call(op, (condition, asked)), first, y)
            if op is ops.LOGICAL_OR and is_same(first, x):
                return self.choice_of(Call(op, (condition, asked)), x, second)
        return None

    def choice_of(self, condition: Atom | Call, x: Atom | Call | Nested, y: Atom | Call | Nested) -> Found:
        assert isinstance(self.op, Elementwise)
        return Nested(self.op, (condition, x, y)) if self.keeps_loop(condition, x, y) else None

    def logical_not(self) -> Found:
        inner = self.made(self.args[0], ops.LOGICAL_NOT)
        return inner.args[0] if inner is not None else None

    def logical_and(self) -> Found:
        return self.with_truth(neutral=True)

    def logical_or(self) -> Found:
        return self.with_truth(neutral=False)

    def with_truth(self, *, neutral: bool) -> Found:
        x, y = self.args
        if x is y:
            return x
        for a, b in ((x, y), (y, x)):
            known = uniform(b, self.definitions)
            if known is not None and known.aval.dtype.kind == "b":
                return a if bool(known.value) is neutral else known
        for a, b in ((x, y), (y, x)):  # `(p | q) | q`, `(~p & q) | p`
            rest = settled(b, literals(a, neutral, self.definitions), self.definitions)
            if isinstance(rest, bool):
                return a if rest is neutral else self.all_of(rest)
            if rest is not b and rest.aval == b.aval:
                return Call(self.op, (a, rest))
        return None

    def of_places(self) -> Found:
        """`np.arange(n)` compared with a number that lies beside all of it."""
        places, other = self.args if self.made(self.args[0], ops.IOTA) else reversed(self.args)
        number = number_of(other)
        if number is None or self.made(places, ops.IOTA) is None or not places.aval.shape[0]:
            return None
        if places.aval.dtype.kind not in "iu":
            return None  # floats are compared in the precision of the operation
        order: Callable[..., np.bool_] = getattr(np, self.op.name)
        ends = (0, places.aval.shape[0] - 1)
        answers = {bool(order(i, number) if places is self.args[0] else order(number, i)) for i in ends}
        if len(answers) > 1:
            return None
        return self.all_of(answers.pop())

    def all_of(self, truth: bool) -> Found:
        shape = Call(self.op, self.args).aval().shape
        return Call(ops.FULL, (const(truth),), CreateAttrs(shape, np.dtype(bool))) if shape else const(truth)

    def first_or_none(self) -> Found:
        """A rule for operations that may leave an operand as it is: the type check decides."""
        return self.args[0] if all(a is self.args[0] for a in self.args) else None

    def of_reals(self) -> Found:
        return self.args[0] if self.args[0].aval.dtype.kind in "iuf" else None


_ALGEBRA: dict[str, Callable[[_Elementwise], Found]] = {
    "negative": _Elementwise.negative,
    "positive": _Elementwise.of_reals,
    "real": _Elementwise.of_reals,
    "conjugate": _Elementwise.of_reals,
    "add": _Elementwise.add,
    "subtract": _Elementwise.subtract,
    "multiply": _Elementwise.multiply,
    "divide": _Elementwise.divide,
    "power": _Elementwise.power,
    "where": _Elementwise.where,
    **dict.fromkeys(("less", "less_equal", "greater", "greater_equal"), _Elementwise.of_places),
    "logical_not": _Elementwise.logical_not,
    "logical_and": _Elementwise.logical_and,
    "logical_or": _Elementwise.logical_or,
    "maximum": _Elementwise.first_or_none,
    "minimum": _Elementwise.first_or_none,
}


def _is_positive_zero(atom: Atom) -> bool:
    number = number_of(atom)
    return number == 0 and math.copysign(1.0, number) > 0
