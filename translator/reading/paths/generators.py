"""Generators: what they give is collected when they are made, and handed out where they are consumed.

    def rows(x, n):                     for v in rows(x, 3):            v = x[0] * 2; s += v
        for i in range(n):                  s += v                      v = x[1] * 2; s += v
            yield x[i] * 2                                              v = x[2] * 2; s += v

Python would run a generator (a function that yields, a generator expression, a `map`) a piece at a time. That is the
same only where it writes nothing that others see, and where nothing that it reads is changed before it is used up:
anything else is left to CPython.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from ...errors import CutError, Diagnostic
from ..core.aliases import memory_of
from ..core.context import Context
from ..core.growing import Pile
from ..core.reach import containers_of, objects_of
from ..core.values import SHARED, YIELDS, Cell, Closure, Frame, Generator, Iterated, Mirror, Ref, Value, is_object
from ..text.liveness import Liveness, Names, reads
from ..text.nodes import nodes_of
from ..text.source import FunctionNode
from .iterables import Getter

Seen = Iterable[tuple[Frame, str]]
_NONE: Names = frozenset()
_WHY = "it would do so a piece at a time, between what its consumer does"
_INSTEAD = "collect the values in a list"


class Pieces:
    """Notes of what is read at once from here on, though Python evaluates it piece by piece."""

    def __init__(self, ctx: Context, around: Frame) -> None:
        self.ctx, self.around = ctx, around
        self.mark, self.births = len(ctx.journal), ctx.births

    def check(self, what: str) -> None:
        """Nothing has been written that others see. An iterator that is used up is none: it gives nobody more."""
        journal = self.ctx.journal[self.mark :]
        written = [x for x, name, _ in journal if name != "used" or type(x) not in (Generator, Iterated)]
        others = {id(target) for target in written if not isinstance(target, Cell)}
        if others:
            others &= {*self.ctx.callers.containers, *map(id, containers_of(self.around, self.around.env))}
        if others or any(isinstance(target, Cell) and target.birth <= self.births for target in written):
            raise CutError(Diagnostic(f"{what} writes what is not its own", why=_WHY, instead=_INSTEAD))

    def generator(self, name: str, items: Iterable[Value], seen: Seen, held: Iterable[Value] = ()) -> Generator:
        """The iterator over `items`, for which it reads names `seen` around it, and what it has been given."""
        names = tuple((scope, n, _meaning(scope, n)) for scope, n in seen)
        cells: set[Cell] = set()
        containers = []
        alone = Frame(self.around.source, None, None, self.around.scope, Liveness(), self.around.fixed, name)
        for v in objects_of(alone, {}, [*held, *(v for _, _, v in names)]):
            if type(v) is Ref:
                cells |= memory_of(v.cell)
            elif isinstance(v, list | dict | set) or is_object(v):
                containers.append(v)
        return Generator(name, tuple(items), frozenset(cells), tuple(containers), names, len(self.ctx.journal))


def of_function(pieces: Pieces, frame: Frame, node: FunctionNode) -> Generator | Pile:
    """The value of a call of a generator function, after its body has been read in `frame`."""
    pieces.check(f"{frame.name}, a generator,")
    made = frame.env[YIELDS]
    if isinstance(made, Pile):
        return made
    names = _NONE.union(*map(reads, node.body)) if isinstance(node, ast.FunctionDef) else _NONE
    own = {n: v for n, v in frame.env.items() if n in names}
    return pieces.generator(frame.name, made, _seen(frame.outer, names - {*own}), own.values())


def of_expression(pieces: Pieces, node: ast.GeneratorExp, items: list[Value]) -> None:
    """Let `items` be what a generator expression gives."""
    pieces.check("a generator expression")
    ctx = pieces.ctx
    if any(isinstance(n, ast.NamedExpr) for n in nodes_of(node)):
        ctx.cut(node, "a generator expression binds a name (`:=`) of the function", _WHY, _INSTEAD)
    made = pieces.generator("a generator expression", items, _seen(pieces.around, reads(node)))
    ctx.iterators[id(items)] = items, made


def of_call(pieces: Pieces, f: Any, args: list[Value], items: list[Value]) -> None:
    """Let `items` be what an iterator of the standard library gives, which may call functions among `args`."""
    pieces.check(f"an iterator, {getattr(f, '__name__', 'map')},")
    functions = [a for a in args if type(a) is Closure]
    seen = [entry for c in functions for entry in _seen(c.frame, reads(c.node))]
    others = [a for a in args if type(a) is not Closure]
    pieces.ctx.iterators[id(items)] = items, pieces.generator("an iterator", items, seen, others)


def _seen(frame: Frame | None, names: Names) -> Iterator[tuple[Frame, str]]:
    """The values that the enclosing functions bind to these names."""
    while frame is not None:
        here = {n for n in names if _meaning(frame, n) is not _UNBOUND}
        yield from ((frame, n) for n in sorted(here))
        names, frame = names - here, frame.outer


def _meaning(frame: Frame, name: str) -> Value:
    shared = frame.env[SHARED].__dict__ if SHARED in frame.env else {}
    return shared[name] if name in shared else frame.env.get(name, _UNBOUND)


_UNBOUND = object()


def taken(ctx: Context, g: Generator, node: ast.AST) -> list[Value]:
    """All elements that it yields, read once."""
    if g.used is not False:
        why = "its values are gone after the first time"
        ctx.cut(node, f"{g.name}, which is an iterator, is consumed again", why, "make a list of it first, list(...)")
    check_unchanged(ctx, g, node)
    ctx.set_attribute(g, "used", True)
    return list(g.items)


def getters(ctx: Context, g: Generator, node: ast.AST) -> list[Getter]:
    """The elements one by one, for a loop whose body must not change what the generator reads."""
    return [partial(_item, ctx, g, item, node) for item in taken(ctx, g, node)]


def _item(ctx: Context, g: Generator, item: Value, node: ast.AST) -> Value:
    check_unchanged(ctx, g, node)
    return item


def check_unchanged(ctx: Context, g: Generator, node: ast.AST) -> None:
    """Leave to CPython a generator whose variables have changed since it was made."""
    targets = [target for target, _, _ in ctx.journal[g.mark :]]
    outside = {id(cell) for _, _, cell in ctx.captures.params}  # which it may read in functions outside this one
    changed = not outside.union(map(id, (*g.cells, *g.containers))).isdisjoint(map(id, targets))
    changed |= any(isinstance(target, Mirror) for target in targets)
    if changed or any(_meaning(frame, name) is not value for frame, name, value in g.names):
        why = "the values that are still to come would see it"
        ctx.cut(node, f"what {g.name} reads has changed before it is used up", why, _INSTEAD)
