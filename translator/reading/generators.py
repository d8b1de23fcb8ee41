"""Generator functions: what they yield is collected when they are called, and handed out where they are consumed.

    def rows(x, n):                     for v in rows(x, 3):            v = x[0] * 2; s += v
        for i in range(n):                  s += v                      v = x[1] * 2; s += v
            yield x[i] * 2                                              v = x[2] * 2; s += v

Python would run the generator a piece at a time. That is the same only where it writes nothing that others see, and
where its consumer writes nothing that it reads: anything else is left to CPython.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from ..errors import CutError, Diagnostic
from .aliases import memory_of
from .context import Context
from .iteration import Getter, known_items
from .liveness import Liveness, reads
from .reach import containers_of, objects_of
from .source import FunctionNode
from .values import SHARED, YIELDS, Cell, Frame, Generator, Ref, Value

_INSTEAD = "collect the values in a list and return it"


def yield_(ctx: Context, node: ast.Yield) -> Value:
    _collect(ctx, [None if node.value is None else ctx.eval(node.value)])
    return None


def yield_from(ctx: Context, node: ast.YieldFrom) -> Value:
    _collect(ctx, known_items(ctx, ctx.eval(node.value), node))
    return None


def _collect(ctx: Context, values: list[Value]) -> None:
    held = ctx.frame.env[YIELDS]
    ctx.touch(held)
    held.extend(values)


class Collection:
    """What a generator function yields while its body is read."""

    def __init__(self, ctx: Context, frame: Frame, caller: Frame) -> None:
        self.ctx, self.frame = ctx, frame
        self.older = {*ctx.foreign, *(id(v) for v in containers_of(caller, caller.env))}
        self.mark, self.births = len(ctx.journal), ctx.births
        frame.env[YIELDS] = []

    def generator(self, node: FunctionNode, call: ast.AST) -> Generator:
        """The value of the call, after the body."""
        ctx, frame = self.ctx, self.frame
        for target, _, _ in ctx.journal[self.mark :]:
            if target.birth <= self.births if isinstance(target, Cell) else id(target) in self.older:
                what = f"{frame.name}, a generator, writes what is not its own"
                why = "it would write a piece at a time, between what its consumer does"
                raise CutError(Diagnostic(what, why=why, instead=_INSTEAD))
        return Generator(frame.name, tuple(frame.env[YIELDS]), frozenset(_read_by(frame, node)))


def _read_by(frame: Frame, node: FunctionNode) -> Iterator[Cell]:
    """The arrays that the generator may read."""
    seen: dict[str, Value] = {}
    scope: Frame | None = frame
    names = frozenset().union(*map(reads, node.body)) if isinstance(node, ast.FunctionDef) else frozenset()
    while scope is not None:
        held = scope.env[SHARED].__dict__ if SHARED in scope.env else {}
        seen = {k: v for k, v in {**scope.env, **held}.items() if k in names} | seen
        scope = scope.outer
    alone = Frame(frame.source, None, None, frame.scope, Liveness(), frame.fixed, frame.name)
    for v in objects_of(alone, seen):
        if type(v) is Ref:
            yield from memory_of(v.cell)


def taken(ctx: Context, g: Generator, node: ast.AST) -> list[Value]:
    """All that it yields, once."""
    if g.used is not False:
        why = "its values are gone after the first time"
        ctx.cut(node, f"{g.name}, a generator, is consumed again", why, "make a list of it first, list(...)")
    ctx.set_attribute(g, "used", True)
    return list(g.items)


def getters(ctx: Context, g: Generator, node: ast.AST) -> list[Getter]:
    """The same one by one, for a loop whose body must not write what the generator reads."""
    mark = len(ctx.journal)
    return [partial(_item, ctx, g, item, mark, node) for item in taken(ctx, g, node)]


def _item(ctx: Context, g: Generator, item: Value, mark: int, node: ast.AST) -> Value:
    if any(isinstance(target, Cell) and target in g.reads for target, _, _ in ctx.journal[mark:]):
        why = "the generator would see it in the next piece"
        ctx.cut(node, f"this loop writes an array that {g.name}, a generator, reads", why, _INSTEAD)
    return item


Context.expressions.update({ast.Yield: yield_, ast.YieldFrom: yield_from})
