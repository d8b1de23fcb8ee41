"""Elementwise work beside a reshape, in the finer of its two shapes: so it stands in the kernel on the other side.

    def f(x, g):                         def f(x, g):
        t = np.maximum(x, 0)                 t = np.maximum(x.reshape(2, 3, 4), 0)
        t = t.reshape(2, 3, 4)               top = np.max(t, axis=(1, 2), keepdims=True)
        top = t.max((1, 2), None, True)      return (t / top * np.sign(top) * g.reshape(3, 4)).reshape(2, 12)
        t = (t / top) * np.sign(top)
        return t.reshape(2, 12) * g

Otherwise what is made in one shape goes through memory to what is made in the other. A reshape of an array that is in
memory is another way to look at it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from .. import make
from ..builder import Builder
from ..ir import Apply, Atom, Block, Function, Shape, Statement, Var, blocks_of, free_variables, inputs_of, with_blocks
from ..ops import BROADCAST_TO, RESHAPE
from ..ops.core import Cast, Contract, Elementwise, Reduce
from .alignment import without_ones
from .simplify import simplify

MOST = 64  # operations that go along


def finer(function: Function) -> Function:
    """Apply to the reshapes of a program."""
    body = _in_block(function.body)
    return function if body is function.body else simplify(replace(function, body=body))


def _in_block(block: Block) -> Block:
    statements = tuple(with_blocks(s, _in_block) if blocks_of(s) else s for s in block.statements)
    if any(new is not old for new, old in zip(statements, block.statements, strict=True)):
        block = replace(block, statements=statements)
    tried: set[Var] = set()
    while (found := _next(block, tried)) is not None:
        block = replace(block, statements=tuple(found))
    return block


def _next(block: Block, tried: set[Var]) -> Sequence[Statement] | None:
    """The statements after one reshape has gone past elementwise work; None where there is none to go."""
    reshapes = [s for s in block.statements if isinstance(s, Apply) and s.op is RESHAPE and s.targets[0] not in tried]
    if not reshapes:
        return None
    around = _Around(block)
    for s in reshapes:
        tried.add(s.targets[0])
        coarse, fine = s.args[0].aval.shape, s.targets[0].aval.shape
        if without_ones(coarse) == without_ones(fine) or not s.args[0].aval.size:
            continue
        if (groups := _groups(coarse, fine)) is not None:
            moved = around.before(s)
            if moved:
                return around.split(s, moved, groups)
        elif (groups := _groups(fine, coarse)) is not None:
            moved = around.behind(s)
            if moved:
                return around.merged(s, moved, groups)
    return None


def _groups(coarse: Shape, fine: Shape) -> list[Shape] | None:
    """The axes of `fine` that each axis of `coarse` is split in; None where it is not."""
    found: list[Shape] = []
    k = 0
    for n in coarse:
        first = k
        while k < len(fine) and math.prod(fine[first:k]) < n:
            k += 1
        if math.prod(fine[first:k]) != n:
            return None
        found.append(fine[first:k] or (1,))
    return found if k == len(fine) and sum(map(len, found)) == len(fine) else None


class _Around:
    """What stands around the reshapes of a block."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.makers = {t: s for s in block.statements if isinstance(s, Apply) for t in s.targets}
        self.users: dict[Var, list[Statement]] = {}
        self.kept = {a for a in block.results if isinstance(a, Var)}
        for s in block.statements:
            for a in inputs_of(s):
                if isinstance(a, Var):
                    self.users.setdefault(a, []).append(s)
            self.kept.update(v for inner in blocks_of(s) for v in free_variables(inner))

    def before(self, s: Apply) -> dict[Var, Apply]:
        """The elementwise work that is done for a reshape alone; nothing where some of it is not."""
        (x,) = s.args
        found: dict[Var, Apply] = {}
        needed, behind = {x}, True
        for r in reversed(self.block.statements):
            behind = behind and r is not s
            if behind or needed.isdisjoint(r.targets) or not self.is_made(v := r.targets[0], x.aval.size):
                continue
            alone = all(u is s or found.keys() >= {*u.targets} for u in self.users[v]) and v not in self.kept
            if not isinstance(r, Apply) or not isinstance(r.op, Elementwise | Cast) or not alone:
                return {}
            if v.aval.shape != x.aval.shape:
                return {}
            found[v] = r
            needed.update(r.args)
        return found if len(found) <= MOST else {}

    def is_made(self, v: Var, size: int) -> bool:
        """Whether a kernel makes so many elements of it."""
        maker = self.makers.get(v) if v.aval.size >= size else None
        return maker is not None and isinstance(maker.op, Elementwise | Cast | Reduce | Contract)

    def behind(self, s: Apply) -> dict[Var, Apply]:
        """The elementwise work that reads what a reshape merges, and no other value of as many elements that a kernel
        makes.
        """
        (x,), (y,) = s.args, s.targets
        maker = self.makers.get(x) if isinstance(x, Var) else None
        if maker is None or not (isinstance(maker.op, Elementwise | Cast | Reduce) or maker.op is BROADCAST_TO):
            return {}
        found: dict[Var, Apply] = {}
        for u in self.users.get(y, ()):
            if not isinstance(u, Apply) or not isinstance(u.op, Elementwise | Cast) or y in self.kept:
                return {}
            if u.targets[0].aval.shape != y.aval.shape:
                return {}
            if not all(a is y or self.may_split(a, u, y) for a in u.args):
                return {}
            found[u.targets[0]] = u
        return found

    def may_split(self, a: Atom, user: Apply, y: Var) -> bool:
        """Whether an operand beside `y` is in memory, is of fewer elements, or can be made in another shape, too."""
        if not isinstance(a, Var) or not self.is_made(a, y.aval.size):
            return True
        made = isinstance(self.makers[a].op, Elementwise | Cast) and a.aval.shape == y.aval.shape
        return made and a not in self.kept and all(u is user for u in self.users[a])

    def split(self, s: Apply, moved: Mapping[Var, Apply], groups: Sequence[Shape]) -> list[Statement]:
        """The statements with that work in the shape of the reshape's result."""
        made: dict[Atom, Atom] = {}
        statements: list[Statement] = []
        for r in self.block.statements:
            if r is not s and not (isinstance(r, Apply) and r.targets[0] in moved):
                statements.append(r)
                continue
            b = Builder(r.span)
            if r is not s:
                assert isinstance(r, Apply)
                args = [_split(b, a, groups, made) for a in r.args]
                made[r.targets[0]] = b.apply(r.op, *args, attrs=r.attrs, hint=r.targets[0].hint)
                statements += b.statements
                continue
            place = next(k for k, t in enumerate(statements) if t.targets == (made[s.args[0]],))
            last = statements[place]
            assert isinstance(last, Apply)
            statements[place] = replace(last, targets=s.targets)
        return statements

    def merged(self, s: Apply, moved: Mapping[Var, Apply], groups: Sequence[Shape]) -> list[Statement]:
        """The statements with that work in the shape of the reshape's operand, reshaped afterwards."""
        (x,), (y,) = s.args, s.targets
        statements: list[Statement] = []
        for r in self.block.statements:
            if not (isinstance(r, Apply) and r.targets[0] in moved):
                statements.append(r)
                continue
            b = Builder(r.span)
            args = [_split(b, a, groups, {y: x}) for a in r.args]
            made = b.apply(r.op, *args, attrs=r.attrs, hint=r.targets[0].hint)
            statements += [*b.statements, replace(s, args=(made,), targets=r.targets)]
        return [r for r in statements if r is not s]


def _split(b: Builder, a: Atom, groups: Sequence[Shape], made: dict[Atom, Atom]) -> Atom:
    """An operand in the finer shape, against which it is broadcast as it was before."""
    if a in made or not a.aval.shape:
        return made.get(a, a)
    own = groups[len(groups) - a.aval.ndim :]
    shape = [m for n, g in zip(a.aval.shape, own, strict=True) for m in (g if n == math.prod(g) else (1,) * len(g))]
    made[a] = make.reshape(b, a, shape)
    return made[a]
