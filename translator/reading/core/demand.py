"""Run-time values that are needed while reading: what they depend on, and by which constants integers differ."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ... import ops
from ...errors import CutError, Diagnostic, UnsupportedError
from ...ir import Apply, Atom, Block, Const, For, If, Statement, Var, While, walk
from ...ops.core import Elementwise
from .detours import Restart, Site
from .values import Masked, Outside, Ref, RunRange, Undefined, Value, attributes_of, is_object, leaves_in

if TYPE_CHECKING:
    from .context import Context

LENGTH = "the length of a slice"


def static(ctx: Context, v: Value, node: ast.AST, what: str) -> Any:
    """The value as a plain Python value. Run-time numbers in it are demanded, which restarts the reading.

    Raises UnsupportedError where it depends on the contents of an array.
    """
    if any(type(x) is Ref and not x.aval.shape for x in leaves_in(v)):
        v = type(v)(map(ctx.number, v)) if type(v) in (tuple, list) else ctx.number(v)
    needed = [x for x in leaves_in(v) if type(x) is Var or type(x) is Ref]
    if any(type(x) is Masked for x in leaves_in(v)):
        _refuse(ctx, node, what)
    if type(v) is slice:
        needed = [x for x in (v.start, v.stop, v.step) if type(x) is Var]
    if isinstance(v, RunRange):
        needed = [x for x in (v.start, v.stop, v.step) if type(x) is Var]
    if needed:
        demand(ctx, needed, node, what)
    return v


def as_key(ctx: Context, v: Value, node: ast.AST, what: str) -> Any:
    """`static` of what is to be hashed, and of what objects in it make their hashes of: CPython asks while reading."""
    for x in leaves_in(v):
        method = ctx.captures.part(type(x), "__hash__") if is_object(x) else None
        code = getattr(method, "__code__", None)
        if code is None:
            continue
        if dataclasses.is_dataclass(x) and code.co_filename == "<string>":
            held = attributes_of(x)
            fields = (f for f in dataclasses.fields(x) if (f.compare if f.hash is None else f.hash))
            as_key(ctx, [held[f.name] for f in fields if f.name in held], node, what)
        else:
            ctx.call(method, [x], {}, node)
    return static(ctx, v, node, what)


def static_int(ctx: Context, v: Value, node: ast.AST, what: str) -> int:
    known = static(ctx, v, node, what)
    if isinstance(known, int | np.integer) and not isinstance(known, bool):
        return int(known)
    raise ctx.error(UnsupportedError, node, f"{what} must be an integer, not {known!r}")


def ask(ctx: Context, values: Iterable[Value]) -> None:
    """Restart the reading with the run-time numbers in `values` known, if they can be; else return, to refuse."""
    needed = [x for v in values for x in leaves_in(v)]
    if not any(type(x) is Ref or type(x) is Masked for x in needed):
        _ask(ctx, [x for x in needed if type(x) is Var])


def _ask(ctx: Context, needed: list[Any]) -> None:
    walkers = [(walker := _Walker(ctx), walker.visit(v)) for v in needed]
    leaves = frozenset().union(*(w.leaves for w, _ in walkers))
    loops = frozenset().union(*(w.loops for w, _ in walkers))
    outside = frozenset().union(*(w.outside for w, _ in walkers))
    if all(known for _, known in walkers) and (leaves or loops or outside):
        raise Restart(leaves, loops, known=outside)


def refuse_undefined(ctx: Context, v: Undefined, node: ast.AST | None = None, label: str = "") -> NoReturn:
    """A value that differs between branches is used: demand what decides it, or refuse."""
    _ask(ctx, list(v.needs))
    what = f"{label} {v.why}" if label else v.why
    if node is None:
        raise CutError(Diagnostic(what, instead=v.instead))
    ctx.cut(node, what, instead=v.instead)


def demand(ctx: Context, needed: Iterable[Value], node: ast.AST, what: str) -> NoReturn:
    """Demand the values of run-time numbers: raises Restart, or UnsupportedError where a restart cannot help."""
    leaves: set[int] = set()
    loops: set[Site] = set()
    outside: set[Outside] = set()
    for v in needed:
        atom = v if type(v) is Var else ctx.read(v)
        if type(v) is Ref:
            _refuse(ctx, node, what)
        walker = _Walker(ctx)
        if not walker.visit(atom):
            _refuse(ctx, node, what)
        leaves |= walker.leaves
        loops |= walker.loops
        outside |= walker.outside
    if not leaves and not loops and not outside:
        raise ctx.error(UnsupportedError, node, f"{what} is not known when the function is translated")
    span = ctx.b.span if ctx.frame.fixed else ctx.frame.source.span(node)
    why = f"{what} in `{span.text}` ({span})" if span.line else what
    if what is LENGTH and leaves:
        loops = set()  # with the arguments known, the slice may be short enough to be a window in every turn
    raise Restart(frozenset(leaves), frozenset(loops), why, known=frozenset(outside))


def _refuse(ctx: Context, node: ast.AST, what: str) -> NoReturn:
    ctx.cut(
        node,
        f"{what} depends on the data",
        why="shapes, axes and container indices must be known when the function is translated",
        instead="pass it as a Python int argument, or keep the full size and select with np.where",
    )


def sign_of(ctx: Context, v: Value) -> int | None:
    """1 or -1 where an integer surely has that sign."""
    low, high = interval(ctx, v)
    return 1 if low is not None and low > 0 else -1 if high is not None and high < 0 else None


def follows_loops(ctx: Context, v: Var) -> bool:
    """Whether a number is another one in many turns of a loop around, or depends on the contents of an array: to know
    it would take these turns written out.
    """
    walker = _Walker(ctx)
    if not walker.visit(v):
        return True
    low, high = interval(ctx, v)
    return bool(walker.loops) and (low is None or high is None or high - low >= _WRITTEN_OUT)


_WRITTEN_OUT = 16


def is_searched(ctx: Context, v: Var) -> bool:
    """Whether a number is what a `while` has ended with: to know it would take the turns of that loop written out."""
    walker = _Walker(ctx)
    return not walker.visit(v) or walker.searched


class _Walker:
    """Collects the argument leaves, the loops and the numbers outside the function that a scalar depends on; `visit` is
    False for array data.
    """

    def __init__(self, ctx: Context) -> None:
        self.ctx = ctx
        self.leaves: set[int] = set()
        self.loops: set[Site] = set()
        self.outside: set[Outside] = set()
        self.inner: dict[Var, Statement] = {}
        self.seen: set[Var] = set()
        self.searched = False  # for by a `while` that has been read

    def visit(self, atom: Atom) -> bool:
        if isinstance(atom, Const) or atom in self.seen:
            return True
        if atom.aval.shape:
            return False
        self.seen.add(atom)
        leaf = self.ctx.numbers.leaf_of.get(atom)
        if leaf is not None:
            self.leaves.add(leaf)
            return self.ctx.numbers.leaf_values[leaf] is not None
        place = self.ctx.captures.numbers.get(atom)
        if place is not None:
            self.outside.add(place)
            return True
        loop = self.ctx.loops.of.get(atom)
        if loop is not None:
            self.loops.add(loop)
            return atom.aval.weak or atom.aval.dtype.kind == "b"
        made: Statement | None = self.ctx.definition(atom) or self.inner.get(atom)
        if made is None and atom in self.ctx.numbers.compound:
            return self._compound(atom, *self.ctx.numbers.compound[atom])
        if made is None:
            return False
        return self._compound(atom, made, None) if not isinstance(made, Apply) else all(map(self.visit, made.args))

    def _compound(self, atom: Var, s: Statement, loop: ast.AST | None) -> bool:
        match s:
            case If():
                position = s.targets.index(atom)
                self._index(s.then)
                self._index(s.orelse)
                return all(map(self.visit, (s.condition, s.then.results[position], s.orelse.results[position])))
            case For() | While() if loop is not None:
                self.loops.add(loop)
                self.searched = self.searched or isinstance(loop, ast.While)
                return atom.aval.weak or atom.aval.dtype.kind == "b"
        return False

    def _index(self, block: Block) -> None:
        for s in walk(block):
            self.inner.update((t, s) for t in s.targets)


Affine = tuple[dict[Var, int], int]


def affine(ctx: Context, v: Value, inner: Mapping[Var, Apply] = MappingProxyType({})) -> Affine | None:
    """An integer as a sum of variables times constants; None for what is no integer. `inner`: what a branch makes."""
    if isinstance(v, int | np.integer) and not isinstance(v, bool):
        return {}, int(v)
    if isinstance(v, Const):
        return affine(ctx, v.value)
    if type(v) is not Var or v.aval.shape or v.aval.dtype.kind not in "iu":
        return None
    if v not in ctx.numbers.forms or inner:
        made = ctx.definition(v) or inner.get(v)
        form = ({v: 1}, 0) if made is None else _form(ctx, v, made, inner)
        if made is None or inner:
            return form
        ctx.numbers.forms[v] = form
    return ctx.numbers.forms[v]


def _form(ctx: Context, v: Var, made: Apply, inner: Mapping[Var, Apply]) -> Affine:
    if made.op is ops.ASTYPE and not made.args[0].aval.shape and np.can_cast(made.args[0].aval.dtype, v.aval.dtype):
        return affine(ctx, made.args[0], inner) or ({v: 1}, 0)
    if made.op in (ops.MAXIMUM, ops.MINIMUM, ops.WHERE):
        return _decided(ctx, made, v)
    parts = [affine(ctx, a, inner) for a in made.args] if made.op in _AFFINE_OPS else []
    combined = _combine(made, parts) if parts and all(p is not None for p in parts) else None
    return combined if combined is not None and _is_exact(ctx, combined, v.aval.dtype) else ({v: 1}, 0)


_AFFINE_OPS = (ops.ADD, ops.SUBTRACT, ops.MULTIPLY, ops.NEGATIVE)


def _is_exact(ctx: Context, form: Affine, dtype: np.dtype[Any]) -> bool:
    """Whether integers of this dtype hold the sum. Narrow ones wrap, where their intervals do not say otherwise."""
    if dtype.itemsize == 8:
        return True
    low, high = interval_of(ctx, form)
    return low is not None and high is not None and np.iinfo(dtype).min <= low <= high <= np.iinfo(dtype).max


def _combine(made: Apply, parts: list[Any]) -> Affine | None:
    x = parts[0]
    if made.op is ops.NEGATIVE:
        return scaled(x, -1)
    y = parts[1]
    if made.op is ops.ADD:
        return plus(x, y)
    if made.op is ops.SUBTRACT:
        return plus(x, scaled(y, -1))
    if not y[0]:
        return scaled(x, y[1])
    return scaled(y, x[1]) if not x[0] else None


def scaled(x: Affine, k: int) -> Affine:
    return {v: c * k for v, c in x[0].items() if c * k}, x[1] * k


def plus(x: Affine, y: Affine) -> Affine:
    terms = dict(x[0])
    for v, c in y[0].items():
        terms[v] = terms.get(v, 0) + c
    return {v: c for v, c in terms.items() if c}, x[1] + y[1]


def difference(ctx: Context, upper: Value, lower: Value) -> int | None:
    """upper - lower when that is a constant."""
    a, b = affine(ctx, upper), affine(ctx, lower)
    if a is None or b is None:
        return None
    terms, constant = plus(a, scaled(b, -1))
    return None if terms else constant


Interval = tuple[int | None, int | None]
_CHOICES = 6  # of minima and maxima in one sum as many are looked into: each doubles the sums


def interval(ctx: Context, v: Value) -> Interval:
    """The least and the greatest value that an integer can have, as far as the loops around say."""
    form = affine(ctx, v)
    return (None, None) if form is None else interval_of(ctx, form)


def interval_of(ctx: Context, form: Affine) -> Interval:
    """The interval of a sum of such integers."""
    low, high = _most(ctx, scaled(form, -1)), _most(ctx, form)
    return None if low is None else -low, high


def _most(ctx: Context, form: Affine, choices: int = _CHOICES) -> int | None:
    """The greatest value of a sum. A minimum or a maximum in it is each of its sides in turn, beside all other terms:
    `min(i + 6, n) - max(i - 5, 0)` is at most 11.
    """
    chosen = _outermost(ctx, form) if choices else None
    if chosen is not None:
        x, greatest, sides = chosen
        rest = plus(form, ({x: -form[0][x]}, 0))
        found = [_most(ctx, plus(rest, scaled(f, form[0][x])), choices - 1) for f in sides]
        known = [m for m in found if m is not None]
        if greatest:
            return max(known) if len(known) == len(found) else None
        return min(known, default=None)
    most = form[1]
    for x, k in form[0].items():
        end = _range_of(ctx, x)[1 if k > 0 else 0]
        if end is None:
            return None
        most += k * end
    return most


def _range_of(ctx: Context, x: Var) -> Interval:
    if x not in ctx.numbers.ranges:
        ctx.numbers.ranges[x] = _counted(ctx, x)
    return ctx.numbers.ranges[x]


def _counted(ctx: Context, x: Var) -> Interval:
    counter = ctx.loops.counters.get(x)
    if counter is None:
        return (0, trues(ctx, x)) if x.aval.dtype.kind == "u" or trues(ctx, x) is not None else (None, None)
    start, stop, step = counter
    sign = sign_of(ctx, step)
    if sign is None:
        return None, None
    (low, high), (stop_low, stop_high) = interval(ctx, start), interval(ctx, stop)
    if isinstance(start, int) and isinstance(stop, int) and isinstance(step, int):
        steps = range(start, stop, step)
        return (min(steps[0], steps[-1]), max(steps[0], steps[-1])) if steps else (0, 0)
    if sign > 0:
        return low, None if stop_high is None else stop_high - 1
    return None if stop_low is None else stop_low + 1, high


def trues(ctx: Context, x: Var) -> int | None:
    """How many True a mask has at most, where `x` is their number, in a dtype that has room for all of them."""
    made = ctx.definition(x)
    if made is None or made.op is not ops.SUM or made.args[0].aval.dtype.kind != "b":
        return None
    size = made.args[0].aval.size
    return size if x.aval.dtype.kind in "iu" and size <= np.iinfo(x.aval.dtype).max else None


def _outermost(ctx: Context, form: Affine) -> tuple[Var, bool, list[Affine]] | None:
    """A term of which no other is computed, that is one of two: whether that makes the sum the greatest, and the two.

    Where there are several, what makes it the greatest comes first: the least of several greatest sums is no bound.
    """
    found: list[tuple[Var, bool, list[Affine]]] = []
    for x, k in form[0].items():
        op, sides = _one_of_two(ctx, x)
        if sides and all(f is not None for f in sides):
            lesser = op is ops.MINIMUM if k > 0 else op is ops.MAXIMUM
            found.append((x, not lesser, [f for f in sides if f is not None]))
    inner = {v for _, _, sides in found for f in sides for v in f[0]}
    outer = [choice for choice in found if choice[0] not in inner]
    return max(outer, key=lambda choice: choice[1], default=None)


def _one_of_two(ctx: Context, x: Var) -> tuple[Elementwise | None, list[Affine | None]]:
    """The two numbers of which `x` is one, and MINIMUM or MAXIMUM where it is that one."""
    if x not in ctx.numbers.sides:
        ctx.numbers.sides[x] = _sides(ctx, x)
    return ctx.numbers.sides[x]


def _sides(ctx: Context, x: Var) -> tuple[Elementwise | None, list[Affine | None]]:
    made = ctx.definition(x)
    if made is not None and made.op in (ops.MAXIMUM, ops.MINIMUM, ops.WHERE):
        sides = [affine(ctx, side) for side in made.args[-2:]]
        op = ops.MAXIMUM if made.op is ops.MAXIMUM else ops.MINIMUM
        return (_chosen_by_order(ctx, made.args[0], *sides) if made.op is ops.WHERE else op), sides
    branch = ctx.numbers.compound[x][0] if x in ctx.numbers.compound else None
    if not isinstance(branch, If):
        return None, []
    position, sides = branch.targets.index(x), []
    for block in (branch.then, branch.orelse):
        inner = {s.targets[0]: s for s in block.statements if isinstance(s, Apply)}
        sides.append(affine(ctx, block.results[position], inner))
    return _chosen_by_order(ctx, branch.condition, *sides), sides


def _decided(ctx: Context, made: Apply, v: Var) -> Affine:
    """One of two numbers where it is known which one it always is: `min(i + 100, n)` but for the end."""
    op, (first, second) = _one_of_two(ctx, v) if ctx.definition(v) is made else (None, (None, None))
    if op is None or first is None or second is None:
        return {v: 1}, 0
    low, high = interval_of(ctx, plus(second, scaled(first, -1)))
    if low is not None and low >= 0:
        return first if op is ops.MINIMUM else second
    if high is not None and high <= 0:
        return second if op is ops.MINIMUM else first
    return {v: 1}, 0


def _chosen_by_order(
    ctx: Context, condition: Atom, first: Affine | None, second: Affine | None
) -> Elementwise | None:
    """The operation that `first if x < y else second` is where y - x is the difference of the two, in either order: a
    minimum or a maximum. So are min() and max(), and `0 if i < 3 else i - 3`.
    """
    asked = ctx.definition(condition) if isinstance(condition, Var) else None
    if asked is None or asked.op not in _ORDERS or first is None or second is None:
        return None
    lesser, greater = (affine(ctx, a) for a in (asked.args if _ORDERS[asked.op] else asked.args[::-1]))
    if lesser is None or greater is None:
        return None
    gap, between = plus(greater, scaled(lesser, -1)), plus(second, scaled(first, -1))
    return ops.MINIMUM if between == gap else ops.MAXIMUM if between == scaled(gap, -1) else None


_ORDERS: dict[Any, bool] = {ops.LESS: True, ops.LESS_EQUAL: True, ops.GREATER: False, ops.GREATER_EQUAL: False}


def from_arguments(ctx: Context, v: Value) -> bool:
    """Whether a number depends on the values of arguments alone: on no loop, on no array."""
    walker = _Walker(ctx)
    return type(v) is not Var or (walker.visit(v) and not walker.loops)


def check_defined(ctx: Context, value: Value, node: ast.AST) -> None:
    for v in leaves_in(value):
        if isinstance(v, Undefined):
            refuse_undefined(ctx, v, node, "the value")
