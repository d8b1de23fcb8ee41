"""In loops, where both branches of an `if` store at the same place, the store is moved behind the `if`.

    if k == 0:                              if k == 0:
        a[:, k] = x[:, k]                       t = x[:, k]
    else:                                   else:
        a[:, k] = a[:, k - 1] * x[:, k]         t = a[:, k - 1] * x[:, k]
                                            a[:, k] = t

XLA copies an array that goes through a branch in which it is read and stored, in every iteration. Where only one of the
branches stores, and surely inside the array, the other one gives what stands there.
"""

from __future__ import annotations

from dataclasses import replace

from ...translator import make, ops
from ...translator.bounds import Interval, analyse, interval_of
from ...translator.builder import Builder
from ...translator.derive.linear import index_parts
from ...translator.ir import (
    Apply,
    Atom,
    Aval,
    Block,
    For,
    Function,
    If,
    Statement,
    Var,
    While,
    blocks_of,
    same_atom,
    uses_of,
    walk,
    with_blocks,
)
from ...translator.ops.core import At, Dyn, IndexAttrs, Run, indexed_shape

SMALLER = 4  # times, that what is stored has to be than the array


def branch_stores(function: Function) -> Function:
    """Apply to every loop of the program; the same function object where no branch of a loop stores."""
    loops = [s for s in walk(function.body) if isinstance(s, For | While)]
    if not any(isinstance(s, If) for loop in loops for b in blocks_of(loop) for s in walk(b)):
        return function
    found = _Found(analyse(function, refine=False))
    body = found.block(function.body, inside=False)
    return replace(function, body=body) if found.any else function


class _Found:
    def __init__(self, intervals: dict[Var, Interval]) -> None:
        self.intervals = intervals
        self.any = False

    def block(self, block: Block, inside: bool) -> Block:
        return replace(block, statements=tuple(t for s in block.statements for t in self.statement(s, inside)))

    def statement(self, s: Statement, inside: bool) -> list[Statement]:
        match s:
            case If():
                s = replace(s, then=self.block(s.then, inside), orelse=self.block(s.orelse, inside))
                return self.sunk(s) if inside else [s]
            case For() | While():
                return [with_blocks(s, lambda block: self.block(block, True))]
        return [s]

    def sunk(self, s: If) -> list[Statement]:
        behind: list[Statement] = []
        for k, target in enumerate(s.targets):
            put = _last_store(s.then, k) or _last_store(s.orelse, k)
            if put is None or not _is_part(put) or not self.is_inside(put):
                continue
            sides = [self.value(block, k, put) for block in (s.then, s.orelse)]
            if None in sides:
                continue
            made = Var(put.args[1].hint if isinstance(put.args[1], Var) else target.hint, _part(put))
            then, orelse = (_giving(b, k, v) for b, v in zip((s.then, s.orelse), sides, strict=True))
            s = replace(s, targets=(*s.targets[:k], made, *s.targets[k + 1 :]), then=then, orelse=orelse)
            behind.append(replace(put, targets=(target,), args=(put.args[0], made, *put.args[2:])))
            self.any = True
        return [s, *behind]

    def value(self, block: Block, k: int, put: Apply) -> Atom | Apply | None:
        """The value that a branch stores at `put`'s place; a read of the old one, if it leaves the array alone."""
        if block.results[k] is put.args[0]:
            return _read(put)
        other = _last_store(block, k)
        if other is None or other.attrs != put.attrs or other.args[0] is not put.args[0]:
            return None
        if not all(map(same_atom, other.args[2:], put.args[2:])):
            return None
        return other.args[1] if other.args[1].aval.dtype == put.args[0].aval.dtype else None

    def is_inside(self, put: Apply) -> bool:
        """Whether the place is one of the array's, whatever branch is taken: what raises stays where it is."""
        assert isinstance(put.attrs, IndexAttrs)
        return all(
            interval_of(put.args[d.index.arg], self.intervals).within(-n, n - 1)
            if isinstance(d, At) and isinstance(d.index, Dyn)
            else not (isinstance(d, Run) and isinstance(d.start, Dyn))
            for d, n in zip(put.attrs.dims, put.args[0].aval.shape, strict=True)
        )


def _last_store(block: Block, k: int) -> Apply | None:
    """The statement that makes the k-th result of a branch, if it is a store into an outer array at an outer place."""
    result = block.results[k]
    inside = {t for s in walk(block) for t in s.targets}
    for s in block.statements:
        if isinstance(s, Apply) and s.op is ops.PUT and s.targets == (result,):
            once = uses_of(block)[s.targets[0]] == 1
            return s if once and inside.isdisjoint((s.args[0], *s.args[2:])) else None
    return None


def _is_part(put: Apply) -> bool:
    assert isinstance(put.attrs, IndexAttrs)
    return all(isinstance(d, At | Run) for d in put.attrs.dims) and _part(put).size * SMALLER <= put.args[0].aval.size


def _part(put: Apply) -> Aval:
    """The type of the elements that are stored."""
    assert isinstance(put.attrs, IndexAttrs)
    return Aval(indexed_shape(put.attrs, [a.aval for a in put.args]), put.args[0].aval.dtype)


def _read(put: Apply) -> Apply:
    dims, dyn = index_parts(put, 2)
    b = Builder(put.span)
    make.index(b, put.args[0], dims, dyn)
    (read,) = b.statements
    assert isinstance(read, Apply)
    return read


def _giving(block: Block, k: int, value: Atom | Apply | None) -> Block:
    assert value is not None
    statements = block.statements
    if isinstance(value, Apply):
        statements, value = (*statements, value), value.targets[0]
    return Block(block.params, statements, (*block.results[:k], value, *block.results[k + 1 :]))
