"""Lazy derivative values: a cotangent or tangent may have a smaller shape that broadcasts to that of its primal value.

    def f(x):                           def f_grad(x):
        y = x * x                           return x * 6.0
        return np.sum(y) * 3.0

The cotangent of `y` is one number, 3.0, whatever the shape of `y`; it is spread out only where an operation needs it.
A lazy value has the dtype of the primal, or is weak.
"""

from __future__ import annotations

import math

from .. import make, ops
from ..builder import Builder
from ..ir import Apply, Atom, Aval, Const, Shape, Var, const, is_number, same_atom
from ..ops.core import ContractAttrs, Elementwise, ReduceAttrs
from ..records import dataclass


def strong(aval: Aval) -> Aval:
    """The type of a derivative of a value of this type: a Python number has a NumPy derivative."""
    return Aval(aval.shape, aval.dtype)


def zeros(b: Builder, aval: Aval) -> Atom:
    """Zeros of this shape and dtype, strong."""
    return make.zeros(b, aval.shape, aval.dtype) if aval.shape else const(aval.dtype.type(0))


def named(b: Builder, a: Atom, hint: str) -> Atom:
    """Give a temporary that was just made a name that readers will understand."""
    if isinstance(a, Var) and a.hint == "t" and b.statements and b.statements[-1].targets == (a,):
        # What a value is the adjoint of is known only after it is made. A hint has no part in what a variable is, and
        # this one is known to nobody else yet.
        object.__setattr__(a, "hint", hint)
    return a


def adjoint_hint(v: Var) -> str:
    """The name of the cotangent of a variable."""
    return f"d_{v.hint}"


def product(b: Builder, c: Atom, factor: Atom) -> Atom | None:
    """`c * factor` with the trivial factors 1, -1 and 0 taken out (0: None), numbers in both multiplied."""
    if is_number(factor, 0):
        return None
    for x, y in ((factor, c), (c, factor)):
        if is_number(x, 1):
            return y
        if is_number(x, -1):
            return make.negative(b, y)
    if isinstance(c, Const):
        return make.multiply(b, factor, c)
    by, rest = _times_number(b, factor)
    if by is not None and (scaled := _scaled(b, c, by)) is not None:
        c, factor = scaled, rest
    for x, y in ((c, factor), (factor, c)):
        if (divisors := _divisors(b, x)) and x.aval.dtype == y.aval.dtype:
            below, *others = divisors
            for d in others:
                below = make.multiply(b, below, d)
            return make.divide(b, y, below)
    return make.multiply(b, c, factor)


def _temporary(b: Builder, a: Atom) -> Apply | None:
    """What made a value that nothing else will use."""
    return b.definitions.get(a) if isinstance(a, Var) and a.hint == "t" else None


def _divisors(b: Builder, a: Atom) -> list[Atom]:
    """What one is divided by in `1.0 / x / 10`; nothing where it is no such quotient."""
    made = _temporary(b, a)
    if made is None or made.op is not ops.DIVIDE or a.aval.dtype.kind != "f":
        return []
    x, y = made.args
    if is_number(x, 1):
        return [y]
    above = _divisors(b, x)
    return [*above, y] if above and not isinstance(x, Const) else []


def _python_number(a: Atom) -> float | None:
    return a.value if isinstance(a, Const) and a.aval.weak and type(a.value) in (int, float) else None


def _times_number(b: Builder, a: Atom) -> tuple[float | None, Atom]:
    """The number and the rest of `2.0 * x`."""
    made = _temporary(b, a)
    if made is not None and made.op is ops.MULTIPLY and a.aval.dtype.kind == "f":
        for k, x in (made.args, made.args[::-1]):
            if (number := _python_number(k)) is not None and x.aval.dtype == a.aval.dtype:
                return number, x
    return None, a


def _scaled(b: Builder, c: Atom, by: float) -> Atom | None:
    """`c * by`, where that is `c` with another number in it: in a product, over a quotient, chosen by np.where."""
    if (number := _python_number(c)) is not None:
        return const(float(number * by))
    made = _temporary(b, c)
    if made is None or not isinstance(made.op, Elementwise) or c.aval.dtype.kind != "f":
        return None
    places = {ops.MULTIPLY: (1, 0), ops.DIVIDE: (0,), ops.NEGATIVE: (0,)}.get(made.op, ())
    if made.op is ops.WHERE:
        places = tuple(i for i in (1, 2) if is_number(made.args[3 - i], 0))
    for i in places:
        inner = _scaled(b, made.args[i], by)
        if inner is None:
            continue
        if made.op is ops.MULTIPLY:
            scaled = product(b, made.args[1 - i], inner)
        else:
            scaled = make.elementwise(b, made.op, *(inner if j == i else a for j, a in enumerate(made.args)))
        return scaled if scaled is not None and scaled.aval == c.aval else None
    return None


def total(b: Builder, x: Atom, y: Atom) -> Atom:
    """`x + y`; `2.0 * x` when both are the same value; one sum where both are sums of products with the same."""
    if same_atom(x, y):
        twice = _scaled(b, x, 2.0)
        return make.multiply(b, 2.0, x) if twice is None else twice
    joined = _joined(b, x, y)
    return make.add(b, x, y) if joined is None else joined


def _joined(b: Builder, x: Atom, y: Atom) -> Atom | None:
    """`np.sum(a * (p - q))` for `np.sum(a * p) - np.sum(a * q)`."""
    first, second = _sum_of_product(b, x), _sum_of_product(b, y)
    if first is None or second is None or x.aval != y.aval:
        return None
    if first.attrs != second.attrs or first.summed != second.summed:
        return None
    shared = next((a for a in first.factors if isinstance(a, Var) and any(a is o for o in second.factors)), None)
    if shared is None:
        return None
    p, q = (s.factors[1] if s.factors[0] is shared else s.factors[0] for s in (first, second))
    if p is q or p.aval.dtype != q.aval.dtype:
        return None
    if first.negative and not second.negative:
        p, q = q, p
    inside = make.add(b, p, q) if first.negative == second.negative else make.subtract(b, p, q)
    both = make.sum(b, make.multiply(b, shared, inside), first.attrs.axes, first.attrs.keepdims)
    return make.negative(b, both) if first.negative and second.negative else both


@dataclass(frozen=True, slots=True)
class _Sum:
    """`np.sum(p * q)`, or what is minus that; `summed` is the type of the product."""

    summed: Aval
    factors: tuple[Atom, Atom]
    attrs: ReduceAttrs
    negative: bool


def _sum_of_product(b: Builder, a: Atom) -> _Sum | None:
    a, negative = _unsigned(b, a)
    made = b.definitions.get(a) if isinstance(a, Var) else None
    if made is None or made.op is not ops.SUM or a.aval.dtype.kind != "f" or not isinstance(made.args[0], Var):
        return None
    product = b.definitions.get(made.args[0])
    if product is None or product.op is not ops.MULTIPLY:
        return None
    (p, less), (q, still_less) = (_unsigned(b, x) for x in product.args)
    assert isinstance(made.attrs, ReduceAttrs)
    return _Sum(made.args[0].aval, (p, q), made.attrs, negative ^ less ^ still_less)


def _unsigned(b: Builder, a: Atom) -> tuple[Atom, bool]:
    """What `-x` negates, and whether it does."""
    made = b.definitions.get(a) if isinstance(a, Var) else None
    return (made.args[0], True) if made is not None and made.op is ops.NEGATIVE else (a, False)


def cast_like(b: Builder, c: Atom, aval: Aval) -> Atom:
    """`c` in the dtype of `aval`; a weak value stays as it is. A real primal value takes the real part."""
    if c.aval.dtype.kind == "c" and aval.dtype.kind != "c":
        c = make.elementwise(b, ops.REAL, c)
    if c.aval.weak or c.aval.dtype == aval.dtype:
        return c
    return make.astype(b, c, aval.dtype)


def materialise(b: Builder, c: Atom | None, aval: Aval) -> Atom:
    """The derivative with the full shape and the very dtype of `aval`; zeros for None."""
    if c is None:
        return zeros(b, aval)
    c = cast_like(b, c, aval)
    if c.aval.shape == aval.shape:
        return c if c.aval == strong(aval) else make.astype(b, c, aval.dtype)
    if not c.aval.shape:
        return make.full(b, aval.shape, c, aval.dtype)
    if c.aval.dtype != aval.dtype:
        c = make.astype(b, c, aval.dtype)
    return make.broadcast_to(b, c, aval.shape)


def unbroadcast(b: Builder, c: Atom, out: Shape, aval: Aval, alone: bool = False) -> Atom:
    """Transpose of broadcasting `aval.shape` to `out`: sum the axes that were spread, then cast.

    `c` broadcasts to `out`; the result broadcasts to `aval.shape`. An axis that `c` leaves implicit counts by its size.
    `alone`: nothing else uses `c`, which then need not be computed before the sum.
    """
    n = len(out)
    spread = [i for i, s in enumerate((1,) * (n - aval.ndim) + aval.shape) if s == 1 and out[i] != 1]
    offset = n - c.aval.ndim
    explicit = tuple(i - offset for i in spread if i >= offset and c.aval.shape[i - offset] == out[i])
    count = math.prod(out[i] for i in spread if i < offset or c.aval.shape[i - offset] != out[i])
    kept = tuple(1 if i in explicit else s for i, s in enumerate(c.aval.shape))
    goal = kept[max(0, len(kept) - aval.ndim) :]
    made = b.definitions.get(c) if explicit and isinstance(c, Var) else None
    negated = made is not None and made.op is ops.NEGATIVE
    if made is not None and negated:
        c = made.args[0]
    outside: list[tuple[Elementwise, Atom]] = []
    if explicit:
        c, outside = _constant_factors(b, c, explicit)
        lead = _leading_ones(goal)
        inner = [i for i in explicit if i - (len(kept) - len(goal)) >= lead]
        if not inner:
            goal = goal[lead:]
            within = _summed_within(b, c, explicit) if alone else None
            c = make.sum(b, c, explicit) if within is None else within
        else:
            c = make.sum(b, c, explicit, keepdims=True)
    if negated:
        c = make.negative(b, c)
    for op, factor in outside:
        c = make.elementwise(b, op, c, factor)
    if count != 1:
        scaled = product(b, c, const(float(count)))
        c = scaled if scaled is not None else const(0.0)
    if c.aval.shape != goal:
        c = make.reshape(b, c, goal)
    return cast_like(b, c, aval)


def _constant_factors(b: Builder, c: Atom, axes: tuple[int, ...]) -> tuple[Atom, list[tuple[Elementwise, Atom]]]:
    """What is to be summed of `c`, and by what the sum is multiplied and divided: `np.sum(x * (y / s))` is
    `np.sum(x * y) / s`, one division instead of many. Signs are factors too.
    """
    found: list[tuple[Elementwise, Atom]] = []
    product = _temporary(b, c)
    if product is None or product.op is not ops.MULTIPLY or c.aval.dtype.kind != "f":
        return c, found
    parts: list[Atom] = []
    negated = False
    for part in product.args:
        inner = _temporary(b, part)
        if inner is not None and inner.op is ops.DIVIDE and _is_constant(inner.args[1], c, axes):
            found.append((ops.DIVIDE, inner.args[1]))
            part = inner.args[0]
        inner = b.definitions.get(part) if isinstance(part, Var) else None
        if inner is not None and inner.op is ops.NEGATIVE:
            negated, part = not negated, inner.args[0]
        parts.append(part)
    if found and negated:
        found.append((ops.MULTIPLY, const(-1.0)))
    if not found or any(a.aval.dtype != c.aval.dtype for a in (*parts, *(f for _, f in found if isinstance(f, Var)))):
        return c, []
    whole = make.multiply(b, *parts)
    return (whole, found) if whole.aval == c.aval else (c, [])


def _is_constant(a: Atom, like: Atom, axes: tuple[int, ...]) -> bool:
    """Whether it is one number along each of these axes of `like`, to which it broadcasts, and stays so in the sum."""
    lead = like.aval.ndim - a.aval.ndim
    return not a.aval.shape or all(i < lead or a.aval.shape[i - lead] == 1 for i in axes)


def _summed_within(b: Builder, c: Atom, axes: tuple[int, ...]) -> Atom | None:
    """The sum of `c` over axes, taken of an operand where `c` is a product: `np.sum(x @ y, axis=0)` is
    `np.sum(x, axis=0) @ y`, which is much less work. None where that is not so.
    """
    made = b.definitions.get(c) if isinstance(c, Var) else None
    if made is None:
        return None
    if made.op is ops.ADD and all(a.aval.shape == c.aval.shape for a in made.args):
        parts = [_summed_within(b, a, axes) for a in made.args]
        if parts == [None, None]:
            return None
        sums = [make.sum(b, a, axes) if p is None else p for a, p in zip(made.args, parts, strict=True)]
        return make.add(b, *sums)
    if not isinstance(made.attrs, ContractAttrs):
        return None
    lhs, rhs, out = made.attrs.lhs, made.attrs.rhs, made.attrs.out
    gone = {out[i] for i in axes}
    if gone & set(lhs) & set(rhs):
        return None
    x, y = made.args
    return make.contract(b, x, y, lhs, rhs, [label for label in out if label not in gone])


def _leading_ones(shape: Shape) -> int:
    return next((i for i, s in enumerate(shape) if s != 1), len(shape))
