"""Lists to which a loop appends once in every turn: rows of an array during the loop, lists again after it.

    out = []                            rows = np.empty((n, *y.shape))
    for i in range(n):                  for i in range(n):
        y = 0.9 * y + x[i]                  y = 0.9 * y + x[i]
        out.append(y)                       rows[i] = y
                                        out = [rows[0], rows[1], ...]

Where the function returns the list, as it is then, it returns `list(rows)`. What is not used of the elements behind the
loop is dead code, and np.array(out) is `rows` (make.concatenate). Nothing else in the body may speak of the list but
`out[-1]`, and all elements are of one type: else the loop is written out, or CPython's.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Any

import numpy as np

from ... import make
from ...ir import Apply, Atom, Aval, Block, Var, walk
from ...ops.core import At, IndexAttrs
from ...passes.kinds import are_of_one_kind
from ...surface.python import as_python
from ..core.aliases import memory_of
from ..core.context import Context
from ..core.detours import Detour, Restart
from ..core.layout import note_swapped
from ..core.reach import objects_of
from ..core.values import Filling, Ref, Value, is_runtime
from ..paths.iterables import Steps
from .array_stores import store_array
from .carry import Outcome
from .indexing import indexed

CROWD = 64  # elements that are used one by one
FEW, MANY = 16, 10_000  # turns: as many are written out; for more a list of elements would take long to make
FEW_DERIVED = 4  # in what is differentiated or batched, which is to be read


class Unfit(Detour):
    """The list is filled in another way than with elements of one type; `peels`: perhaps in the first turn only."""

    def __init__(self, peels: bool = False) -> None:
        self.peels = peels


def lists_filled(ctx: Context, node: ast.For, steps: Steps) -> list[str]:
    """The names of lists that the loop appends to once in every turn, and of which its body says no more."""
    few = FEW_DERIVED if ctx.transforms else FEW
    if steps.length is None or not few < steps.length <= MANY or node.orelse or steps.last is not None:
        return []
    if marker(node) in ctx.loops.unroll:
        return []
    exits, known = ctx.frame.live.exits, isinstance(steps.start, int) and isinstance(steps.step, int)
    if not known or any(s in exits or isinstance(s, ast.Break | ast.Continue | ast.Return) for s in node.body):
        return []
    appended = [name for s in node.body if (name := _appended_to(s)) is not None]
    nodes = [n for s in node.body for n in ast.walk(s)]
    names = [name for name in appended if _is_known_list(ctx, name)]
    return names if names == appended and all(_is_only_filled(name, nodes) for name in names) else []


def _appended_to(s: ast.stmt) -> str | None:
    match s:
        case ast.Expr(ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append"), args=[_], keywords=[])):
            return name
    return None


def _is_known_list(ctx: Context, name: str) -> bool:
    """Whether the name alone leads to a list, whose elements are known one by one."""
    owner, live = ctx.frame.env.get(name), ctx.frame.live
    elsewhere = live.shared | live.nonlocals | live.globals | live.inner
    if type(owner) is not list or id(owner) in ctx.callers.containers or name in elsewhere:
        return False
    others = {k: v for k, v in ctx.frame.env.items() if k != name}
    return all(v is not owner for v in objects_of(ctx.frame, others))


def _is_only_filled(name: str, nodes: list[ast.AST]) -> bool:
    """Whether the body has one `name.append(...)`, and beside it `name[-1]` only."""
    mentions = sum(isinstance(n, ast.Name) and n.id == name for n in nodes)
    lasts = 0
    for n in nodes:
        match n:
            case ast.Subscript(ast.Name(id=owner), ast.UnaryOp(ast.USub(), ast.Constant(1)), ast.Load()):
                lasts += owner == name
    return mentions == 1 + lasts


class Lists:
    """The lists of one loop: rows of arrays while it runs."""

    def __init__(self, ctx: Context, node: ast.For, names: list[str], steps: Steps) -> None:
        assert steps.length is not None
        self.ctx, self.node, self.length = ctx, node, steps.length
        self.lists: dict[str, list[Value]] = {name: ctx.frame.env[name] for name in names}
        self.made = {name: Filling(v, ctx.births) for name, v in self.lists.items()}
        self.env = dict(ctx.frame.env)
        self.steps = self._counting(steps)
        ctx.frame.env.update(self.made)

    def _counting(self, steps: Steps) -> Steps:
        """The loop's steps with a counter from 0, which the lists take note of."""
        ctx, start, step = self.ctx, steps.start, steps.step
        if steps.reverse:
            start, step = start + (self.length - 1) * step, -step

        def element(turn: Value) -> Value:
            for f in self.made.values():
                f.begin(turn)
            if (start, step) == (0, 1):
                return steps.element(turn)
            b = ctx.b
            return steps.element(ctx.wrap(make.add(b, make.multiply(b, ctx.atom(turn), step), start)))

        return replace(steps, start=0, stop=self.length, step=1, element=element, reverse=False)

    def open(self) -> None:
        """Arrays for the types of elements that a first reading of the body has found. Raises Unfit."""
        ctx = self.ctx
        for name, f in self.made.items():
            if f.aval is None:
                raise Unfit
            before = self.lists[name]
            rows = Ref(ctx.cell(make.empty(ctx.b, (len(before) + self.length, *f.aval.shape), f.aval.dtype)))
            for k, v in enumerate(before):
                if _aval(ctx, v).shape != f.aval.shape or _aval(ctx, v).dtype != f.aval.dtype:
                    raise Unfit
                store_array(ctx, rows, k, v, self.node)
            f.rows = rows
            ctx.frame.env[f"%rows_{name}"] = rows  # a name for what the list holds: it counts where memory is shared

    def check(self, outcome: Outcome) -> None:
        """Check the loop: arrays on a list are not written any more, and numbers are of one kind. Raises Unfit."""
        cells = {cell: atom for f in self.made.values() for cell, atom in f.cells.items()}
        if any(cell.atom is not atom for cell, atom in cells.items()):
            raise Unfit
        for leaves in outcome.entered.leaves.values():
            for leaf in leaves:
                on_list = (type(leaf.exit) is Ref and leaf.exit.cell in cells) or leaf.entry in cells
                if on_list and leaf.written:
                    raise Unfit

        numbers = [v for f in self.made.values() for v in f.numbers]
        blocks = [Block((), tuple(b.statements), ()) for b in self.ctx.builders]
        if not are_of_one_kind(blocks, numbers):
            raise Unfit

    def close(self) -> None:
        """After the loop: rows become lists again. Arrays that have names besides may not be written in place."""
        env = self.ctx.frame.env
        for name, f in self.made.items():
            del env[f"%rows_{name}"]
            owner, before = self.lists[name], len(self.lists[name])
            self.ctx.touch(owner)
            owner += [_element(self.ctx, f, k, self.node) for k in range(before, before + self.length)]
            env[name] = owner
            for other in f.names:
                for values in (self.env, env):
                    if type(values.get(other)) is Ref:
                        values[other].cell.ambiguous = values[other].cell.ambiguous or _SHARED
            assert f.rows is not None
            if f.names:
                f.rows.cell.ambiguous = _SHARED
            made = self.ctx.read(f.rows)
            if isinstance(made, Var):
                self.ctx.lists.rows[made] = self.node
            note_rows(self.ctx, owner, f.rows)


def note_rows(ctx: Context, owner: list[Value], rows: Ref) -> None:
    """Take note that the list holds the rows of an array, in order."""
    if not rows.path and len(owner) > (FEW_DERIVED if ctx.transforms else FEW):
        ctx.lists.whole[id(owner)] = (owner, tuple(map(_held, owner)), rows.cell, rows.cell.atom)


def _held(v: Value) -> Any:
    return (v, v.path, v.cell, v.cell.atom) if type(v) is Ref else v


def rows_of(ctx: Context, v: Value) -> tuple[Atom, bool] | None:
    """The array whose rows the list `v` holds, as long as neither has been changed, and whether they are Python's
    numbers; None of others, and where the list is differentiated or batched: element by element.
    """
    if ctx.transforms or type(v) is not list or id(v) not in ctx.lists.whole:
        return None
    owner, held, cell, atom = ctx.lists.whole[id(v)]
    same = owner is v and cell.atom is atom and len(v) == len(held)
    if not same or not all(_is_held(x, h) for x, h in zip(v, held, strict=True)):
        return None
    return atom, type(v[0]) is not Ref and ctx.atom(v[0]).aval.weak


def _is_held(v: Value, held: Any) -> bool:
    if type(v) is not Ref:
        return v is held
    return type(held) is tuple and v is held[0] and v.path == held[1] and v.cell is held[2] and v.cell.atom is held[3]


def check_crowd(ctx: Context, body: Block) -> None:
    """Ask to write out loops that use many single rows after all, or to leave them to CPython. Raises Restart."""
    counts: dict[Atom, int] = dict.fromkeys(ctx.lists.rows, 0)
    for s in walk(body) if counts else ():
        if isinstance(s, Apply) and isinstance(s.attrs, IndexAttrs) and s.args and s.args[0] in counts:
            counts[s.args[0]] += isinstance(s.attrs.dims[0], At)
    crowded = frozenset(marker(node) for rows, node in ctx.lists.rows.items() if counts[rows] > CROWD)
    if crowded:
        raise Restart(loops=crowded)


def marker(node: ast.For) -> ast.stmt:
    """What stands for the loop among those that are unrolled, if its lists are to be no rows."""
    return node.body[-1]


_SHARED = "it is an element of a list, too"


def append(ctx: Context, f: Filling, value: Value, node: ast.AST) -> None:
    aval = _aval(ctx, value)
    if f.aval is not None and f.aval != aval:
        raise Unfit(peels=True)
    if type(value) is Ref:
        memory = memory_of(value.cell)
        if any(c.birth <= f.births for c in memory - {value.cell}):  # the data chose an array from before the loop
            raise Unfit
        f.cells[value.cell] = value.cell.atom
        f.names |= {k for k, v in ctx.frame.env.items() if type(v) is Ref and v.cell in memory and v is not f.rows}
    else:
        f.numbers.append(ctx.atom(value))
    f.aval, f.last = aval, value
    if f.rows is not None:
        note_swapped(f.rows, value)
        store_array(ctx, f.rows, _place(ctx, f, 0), value, node)


def _aval(ctx: Context, v: Value) -> Aval:
    """The type of an element: a number, or an array. Raises Unfit."""
    is_view = type(v) is Ref and (v.path or not v.aval.shape)
    if is_view or not (is_runtime(v) or isinstance(v, int | float | complex | np.number)):
        raise Unfit
    aval = ctx.atom(v).aval
    if aval.dtype.kind not in "iufc":  # of bools some are Python's
        raise Unfit
    return aval


def last(ctx: Context, f: Filling, node: ast.AST) -> Value:
    """`out[-1]`."""
    if f.last is not None:
        return f.last
    if not f.before or (f.rows is not None and _aval(ctx, f.before[-1]) != f.aval):
        raise Unfit(peels=True)
    if f.rows is not None:
        return _element(ctx, f, _place(ctx, f, -1), node)
    f.aval = f.aval or _aval(ctx, f.before[-1])
    guess = Ref(ctx.cell(make.empty(ctx.b, (1, *f.aval.shape), f.aval.dtype)))
    return _as_element(ctx, f, indexed(ctx, guess, 0, node))


def _place(ctx: Context, f: Filling, ahead: int) -> Value:
    return ctx.wrap(make.add(ctx.b, ctx.atom(f.turn), len(f.before) + ahead))


def _element(ctx: Context, f: Filling, place: Value, node: ast.AST) -> Value:
    assert f.rows is not None
    return _as_element(ctx, f, indexed(ctx, f.rows, place, node))


def _as_element(ctx: Context, f: Filling, v: Value) -> Value:
    assert f.aval is not None
    return ctx.wrap(as_python(ctx.b, ctx.atom(v))) if f.aval.weak else v
