"""Dividing a function: statements that stay with CPython, and regions that can be compiled.

    def f(x):                          def f_region_1(x):                  def f(x):
        y = np.sqrt(x * x + 1.0)           y = np.sqrt(x * x + 1.0)            y, m = f_region_1(x)
        m = np.mean(y)                     m = np.mean(y)                      print("mean", m)
        print("mean", m)                   return y, m                         result = f_region_2(m, y)
        return (y - m) / np.std(y)                                             return result

A region takes the names that it may read before it binds them, and gives back those that it binds and that are read
elsewhere. The driver keeps every other statement as it stands: control flow around a cut, inner functions, `try`.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable, Iterator

from ..errors import UntracedError
from ..reading.facts.exact import EscapeError
from ..reading.text.fence import may_be_read
from ..reading.text.liveness import Names, live_before, reads, stores
from ..reading.text.nodes import last_name
from ..reading.text.source import FunctionNode
from ..records import dataclass
from .appends import append_of, only_filled
from .names import Bound, binds, captured, live_after, own_nodes

_ALWAYS = (
    ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal,
    ast.Try, ast.TryStar, ast.Delete, ast.Return, ast.Break, ast.Continue, ast.AsyncFor, ast.AsyncWith,
)  # fmt: skip
_COMPOUND = (ast.If, ast.For, ast.While, ast.With, ast.Match)
_HOST_CALLS = frozenset(
    {"print", "nonzero", "flatnonzero", "argwhere", "unique", "union1d", "intersect1d", "setdiff1d", "setxor1d"}
)
_SEES_NAMES = {"locals": 0, "vars": 0, "dir": 0, "eval": 1, "exec": 1}  # with so many arguments
LOOP_WORK = 1000
_LEAST_WORK = 2  # calls and operators: a call of a region costs as much as some of NumPy's


@dataclass(frozen=True, slots=True)
class Region:
    """A run of statements as a function of its own; its nodes are the user's, so places in the file stay right.

    `back` is the statement that returns the outputs; None where the run itself returns, up to the end of the function.
    """

    node: ast.FunctionDef
    run: tuple[ast.stmt, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    back: ast.Return | None

    @property
    def lines(self) -> tuple[int, int]:
        return self.run[0].lineno, max(s.end_lineno or s.lineno for s in self.run)


@dataclass(frozen=True, slots=True)
class Partition:
    """The driver and its regions.

    `wrapper` is the name by which the driver wraps functions that are cut themselves. `origins` has, for statements
    that were made here, the user's.
    """

    node: ast.FunctionDef
    regions: tuple[Region, ...]
    wrapper: str | None
    origins: dict[ast.stmt, ast.stmt]


@dataclass(frozen=True, slots=True)
class Cuts:
    """Where a function is cut: statements that stay with CPython, each with the reason, and calls of functions that are
    cut themselves.
    """

    hosts: dict[ast.stmt, str]
    calls: frozenset[ast.Call] = frozenset()

    def __or__(self, other: Cuts) -> Cuts:
        return Cuts({**self.hosts, **other.hosts}, self.calls | other.calls)


def partition(function: ast.FunctionDef, cuts: Cuts) -> Partition:
    """The driver of a function and its regions."""
    return _Cutter(function, cuts).partition()


def as_definition(function: FunctionNode) -> ast.FunctionDef:
    """A lambda as a `def`; a `def` as it is."""
    if isinstance(function, ast.FunctionDef):
        return function
    body = ast.copy_location(ast.Return(function.body), function.body)
    return _definition("function", function.args, [body], function)


def cuts_at(function: ast.FunctionDef, error: UntracedError) -> Cuts:
    """The statement to which the place of the error belongs; those that bind a result which cannot leave a region.

    Where the result itself cannot be known and no name says more, the statements that return it.
    """
    why = error.diagnostic.what
    site = error.place
    if isinstance(error, EscapeError):
        bound = _assigning(function, error.position)
        if bound:
            return Cuts(dict.fromkeys(bound, why))
    path = next(_paths(function, site), ()) if site is not None and site is not function else ()
    statements = [n for n in path if isinstance(n, ast.stmt)]
    if not statements:
        return Cuts({n: why for n in own_nodes(function.body) if isinstance(n, ast.Return)})
    inner = next((s for s in statements if isinstance(s, ast.FunctionDef)), statements[-1])
    call = isinstance(site, ast.Call) and len(error.sites) > 1
    return Cuts({inner: why}, frozenset({site}) if call else frozenset())


def _assigning(function: ast.FunctionDef, position: int) -> list[ast.stmt]:
    """The statements of the function's own block that bind what it returns at `position`."""
    last = function.body[-1]
    if not isinstance(last, ast.Return) or last.value is None:
        return []
    results = last.value.elts if isinstance(last.value, ast.Tuple) else [last.value]
    result = results[position] if position < len(results) else last.value
    names = {n.id for n in ast.walk(result) if isinstance(n, ast.Name)}
    return [s for s in function.body if stores(s) & names and not isinstance(s, ast.FunctionDef)]


def _paths(node: ast.AST, site: ast.AST) -> Iterator[tuple[ast.AST, ...]]:
    for child in ast.iter_child_nodes(node):
        if child is site:
            yield (child,)
        else:
            for path in _paths(child, site):
                yield (child, *path)


def _definition(name: str, arguments: ast.arguments, body: list[ast.stmt], place: ast.AST) -> ast.FunctionDef:
    node = ast.parse("def f(): pass").body[0]
    assert isinstance(node, ast.FunctionDef)
    node.name, node.args, node.body = name, arguments, body
    return ast.copy_location(node, place)


def _plain_arguments(names: Iterable[str]) -> ast.arguments:
    arguments = [ast.arg(n, lineno=1, col_offset=0, end_lineno=1, end_col_offset=0) for n in names]
    return ast.arguments(posonlyargs=[], args=arguments, kwonlyargs=[], kw_defaults=[], defaults=[])


class _Cutter:
    def __init__(self, function: ast.FunctionDef, cuts: Cuts) -> None:
        self.function = function
        if any(map(_asks_for_names, own_nodes(function.body))):
            every = (n for n in own_nodes(function.body) if isinstance(n, ast.stmt))
            cuts = Cuts(dict.fromkeys(every, "which names are read here cannot be told from the source"))
        self.hosts = cuts.hosts
        self.calls = cuts.calls
        self.origins: dict[ast.stmt, ast.stmt] = {}
        self.regions: list[Region] = []
        nodes = list(ast.walk(function))
        names = {n.id for n in nodes if isinstance(n, ast.Name)} | {a.arg for a in nodes if isinstance(a, ast.arg)}
        self.names = names
        shared = {n for d in nodes if isinstance(d, ast.Global | ast.Nonlocal) for n in d.names}
        self.parameters = [a.arg for a in nodes if isinstance(a, ast.arg) and a in _arguments(function.args)]
        bound = frozenset(self.parameters).union(*map(binds, function.body))
        self.locals: Names = bound - shared
        self.shared = shared
        self.captured = captured(function)
        self.rebound = self.captured & frozenset(_bound_again(function, self.parameters))
        self.wrapper = self._free("call") if cuts.calls else None
        self.result = self._free("result")
        self.locals |= {self.result}
        self.after = live_after(function)
        self.only_filled = only_filled(function, self.captured | shared)
        self.loops = 0  # of the driver around the block
        self.kept: Names = frozenset()  # what is read behind a `with` around the block, which may end what is raised
        self.appending: set[ast.stmt] = set()  # to what values that a region computes are appended

    def _free(self, wish: str) -> str:
        while wish in self.names:
            wish += "_"
        self.names.add(wish)
        return wish

    def partition(self) -> Partition:
        parameters = frozenset(self.parameters)
        whole = self.function.body
        start = self._tail_start(whole)
        bound = Bound(parameters, parameters)
        body, bound = self._block(whole[:start], bound) if start else ([], bound)
        body += self._tail(whole[start:], bound)
        node = _definition(self.function.name, self.function.args, body, self.function)
        return Partition(node, tuple(self.regions), self.wrapper, self.origins)

    # ---- the driver ------------------------------------------------------------------------------

    def _block(self, body: list[ast.stmt], bound: Bound) -> tuple[list[ast.stmt], Bound]:
        """The statements with regions in place of runs, and the names bound behind them."""
        done: list[ast.stmt] = []
        run: list[ast.stmt] = []
        for s in self._with_items([*self._with_results(body)]):
            if not self._stays(s):
                run.append(s)
                continue
            done += self._region(run, bound)
            bound = bound.behind(run)
            run = []
            opened, bound = self._opened(s, bound)
            done = _joined([*done, opened], self.result)
        done += self._region(run, bound)
        return done or [ast.copy_location(ast.Pass(), self.function)], bound.behind(run)

    def _with_results(self, body: list[ast.stmt]) -> Iterator[ast.stmt]:
        """`return expression` as an assignment, which a region can take, and a return."""
        for s in body:
            work = isinstance(s, ast.Return) and s not in self.hosts and s.value is not None and work_of(s.value)
            if work and not _calls_host(s):
                assert isinstance(s, ast.Return) and s.value is not None
                target = ast.copy_location(ast.Name(self.result, ast.Store()), s)
                assignment = ast.copy_location(ast.Assign([target], s.value), s)
                self.after[assignment] = frozenset({self.result})
                self.origins[assignment] = s
                yield assignment
                s = ast.copy_location(ast.Return(ast.copy_location(ast.Name(self.result, ast.Load()), s)), s)
            yield s

    def _with_items(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """In a loop, what ends of runs append to lists as assignments, which regions can take, and the appending."""
        done: list[ast.stmt] = []
        run: list[ast.stmt] = []
        for s in body:
            if self._stays(s):
                done += [*self._items_apart(run), s]
                run = []
            else:
                run.append(s)
        return done + self._items_apart(run)

    def _items_apart(self, run: list[ast.stmt]) -> list[ast.stmt]:
        end = len(run)
        while end and append_of(run[end - 1]) is None:
            end -= 1
        first = max(end - 1, 0)
        while first and (before := append_of(run[first - 1])) and before[0] in self.only_filled:
            first -= 1
        behind = sum(map(work_of, run[end:]))  # two regions, where the appending would stand between them, cost more
        if not self.loops or first == end or behind >= _LEAST_WORK:
            return run
        if sum(map(work_of, run[:end])) - (end - first) < _LEAST_WORK:  # no region without the appending
            self.appending.update(run[first:end])
            return run
        names = [self._free("item") for _ in run[first:end]]
        self.locals |= frozenset(names)
        lists = {found[0] for s in run[first:end] if (found := append_of(s)) is not None}
        items: list[ast.stmt] = []
        appending: list[ast.stmt] = []
        for s, item in zip(run[first:end], names, strict=True):
            made, fill = self._apart(s, item)
            self.after[made] = self.after[s].union(names, lists)
            items.append(made)
            appending.append(fill)
        return [*run[:first], *items, *appending, *run[end:]]

    def _apart(self, s: ast.stmt, item: str) -> tuple[ast.stmt, ast.stmt]:
        """`name.append(value)` as `item = value` and `name.append(item)`."""
        found = append_of(s)
        assert found is not None
        name, value = found
        made = ast.copy_location(ast.Assign([ast.Name(item, ast.Store())], value), s)
        append = ast.Attribute(ast.Name(name, ast.Load()), "append", ast.Load())
        call = ast.Call(append, [ast.Name(item, ast.Load())], [])
        appending = ast.copy_location(ast.Expr(call), s)
        self.origins[made] = s
        self.appending.add(appending)
        return ast.fix_missing_locations(made), ast.fix_missing_locations(appending)

    def _stays(self, s: ast.stmt) -> bool:
        if s in self.hosts or s in self.appending or isinstance(s, _ALWAYS):
            return True
        if not self.shared.isdisjoint(reads(s) | stores(s)):
            return True
        if not self.captured.isdisjoint(stores(s)):  # an inner function that the region calls would not see it
            return True
        if any(isinstance(n, ast.Lambda) and not self.rebound.isdisjoint(reads(n)) for n in ast.walk(s)):
            return True  # made in a region, it would not see what the driver binds to the name later
        if isinstance(s, _COMPOUND):
            if isinstance(s, ast.With) and not may_be_read(s):
                return True
            return _leaves(s) or any(self._stays(c) for c in _children(s) if not _jumps(c))
        return _calls_host(s)

    def _opened(self, s: ast.stmt, bound: Bound) -> tuple[ast.stmt, Bound]:
        """A statement of the driver: compound ones have regions inside."""
        new = copy.copy(s)
        match new:
            case ast.If():
                new.body, _ = self._block(new.body, bound)
                new.orelse = self._block(new.orelse, bound)[0] if new.orelse else []
            case ast.For() | ast.While():
                inside = bound.plus(binds(new.target)) if isinstance(new, ast.For) else bound
                self.loops += 1
                new.body, _ = self._block(new.body, inside)
                self.loops -= 1
                new.orelse = self._block(new.orelse, bound.behind(s.body))[0] if new.orelse else []  # type: ignore[attr-defined]
            case ast.With():
                inside = bound.plus(*(binds(i.optional_vars) for i in new.items if i.optional_vars is not None))
                before = self.kept
                self.kept |= frozenset() if may_be_read(new) else self.after.get(s, self.locals)
                new.body, _ = self._block(new.body, inside)
                self.kept = before
            case ast.Try() | ast.TryStar():
                new.handlers = [self._handler(h, bound) for h in new.handlers]
                new.orelse = self._block(new.orelse, bound.behind(new.body))[0] if new.orelse else []
                new.finalbody = self._block(new.finalbody, bound)[0] if new.finalbody else []
            case ast.Match():
                new.cases = [
                    ast.match_case(c.pattern, c.guard, self._block(c.body, bound.plus(binds(c.pattern)))[0])
                    for c in new.cases
                ]
        return self._wrapped(new), bound.behind([s])

    def _handler(self, h: ast.ExceptHandler, bound: Bound) -> ast.ExceptHandler:
        new = copy.copy(h)
        new.body, _ = self._block(h.body, bound.plus({h.name}) if h.name else bound)
        return new

    def _wrapped(self, s: ast.stmt) -> ast.stmt:
        """The statement with the call of a function that is cut itself replaced by a call of its driver."""
        if self.wrapper is None or self.calls.isdisjoint(ast.walk(s)):
            return s
        kept = {id(c): c for c in self.calls}
        return _Wrap(self.calls, self.wrapper).visit(copy.deepcopy(s, kept))  # type: ignore[no-any-return]

    # ---- regions ---------------------------------------------------------------------------------

    def _tail_start(self, body: list[ast.stmt]) -> int:
        """Where the last statements begin that can be one region although they return from within."""
        start = len(body)
        while start and self._whole(body[start - 1]):
            start -= 1
        return start if any(_leaves(s) and not isinstance(s, ast.Return) for s in body[start:]) else len(body)

    def _whole(self, s: ast.stmt) -> bool:
        """Whether no part of the statement stays."""
        if not self.shared.isdisjoint(reads(s) | stores(s)) or not self.captured.isdisjoint(stores(s)):
            return False
        for n in own_nodes([s]):
            if n in self.hosts or (isinstance(n, ast.With) and not may_be_read(n)):
                return False
            if isinstance(n, _ALWAYS) and not isinstance(n, ast.Return | ast.Break | ast.Continue):
                return False
        return not _calls_host(s)

    def _tail(self, run: list[ast.stmt], bound: Bound) -> list[ast.stmt]:
        """`return region(...)` for statements that go to the end of the function."""
        read = live_before(run, frozenset()) & self.locals
        if not run or not bound.suffices(run, read):
            return self._block(run, bound)[0] if run else []
        call = self._new_region(run, tuple(n for n in _order(run) if n in read), (), None)
        return [ast.fix_missing_locations(ast.copy_location(ast.Return(call), run[0]))]

    def _region(self, run: list[ast.stmt], bound: Bound) -> list[ast.stmt]:
        """The statements that stand for a run in the driver: a call, or the run itself where a call is no gain."""
        if sum(map(work_of, run)) < _LEAST_WORK:
            return run
        if not self.kept.isdisjoint(_bound_on_the_way(run)):
            return self._one_by_one(run, bound)
        read = live_before(run, frozenset()) & self.locals
        bound_here = frozenset[str]().union(*map(binds, run)) & self.locals
        outputs = bound_here & self.after[run[-1]]
        inputs = live_before(run, outputs) & self.locals  # an output that may stay unbound comes in as well
        if not (bound.suffices(run, read) and inputs - read <= bound.sure):
            return run
        order = _order(run)
        given = tuple(n for n in order if n in outputs)
        back = ast.fix_missing_locations(ast.copy_location(ast.Return(_names(given, ast.Load())), run[-1]))
        call = self._new_region(run, tuple(n for n in order if n in inputs), given, back)
        targets = _names(given, ast.Store())
        statement: ast.stmt = ast.Expr(call) if targets is None else ast.Assign([targets], call)
        return [ast.fix_missing_locations(ast.copy_location(statement, run[0]))]

    def _one_by_one(self, run: list[ast.stmt], bound: Bound) -> list[ast.stmt]:
        """The run, of which a statement may raise and the names that others have bound are read all the same."""
        done: list[ast.stmt] = []
        for s in run:
            done += [self._opened(s, bound)[0]] if isinstance(s, _COMPOUND) else self._region([s], bound)
            bound = bound.behind([s])
        return done

    def _new_region(
        self, run: list[ast.stmt], inputs: tuple[str, ...], outputs: tuple[str, ...], back: ast.Return | None
    ) -> ast.Call:
        """Note a region; a call of it."""
        if any(isinstance(n, ast.Name) and n.id == "super" for s in run for n in ast.walk(s)):
            inputs = tuple(dict.fromkeys((*self._first_parameter(), *inputs)))  # of which super() without arguments is
        name = self._free(f"{self.function.name}_region_{len(self.regions) + 1}")
        body = [*run] if back is None else [*run, back]
        node = ast.fix_missing_locations(_definition(name, _plain_arguments(inputs), body, run[0]))
        self.regions.append(Region(node, tuple(run), inputs, outputs, back))
        return ast.Call(ast.Name(name, ast.Load()), [ast.Name(n, ast.Load()) for n in inputs], [])

    def _first_parameter(self) -> tuple[str, ...]:
        spec = self.function.args
        return tuple(a.arg for a in (*spec.posonlyargs, *spec.args)[:1])


def _bound_again(function: ast.FunctionDef, parameters: Iterable[str]) -> Iterator[str]:
    """The names that statements of the function bind to something else than before, perhaps in another turn."""
    bound = set(parameters)
    for s in function.body:
        turns = any(isinstance(n, ast.For | ast.While) for n in own_nodes([s]))
        names = binds(s)
        yield from names if turns or isinstance(s, _COMPOUND) else names & bound
        bound |= names


def _bound_on_the_way(run: list[ast.stmt]) -> Names:
    """The names that the statements may have bound when one of them raises."""
    *others, last = run
    done = [*others, last] if isinstance(last, _COMPOUND) else others
    return frozenset[str]().union(*map(binds, done))


def _order(run: list[ast.stmt]) -> list[str]:
    """The names in the statements, in order."""
    return list(dict.fromkeys(n.id for s in run for n in ast.walk(s) if isinstance(n, ast.Name)))


class _Wrap(ast.NodeTransformer):
    """Calls through the driver's wrapper."""

    def __init__(self, calls: frozenset[ast.Call], wrapper: str) -> None:
        self.calls, self.wrapper = calls, wrapper

    def visit_Call(self, node: ast.Call) -> ast.Call:
        if node not in self.calls:
            self.generic_visit(node)
            return node
        func = ast.Call(ast.Name(self.wrapper, ast.Load()), [node.func], [])
        return ast.fix_missing_locations(ast.copy_location(ast.Call(func, node.args, node.keywords), node))


def _joined(statements: list[ast.stmt], result: str) -> list[ast.stmt]:
    """`result = x; return result` as `return x` again, where no region came to stand between."""
    match statements:
        case [*before, ast.Assign([ast.Name(id=name)], value), ast.Return(ast.Name(id=last)) as end]:
            if name == last == result:
                return [*before, ast.copy_location(ast.Return(value), end)]
    return statements


def _names(names: tuple[str, ...], context: ast.expr_context) -> ast.expr | None:
    if not names:
        return None
    if len(names) == 1:
        return ast.Name(names[0], context)
    return ast.Tuple([ast.Name(n, context) for n in names], context)


# ---- what a statement does -----------------------------------------------------------------------


def _arguments(spec: ast.arguments) -> list[ast.arg]:
    rest = [a for a in (spec.vararg, spec.kwarg) if a is not None]
    return [*spec.posonlyargs, *spec.args, *spec.kwonlyargs, *rest]


def _children(s: ast.stmt) -> Iterator[ast.stmt]:
    for n in ast.iter_child_nodes(s):
        if isinstance(n, ast.stmt):
            yield n
        elif isinstance(n, ast.ExceptHandler | ast.match_case):
            yield from n.body


def _jumps(s: ast.stmt) -> bool:
    return isinstance(s, ast.Break | ast.Continue)


def _leaves(s: ast.stmt, in_loop: bool = False) -> bool:
    """Whether control may leave the statement to somewhere else than behind it."""
    if isinstance(s, ast.Return):
        return True
    if _jumps(s):
        return not in_loop
    if isinstance(s, ast.For | ast.While):
        return any(_leaves(c, True) for c in s.body) or any(_leaves(c, in_loop) for c in s.orelse)
    return isinstance(s, _COMPOUND) and any(_leaves(c, in_loop) for c in _children(s))


def _calls_host(s: ast.AST) -> bool:
    """Calls that always need CPython, and places where a generator waits. Others are found when the region is read."""
    if any(isinstance(n, ast.Yield | ast.YieldFrom) for n in own_nodes([s])):
        return True
    calls = (n for n in ast.walk(s) if isinstance(n, ast.Call))
    return any(last_name(c.func) in _HOST_CALLS for c in calls)


def _asks_for_names(node: ast.AST) -> bool:
    """Whether it is a call of `locals()`, `eval(text)` and the like, which see all names of the function around."""
    if isinstance(node, ast.Call) and last_name(node.func) in ("currentframe", "_getframe"):
        return True
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
        return False
    given = len(node.args) + len(node.keywords)
    return _SEES_NAMES.get(node.func.id) == given


def work_of(node: ast.AST) -> int:
    """Operators and calls: what there is to gain by compiling. A loop counts for many."""
    kinds = (ast.BinOp, ast.Call, ast.Compare, ast.UnaryOp, ast.AugAssign)
    return sum(LOOP_WORK if isinstance(n, ast.For | ast.While) else isinstance(n, kinds) for n in ast.walk(node))
