"""Arithmetic that is done as it is written, where LLVM and XLA would do it otherwise.

LLVM makes one operation of a product and a sum, which then is rounded once:

    a * b - c * d

Elsewhere the last digit is within what a sum may differ by. It decides what becomes of a point of a grid,
`a + i * step`: in which bin of a histogram it falls; whether the difference of two products is exactly 0, as it is for
parallel vectors and singular matrices; and in small arrays and numbers, where an iteration ends up that magnifies it,
such as the Lorenz equations. On large arrays other sums stay fused: there a rounding of its own costs up to as much as
the product.

XLA's algebraic simplifier computes with real numbers, so that rounding, overflow and NaN are others:

    x + 1e16 - 1e16     x                   x / y / z           x / (y * z)
    log(exp(x))         x                   exp(x) * exp(y)     exp(x + y)
    x / exp(y)          x * exp(-y)         (x ** y) ** z       x ** (y * z)
    sqrt(x * x)         abs(x)              x * 1e200 * 1e-200  x
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..translator.ir import Apply, Atom, Const, Function, Fused, Var, walk
from ..translator.ops.core import Cast, Create, Elementwise, Index, Reshape
from ..translator.records import dataclass
from .writer import Value, Writer

SMALL = 1 << 12
"""Elements up to which every product is rounded that something is added to: a call costs more than they do."""

_SUMS = ("add", "subtract")
_REWRITTEN = {  # by the operation that takes them: what XLA makes one operation of with it
    "divide": ("divide", "exp", "power"),
    "log": ("exp", "power"),
    "power": ("exp", "power"),
}


@dataclass(frozen=True)
class AsWritten:
    """`values` that nobody may look through, and the targets of operations whose `constants` are not to be seen."""

    values: frozenset[Var] = frozenset()
    constants: frozenset[Var] = frozenset()


def as_written(function: Function) -> AsWritten:
    """What has to be hidden, seen through groups, signs, views and axes."""
    seen: dict[Var, Atom] = {}  # what is the same number, but for its sign, at another place
    made: dict[Var, Apply] = {}
    values: set[Var] = set()
    constants: set[Var] = set()
    for s in walk(function.body):
        match s:
            case Fused(targets=targets, body=body, args=args):
                seen.update(zip(body.params, args, strict=True))
                seen.update(zip(targets, body.results, strict=True))
            case Apply(targets=(target,), op=Reshape() | Index() | Elementwise(name="negative"), args=(x, *_)):
                seen[target] = x
            case Apply(targets=(target,), op=Cast() | Create()):
                made[target] = s
            case Apply(targets=(target,), op=Elementwise(name=name), args=args) if target.aval.dtype.kind == "f":
                made[target] = s
                origins = [_origin(seen, a) for a in args]
                values.update(_taken_together(name, origins, made))
                if name == "multiply" and any(_counts(seen, made, a) for a in origins):
                    values.add(target)
                if _folds(name, origins, seen, made):
                    constants.add(target)
    return AsWritten(frozenset(values), frozenset(constants))


def _origin(seen: Mapping[Var, Atom], x: Atom) -> Atom:
    while isinstance(x, Var) and x in seen:
        x = seen[x]
    return x


def _kinds(made: Mapping[Var, Apply], x: Atom) -> tuple[str, ...]:
    """What elementwise operation makes a value; a power by a constant is made of products."""
    s = made.get(x) if isinstance(x, Var) else None
    if s is None or not isinstance(s.op, Elementwise):
        return ()
    name = s.op.name
    return (name, "multiply") if name == "square" or (name == "power" and isinstance(s.args[1], Const)) else (name,)


def _is_square(s: Apply) -> bool:
    return s.op.name in ("square", "power") or len(set(s.args)) == 1


def _taken_together(name: str, origins: Sequence[Atom], made: Mapping[Var, Apply]) -> list[Var]:
    """The operands that an operation would be made one with."""
    variables = [x for x in origins if isinstance(x, Var)]
    products = [x for x in variables if "multiply" in _kinds(made, x)]
    if name in (*_SUMS, "multiply"):
        decides = name == "subtract" and len(products) == len(origins)
        found = [x for x in products if decides or x.aval.size <= SMALL]
        if name == "multiply" and len({_kinds(made, x) for x in origins}) == 1:
            found += [x for x in variables if _kinds(made, x) in (("exp",), ("sqrt",))]
        return found
    if name == "sqrt":
        return [x for x in products if _is_square(made[x])]
    return [x for x in variables if not {*_kinds(made, x)}.isdisjoint(_REWRITTEN.get(name, ()))]


def _counts(seen: Mapping[Var, Atom], made: Mapping[Var, Apply], x: Atom) -> bool:
    """Whether it is 0, 1, 2, ...: the other factor is the step of a grid."""
    s = made.get(x) if isinstance(x, Var) else None
    if s is None:
        return False
    if isinstance(s.op, Cast):
        return _counts(seen, made, _origin(seen, s.args[0]))
    return isinstance(s.op, Create) and s.op.name == "iota"


def _folds(name: str, origins: Sequence[Atom], seen: Mapping[Var, Atom], made: Mapping[Var, Apply]) -> bool:
    """Whether a constant here and a constant one operation before would become one."""
    alike = _SUMS if name in _SUMS else ("multiply",) if name == "multiply" else ()
    if not any(isinstance(x, Const) for x in origins):
        return False
    inner = [made[x] for x in origins if isinstance(x, Var) and not {*alike}.isdisjoint(_kinds(made, x)[:1])]
    return any(isinstance(_origin(seen, a), Const) for s in inner for a in s.args)


def hidden(w: Writer, value: Value) -> Value:
    """The same number, of which neither knows how it was made."""
    return w.select(w.is_nan(value), w.splat(np.nan, value), value)
