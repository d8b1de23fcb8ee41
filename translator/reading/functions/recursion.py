"""Recursion whose depth the data decides: functions become routines of the program, in place of inlined calls.

    def f(x):                                      f(x) is one `Invoke`; the body of f is read once, and its own calls
        return x if x > 10.0 else f(x * x)         of f are `Invoke`s, too

Only what will be differentiated or batched is read in this way: compiled code has no recursive calls, so `accelerate`
leaves them to CPython. The types of the results come from the paths that do not recurse: the function is first read as
if it raised where it calls itself, then again until its results have the types that its own calls were assumed to have.
"""

from __future__ import annotations

import ast
import operator
import types
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from typing import Any, NoReturn

import numpy as np

from ... import tree
from ...ir import Atom, Aval, Block, Invoke, Routine, Var, blocks_of, free_variables, walk
from ...purpose import purpose
from ...records import dataclass
from ...rewrite import copy_block, prune
from ...routines import program_of, with_calls
from ...same import same
from ...thrown import Thrown
from ...tree import TreeDef
from ..core.aliases import settle
from ..core.context import Context
from ..core.demand import demand, from_arguments
from ..core.detours import Raised, Restart, Site
from ..core.values import MIRRORS, Frame, Masked, Ref, Undefined, Value, describe, is_leaf, is_runtime
from ..paths.joins import common_scalar
from ..text.source import source_of
from .results import result_tree

ATTEMPTS = 5  # readings until the results have their types
GENERATED = "<untraced "  # what the names of files with printed source begin with
MANY, DEEP = 64, 6  # inlined calls of one function, branches on the data within each other
AGAIN, AGAIN_WITH_STATE = 2, 8  # calls over again within each other that are inlined in the hope that they end
MOST = 200  # routines that one function may become, for arguments of different structure or known value

Key = tuple[Any, ...]
Body = Callable[[Frame], Value]


@dataclass(slots=True)
class _Pending:
    """A routine that is being read, from block `base` of the reading on; `out` and `avals` are what its results are
    taken for, `free` what it sees around it and is given besides the arguments.
    """

    key: Key
    routine: Routine
    base: int
    out: TreeDef | None = None
    avals: tuple[Aval, ...] = ()
    block: Block | None = None
    free: tuple[Var, ...] = ()


@dataclass(slots=True)
class Recursions:
    """The routines of a reading: those being read, innermost last; those read but not yet closed; the others."""

    pending: list[_Pending] = field(default_factory=list)
    group: list[_Pending] = field(default_factory=list)
    done: list[Routine] = field(default_factory=list)
    counts: Counter[ast.AST] = field(default_factory=Counter)  # how often functions have been inlined


def mark(node: ast.AST) -> Site:
    """The key by which a reading is asked to keep the calls of a function as calls."""
    return node, -1


def is_routine(frame: Frame, node: ast.AST) -> bool:
    """Whether a call in printed source is one of a routine."""
    if not (purpose().keeps_calls and isinstance(node, ast.FunctionDef) and frame.outer is not None):
        return False
    own = (isinstance(n, ast.Name) and n.id == node.name for n in ast.walk(node))
    return frame.source.file.startswith(GENERATED) and any(own)


def may_stay(ctx: Context, frame: Frame, node: ast.AST) -> bool:
    """Whether a reading may start again with the calls of this function as calls."""
    live = frame.live
    as_code = frame.fixed or live.generates or live.shared or mark(node) in ctx.loops.unroll
    return purpose().keeps_calls and not as_code


def watch(ctx: Context, frame: Frame, node: ast.AST, call: ast.AST, full: bool) -> None:
    """Before a call is inlined: raises Restart where calls had better stay. `full`: no more can be inlined."""
    frame.entered = described(frame)
    if _repeated(frame):
        ask_for_end(ctx, frame, call, floats=False)
        raise Restart(loops=frozenset({mark(node)}))
    if _branches_out(ctx, frame, node) or full:
        most = _most_called(frame)
        if may_stay(ctx, most, most.source.node):
            raise Restart(loops=frozenset({mark(most.source.node)}))


def expect_end(ctx: Context, frame: Frame, call: ast.AST) -> None:
    """Before a call of a function within itself is inlined: refuses it where it is one of those around it over again,
    which end by the data alone. Only what the function sees besides its arguments could end them while they are read.
    """
    frame.entered = described(frame)
    if _repeated(frame) >= (AGAIN_WITH_STATE if _has_state(frame) else AGAIN):
        refuse(ctx, frame, call, f"{frame.name} calls itself as the data ask for")


def refuse(ctx: Context, frame: Frame, call: ast.AST, what: str) -> NoReturn:
    """Cut at a call that cannot be inlined, unless an argument of the function around, once known, may end it."""
    ask_for_end(ctx, frame, call, floats=True)
    ctx.cut(
        call,
        what,
        why="calls are read and inlined, so the recursion must end by values known before the run",
        instead="write the recursion as a loop",
    )


def _has_state(frame: Frame) -> bool:
    """Whether it is a closure, or given an object or a container, whose contents no description has."""
    flat, _ = tree.flatten(list(_arguments(frame).values()), is_leaf=lambda v: is_leaf(v) or _is_unmade(v))
    return frame.outer is not None or not all(is_runtime(v) or isinstance(_identity(v), tuple) for v in flat)


def ask_for_end(ctx: Context, frame: Frame, call: ast.AST, floats: bool) -> None:
    """Ask for the numbers that a recursion may end by: integers, for a float beside them may carry a derivative."""
    ends = [v for v in frame.env.values() if type(v) is Var and from_arguments(ctx, v)]
    counts = [v for v in ends if v.aval.dtype.kind not in "fc"]
    if counts or (ends and floats):
        demand(ctx, counts or ends, call, "an argument of a function that calls itself")


def _repeated(frame: Frame) -> int:
    """How many of the calls that a call is made within have its structure, types and known values."""
    around, found = frame.caller, 0
    while around is not None:
        found += _of_one_function(around, frame) and around.entered == frame.entered is not None
        around = around.caller
    return found


def _of_one_function(a: Frame, b: Frame) -> bool:
    """Whether two calls are of one function: not only of one text, which functions that are made share."""
    return a.source.node is b.source.node and a.outer is b.outer and a.scope.function is b.scope.function


def _branches_out(ctx: Context, frame: Frame, node: ast.AST) -> bool:
    """Whether so many calls of a function would be inlined, in branches within branches, that they had better stay."""
    counts = ctx.recursions.counts
    counts[node] += 1
    frame.blocks = len(ctx.builders)
    if counts[node] < MANY:
        return False
    found: set[int] = set()
    around: Frame | None = frame
    while around is not None:
        found |= {around.blocks} if around.source.node is node else set()
        around = around.caller
    return len(found) > DEEP


def _most_called(frame: Frame) -> Frame:
    """Among the calls around one, and itself, the latest of the function that is called most often."""
    calls = [frame]
    while calls[-1].caller is not None:
        calls.append(calls[-1].caller)
    count = Counter(id(c.source.node) for c in calls)
    return max(calls, key=lambda c: count[id(c.source.node)])


def is_within(frame: Frame, f: types.FunctionType) -> bool:
    """Whether a call of this function is being read."""
    node = source_of(f).node
    around: Frame | None = frame
    while around is not None:
        if around.source.node is node and around.scope.function is f:
            return True
        around = around.caller
    return False


def described(frame: Frame) -> Key | None:
    """Structure, types and known values of the arguments of a call; None for what cannot be compared."""
    flat, structure = tree.flatten(list(_arguments(frame).values()), is_leaf=lambda v: is_leaf(v) or _is_unmade(v))
    found = tuple(v.aval if is_runtime(v) else _identity(v) for v in flat)
    return structure, found


def _is_unmade(v: Value) -> bool:
    """Whether it is an object before its __init__ has bound anything: how its class is flattened may need what that
    will bind."""
    return tree.registered(type(v)) is not None and getattr(v, "__dict__", None) == {}


# ---- calls ---------------------------------------------------------------------------------------


def call_routine(ctx: Context, frame: Frame, node: ast.AST, call: ast.AST, body: Body) -> Value:
    """The value of a call that stays a call; `body` reads the function in a frame that has the arguments."""
    given = _Given.of(ctx, frame, node, call)
    state = ctx.recursions
    found = next((p for p in state.pending if p.key == given.key), None)
    if found is None:
        if len(state.pending) > MOST:
            ctx.cut(call, f"{frame.name} calls itself with ever other arguments", instead="write it as a loop")
        found = _Pending(given.key, Routine(frame.name.strip("<>")), len(ctx.builders))
        state.pending.append(found)
        try:
            _read(ctx, found, given, frame, body, call)
        finally:
            state.pending.pop()
        state.group.append(found)
        if not state.pending:
            _close(state)
    if found.out is None:
        if any(b in ctx.branches for b in ctx.builders[found.base :]):
            raise Raised(Thrown(RecursionError), (), ctx.span)
        ctx.cut(call, f"every way through {frame.name} calls it again", instead="end the recursion with an `if`")
    targets = tuple(Var("t", a) for a in found.avals)
    if call is not node:
        ctx.at(call)
    ctx.append(Invoke(targets, (*given.args, *found.free), found.routine, ctx.span))
    return _result(ctx, found.out, targets, given.leaves)


@dataclass(slots=True)
class _Given:
    """The arguments of a call: `leaves` are those that only the run knows, and numbers, at `places` of all of them."""

    key: Key
    names: list[str]
    flat: list[Value]
    structure: TreeDef
    places: list[int]
    leaves: list[Value]
    args: tuple[Atom, ...]
    hints: list[str]

    @staticmethod
    def of(ctx: Context, frame: Frame, node: ast.AST, call: ast.AST) -> _Given:
        env = _arguments(frame)
        flat, structure = tree.flatten(list(env.values()), is_leaf=is_leaf)
        places = []
        for i, v in enumerate(flat):
            if isinstance(v, Undefined | Masked):
                ctx.cut(call, f"{describe(v)} as an argument of {frame.name}, which calls itself")
            if (node, i) not in ctx.loops.unroll:
                places += [i] if is_runtime(v) or _is_number(v) else []
            elif is_runtime(v):
                demand(ctx, [v], call, f"an argument of {frame.name}, which calls itself,")
        leaves = [flat[i] for i in places]
        args = tuple(ctx.atom(v) for v in leaves)
        known = tuple(_identity(v) for i, v in enumerate(flat) if i not in places)
        function = (node, id(frame.outer), id(frame.scope.function))
        key = (*function, structure, tuple(places), tuple(a.aval for a in args), known)
        return _Given(key, list(env), flat, structure, places, leaves, args, _hints(env))

    def opened(self, ctx: Context) -> tuple[list[Value], list[Var]]:
        """The arguments as a routine finds them, and its parameters."""
        node = self.key[0]
        params = [Var(self.hints[i], a.aval) for i, a in zip(self.places, self.args, strict=True)]
        ctx.loops.of.update((v, (node, i)) for i, v in zip(self.places, params, strict=True))
        inside = dict(zip(self.places, (Ref(ctx.cell(v)) if v.aval.shape else v for v in params), strict=True))
        return tree.unflatten(self.structure, [inside.get(i, v) for i, v in enumerate(self.flat)]), params


def _is_number(v: Value) -> bool:
    return type(v) in (int, float, complex) or (isinstance(v, np.generic) and v.dtype.kind in "iufc")


def _identity(v: Value) -> Any:
    plain = v is None or type(v) in (bool, int, float, complex, str, bytes)
    return (type(v), v) if plain or isinstance(v, np.generic) else id(v)


def _arguments(frame: Frame) -> dict[str, Value]:
    return {name: v for name, v in frame.env.items() if name != MIRRORS}


def _hints(env: dict[str, Value]) -> list[str]:
    found: list[str] = []
    for name, value in env.items():
        count = len(tree.flatten(value, is_leaf=is_leaf)[0])
        found += [name] if count == 1 else [f"{name}_{k}" for k in range(count)]
    return found


# ---- reading -------------------------------------------------------------------------------------


def _read(ctx: Context, p: _Pending, given: _Given, frame: Frame, body: Body, call: ast.AST) -> None:
    """Read the body until its results have the types that its own calls were taken to give."""
    state = ctx.recursions
    finished = len(state.group)
    for _ in range(ATTEMPTS):
        del state.group[finished:]
        out, block = _once(ctx, given, frame, body, call)
        avals = tuple(r.aval for r in block.results)
        if p.out == out and p.avals == avals:
            p.block = block
            return
        if p.out is not None and p.out != out:
            ctx.cut(
                call,
                f"what {frame.name}, which calls itself, returns has different structures",
                why="its calls are one function of the program, with one structure of results",
                instead="return one structure everywhere",
            )
        joined = [_either(a, b) for a, b in zip(p.avals or avals, avals, strict=True)]
        if None in joined:
            ctx.cut(
                call,
                f"what {frame.name}, which calls itself, returns has different shapes or dtypes",
                instead="return arrays of one shape and dtype everywhere",
            )
        p.out, p.avals = out, tuple(a for a in joined if a is not None)
    ctx.cut(call, f"the types of the results of {frame.name}, which calls itself, do not settle")


def _either(a: Aval, b: Aval) -> Aval | None:
    return a if a == b else None if a.shape or b.shape else common_scalar(a, b)


def _once(ctx: Context, given: _Given, frame: Frame, body: Body, call: ast.AST) -> tuple[TreeDef, Block]:
    params: list[Var] = []
    results: list[Atom] = []

    def read() -> TreeDef:
        new = Frame(frame.source, frame.outer, ctx.frame, frame.scope, frame.live, frame.fixed, frame.name)
        values, variables = given.opened(ctx)
        params.extend(variables)
        new.env = {**frame.env, **dict(zip(given.names, values, strict=True))}
        before, _ = tree.flatten(values, is_leaf=is_leaf)
        out = result_tree(ctx, body(new), results, frame.source)
        after, structure = tree.flatten(values, is_leaf=is_leaf)
        cells = [v.cell.atom for v in before if type(v) is Ref]
        same_items = structure == given.structure and all(map(operator.is_, before, after))
        if not same_items or any(a not in variables for a in cells):
            _refuse_writes(ctx, frame, call)
        return out

    shot = ctx.read_block(read)
    if shot.cells or shot.containers or shot.attributes:
        _refuse_writes(ctx, frame, call)
    return shot.flow, prune(shot.builder.block(params, results))


def _refuse_writes(ctx: Context, frame: Frame, call: ast.AST) -> NoReturn:
    ctx.cut(
        call,
        f"{frame.name}, which calls itself as the data ask for, writes to what was made outside it",
        why="its derivative calls it for values only",
        instead="write into a copy, and return that",
    )


def _result(ctx: Context, out: TreeDef, targets: Sequence[Var], leaves: Sequence[Value]) -> Value:
    """The value of a call; its arrays may be those that were given."""
    given = tuple(v.cell for v in leaves if type(v) is Ref)
    values = [ctx.wrap(t) for t in targets]
    made = [v.cell for v in values if type(v) is Ref]
    for cell in made:
        cell.sources = given
    value: Value = tree.unflatten(out, values)
    settle(ctx, [(c, "t") for c in made])
    return value


# ---- closing -------------------------------------------------------------------------------------


def _close(state: Recursions) -> None:
    """Give the routines of a group their programs: what they see around them becomes further parameters."""
    group = {p.routine: p for p in state.group}
    bodies = {p.routine: p.block for p in state.group if p.block is not None}
    outside = {r: dict.fromkeys(free_variables(body)) for r, body in bodies.items()}
    bound = {r: _bound(body) for r, body in bodies.items()}
    while True:
        before = sum(map(len, outside.values()))
        for r, body in bodies.items():
            called = [s.routine for s in walk(body) if isinstance(s, Invoke) and s.routine in bodies]
            outside[r] |= dict.fromkeys(v for c in called for v in outside[c] if v not in bound[r])
        if sum(map(len, outside.values())) == before:
            break
    for r, body in bodies.items():
        free = group[r].free = tuple(outside[r])
        widened = with_calls(body, lambda s: replace(s, args=(*s.args, *outside.get(s.routine, ()))))
        mapping: dict[Var, Atom] = {v: Var(v.hint, v.aval) for v in free}
        closed = copy_block(widened, mapping)
        params = (*closed.params, *(v for v in (mapping[f] for f in free) if isinstance(v, Var)))
        r.function = program_of(r.name, Block(params, closed.statements, closed.results))
    for r in bodies:
        r.function = replace(r.function, body=prune(r.function.body))
    state.group.clear()
    known: dict[Routine, Routine] = {}
    for r in bodies:
        known[r] = next((d for d in state.done if same(d.function, r.function)), r)
        state.done += [r] if known[r] is r else []
    for r in bodies:
        body = with_calls(r.function.body, lambda s: replace(s, routine=known.get(s.routine, s.routine)))
        r.function = replace(r.function, body=body)
        group[r].routine = known[r]


def _bound(body: Block) -> set[Var]:
    found = set(body.params)
    for s in walk(body):
        found.update(s.targets, *(b.params for b in blocks_of(s)))
    return found
