"""Values needed now that are known only at run time: what they depend on, and how integers differ by a constant."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any, NoReturn

import numpy as np

from .. import ops
from ..errors import CutError, Diagnostic, UnsupportedError
from ..ir import Apply, Atom, Block, Const, For, If, Statement, Var, While, walk
from .context import Context
from .values import Masked, Outside, Ref, Restart, RunRange, Site, Undefined, Value, leaves_in


def static(ctx: Context, v: Value, node: ast.AST, what: str) -> Any:
    """The value as a plain Python one; run-time numbers in it are asked for, which restarts the reading.

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


def static_int(ctx: Context, v: Value, node: ast.AST, what: str) -> int:
    known = static(ctx, v, node, what)
    if isinstance(known, int | np.integer) and not isinstance(known, bool):
        return int(known)
    raise ctx.error(UnsupportedError, node, f"{what} must be an integer, not {known!r}")


def ask(ctx: Context, values: Iterable[Value]) -> None:
    """Before a refusal: restart the reading where the run-time numbers in `values` can be known, else go on."""
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
    """A value that is not one thing is used: ask for what decides it, or refuse."""
    _ask(ctx, list(v.needs))
    what = f"{label} {v.why}" if label else v.why
    if node is None:
        raise CutError(Diagnostic(what, instead=v.instead))
    ctx.cut(node, what, instead=v.instead)


def demand(ctx: Context, needed: Iterable[Value], node: ast.AST, what: str) -> NoReturn:
    """Ask for values: raises Restart, or UnsupportedError where that cannot help."""
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
    raise Restart(frozenset(leaves), frozenset(loops), why, known=frozenset(outside))


def _refuse(ctx: Context, node: ast.AST, what: str) -> NoReturn:
    ctx.cut(
        node,
        f"{what} depends on the data",
        why="shapes, axes and container indices must be known when the function is translated",
        instead="pass it as a Python int argument, or keep the full size and select with np.where",
    )


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

    def visit(self, atom: Atom) -> bool:
        if isinstance(atom, Const) or atom in self.seen:
            return True
        if atom.aval.shape:
            return False
        self.seen.add(atom)
        leaf = self.ctx.leaf_of.get(atom)
        if leaf is not None:
            self.leaves.add(leaf)
            return self.ctx.leaf_values[leaf] is not None
        place = self.ctx.captures.numbers.get(atom)
        if place is not None:
            self.outside.add(place)
            return True
        loop = self.ctx.loop_of.get(atom)
        if loop is not None:
            self.loops.add(loop)
            return atom.aval.weak or atom.aval.dtype.kind == "b"
        made: Statement | None = self.ctx.definition(atom) or self.inner.get(atom)
        if made is None and atom in self.ctx.compound:
            return self._compound(atom, *self.ctx.compound[atom])
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
                return atom.aval.weak or atom.aval.dtype.kind == "b"
        return False

    def _index(self, block: Block) -> None:
        for s in walk(block):
            self.inner.update((t, s) for t in s.targets)


Affine = tuple[dict[Var, int], int]


def affine(ctx: Context, v: Value) -> Affine | None:
    """An integer as a sum of variables times constants; None for what is no integer."""
    if isinstance(v, int | np.integer) and not isinstance(v, bool):
        return {}, int(v)
    if isinstance(v, Const):
        return affine(ctx, v.value)
    if type(v) is not Var or v.aval.shape or v.aval.dtype.kind not in "iu":
        return None
    made = ctx.definition(v)
    if made is None:
        return {v: 1}, 0
    parts = [affine(ctx, a) for a in made.args] if made.op in _AFFINE_OPS else []
    combined = _combine(made, parts) if parts and all(p is not None for p in parts) else None
    return combined if combined is not None else ({v: 1}, 0)


_AFFINE_OPS = (ops.ADD, ops.SUBTRACT, ops.MULTIPLY, ops.NEGATIVE)


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


def interval(ctx: Context, v: Value) -> tuple[int | None, int | None]:
    """The least and the greatest value that an integer can have, as far as the loops around say."""
    form = affine(ctx, v)
    if form is None:
        return None, None
    low: int | None = form[1]
    high: int | None = form[1]
    for x, k in form[0].items():
        least, most = _range_of(ctx, x)
        if k < 0:
            least, most = most, least
        low = None if low is None or least is None else low + k * least
        high = None if high is None or most is None else high + k * most
    return low, high


def _range_of(ctx: Context, x: Var) -> tuple[int | None, int | None]:
    counter = ctx.counters.get(x)
    if counter is not None:
        start, stop, step = counter
        if not isinstance(step, int) or step == 0:
            return None, None
        (low, high), (stop_low, stop_high) = interval(ctx, start), interval(ctx, stop)
        if isinstance(start, int) and isinstance(stop, int):
            steps = range(start, stop, step)
            return (min(steps[0], steps[-1]), max(steps[0], steps[-1])) if steps else (0, 0)
        if step > 0:
            return low, None if stop_high is None else stop_high - 1
        return None if stop_low is None else stop_low + 1, high
    made = ctx.definition(x)
    if made is None or made.op not in (ops.MAXIMUM, ops.MINIMUM, ops.WHERE):
        return (0, None) if x.aval.dtype.kind == "u" else (None, None)
    (a, b), (c, d) = (interval(ctx, y) for y in made.args[-2:])
    if made.op is ops.MAXIMUM:
        return _largest(a, c, True), None if b is None or d is None else max(b, d)
    if made.op is ops.MINIMUM:
        return None if a is None or c is None else min(a, c), _largest(b, d, False)
    return None if a is None or c is None else min(a, c), None if b is None or d is None else max(b, d)


def _largest(a: int | None, b: int | None, largest: bool) -> int | None:
    known = [x for x in (a, b) if x is not None]
    return (max(known) if largest else min(known)) if known else None


def from_arguments(ctx: Context, v: Value) -> bool:
    """Whether a number depends on the values of arguments alone: on no loop, on no array."""
    walker = _Walker(ctx)
    return type(v) is not Var or (walker.visit(v) and not walker.loops)
