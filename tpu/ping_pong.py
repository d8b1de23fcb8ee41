"""Loops that store into an array what they compute from its other elements get two buffers, used in turn.

    for i in range(n):                           v = u
        u[1:-1] = 0.5 * (u[2:] + u[:-2])         for k in range(n // 2):
                                                     v[1:-1] = 0.5 * (u[2:] + u[:-2])
                                                     u[1:-1] = 0.5 * (v[2:] + v[:-2])
                                                 if n % 2: u = v with [1:-1] = 0.5 * (u[2:] + u[:-2])

XLA would copy `u` in every iteration, as the store reads what it overwrites; with two buffers each store
is in place and the memory traffic is what the stencil needs (3 to 9 times less time from about 150 x 150
on). Right because the stored region is the same in every iteration and the rest of the array never
changes: two iterations back, the array differs only in that region. The body is then compiled three times, so a loop
around loops that do much more than such a copy stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeGuard

import numpy as np

from ..translator import make, ops
from ..translator.builder import Builder
from ..translator.ir import (
    Apply,
    Atom,
    Aval,
    Block,
    For,
    Function,
    If,
    Range,
    Statement,
    Var,
    While,
    blocks_of,
    inputs_of,
)
from ..translator.ops.core import IndexAttrs
from ..translator.rewrite import Substitution, copy_statement, substitute
from .native import work

SMALLEST = 1_024  # elements: below, one native kernel for the whole loop is as good
WORTH_COPYING = 8  # operations of inner loops on each element beside which its copy does not count
INDEX = Aval((), np.dtype(np.int64), weak=True)


def ping_pong(function: Function) -> Function:
    """Apply to every loop of the program where it helps; the same function object where there is none."""
    body = _block(function.body)
    return function if body is function.body else replace(function, body=body)


def _block(block: Block) -> Block:
    statements: list[Statement] = []
    for s in block.statements:
        inner = _inside(s)
        if isinstance(inner, For):
            stores = [c for c in range(len(inner.inits)) if _stores(inner, c)]
            copied = sum(inner.inits[c].aval.size for c in stores)
            if isinstance(s, For) and copied * WORTH_COPYING <= sum(work(x) for x in s.body.statements if _is_loop(x)):
                stores = []
            statements += _doubled(inner, stores) if stores else [inner]
        else:
            statements.append(inner)
    if len(statements) == len(block.statements) and all(
        a is b for a, b in zip(statements, block.statements, strict=True)
    ):
        return block
    return Block(block.params, tuple(statements), block.results)


def _is_loop(s: Statement) -> TypeGuard[For | While]:
    return isinstance(s, For | While)


def _inside(s: Statement) -> Statement:
    match s:
        case For(body=body):
            new = _block(body)
            return s if new is body else replace(s, body=new)
        case While(body=body):
            new = _block(body)
            return s if new is body else replace(s, body=new)
        case If(then=then, orelse=orelse):
            first, second = _block(then), _block(orelse)
            return s if first is then and second is orelse else replace(s, then=first, orelse=second)
        case _:
            return s


def _stores(loop: For, position: int) -> Apply | None:
    """The first store into the carried value, if storing at fixed places is all the loop does to it."""
    param = loop.body.params[position + 1]
    result = loop.body.results[position]
    if param.aval.size < SMALLEST or not isinstance(result, Var):
        return None
    made = {t: s for s in loop.body.statements for t in s.targets}
    first: Apply | None = None
    value: Atom = result
    while isinstance(value, Var) and value is not param:
        s = made.get(value)
        if not isinstance(s, Apply) or s.op is not ops.PUT or len(s.args) > 2:
            return None
        first, value = s, s.args[0]
    if first is None or value is not param or not isinstance(first.attrs, IndexAttrs):
        return None
    return first if _is_read(loop.body, param, first) else None


def _is_read(body: Block, param: Var, put: Apply) -> bool:
    def uses(block: Block) -> bool:
        return any(
            param in (s.args[1:] if s is put and isinstance(s, Apply) else inputs_of(s)) or any(map(uses, blocks_of(s)))
            for s in block.statements
        )

    return uses(body) and all(r is not param for r in body.results)


def _doubled(loop: For, stores: Sequence[int]) -> list[Statement]:
    b = Builder(loop.span)
    trips = _trip_count(b, loop.range)
    k = Var("k", INDEX)
    carried = loop.body.params[1:]
    front = [Var(p.hint, p.aval) for p in carried]
    back = [Var(f"{carried[c].hint}_next", carried[c].aval) for c in stores]

    inner = Builder(loop.span)
    even = make.multiply(inner, k, 2)
    first = _step(inner, loop, _index(inner, loop.range, trips, even), front, dict(zip(stores, back, strict=True)))
    second = _step(
        inner, loop, _index(inner, loop.range, trips, make.add(inner, even, 1)), first, {c: front[c] for c in stores}
    )
    body = inner.block([k, *front, *back], [*second, *(first[c] for c in stores)])

    targets = tuple(Var(t.hint, t.aval) for t in loop.targets)
    spare = tuple(Var(v.hint, v.aval) for v in back)
    half = Range(make.lift(0), make.floor_divide(b, trips, 2), make.lift(1))
    b.append(
        For((*targets, *spare), half, (*loop.inits, *(loop.inits[c] for c in stores)), body, loop.parallel, loop.span)
    )

    odd = make.equal(b, make.remainder(b, trips, 2), 1)
    tail = Builder(loop.span)
    last = _index(tail, loop.range, trips, make.subtract(tail, trips, 1))
    stepped = _step(tail, loop, last, targets, dict(zip(stores, spare, strict=True)))
    b.append(If(loop.targets, odd, tail.block((), stepped), Block((), (), targets), loop.span))
    return b.statements


def _step(b: Builder, loop: For, index: Atom, carried: Sequence[Atom], buffers: dict[int, Atom]) -> list[Atom]:
    """One iteration over `carried`, storing into `buffers` (carry position -> array) in place of the carried arrays."""
    mapping: Substitution = dict(zip(loop.body.params, (index, *carried), strict=True))
    firsts = {_stores(loop, c): buffer for c, buffer in buffers.items()}
    for s in loop.body.statements:
        if isinstance(s, Apply) and s in firsts:
            (target,) = s.targets
            value = substitute(s.args[1], mapping)
            fresh = Var(target.hint, target.aval)
            b.append(Apply((fresh,), s.op, (firsts[s], value), s.attrs, s.span))
            mapping[target] = fresh
        else:
            b.append(copy_statement(s, mapping))
    return [substitute(r, mapping) for r in loop.body.results]


def _trip_count(b: Builder, r: Range) -> Atom:
    """max(0, ceil((stop - start) / step)), for steps of either sign."""
    distance = make.subtract(b, r.stop, r.start)
    return make.maximum(b, make.negative(b, make.floor_divide(b, make.negative(b, distance), r.step)), 0)


def _index(b: Builder, r: Range, trips: Atom, position: Atom) -> Atom:
    """The loop index of the iteration at `position`."""
    if r.reverse:
        position = make.subtract(b, make.subtract(b, trips, 1), position)
    return make.add(b, r.start, make.multiply(b, position, r.step))
