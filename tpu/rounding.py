"""Arithmetic that is done as it is written, where LLVM and XLA would do it otherwise.

LLVM makes one operation of a product and a sum, which then is rounded once:

    a * b - c * d

Elsewhere the last digit is within what a sum may differ by. It decides what becomes of a point of a grid,
`a + i * step`: in which bin of a histogram it falls; whether the difference of two products is exactly 0, as it is for
parallel vectors and singular matrices; and in small arrays and numbers, where an iteration ends up that magnifies it,
such as the Lorenz equations. On large arrays other sums, and all of those in loops, stay fused: where the arrays are in
the cache already, rounding them takes up to five times as long.

XLA's algebraic simplifier computes with real numbers, so that rounding, overflow and NaN are others:

    x + 1e16 - 1e16     x                   x / y / z           x / (y * z)
    log(exp(x))         x                   exp(x) * exp(y)     exp(x + y)
    x / exp(y)          x * exp(-y)         (x ** y) ** z       x ** (y * z)
    sqrt(x * x)         abs(x)              x * 1e200 * 1e-200  x
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..translator.ir import Apply, Atom, Const, For, Function, Fused, Var, While, blocks_of, walk
from ..translator.ops.core import Cast, Create, Elementwise, Index, Reshape
from ..translator.records import dataclass
from .writer import Value, Writer

SMALL = 1 << 12
"""Elements up to which every product is rounded that something is added to: a call costs more than they do."""

_SUMS = ("add", "subtract")
_POWERS: dict[complex, str] = {
    1: "",
    2: "multiply",
    3: "multiply",
    4: "multiply",
    0.5: "sqrt",
    1.5: "",
    -1: "divide",
    -2: "divide",
}
_REWRITTEN: dict[str, tuple[tuple[str, ...], ...]] = {  # what XLA makes one operation of with each operand
    "divide": (("divide",), ("divide", "exp", "power")),
    "log": (("exp", "power"),),
    "power": (("exp", "power"), ()),
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
    repeated = _in_loops(function)
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
                values.update(_taken_together(name, origins, made, target not in repeated))
                if name == "multiply" and any(_counts(seen, made, a) for a in origins):
                    values.add(target)
                if _folds(name, origins, seen, made):
                    constants.add(target)
    return AsWritten(frozenset(values), frozenset(constants))


def _origin(seen: Mapping[Var, Atom], x: Atom) -> Atom:
    while isinstance(x, Var) and x in seen:
        x = seen[x]
    return x


def _kind(made: Mapping[Var, Apply], x: Atom) -> str:
    """What elementwise operation makes a value; some powers are products (`power_by_constant`)."""
    s = made.get(x) if isinstance(x, Var) else None
    if s is None or not isinstance(s.op, Elementwise):
        return ""
    if s.op.name == "power" and isinstance(s.args[1], Const) and s.args[1].aval.shape == ():
        return _POWERS.get(complex(s.args[1].value), "power")
    return "multiply" if s.op.name == "square" else s.op.name


def _is_square(s: Apply) -> bool:
    return s.op.name in ("square", "power") or len(set(s.args)) == 1


def _in_loops(function: Function) -> set[Var]:
    """What every turn of a loop makes anew."""
    loops = [s for s in walk(function.body) if isinstance(s, For | While)]
    return {t for loop in loops for b in blocks_of(loop) for s in walk(b) for t in s.targets}


def _taken_together(name: str, origins: Sequence[Atom], made: Mapping[Var, Apply], once: bool) -> list[Var]:
    """The operands that an operation would be made one with. `once`: outside loops."""
    variables = [x for x in origins if isinstance(x, Var)]
    products = [x for x in variables if _kind(made, x) == "multiply"]
    if name in (*_SUMS, "multiply"):
        decides = once and name == "subtract" and len(products) == len(origins)
        found = [x for x in products if decides or x.aval.size <= SMALL]
        if name == "multiply" and len({_kind(made, x) for x in origins}) == 1:
            found += [x for x in variables if _kind(made, x) in ("exp", "sqrt")]
        return found
    if name == "sqrt":
        return [x for x in products if _is_square(made[x])]
    pairs = zip(origins, _REWRITTEN.get(name, ()), strict=False)
    return [x for x, kinds in pairs if isinstance(x, Var) and _kind(made, x) in kinds]


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
    inner = [made[x] for x in origins if isinstance(x, Var) and x in made and made[x].op.name in alike]
    return any(isinstance(_origin(seen, a), Const) for s in inner for a in s.args)


def hidden(w: Writer, value: Value) -> Value:
    """The same number, of which neither knows how it was made: what it would be compared with, were it one of all the
    NaNs there are, is none that arithmetic makes. (That it is no NaN at all they may know.)
    """
    bits = w.op("bitcast_convert", value, dtype=np.dtype(f"u{value.dtype.itemsize}"))
    return w.select(w.compare("EQ", bits, w.splat(_NO_NAN[value.dtype.itemsize], bits)), w.splat(np.nan, value), value)


_NO_NAN = {2: 0x7E5A, 4: 0x7FD2A5A7, 8: 0x7FFA5A5A3C3C9696}
