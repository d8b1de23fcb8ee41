"""Equality of programs up to names, statement order, dead code and the grouping of fused statements.

Two results are the same when the values they are computed from are: the comparison walks both programs backwards from
their results, pairing variable with variable. Loops are compared coinductively: a pair met again is taken as equal.
Whether an expression is computed once or twice does not count, for reading a view replays it; how branches and loops
are grouped does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import assert_never

from .ir import (
    Apply,
    Atom,
    Block,
    Const,
    For,
    Function,
    Fused,
    If,
    Invoke,
    Raise,
    Routine,
    Statement,
    Var,
    While,
    blocks_of,
    free_variables,
    surely_runs,
    walk,
)
from .ops.core import Attrs, Cast, ContractAttrs, IndexAttrs, read_by, reading
from .printing.trivial import without_trivial
from .records import dataclass
from .tree import LEAF, Kind, leaf_nodes, static, with_leaf_nodes


def same(f: Function, g: Function) -> bool:
    """Whether the two programs compute the same results by the same operations in the same argument order.

    Spans, hints, the names of functions and parameters, dead statements and `parallel` marks do not count.
    """
    return difference(f, g) is None


def difference(f: Function, g: Function) -> str | None:
    """The first difference found, in words; None when the programs are the same."""
    return _difference(f, g, set())


def _difference(f: Function, g: Function, routines: _Pairs) -> str | None:
    f, g = without_trivial(f), without_trivial(g)
    f, g = (_with_known_bools(h) for h in (_specialised_as(f, g), _specialised_as(g, f)))
    if [p.tree for p in f.params] != [p.tree for p in g.params]:
        return f"parameters {[p.tree for p in f.params]} and {[p.tree for p in g.params]}"
    if [p.aval for p in f.body.params] != [p.aval for p in g.body.params]:
        return f"parameter types {f.body.params} and {g.body.params}"
    written, theirs = _written(f), _written(g)
    if f.out != g.out or written.keys() != theirs.keys():
        return f"result trees {f.out}, {list(written)} and {g.out}, {list(theirs)}"
    comparison = _Comparison(_definitions(f.body), _definitions(g.body), routines)
    comparison.require(f.body.params, g.body.params)
    count = f.out.leaf_count
    comparison.require(f.body.results[:count], g.body.results[:count])
    comparison.require(tuple(written.values()), tuple(theirs[i] for i in written))
    comparison.raises(_raises(f.body), _raises(g.body))
    return comparison.run()


def _specialised_as(f: Function, g: Function) -> Function:
    """`f` without the parameters that it does not use and that are known numbers in `g`.

    A program that was specialised on a number does not use it any more; its printed source takes any number there.
    """
    used = set(free_variables(Block((), f.body.statements, f.body.results)))
    params, kept, position = list(f.params), list(f.body.params), 0
    for i, (p, q) in enumerate(zip(f.params, g.params, strict=False)):
        if p.tree == LEAF and q.tree.kind is Kind.STATIC and f.body.params[position] not in used:
            params[i] = replace(p, tree=q.tree)
            kept.remove(f.body.params[position])
        position += p.tree.leaf_count
    mutated = tuple(kept.index(f.body.params[i]) for i in f.mutated)
    return replace(f, params=tuple(params), body=replace(f.body, params=tuple(kept)), mutated=mutated)


def _with_known_bools(f: Function) -> Function:
    """`f` with Python's True and False among its results as parts of their structure, as they are read in source."""
    count = f.out.leaf_count
    casts = {s.targets[0]: s for s in f.body.statements if isinstance(s, Apply) and isinstance(s.op, Cast)}
    known: dict[int, bool] = {}
    for k, r in enumerate(f.body.results[:count]):
        made = casts.get(r) if isinstance(r, Var) and r.aval.weak and r.aval.dtype.kind == "b" else None
        if made is not None and isinstance(value := made.args[0], Const):
            known[k] = bool(value.value)
    if not known:
        return f
    nodes = (static(known[k]) if k in known else node for k, node in enumerate(leaf_nodes(f.out)))
    results = tuple(r for k, r in enumerate(f.body.results) if k not in known)
    return replace(f, out=with_leaf_nodes(f.out, nodes), body=replace(f.body, results=results))


def _written(f: Function) -> dict[int, Atom]:
    """The final values of the parameters that are written; one that ends as it began is not."""
    finals = zip(f.mutated, f.body.results[f.out.leaf_count :], strict=True)
    return {i: final for i, final in finals if final is not f.body.params[i]}


@dataclass(frozen=True, slots=True)
class _Definition:
    """The statement that a variable comes from (None for a function's parameter) and its place there.

    `role` is "target", "param" or "index". The parameters of a while's condition and body are one role: both stand for
    the carried value of the same place.
    """

    statement: Statement | None
    role: str
    place: int


class _Side:
    def __init__(self) -> None:
        self.definitions: dict[Var, _Definition] = {}
        self.aliases: dict[Var, Atom] = {}

    def resolve(self, a: Atom) -> Atom:
        while isinstance(a, Var) and a in self.aliases:
            a = self.aliases[a]
        return a


def _definitions(body: Block) -> _Side:
    side = _Side()
    for i, v in enumerate(body.params):
        side.definitions[v] = _Definition(None, "param", i)
    for s in walk(body):
        _define(s, side)
    return side


_Way = list[tuple[Statement, int]]  # the statements around one, with the block of each that leads to it, and itself


def _raises(block: Block) -> list[_Way]:
    """Every `Raise`, with the way to it."""
    found: list[_Way] = []
    for s in block.statements:
        for k, inner in enumerate(blocks_of(s)):
            found += [[(s, k), *way] for way in _raises(inner)]
        if isinstance(s, Raise):
            found.append([(s, 0)])
    return found


def _define(s: Statement, side: _Side) -> None:
    for i, v in enumerate(s.targets):
        side.definitions[v] = _Definition(s, "target", i)
    match s:
        case Apply(op=Cast(), args=(x, *_), targets=(v,)) if x.aval == v.aval:  # Python's bool of a bool, in between
            side.aliases[v] = x
        case For(body=body):
            side.definitions[body.params[0]] = _Definition(s, "index", 0)
            for i, v in enumerate(body.params[1:]):
                side.definitions[v] = _Definition(s, "param", i)
        case While(condition=condition, body=body):
            for i, (v, w) in enumerate(zip(body.params, condition.params, strict=True)):
                side.definitions[v] = _Definition(s, "param", i)
                side.aliases[w] = v
        case Fused(targets=targets, args=args, body=body):
            side.aliases.update(zip(body.params, args, strict=True))
            side.aliases.update(zip(targets, body.results, strict=True))
        case Apply() | If() | Raise() | Invoke():
            pass
        case _:
            assert_never(s)


_Pairs = set[tuple[Routine, Routine]]


class _Comparison:
    """`routines` are pairs of them that are being compared, or have been."""

    def __init__(self, left: _Side, right: _Side, routines: _Pairs) -> None:
        self.routines = routines
        self.left, self.right = left, right
        self.compared: set[tuple[Var, Var]] = set()  # taken as equal: a value may be computed twice on one side
        self.statements: dict[int, int] = {}
        self.statements_back: dict[int, int] = {}
        self.pending: list[tuple[Atom, Atom]] = []
        self.found: str | None = None

    def require(self, left: tuple[Atom, ...], right: tuple[Atom, ...]) -> None:
        if len(left) != len(right):
            self.found = self.found or f"{len(left)} and {len(right)} values"
            return
        self.pending += zip(left, right, strict=True)

    def raises(self, left: Sequence[_Way], right: Sequence[_Way]) -> None:
        """What may be raised: the same exceptions, in order, each inside the same branches and loops."""
        if len(left) != len(right):
            self.found = self.found or f"{len(left)} and {len(right)} exceptions that may be raised"
            return
        for (*around, (s, _)), (*others, (t, _)) in zip(left, right, strict=True):
            assert isinstance(s, Raise) and isinstance(t, Raise)
            kinds = [[(type(x), place) for x, place in way] for way in (around, others)]
            if kinds[0] != kinds[1] or s.error != t.error:
                self.found = self.found or f"{s.error} at {s.span} and {t.error} at {t.span}"
                return
            self.require((s.condition, *s.body.results), (t.condition, *t.body.results))
            for (x, _), (y, _) in zip(around, others, strict=True):
                self.pair_statements(x, y)

    def run(self) -> str | None:
        while self.pending and self.found is None:
            a, b = self.pending.pop()
            self.pair(self.left.resolve(a), self.right.resolve(b))
        return self.found

    def pair(self, a: Atom, b: Atom) -> None:
        if isinstance(a, Const) or isinstance(b, Const):
            if not (isinstance(a, Const) and isinstance(b, Const) and a.key == b.key):
                self.found = f"{a} and {b}"
            return
        if (a, b) in self.compared:
            return
        self.compared.add((a, b))
        d, e = self.left.definitions[a], self.right.definitions[b]
        if a.aval != b.aval or d.role != e.role or type(d.statement) is not type(e.statement):
            self.found = f"{a}, a {_kind(d)}, and {b}, a {_kind(e)}"
            return
        if d.statement is None or e.statement is None:
            if d.place != e.place:
                self.found = f"parameters {d.place} and {e.place}"
            return
        self.places(d, e)
        self.pair_statements(d.statement, e.statement)

    def places(self, d: _Definition, e: _Definition) -> None:
        """What one place of a statement requires: of a branch its results, of a loop how the value is carried."""
        match d.statement, e.statement:
            case Apply(), Apply():
                if d.place != e.place:
                    self.found = f"results {d.place} and {e.place} of {d.statement.op.name}"
            case Invoke(), Invoke():
                if d.place != e.place:
                    self.found = f"results {d.place} and {e.place} of {d.statement.routine.name}"
            case If() as p, If() as q:
                for x, y in ((p.then, q.then), (p.orelse, q.orelse)):
                    self.pending.append((x.results[d.place], y.results[e.place]))
            case For() | While() as p, For() | While() as q if d.role != "index":
                if d.role == "param" or not (surely_runs(p) and surely_runs(q)):
                    self.pending.append((p.inits[d.place], q.inits[e.place]))
                self.pending.append((p.body.results[d.place], q.body.results[e.place]))
            case _:
                pass

    def pair_statements(self, s: Statement, t: Statement) -> None:
        there = self.statements.setdefault(id(s), id(t))
        back = self.statements_back.setdefault(id(t), id(s))
        if not isinstance(s, Apply | Invoke) and (there != id(t) or back != id(s)):
            self.found = f"{type(s).__name__} at {s.span} and at {t.span} are grouped differently"
            return
        match s, t:
            case Apply(), Apply():
                (attrs, args), (others, given) = canonical(s), canonical(t)
                if s.op is not t.op or attrs != others:
                    self.found = f"{s.op.name} {s.attrs} at {s.span} and {t.op.name} {t.attrs} at {t.span}"
                self.require(args, given)
            case Invoke(), Invoke():
                if (s.routine, t.routine) not in self.routines:
                    self.routines.add((s.routine, t.routine))
                    self.found = self.found or _difference(s.routine.function, t.routine.function, self.routines)
                self.require(s.args, t.args)
            case If(), If():
                self.require((s.condition,), (t.condition,))
            case For(), For():
                self.require(s.body.params[:1], t.body.params[:1])
                self.ranges(s, t)
            case While(), While():
                self.require(s.condition.results, t.condition.results)
            case Raise(), Raise():
                self.require((s.condition,), (t.condition,))
            case _:
                raise AssertionError("statements of one kind are compared")

    def ranges(self, s: For, t: For) -> None:
        p, q = s.range, t.range
        left, right = p.static(), q.static()
        if left is not None and left == right:
            return
        if p.reverse != q.reverse:
            self.found = f"for loops at {s.span} and {t.span} run in opposite directions"
        self.require((p.start, p.stop, p.step), (q.start, q.stop, q.step))


def canonical(s: Apply) -> tuple[Attrs, tuple[Atom, ...]]:
    """Attributes and arguments: contraction labels in order of first occurrence, an argument for each entry of an index
    that reads one, whether or not several read the same.
    """
    match s.attrs:
        case ContractAttrs(lhs=lhs, rhs=rhs, out=out):
            order = {label: i for i, label in enumerate(dict.fromkeys((*lhs, *rhs)))}
            left, right, kept = (tuple(order[x] for x in labels) for labels in (lhs, rhs, out))
            return ContractAttrs(left, right, kept), s.args
        case IndexAttrs(dims=dims):
            read = [a for d in dims if (a := read_by(d)) is not None]
            first = min(read, default=len(s.args))
            places = iter(range(first, len(s.args) + len(read)))
            apart = tuple(d if read_by(d) is None else reading(d, next(places)) for d in dims)
            return IndexAttrs(apart), (*s.args[:first], *(s.args[a] for a in read))
        case _:
            return s.attrs, s.args


def _kind(d: _Definition) -> str:
    if d.statement is None:
        return "parameter"
    name = d.statement.op.name if isinstance(d.statement, Apply) else type(d.statement).__name__.lower()
    return f"{d.role} of {name}"
