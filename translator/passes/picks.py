"""Elements picked of what is computed elementwise, computed of the elements picked.

    def f(z, t, y):                                 def f(z, t, y):
        p = z - np.log(t)[:, None]                      return z[np.arange(5), y] - np.log(t)
        return p[np.arange(5), y]

So the loss of a classifier makes no matrix of logarithms to read one column of each row, and its derivative none of
zeros. The picks are to be few, and of arrays that nothing is stored into: old values would be copies.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from .. import make
from ..bounds import refuses_negative
from ..builder import Builder
from ..ir import Apply, Atom, Block, Function, Statement, Var, blocks_of, inputs_of, walk, with_blocks
from ..ops import INDEX, IOTA
from ..ops.attributes import Dim, read_by, reading
from ..ops.core import At, Cast, Elementwise, Gather, IndexAttrs, Reduce, Run, is_store
from ..ops.shapes import gather_position
from .dead import dead_code

FEW = 8  # times as many elements as are picked of them
MOST = 8  # operations between the picks and what they are picked of


def picks(function: Function, fused: bool = False) -> Function:
    """Apply to every read at places that integer arrays give. What is computed elementwise has no other reader, or,
    where the program is to be `fused`, others that need not have it in memory.
    """
    if not any(_is_pick(s) for s in walk(function.body)):
        return function
    users: dict[Var, list[Statement]] = {}
    for s in walk(function.body):
        for a in inputs_of(s):
            if isinstance(a, Var):
                users.setdefault(a, []).append(s)
    handed = {r for s in walk(function.body) for b in blocks_of(s) for r in b.results} | {*function.body.results}
    stored = {a for a, found in users.items() if any(_changes(s, a) for s in found)}

    def opens(s: Apply) -> bool:
        (v,) = s.targets
        if v in handed or not isinstance(s.op, Elementwise | Cast) or refuses_negative(s):
            return False
        return len(users[v]) == 1 or (fused and all(map(_reads_along, users[v])))

    body = _in_block(function.body, opens, stored)
    return function if body is function.body else dead_code(replace(function, body=body))


def _is_pick(s: Statement) -> bool:
    return isinstance(s, Apply) and s.op is INDEX and isinstance(s.attrs, IndexAttrs) and s.attrs.gathers


def _changes(s: Statement, a: Var) -> bool:
    """Whether the statement may work in the memory of `a`: a store into it, or a block around one."""
    return not isinstance(s, Apply) or (is_store(s.op) and s.args[0] is a)


def _reads_along(s: Statement) -> bool:
    return isinstance(s, Apply) and (isinstance(s.op, Elementwise | Cast | Reduce) or _is_pick(s))


def _in_block(block: Block, opens: Callable[[Apply], bool], stored: set[Var]) -> Block:
    made: dict[Var, Apply] = {}
    statements: list[Statement] = []
    for s in block.statements:
        new: Sequence[Statement] = (s,)
        if blocks_of(s):
            new = (with_blocks(s, lambda b: _in_block(b, opens, stored)),)
        elif isinstance(s, Apply):
            made.update((t, s) for t in s.targets)
            if _is_pick(s):
                new = _Picked(s, made, opens, stored).statements()
        statements += new
    same = len(statements) == len(block.statements) and all(map(operator.is_, statements, block.statements))
    return block if same else replace(block, statements=tuple(statements))


class _Picked:
    """A pick, and what makes the array that it is of."""

    def __init__(
        self, pick: Apply, made: Mapping[Var, Apply], opens: Callable[[Apply], bool], stored: set[Var]
    ) -> None:
        assert isinstance(pick.attrs, IndexAttrs)
        self.pick, self.made, self.opens, self.stored = pick, made, opens, stored
        self.dims, self.places = pick.attrs.dims, pick.args[1:]
        self.b = Builder(pick.span)
        self.found: dict[Var, Atom] = {}
        self.left = MOST

    def statements(self) -> Sequence[Statement]:
        """What stands in its place."""
        (x, *_), (target,) = self.pick.args, self.pick.targets
        maker = self.made.get(x) if isinstance(x, Var) else None
        if maker is None or not self.opens(maker) or target.aval.size * FEW > x.aval.size or not self._is_simple():
            return (self.pick,)
        value = self._of(x)
        last = self.b.statements[-1] if self.b.statements else None
        if self.left < 0 or value is None or not isinstance(last, Apply) or last.targets != (value,):
            return (self.pick,)
        if value.aval != target.aval:
            return (self.pick,)
        return (*self.b.statements[:-1], replace(last, targets=self.pick.targets))

    def _is_simple(self) -> bool:
        """Whether the axes that arrays choose stand side by side, and the arrays have as many axes each."""
        advanced = [i for i, d in enumerate(self.dims) if not isinstance(d, Run)]
        axes = {self._chosen(d).aval.ndim for d in self.dims if isinstance(d, Gather)}
        return len(axes) == 1 and advanced[-1] - advanced[0] + 1 == len(advanced)

    def _chosen(self, d: Gather) -> Atom:
        return self.places[d.arg - 1]

    def _of(self, a: Atom) -> Atom | None:
        """What the pick takes of `a`; None where it cannot."""
        if not isinstance(a, Var) or not a.aval.shape:
            return a
        if a not in self.found:
            maker = self.made.get(a)
            value = self._opened(maker) if maker is not None and self.opens(maker) else self._read(a)
            if value is None:
                return None
            self.found[a] = value
        return self.found[a]

    def _opened(self, maker: Apply) -> Atom | None:
        self.left -= 1
        if self.left < 0:
            return None
        args = [a for v in maker.args if (a := self._of(v)) is not None]
        if len(args) < len(maker.args):
            return None
        return self.b.apply(maker.op, *args, attrs=maker.attrs, hint=maker.targets[0].hint)

    def _read(self, a: Var) -> Atom | None:
        """A read of an array that is broadcast against the rest, whose result is broadcast against the others'."""
        if a in self.stored:
            return None
        whole = self.pick.args[0].aval.shape
        skipped = len(whole) - a.aval.ndim
        axes = zip(a.aval.shape, whole[skipped:], self.dims[skipped:], strict=True)
        own = [_in_one(d) if n == 1 < m else d for n, m, d in axes]
        chosen = [k for k, d in enumerate(own) if isinstance(d, Gather)]
        if chosen:
            if len(chosen) == 1 and self._counts(own[chosen[0]], a.aval.shape[chosen[0]]):
                own[chosen[0]] = Run(0, a.aval.shape[chosen[0]])
            return self._at(a, own)
        before = sum(isinstance(d, Run) for d in own[: max(gather_position(self.dims) - skipped, 0)])
        if not before:
            return self._at(a, own)
        made = next(self._chosen(d).aval.ndim for d in self.dims if isinstance(d, Gather))
        return make.expand_dims(self.b, self._at(a, own), tuple(range(before, before + made)))

    def _at(self, a: Var, dims: Sequence[Dim]) -> Atom:
        lone = tuple(k for k, d in enumerate(dims) if d == At(0) and a.aval.shape[k] == 1)
        if not lone or sum(not isinstance(d, Run) for d in dims) > len(lone):
            return make.index(self.b, a, [_shifted(d) for d in dims], self.places)
        rest = [Run(0, 1) if k in lone else _shifted(d) for k, d in enumerate(dims)]
        return make.squeeze(self.b, make.index(self.b, a, rest, self.places), lone)

    def _counts(self, d: Dim, n: int) -> bool:
        """Whether the places are 0, 1, 2 and so on along all of an axis of `n` elements."""
        places = self._chosen(d) if isinstance(d, Gather) else None
        maker = self.made.get(places) if isinstance(places, Var) else None
        return maker is not None and maker.op is IOTA and maker.targets[0].aval.shape == (n,)


def _in_one(d: Dim) -> Dim:
    """The entry for an axis of one element that is repeated along what `d` selects."""
    return Run(0, min(d.size, 1)) if isinstance(d, Run) else At(0)


def _shifted(d: Dim) -> Dim:
    """The entry with its argument counted from the first place, as `make.index` takes it, not from the array."""
    place = read_by(d)
    return d if place is None else reading(d, place - 1)
