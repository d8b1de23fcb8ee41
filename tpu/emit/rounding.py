"""Keeping the rounding of arithmetic as written, where LLVM and XLA would change it.

LLVM makes one operation of a product and a sum, which then is rounded once:

    a * b - c * d

Elsewhere the last digit is within what a sum may differ by. It decides what becomes of a point of a grid,
`a + i * step`: in which bin of a histogram it falls; whether the difference of two products is exactly 0, as it is for
parallel vectors and singular matrices; and in small arrays and numbers, where an iteration ends up that magnifies it,
such as the Lorenz equations. On large arrays other sums, and all of those in loops, stay fused.

XLA's algebraic simplifier computes with real numbers, so that rounding, overflow and NaN are others:

    x + 1e16 - 1e16     x                   x / y / z           x / (y * z)
    log(exp(x))         x                   exp(x) * exp(y)     exp(x + y)
    x / exp(y)          x * exp(-y)         (x ** y) ** z       x ** (y * z)
    sqrt(x * x)         abs(x)              x * 1e200 * 1e-200  x
    abs(x) >= 0         True                np.sum(x * 1e300)   np.sum(x) * 1e300
    np.sum(-x)          -np.sum(x)          np.sum(x * y[0])    np.sum(x) * y[0]

LLVM does the same to the factors of a product along an axis that it writes out:

    np.prod(x ** y)     np.prod(x) ** y     np.prod(np.exp(x))  np.exp(np.sum(x))

A barrier hides from it how an operand was made; it is gone before the fusion, so it costs nothing at run time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np

from ...translator.ir import Apply, Atom, Const, For, Function, Fused, If, Shape, Statement, Var, While, blocks_of, walk
from ...translator.ops.core import (
    Cast,
    Concatenate,
    Contract,
    ContractAttrs,
    Create,
    Elementwise,
    Index,
    Put,
    Reduce,
    ReduceAttrs,
    Reshape,
)
from ...translator.records import dataclass
from .writer import Value, Writer, real_dtype

SMALL = 1 << 12
"""Elements up to which every product is rounded that something is added to."""

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
_SCALED, _SHIFTED, _UNKNOWN = "times a constant", "plus a constant", "unknown"
_FOLDED = {"multiply": _SCALED, "add": _SHIFTED, "subtract": _SHIFTED}
_REWRITTEN: dict[str, tuple[frozenset[str], ...]] = {  # what XLA makes one operation of with each operand
    "divide": (frozenset(("divide",)),),  # divisors have a barrier anyway
    **dict.fromkeys(("log", "log2", "log10"), (frozenset(("exp", "exp2", "power")),)),
    "sqrt": (frozenset(("multiply",)),),
    "power": (frozenset(("exp", "exp2", "power", "multiply")), frozenset()),
}
_ROOTS = frozenset(("exp", "exp2", "sqrt", "power"))  # two of which XLA multiplies by what is under them
_FARTHEST = 32  # places that an operand may come from, before it is taken for anything


@dataclass(frozen=True)
class AsWritten:
    """Values that nobody may look through, operands (target, place) whose rounding is hidden from LLVM too, and targets
    of operations whose constants are hidden.
    """

    values: frozenset[Var] = frozenset()
    rounded: frozenset[tuple[Var, int]] = frozenset()
    constants: frozenset[Var] = frozenset()


def as_written(function: Function) -> AsWritten:
    """The values to be hidden, found through groups, signs, views, axes and branches."""
    reading = _Reading(function)
    values: set[Var] = set()
    rounded: set[tuple[Var, int]] = set()
    constants: set[Var] = set()
    for s in walk(function.body):
        match s:
            case Apply(targets=(target,), op=Elementwise(name=name), args=args):
                kinds = [reading.kinds(a) for a in args]
                if target.aval.dtype.kind in "fc":
                    homes = [reading.home(args[k]) for k in _simplified(name, kinds)]
                    values.update(x for x in homes if isinstance(x, Var))
                    if _folds(name, args, kinds):
                        constants.add(target)
                if target.aval.dtype.kind == "f":
                    rounded.update((target, k) for k in reading.rounded_places(s, name, kinds))
                if name in ("greater_equal", "less_equal") and _asks_for_sign(args, kinds):
                    constants.add(target)
            case Apply(targets=(target,), op=Reduce(name="prod"), args=(x,)):
                if target.aval.dtype.kind == "f" and reading.kinds(x):
                    rounded.add((target, 0))
            case Apply(targets=(target,), op=Reduce(name="sum"), args=(x,), attrs=ReduceAttrs(axes=axes)) if (
                target.aval.dtype.kind in "fc" and reading.is_scaled(x, axes)
            ):
                values.update(v for v in [reading.home(x)] if isinstance(v, Var))
                rounded.add((target, 0))  # an infinite product, too, is one before it is added
            case Apply(targets=(target,), op=Contract(), args=args) if target.aval.dtype.kind in "fc":
                if _share_root([reading.kinds(a) for a in args]):
                    values.update(x for x in [reading.home(args[0])] if isinstance(x, Var))
                for k, factor in reading.scaled_factors(s):
                    values.add(factor)
                    rounded.add((target, k))
    return AsWritten(frozenset(values), frozenset(rounded), frozenset(constants))


class _Reading:
    """How the values of a program were made."""

    def __init__(self, function: Function) -> None:
        self.made: dict[Var, Apply] = {}
        self.groups: dict[Var, Atom] = {}  # what is the same value under another name
        self.sources: dict[Var, Sequence[Atom]] = {}  # of which values, or their negatives, the elements are
        self.repeated: set[Var] = set()  # what every turn of a loop makes anew
        for s in walk(function.body):
            self._note(s)

    def _note(self, s: Statement) -> None:
        match s:
            case Fused(targets=targets, body=body, args=args):
                self.groups.update(zip(body.params, args, strict=True))
                self.groups.update(zip(targets, body.results, strict=True))
            case Apply(targets=(target, *_)):
                self.made[target] = s
                elements = _elements(s)
                if elements is not None:
                    self.sources[target] = elements
            case If(then=then, orelse=orelse):
                self.sources.update(zip(s.targets, zip(then.results, orelse.results, strict=True), strict=True))
            case For(body=body) | While(body=body):
                self.sources.update(zip(s.targets, ((r,) for r in body.results), strict=True))
                self.repeated.update(t for b in blocks_of(s) for inner in walk(b) for t in inner.targets)

    def home(self, x: Atom) -> Atom:
        """The variable under which a value was made."""
        while isinstance(x, Var) and x in self.groups:
            x = self.groups[x]
        return x

    def kinds(self, x: Atom) -> frozenset[str]:
        """The operations that may have made the elements of a value; none for arguments and constants."""
        found: set[str] = set()
        for s in self.makers(x):
            found.update((_UNKNOWN,) if s is None else _kinds_of(s))
        return frozenset((_UNKNOWN,)) if _UNKNOWN in found else frozenset(found)

    def makers(self, x: Atom) -> Iterator[Apply | None]:
        """The statements that may have made the elements of a value; at last None where there are too many."""
        places = [x]
        for seen, place in enumerate(places):
            if seen > _FARTHEST:
                yield None
                return
            var = self.home(place)
            if not isinstance(var, Var):
                continue
            if var in self.sources:
                places.extend(self.sources[var])
            if var in self.made:
                yield self.made[var]

    def is_scaled(self, x: Atom, axes: Collection[int]) -> bool:
        """Whether what is summed along the axes may be multiples by one factor, -1 among them."""
        return any(s is None or _has_factor(s, x.aval.shape, axes) for s in self.makers(x))

    def scaled_factors(self, s: Apply) -> list[tuple[int, Var]]:
        """The operands of a product of arrays that may be so, and their places."""
        assert isinstance(s.attrs, ContractAttrs)
        labels = (s.attrs.lhs, s.attrs.rhs)
        found = []
        for place, (x, axes) in enumerate(zip(s.args, labels, strict=True)):
            summed = [k for k, label in enumerate(axes) if label not in s.attrs.out]
            var = self.home(x)
            if summed and isinstance(var, Var) and self.is_scaled(x, summed):
                found.append((place, var))
        return found

    def counts(self, x: Atom) -> bool:
        """Whether it is 0, 1, 2, ... from end to end."""
        var = self.home(x)
        s = self.made.get(var) if isinstance(var, Var) else None
        if s is None:
            return False
        if isinstance(s.op, Cast | Reshape | Index) or (isinstance(s.op, Elementwise) and s.op.name == "negative"):
            return self.counts(s.args[0])
        return isinstance(s.op, Create) and s.op.name == "iota"

    def is_grid(self, x: Atom) -> bool:
        """Whether it is a count times a step, or several such."""
        var = self.home(x)
        places = self.sources.get(var, (var,)) if isinstance(var, Var) else ()
        for place in map(self.home, places):
            s = self.made.get(place) if isinstance(place, Var) else None
            if s is not None and "multiply" in _kinds_of(s) and any(self.counts(a) for a in s.args):
                return True
        return False

    def rounded_places(self, s: Apply, name: str, kinds: Sequence[frozenset[str]]) -> list[int]:
        """The operands of a sum that LLVM would fuse with it, and that decide."""
        if name not in _SUMS:
            return []
        products = [k for k, found in enumerate(kinds) if found & {"multiply", _UNKNOWN}]
        decides = len(products) == len(s.args) and name == "subtract" and s.targets[0] not in self.repeated
        return [k for k in products if decides or s.args[k].aval.size <= SMALL or self.is_grid(s.args[k])]


def _has_factor(s: Apply, shape: Shape, axes: Collection[int]) -> bool:
    """Whether a statement multiplies by one number what is summed along these axes of an array of this shape."""
    if not isinstance(s.op, Elementwise) or s.op.name not in ("negative", "multiply"):
        return False
    made = s.targets[0].aval
    if s.op.name == "negative" or any(a.aval.size == 1 < made.size for a in s.args):
        return True
    return made.shape == shape and any(_is_constant(a.aval.shape, made.ndim, axes) for a in s.args)


def _is_constant(shape: Shape, ndim: int, axes: Collection[int]) -> bool:
    """Whether an operand of this shape has one number along these axes of the result."""
    return all(k < 0 or shape[k] == 1 for k in (axis - (ndim - len(shape)) for axis in axes))


def _elements(s: Apply) -> Sequence[Atom] | None:
    """The arrays whose elements, or their negatives, a result has; None where it has others."""
    match s.op, s.attrs:
        case Reshape() | Index(), _:
            return s.args[:1]
        case Put(name="put"), _:
            return s.args[:2]
        case Concatenate(), _:
            return s.args
        case Elementwise(name="negative" | "abs" | "absolute" | "fabs" | "positive"), _:
            return s.args
        case Elementwise(name="where"), _:
            return s.args[1:]
        case Reduce(), ReduceAttrs(axes=axes) if all(s.args[0].aval.shape[a] == 1 for a in axes):
            return s.args
    return None


def _kinds_of(s: Apply) -> set[str]:
    if isinstance(s.op, Contract):
        assert isinstance(s.attrs, ContractAttrs)
        summed = dict(zip(s.attrs.lhs, s.args[0].aval.shape, strict=True)).items()
        return set() if any(n > 1 and label not in s.attrs.out for label, n in summed) else {"multiply"}
    if not isinstance(s.op, Elementwise):
        return set()
    name = s.op.name
    if name == "power" and isinstance(s.args[1], Const) and s.args[1].aval.shape == ():
        name = _POWERS.get(complex(s.args[1].value), "power")
    name = "multiply" if name == "square" else name
    constants = [a.value for a in s.args if isinstance(a, Const)] if name in _FOLDED else []
    exact = name == "multiply" and any(map(_is_exact, constants))
    return {"" if exact else name, *(_FOLDED[name] for _ in constants)}


def _is_exact(factor: Any) -> bool:
    """Whether a product is not rounded: by 1, 1/2, 1/4, ... or their negatives."""
    if np.shape(factor) or np.imag(factor):
        return False
    mantissa, exponent = np.frexp(np.float64(np.real(factor)))
    return bool(abs(mantissa) == 0.5 and exponent <= 1)


def _simplified(name: str, kinds: Sequence[frozenset[str]]) -> list[int]:
    """The operands that XLA would make one operation with."""
    pairs = enumerate(zip(kinds, _REWRITTEN.get(name, ()), strict=False))
    found = [k for k, (made, with_which) in pairs if made & {*with_which, _UNKNOWN} and with_which]
    folded = _FOLDED.get(name)
    if folded is not None and all(made & {folded, _UNKNOWN} for made in kinds):
        found.append(0)
    if name == "multiply" and _share_root(kinds):
        found.append(0)
    return found


def _share_root(kinds: Sequence[frozenset[str]]) -> bool:
    """Whether XLA would multiply what is under the roots, powers or exponentials of two factors."""
    return any(all({root, _UNKNOWN} & made for made in kinds) for root in _ROOTS)


def _folds(name: str, args: Sequence[Atom], kinds: Sequence[frozenset[str]]) -> bool:
    """Whether a constant here and a constant one operation before would become one."""
    constant = any(isinstance(a, Const) for a in args)
    return constant and name in _FOLDED and any(made & {_FOLDED[name], _UNKNOWN} for made in kinds)


def _asks_for_sign(args: Sequence[Atom], kinds: Sequence[frozenset[str]]) -> bool:
    """Whether what was computed is compared with zero: XLA knows the sign of some, but not that it may be NaN."""
    return any(isinstance(a, Const) and not np.any(a.value) for a in args) and any(kinds)


def hidden(w: Writer, value: Value) -> Value:
    """The same number, of which LLVM does not know how it was made: what it would be compared with, were it one of all
    the NaNs there are, is none that arithmetic makes. (That it is no NaN at all LLVM may know.)
    """
    if value.dtype.kind not in "fc":
        return value
    if value.dtype.kind == "c":
        part = real_dtype(value.dtype)
        parts = (hidden(w, w.op(name, value, dtype=part)) for name in ("real", "imag"))
        return w.op("complex", *parts, dtype=value.dtype)
    bits = w.op("bitcast_convert", value, dtype=np.dtype(f"u{value.dtype.itemsize}"))
    return w.select(w.compare("EQ", bits, w.splat(_NO_NAN[value.dtype.itemsize], bits)), w.splat(np.nan, value), value)


_NO_NAN = {2: 0x7E5A, 4: 0x7FD2A5A7, 8: 0x7FFA5A5A3C3C9696}
