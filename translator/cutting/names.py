"""What statements do to names: which they bind, surely or perhaps, and which are read afterwards."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import field

from ..reading.text.liveness import Flow, Liveness, Names, certain_parts, reads, stores
from ..records import dataclass


def own_nodes(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """All nodes but those inside inner functions."""
    waiting = list(body)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.Lambda):
            waiting += ast.iter_child_nodes(node)


def binds(node: ast.AST) -> Names:
    """All names that a statement, a target or a pattern may bind or delete."""
    found = set(stores(node))
    for n in own_nodes([node]):
        if isinstance(n, ast.FunctionDef | ast.ClassDef):
            found.add(n.name)
        elif isinstance(n, ast.alias):
            found.add((n.asname or n.name).partition(".")[0])
        elif isinstance(n, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and n.name:
            found.add(n.name)
        elif isinstance(n, ast.MatchMapping) and n.rest:
            found.add(n.rest)
    return frozenset(found)


def surely_reads(run: Iterable[ast.stmt]) -> Names:
    """Names that the statements read whatever the data are, before they may have bound them themselves."""
    names: set[str] = set()
    bound: set[str] = set()
    for s in _in_order(run):
        waiting = [s]
        for n in waiting:
            waiting += certain_parts(n)
        walrus = {n.target.id for n in waiting if isinstance(n, ast.NamedExpr)}
        names |= {name for n in waiting if (name := _read(n)) is not None} - bound - walrus
        bound |= binds(s)
        if any(isinstance(n, ast.Return | ast.Break | ast.Continue) for n in own_nodes([s])):
            break
    return frozenset(names)


def _in_order(run: Iterable[ast.stmt]) -> Iterator[ast.AST]:
    for s in run:
        if isinstance(s, ast.With):
            yield from s.items
            yield from _in_order(s.body)
        else:
            yield s


def _read(n: ast.AST) -> str | None:
    if isinstance(n, ast.AugAssign):
        return n.target.id if isinstance(n.target, ast.Name) else None
    return n.id if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load) else None


def ends(body: list[ast.stmt]) -> bool:
    return bool(body) and isinstance(body[-1], ast.Return | ast.Raise | ast.Break | ast.Continue)


@dataclass(frozen=True, slots=True)
class Bound:
    """Names bound at a place: for sure, and likely, which is if every loop runs at least once."""

    likely: Names
    sure: Names

    def suffices(self, run: list[ast.stmt], read: Names) -> bool:
        """Whether the statements may be given what they read as arguments: where one of them is not bound after all,
        they would have raised themselves.
        """
        return read <= self.likely and read - self.sure <= surely_reads(run)

    def plus(self, *names: Iterable[str]) -> Bound:
        return Bound(self.likely.union(*names), self.sure.union(*names))

    def behind(self, run: Iterable[ast.stmt]) -> Bound:
        bound = self
        for s in run:
            bound = bound._behind(s)
        return bound

    def _behind(self, s: ast.stmt) -> Bound:
        match s:
            case ast.If():
                then, other = self.behind(s.body), self.behind(s.orelse)
                return other if ends(s.body) else then if ends(s.orelse) else then._and(other)
            case ast.For() | ast.While():
                inside = self.plus(binds(s.target)) if isinstance(s, ast.For) else self
                return Bound(inside.behind(s.body).likely, self.sure)
            case ast.With():
                return self.plus(*(binds(i) for i in s.items)).behind(s.body)
            case ast.Try() | ast.TryStar():
                through = self.behind([*s.body, *s.orelse])
                for h in s.handlers:
                    through = through if ends(h.body) else through._and(self.behind(h.body))
                return through.behind(s.finalbody)
            case ast.Match():
                return self
            case ast.Delete():
                return Bound(self.likely - binds(s), self.sure - binds(s))
        return self.plus(binds(s))

    def _and(self, other: Bound) -> Bound:
        return Bound(self.likely & other.likely, self.sure & other.sure)


@dataclass
class _LiveAfter(Flow):
    """Notes for every statement which names are read after it."""

    after: dict[ast.stmt, Names] = field(default_factory=dict)

    def statement(self, s: ast.stmt, after: Names, at_break: Names, at_continue: Names) -> Names:
        self.after[s] = self.after.get(s, frozenset()) | after
        if isinstance(s, ast.Delete):  # CPython deletes a name that is bound
            return super().statement(s, after, at_break, at_continue) | stores(s)
        if not isinstance(s, ast.Try | ast.TryStar | ast.Match):
            return super().statement(s, after, at_break, at_continue)
        for body in _bodies(s):  # any of them may run, and end anywhere
            around = after | reads(s)
            self.block(body, around, at_break | around, at_continue | around)
        return after | reads(s)


def captured(function: ast.FunctionDef) -> Names:
    """The names that inner functions may read."""
    functions = (n for n in ast.walk(function) if isinstance(n, ast.FunctionDef | ast.Lambda) and n is not function)
    return frozenset[str]().union(*map(reads, functions))


def live_after(function: ast.FunctionDef) -> dict[ast.stmt, Names]:
    """For every statement the names that are read after it, those that inner functions see among them."""
    inner = captured(function)
    flow = _LiveAfter(Liveness(inner=inner))
    flow.block(function.body, frozenset(), frozenset(), frozenset())
    return {s: after | inner for s, after in flow.after.items()}


def _bodies(s: ast.Try | ast.TryStar | ast.Match) -> list[list[ast.stmt]]:
    if isinstance(s, ast.Match):
        return [c.body for c in s.cases]
    return [s.body, *(h.body for h in s.handlers), s.orelse, s.finalbody]
