"""Which names are still needed at each point: what an `if` must join and a loop must carry."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import field

from ...records import dataclass
from .nodes import children, nodes_of, own_nodes
from .source import FunctionNode

Names = frozenset[str]
_NONE: Names = frozenset()


@dataclass(frozen=True, slots=True)
class Liveness:
    """`after[node]`: names read after the statement, a loop's `else` included, the `inner` ones apart; `entry[loop]`:
    names that an iteration may read before binding.

    `exits[node]`: the statement contains `return`, or a `break` or `continue` of a loop around it.
    Names that inner functions see are live everywhere. Of a statement with all that it contains: `stored` are the names
    that it binds, `augmented` those that it changes by `x += ...`, `written` those of which it stores elements.
    """

    after: dict[ast.stmt, Names] = field(default_factory=dict)
    entry: dict[ast.stmt, Names] = field(default_factory=dict)
    stored: dict[ast.stmt, Names] = field(default_factory=dict)
    augmented: dict[ast.stmt, Names] = field(default_factory=dict)
    written: dict[ast.stmt, Names] = field(default_factory=dict)
    exits: frozenset[ast.stmt] = frozenset()
    inner: Names = _NONE
    local: Names = _NONE  # every name that the function binds, parameters apart
    nonlocals: Names = _NONE  # those of functions around this one that it binds
    globals: Names = _NONE  # those of its module that it binds
    shared: Names = _NONE  # its own that inner functions bind
    generates: bool = False  # it yields


def liveness(function: FunctionNode) -> Liveness:
    """Backward data flow over the function's own statements."""
    if isinstance(function, ast.Lambda):
        return Liveness()
    nodes = [n for s in function.body for n in own_nodes(s)]
    defined = _functions_among(nodes)
    inner = _NONE.union(*map(_free_names, defined))
    exits: set[ast.stmt] = set()
    for s in function.body:
        _mark_exits(s, exits)
    bound = frozenset().union(*(stores(s) for s in function.body))
    nonlocals, globals = _declared(nodes), _declared(nodes, ast.Global)
    bound -= nonlocals | globals
    own = bound | {a.arg for a in nodes_of(function.args) if isinstance(a, ast.arg)}
    shared = own & _NONE.union(*map(_nonlocals_in, defined))
    result = Liveness(
        exits=frozenset(exits), inner=inner, local=bound, nonlocals=nonlocals, globals=globals, shared=shared,
        generates=any(isinstance(n, ast.Yield | ast.YieldFrom) for n in nodes),
    )
    Flow(result).block(function.body, inner, _NONE, _NONE)
    return result


def live_before(body: list[ast.stmt], after: Names) -> Names:
    """The names that the statements, or what follows them (`after`), may read before the statements bind them."""
    return Flow(Liveness()).block(body, after, _NONE, _NONE)


def _declared(nodes: Iterable[ast.AST], kind: type[ast.Global | ast.Nonlocal] = ast.Nonlocal) -> Names:
    """The names that a function of these nodes declares nonlocal, or global."""
    return frozenset(name for n in nodes if isinstance(n, kind) for name in n.names)


def _nonlocals_in(function: ast.AST) -> Names:
    """The names that a function, or one inside it, declares nonlocal."""
    return _declared(nodes_of(function))


def _functions_among(nodes: Iterable[ast.AST]) -> list[ast.AST]:
    return [n for n in nodes if isinstance(n, ast.FunctionDef | ast.Lambda)]


def _free_names(function: ast.AST) -> Names:
    """The names that an inner function may read from around it; its own are not among them."""
    nodes = nodes_of(function)
    names = [n for n in nodes if isinstance(n, ast.Name)]
    own = {a.arg for a in nodes if isinstance(a, ast.arg)}
    own |= {n.id for n in names if isinstance(n.ctx, ast.Store)}
    shared = _declared(nodes)
    return frozenset({n.id for n in names} - own | shared)


def _mark_exits(s: ast.stmt, exits: set[ast.stmt]) -> bool:
    """Adds compound statements that control may leave early; whether it leaves `s` itself."""
    match s:
        case ast.Return():
            return True
        case ast.Break() | ast.Continue():
            return True
        case ast.If(body=body, orelse=orelse):
            leaves = _mark_all([*body, *orelse], exits)
        case ast.With(body=body):
            leaves = _mark_all(body, exits)
        case ast.Match(cases=cases):
            leaves = _mark_all([s for c in cases for s in c.body], exits)
        case ast.Try(body=body, handlers=handlers, orelse=orelse):
            leaves = _mark_all([*body, *orelse, *(s for h in handlers for s in h.body)], exits)
        case ast.For(body=body, orelse=orelse) | ast.While(body=body, orelse=orelse):
            _mark_all(body, exits)
            leaves = _mark_all(orelse, exits)
            leaves = leaves or any(isinstance(n, ast.Return) for c in body for n in own_nodes(c))
        case _:
            return False
    if leaves:
        exits.add(s)
    return leaves


def _mark_all(body: list[ast.stmt], exits: set[ast.stmt]) -> bool:
    leaves = False
    for s in body:
        leaves = _mark_exits(s, exits) or leaves
    return leaves


@dataclass(slots=True)
class Changed:
    """The names that a statement binds, changes by `x += ...`, and of which it stores elements."""

    stored: set[str] = field(default_factory=set)
    augmented: set[str] = field(default_factory=set)
    written: set[str] = field(default_factory=set)

    def add(self, other: Changed) -> None:
        self.stored |= other.stored
        self.augmented |= other.augmented
        self.written |= other.written

    def note(self, n: ast.AST) -> None:
        """What the node does by itself."""
        match n:
            case ast.Name(ctx=ast.Store() | ast.Del()):
                self.stored.add(n.id)
            case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store() | ast.Del()):
                self.written.add(name)
            case ast.FunctionDef(name=name):
                self.stored.add(name)
            case _:
                self.stored.update(_pattern_names(n), imported_names(n))


@dataclass
class Flow:
    """Backward data flow: each method gives the names that are live before what it goes over."""

    result: Liveness
    effects: dict[ast.stmt, tuple[Names, Names]] = field(default_factory=dict)
    changed: dict[ast.stmt, Changed] = field(default_factory=dict)

    def block(self, body: list[ast.stmt], after: Names, at_break: Names, at_continue: Names) -> Names:
        live = after
        for s in reversed(body):
            live = self.statement(s, live, at_break, at_continue)
        return live

    def statement(self, s: ast.stmt, after: Names, at_break: Names, at_continue: Names) -> Names:
        match s:
            case ast.Return():
                self.result.after[s] = _NONE
                return self.result.inner | reads(s)
            case ast.Raise():
                return self.result.inner | reads(s)
            case ast.Break():
                return at_break
            case ast.Continue():
                return at_continue
            case ast.If(test=test, body=body, orelse=orelse):
                then = self.block(body, after, at_break, at_continue)
                other = self.block(orelse, after, at_break, at_continue)
                self._note(s, after)
                return ((then | other) - stores(test, certain_parts)) | reads(test)
            case ast.Match(subject=subject, cases=cases):
                self._note(s, after)
                live = after
                for c in reversed(cases):
                    inside = self.block(c.body, after, at_break, at_continue)
                    guard = _NONE if c.guard is None else reads(c.guard)
                    live = live | ((inside | guard) - stores(c.pattern)) | reads(c.pattern)
                return live | reads(subject)
            case ast.For() | ast.While():
                return self._loop(s, after, at_break, at_continue)
            case ast.With(items=items, body=body):
                live = self.block(body, after, at_break, at_continue)
                for item in items:
                    live = live | reads(item)
                return live
            case ast.Try():
                return self._try(s, after, at_break, at_continue)
            case ast.FunctionDef(name=name):
                return (after - {name}) | reads(s.args) | frozenset().union(*map(reads, s.decorator_list))
            case _:
                effect = self.effects.get(s)
                if effect is None:
                    effect = self.effects[s] = (reads(s), stores(s, certain_parts))
                self.result.after[s] = after
                return (after - effect[1]) | effect[0]

    def _try(self, s: ast.Try, after: Names, at_break: Names, at_continue: Names) -> Names:
        """Each statement of the body may lead to each handler."""
        after = self.block(s.finalbody, after, at_break, at_continue)
        self._note(s, after)
        handled = _NONE
        for h in s.handlers:
            inside = self.block(h.body, after, at_break, at_continue) - {h.name or ""}
            handled = handled | inside | (_NONE if h.type is None else reads(h.type))
        live = self.block(s.orelse, after, at_break, at_continue)
        for inner in reversed(s.body):
            live = self.statement(inner, live | handled, at_break, at_continue)
        return live | handled

    def _loop(self, s: ast.For | ast.While, after: Names, at_break: Names, at_continue: Names) -> Names:
        done = self.block(s.orelse, after, at_break, at_continue)
        self._note(s, after | done)
        per_pass = reads(s.test) if isinstance(s, ast.While) else _NONE
        binds = stores(s.target) if isinstance(s, ast.For) else _NONE
        head = done | per_pass
        while True:
            entry = self.block(s.body, head, after, head)
            if isinstance(s, ast.For):
                entry = (entry - binds) | reads(s.target)
            grown = head | entry
            if grown == head:
                break
            head = grown
        self.result.entry[s] = entry | per_pass
        return (head | reads(s.iter)) if isinstance(s, ast.For) else head

    def _note(self, s: ast.stmt, after: Names) -> None:
        self.result.after[s] = after
        if s not in self.result.stored:
            changed = self._changed(s)
            self.result.stored[s] = frozenset(changed.stored)
            self.result.augmented[s] = frozenset(changed.augmented)
            self.result.written[s] = frozenset(changed.written)

    def _changed(self, s: ast.stmt) -> Changed:
        """What the statement changes with all that it contains; of each statement found once."""
        if s in self.changed:
            return self.changed[s]
        found = self.changed[s] = Changed()
        waiting: list[ast.AST] = [s]
        while waiting:
            n = waiting.pop()
            if isinstance(n, ast.stmt) and n is not s:
                found.add(self._changed(n))
                continue
            if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name):
                found.augmented.add(n.target.id)
                waiting.append(n.value)
                continue
            found.note(n)
            if not isinstance(n, ast.FunctionDef | ast.Lambda):
                waiting += children(n)
        return found


def reads(node: ast.AST) -> Names:
    """Names that the node may read from around it: those that comprehensions and inner functions bind are their own."""
    names: set[str] = set()
    waiting: list[ast.AST] = [node]
    for n in waiting:
        if isinstance(n, ast.Name):
            if isinstance(n.ctx, ast.Load):
                names.add(n.id)
        elif isinstance(n, _SCOPES):
            names |= _reads_of_scope(n)
        else:
            if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name):
                names.add(n.target.id)
            waiting += children(n)
    return frozenset(names)


_Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_SCOPES = ast.FunctionDef | ast.Lambda | _Comprehension


def _reads_of_scope(scope: ast.FunctionDef | ast.Lambda | _Comprehension) -> Names:
    if isinstance(scope, ast.FunctionDef | ast.Lambda):
        body = scope.body if isinstance(scope, ast.FunctionDef) else [scope.body]
        own = {a.arg for a in children(scope.args) if isinstance(a, ast.arg)}.union(*map(stores, body))
        if isinstance(scope, ast.FunctionDef):
            own -= _declared(nodes_of(*body)) | _declared(nodes_of(*body), ast.Global)
        around = [c for c in children(scope) if c not in body]
        return (_NONE.union(*map(reads, body)) - own).union(*map(reads, around))
    first, *others = scope.generators
    parts = [c for c in children(scope) if c not in scope.generators]
    parts += [first.target, *first.ifs, *others]
    own = set(_NONE.union(*(stores(g.target) for g in scope.generators)))
    return (_NONE.union(*map(reads, parts)) - own) | reads(first.iter)


def _pattern_names(node: ast.AST) -> list[str]:
    """The names bound by a part of a `match` pattern, or by `except ... as`."""
    match node:
        case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
            return [name]
        case ast.ExceptHandler(name=str(name)):
            return [name]
    return []


def imported_names(node: ast.AST) -> list[str]:
    """The names that an import binds."""
    if not isinstance(node, ast.Import | ast.ImportFrom):
        return []
    return [a.asname or a.name.partition(".")[0] for a in node.names]


def stores(node: ast.AST, parts: Callable[[ast.AST], Iterable[ast.AST]] = children) -> Names:
    """Names that the node binds; with the parts that certainly run alone, those that it certainly binds. A
    comprehension's names are its own, but for those of `:=`.
    """
    names: set[str] = set()
    waiting: list[ast.AST] = [node]
    while waiting:
        n = waiting.pop()
        if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load):
            names.add(n.id)
        elif isinstance(n, ast.FunctionDef):
            names.add(n.name)
        elif isinstance(n, _Comprehension) and parts is children:
            names |= named_in(n)
        names.update(_pattern_names(n))
        names.update(imported_names(n))
        if not isinstance(n, _SCOPES):
            waiting += parts(n)
    return frozenset(names)


def named_in(comprehension: _Comprehension) -> Names:
    """The names that `:=` inside a comprehension binds around it."""
    return frozenset(n.target.id for n in own_nodes(comprehension) if isinstance(n, ast.NamedExpr))


def certain_parts(node: ast.AST) -> Iterable[ast.AST]:
    """The parts of a statement or expression that run whenever it does."""
    match node:
        case ast.BoolOp(values=[first, *_]):
            return (first,)
        case ast.IfExp(test=test):
            return (test,)
        case ast.Compare(left=left, comparators=[second, *_]):
            return (left, second)
        case (
            ast.If(test=part) | ast.While(test=part) | ast.Assert(test=part) | ast.For(iter=part)
            | ast.Match(subject=part)
        ):  # fmt: skip
            return (part,)
        case _ if isinstance(node, _SCOPES | ast.Try | ast.TryStar):
            return ()
    return children(node)
