"""Sequences of statements that NumPy has one name for; the name reads back as the same statements.

    s = np.sum(x * x)                                    n = np.linalg.norm(x)
    z = s == 0
    n = np.where(z, 0.0, np.sqrt(np.where(z, 1.0, s)))

What the name makes needless is dead code then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from .. import ops
from ..ir import (
    Apply,
    Atom,
    Aval,
    Const,
    Function,
    Shape,
    Statement,
    Var,
    blocks_of,
    const,
    inputs_of,
    is_filled,
    is_number,
    walk,
)
from ..named import Maker, crossed, extreme_of_numbers, guarded_root, rolled
from ..ops.core import (
    AxesAttrs,
    ConcatenateAttrs,
    Create,
    CreateAttrs,
    Elementwise,
    Gather,
    IndexAttrs,
    Linalg,
    LinalgAttrs,
    Op,
    Reduce,
    ReduceAttrs,
    Run,
)
from ..ops.structural import same, zero
from ..records import dataclass
from ..rewrite import rebuilt, spelled_out
from .pieces import LONGEST_LITERAL
from .temporaries import is_temporary


def _first_shape(shapes: Sequence[Shape], full: bool) -> Shape:
    return shapes[0]


# For the printer only: a program has the statements.
NORM = Reduce(name="norm", numpy="np.linalg.norm", evaluate=np.linalg.norm, dtype=same, identity=zero, stablehlo="")
NANMAX, NANMIN = (replace(NORM, name=n, numpy=f"np.{n}", evaluate=getattr(np, n)) for n in ("nanmax", "nanmin"))
EYE, TRI = Create(name="eye"), Create(name="tri")
TRIL = Linalg(name="tril", numpy="np.tril", evaluate=np.tril, shape=_first_shape)
TRIU = Linalg(name="triu", numpy="np.triu", evaluate=np.triu, shape=_first_shape)
DIAG = Linalg(name="diag", numpy="np.diag", evaluate=np.diag, shape=_first_shape)
LAST_TWO = {"axis1": -2, "axis2": -1}
DIAGONAL = Linalg(
    name="diagonal", numpy="np.diagonal", evaluate=np.diagonal, shape=_first_shape, options=(LAST_TWO, LAST_TWO)
)
DIAGONAL_MATRIX = replace(DIAG, name="diagonal_matrix")
CROSS = Linalg(name="cross", numpy="np.cross", evaluate=np.cross, shape=_first_shape)
INV = Linalg(name="inv", numpy="np.linalg.inv", evaluate=np.linalg.inv, shape=_first_shape)


def with_idioms(function: Function) -> Function:
    makers = {s.targets[0]: s for s in walk(function.body) if isinstance(s, Apply) and len(s.targets) == 1}
    function = replace(function, body=spelled_out(function.body, lambda s: _stacked(s, makers.get)))
    makers = {s.targets[0]: s for s in walk(function.body) if isinstance(s, Apply) and len(s.targets) == 1}
    computed_with = {a for s in makers.values() if isinstance(s.op, Elementwise | Reduce) for a in s.args}
    handed_on = {a for s in walk(function.body) if not isinstance(s, Apply) for a in inputs_of(s)}
    handed_on |= {r for s in walk(function.body) for block in blocks_of(s) for r in block.results}
    handed_on |= {a for s in makers.values() if not isinstance(s.op, Elementwise | Reduce) for a in s.args}
    handed_on |= {*function.body.results}
    fleeting = computed_with - handed_on

    def named(s: Apply) -> Apply:
        if s.targets[0] in fleeting and (found := _diagonal(s, makers.get)) is not None:
            return found
        for idiom in (_norm, _numbers, _triangle, _unit, _inverse, _joined, _diagonal_matrix):
            if (found := idiom(s, makers.get)) is not None:
                return found
        return s

    return replace(function, body=rebuilt(function.body, named))


def _stacked(s: Apply, maker: Maker) -> Sequence[Statement]:
    """A concatenation of parts with new axes for it, in which parts that are filled with one number, or known, get such
    an axis too: np.stack.
    """
    if not isinstance(s.attrs, ConcatenateAttrs):
        return (s,)
    axis = s.attrs.axis
    made = [maker(a) if isinstance(a, Var) else None for a in s.args]
    numbers = all(map(_is_number_in_an_array, s.args, made))
    widened = [m is not None and m.op is ops.EXPAND_DIMS and m.attrs == AxesAttrs((axis,)) for m in made]
    if not numbers and not any(widened):
        return (s,)
    before: list[Statement] = []
    args: list[Atom] = []
    for a, m in zip(s.args, made, strict=True):
        if numbers and m is not None and isinstance(m.attrs, ReduceAttrs):
            number, part = Var("", Aval((), a.aval.dtype)), Var("", a.aval)
            before.append(replace(m, targets=(number,), attrs=replace(m.attrs, keepdims=False)))
            before.append(Apply((part,), ops.EXPAND_DIMS, (number,), AxesAttrs((0,)), s.span))
            a, m = part, None
        filled = _filling(a, m) if a.aval.size > LONGEST_LITERAL or isinstance(a, Var) else None
        if filled is not None and a.aval.ndim > 1 and a.aval.shape[axis] == 1:
            shape = (*a.aval.shape[:axis], *a.aval.shape[axis + 1 :])
            plain, part = Var("", Aval(shape, a.aval.dtype)), Var("", a.aval)
            before.append(Apply((plain,), ops.FULL, (filled,), CreateAttrs(shape, a.aval.dtype), s.span))
            before.append(Apply((part,), ops.EXPAND_DIMS, (plain,), AxesAttrs((axis,)), s.span))
            a = part
        args.append(a)
    return (*before, replace(s, args=tuple(args)))


def _is_number_in_an_array(a: Atom, made: Apply | None) -> bool:
    """Whether it is an array of one number that comes without its axis too: `np.sum(x, keepdims=True)`."""
    if a.aval.shape != (1,) or made is None or not isinstance(a, Var) or not is_temporary(a):
        return isinstance(a, Const) and a.aval.shape == (1,)
    return made.op is ops.EXPAND_DIMS or (isinstance(made.op, Reduce) and made.args[0].aval.ndim == 1)


def _filling(a: Atom, made: Apply | None) -> Atom | None:
    """The number that an array is filled with."""
    if isinstance(a, Const):
        return const(a.value.flat[0].item()) if is_filled(a.value) else None
    number = made.args[0] if made is not None and made.op is ops.FULL else None
    return const(number.value.item()) if isinstance(number, Const) and not number.aval.weak else number


def _made(a: Atom, op: Op, maker: Maker) -> tuple[Atom, ...] | None:
    by = maker(a) if isinstance(a, Var) else None
    return by.args if by is not None and by.op is op else None


@dataclass(frozen=True, slots=True)
class _Mask:
    """A mask where row + `k` == column ("eye"), or row + `k` >= column ("tri")."""

    op: Create
    shape: Shape
    k: int

    def diagonal(self, main: int = 0) -> tuple[Atom, ...]:
        return () if self.k == main else (const(self.k - main),)


def _mask(a: Atom, maker: Maker) -> _Mask | None:
    """The mask that np.eye and np.tri make by comparing row numbers, in a column, with column numbers."""
    for op, compared in ((EYE, ops.EQUAL), (TRI, ops.GREATER_EQUAL)):
        sides = _made(a, compared, maker)
        if sides is None or not isinstance(a, Var) or not is_temporary(a):
            continue
        down, across = sides
        shifted, k = _made(down, ops.ADD, maker), 0
        if shifted is not None and isinstance(shifted[1], Const) and type(shifted[1].value) is int:
            down, k = shifted[0], int(shifted[1].value)
        column = maker(down) if isinstance(down, Var) else None
        if column is None or column.op is not ops.EXPAND_DIMS or column.attrs != AxesAttrs((1,)):
            continue
        rows = column.args[0]
        if all(_made(n, ops.IOTA, maker) is not None and n.aval.dtype == np.int64 for n in (rows, across)):
            return _Mask(op, (rows.aval.size, across.aval.size), k)
    return None


def _unit(s: Apply, maker: Maker) -> Apply | None:
    """np.eye and np.tri, of bool where they are nothing but a comparison."""
    t = s.targets[0]
    mask = _mask(s.args[0], maker) if s.op is ops.ASTYPE else _mask(t, maker)
    if mask is None or t.aval.weak:
        return None
    return Apply(s.targets, mask.op, mask.diagonal(), CreateAttrs(mask.shape, t.aval.dtype), s.span)


def _triangle(s: Apply, maker: Maker) -> Apply | None:
    """np.tril and np.triu."""
    if s.op is not ops.WHERE:
        return None
    mask = _mask(s.args[0], maker)
    aval = s.targets[0].aval
    if mask is None or mask.op is not TRI or aval.shape[-2:] != mask.shape:
        return None
    for op, x, other, main in ((TRIL, s.args[1], s.args[2], 0), (TRIU, s.args[2], s.args[1], -1)):
        if x.aval == aval and isinstance(other, Const) and other.aval.weak and is_number(other, 0):
            return Apply(s.targets, op, (x, *mask.diagonal(main)), LinalgAttrs(), s.span)
    return None


def _diagonal(s: Apply, maker: Maker) -> Apply | None:
    """np.diag of a matrix and np.diagonal of several, inside an expression: a value that is stored into is no diagonal,
    which NumPy protects.
    """
    if s.op is not ops.INDEX or len(s.args) != 2 or s.args[0].aval.ndim < 2 or not is_temporary(s.targets[0]):
        return None
    assert isinstance(s.attrs, IndexAttrs)
    *lead, rows, columns = s.attrs.dims
    shape = s.args[0].aval.shape
    both = isinstance(rows, Gather) and isinstance(columns, Gather)
    whole = all(d == Run(0, n) for d, n in zip(lead, shape, strict=False))
    every = _made(s.args[1], ops.IOTA, maker) is not None and s.args[1].aval.shape == (min(shape[-2:]),)
    op = DIAGONAL if lead else DIAG
    return Apply(s.targets, op, s.args[:1], LinalgAttrs(), s.span) if both and whole and every else None


def _diagonal_matrix(s: Apply, maker: Maker) -> Apply | None:
    """np.diag of a vector: zeros, and the vector along their diagonal."""
    if s.op is not ops.PUT or len(s.args) != 3 or s.args[0].aval.ndim != 2:
        return None
    assert isinstance(s.attrs, IndexAttrs)
    zeros, line, (n, m) = _made(s.args[0], ops.FULL, maker), s.args[2], s.args[0].aval.shape
    both = all(isinstance(d, Gather) for d in s.attrs.dims)
    every = n == m and _made(line, ops.IOTA, maker) is not None and line.aval.shape == (n,)
    alike = s.args[1].aval == Aval((n,), s.args[0].aval.dtype)
    if zeros is None or not (both and every and alike) or not (is_number(zeros[0], 0) and _is_positive(zeros[0])):
        return None
    return Apply(s.targets, DIAGONAL_MATRIX, s.args[1:2], LinalgAttrs(), s.span)


def _is_positive(a: Atom) -> bool:
    if not isinstance(a, Const):
        return False
    return not (np.signbit(np.real(a.value)) or np.signbit(np.imag(a.value)))


def _inverse(s: Apply, maker: Maker) -> Apply | None:
    """np.linalg.inv of one matrix."""
    if s.op is not ops.SOLVE or s.args[0].aval.ndim != 2:
        return None
    unit = _made(s.args[1], ops.ASTYPE, maker)
    mask = _mask(unit[0], maker) if unit is not None else None
    if mask is None or mask.op is not EYE or mask.k or mask.shape != s.args[0].aval.shape:
        return None
    return Apply(s.targets, INV, s.args[:1], LinalgAttrs(), s.span)


def _joined(s: Apply, maker: Maker) -> Apply | None:
    """np.roll, by fewer places than the other way round, and np.cross."""
    if (r := rolled(s, maker)) is not None:
        n = r.x.aval.shape[r.axis]
        shift = const(r.shift if 2 * r.shift <= n else r.shift - n)
        return Apply(s.targets, _roll_along(r.axis if r.x.aval.ndim > 1 else None), (r.x, shift), LinalgAttrs(), s.span)
    both = crossed(s, maker)
    return None if both is None else Apply(s.targets, CROSS, both, LinalgAttrs(), s.span)


@cache
def _roll_along(axis: int | None) -> Linalg:
    options: dict[str, int] = {} if axis is None else {"axis": axis}
    return Linalg(name="roll", numpy="np.roll", evaluate=np.roll, shape=_first_shape, options=(options, options))


def _numbers(s: Apply, maker: Maker) -> Apply | None:
    """np.nanmax and np.nanmin."""
    found = extreme_of_numbers(s, maker)
    if found is None:
        return None
    return Apply(s.targets, NANMAX if found.extreme.op is ops.MAX else NANMIN, (found.x,), found.extreme.attrs, s.span)


def _norm(s: Apply, maker: Maker) -> Apply | None:
    """np.linalg.norm of real numbers along one axis, or of a whole array of one or two."""

    total = guarded_root(s, maker)
    summed = maker(total) if isinstance(total, Var) else None
    if summed is None or summed.op is not ops.SUM or not isinstance(summed.attrs, ReduceAttrs):
        return None
    square = _made(summed.args[0], ops.MULTIPLY, maker)
    if square is None or square[0] is not square[1]:
        return None
    x, attrs = square[0], summed.attrs
    every = len(attrs.axes) == x.aval.ndim <= 2 and not attrs.keepdims
    if x.aval.dtype.kind != "f" or not (every or len(attrs.axes) == 1):
        return None
    return Apply(s.targets, NORM, (x,), attrs, s.span)
