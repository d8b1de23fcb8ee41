"""Reading: the source of a NumPy function as a typed program.

    def f(x, n):                    f(x: float64[3], n: int) ->
        y = x * 2                       y = multiply(x, 2)
        y[0] = n                        y2 = put(y, n, [0])
        return np.sum(y)                t = sum(y2)
                                        return t

`read` interprets the syntax tree abstractly; the modules beside this one hold what each construct means.
"""

from __future__ import annotations

import ast
import sys
import types
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, Literal, NoReturn

from ..builder import Builder
from ..errors import Diagnostic, UnsupportedError
from ..ir import Atom, Function, Param, Var, free_variables
from ..purpose import purpose
from ..rewrite import prune, unique_names
from ..tree import ARRAY, LEAF, Kind, TreeDef, close_node
from .core.context import Context
from .core.detours import Restart
from .core.guards import Captures, varying
from .core.values import MIRRORS, Cell, Frame, Outside, Ref, Undefined, Value, is_object, is_transformed, leaves_in
from .facts import streams
from .facts.changes import changes_of
from .facts.handed import returned_of
from .facts.unread import unread
from .facts.views import Lying
from .functions.inlining import hold_shared, prepare
from .functions.inner import child_name, close
from .functions.recursion import call_routine, described, mark, may_stay
from .functions.results import Layout, Reading, check_count, forget, result_tree
from .language import new_context
from .parts.listed import check_crowd, rows_of
from .paths.flow import FUNCTION_END, sequence
from .provided.draws import argument
from .splicing import MAX_RESTARTS
from .text.fence import check_entry
from .text.signature import Opaque, Signature, specialise, static_value
from .text.source import Source, scope_of, source_of

_RECURSION_LIMIT = 8_000  # ten frames an inlined call; beyond 10,000 recursion through C overflows a stack of 8 MB
_ONE_BY_ONE = 4  # restarts, before all numbers of a list are asked for where one is

Finish = Callable[[Context, Mapping[str, Value], Value], Value]  # of the parameters and the result, before it is kept


Changes = Literal["kept", "dropped", "refused"]


def read(
    fun: Callable[..., Any], signature: Signature, finish: Finish | None = None, changes: Changes = "refused"
) -> Reading:
    """The program of `fun` for arguments of this signature; `finish` may replace its result.

    `changes` says what becomes of changes to the caller's lists, dicts, sets and objects: "kept" as further results
    (`Reading.changes`), "dropped" (the function works on copies), or "refused". Functions inside one that is derived or
    batched are read as that is.

    Raises UnsupportedError, ShapeError, DTypeError, AliasError or OutOfBoundsError at the user's line, and Python's own
    exceptions for operations on known values.
    """
    transformed = getattr(fun, "__untraced_read__", None)
    if transformed is not None:
        return transformed(signature)  # type: ignore[no-any-return]
    if changes == "refused" and purpose().keeps_calls:
        changes = "dropped"
    owner, function = _unwrap(fun)
    source = source_of(function)
    check_entry(source, changes == "dropped")
    leaves: frozenset[int] = frozenset()
    unroll: frozenset[Any] = frozenset()
    reasons: dict[int, str] = {}
    changing, known = varying.get(), frozenset[Outside]()
    with _deep_recursion():
        for restarts in range(MAX_RESTARTS):
            ctx = new_context(Builder(), partial(Captures, varying=changing, known=known))
            ctx.loops.unroll = unroll
            try:
                reading = _read_once(ctx, function, owner, source, signature, leaves, finish, changes)
                return replace(reading, reasons=tuple(reasons.items()))
            except Restart as need:
                news = need.leaves - leaves, need.loops - unroll, need.varying - changing, need.known - known
                if not any(news):
                    raise AssertionError("a restart that asks for nothing new") from need
                reasons |= dict.fromkeys(need.leaves - leaves, need.why)
                leaves |= need.leaves if restarts < _ONE_BY_ONE else _with_siblings(signature, need.leaves)
                unroll |= need.loops if need.afresh else need.loops | ctx.loops.unroll
                changing |= need.varying
                known |= need.known
    raise UnsupportedError(f"{function.__name__} asks for static values again and again")


def _with_siblings(signature: Signature, leaves: frozenset[int]) -> frozenset[int]:
    """These leaves and the numbers beside them in a list or dict, which a search would ask for one after the other."""
    found, first = set(leaves), 0

    def visit(tree: TreeDef) -> None:
        nonlocal first
        inside = []
        for child in (tree,) if tree.kind is LEAF.kind else tree.children:
            if child.kind is LEAF.kind:
                inside.append(first)
                first += 1
            else:
                visit(child)
        if not leaves.isdisjoint(inside):
            found.update(i for i in inside if signature.values[i] is not None)

    for _, tree in signature.params:
        visit(tree)
    return frozenset(found)


def _unwrap(fun: Callable[..., Any]) -> tuple[Any, types.FunctionType]:
    """The object and the function of a bound method or a callable object."""
    if isinstance(fun, types.MethodType):
        return fun.__self__, fun.__func__  # type: ignore[return-value]
    if not isinstance(fun, types.FunctionType) and not isinstance(fun, type) and callable(fun):
        method = type(fun).__call__
        if isinstance(method, types.FunctionType):
            return fun, method
    return _NO_OWNER, fun  # type: ignore[return-value]


_NO_OWNER = object()
_UNKNOWN = "pass its arrays, make it a dataclass, or register it with untraced.tree.register"


@contextmanager
def _deep_recursion() -> Iterator[None]:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _RECURSION_LIMIT))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def _read_once(
    ctx: Context,
    function: types.FunctionType,
    owner: Any,
    source: Source,
    signature: Signature,
    leaves: frozenset[int],
    finish: Finish | None,
    changes: Changes,
) -> Reading:
    frame = _begin(ctx, function, source, signature, changes)
    params, variables = _bind_parameters(ctx, frame, signature, leaves, shared=changes != "dropped")
    entered = dict(frame.env)
    ctx.callers.variables = frozenset(variables)
    if owner is not _NO_OWNER:
        _refuse_method(function)
    value = _returned(ctx, frame, source)
    if ctx.keeps_changes:
        check_count(ctx, value, source)
    if ctx.transforms:
        forget(ctx, ctx.mirrors.bound)
    for (text, kind), span in ctx.warnings.items():
        warnings.warn_explicit(text, kind, span.file, span.line)
    if finish is not None:
        value = finish(ctx, entered, value)
    results: list[Atom] = []
    contents, changed = changes_of(ctx, value)
    written = {c for i, c in ctx.callers.arrays if c.atom is not variables[i]}
    is_one = partial(_leaves_as_rows, ctx)
    returned, beside = returned_of(ctx, entered, value, written, is_one) if ctx.keeps_changes else ((), [])
    out = result_tree(ctx, (value, *contents, *beside) if changed or beside else value, results, source)
    ordered = _ordered(ctx, value, results)
    streams.drop_unused(ctx)
    program, mutated = _program(ctx, function.__name__, params, variables, results, out, source)
    layouts = _layouts(ctx, mutated, [i for i in range(len(signature.avals)) if i not in leaves])
    pythons = frozenset(ctx.numbers.python_bools)
    guards = tuple(ctx.captures.guards.values())
    return Reading(program, leaves, guards, layouts, (), changed, returned, len(beside), pythons, ordered)


def _begin(
    ctx: Context, function: types.FunctionType, source: Source, signature: Signature, changes: Changes
) -> Frame:
    """Set up the state of the reading, and the frame of the function, which has no names yet."""
    ctx.keeps_changes = changes == "kept"
    ctx.transforms = changes == "dropped"
    ctx.numbers.leaf_values = signature.values or (None,) * len(signature.avals)
    frame = Frame(source, None, None, scope_of(function), prepare(source, ctx.transforms), False, function.__name__)
    ctx.frame = frame
    ctx.drawing.anywhere = purpose().draws and streams.is_in_loop(source.node)
    ctx.captures.function(function)
    return frame


def _program(
    ctx: Context,
    name: str,
    params: Sequence[Param],
    variables: list[Var],
    results: list[Atom],
    out: TreeDef,
    source: Source,
) -> tuple[Function, set[Cell]]:
    """What was read, as a program: what it found outside is hidden parameters, the arrays that it writes are further
    results. Also these arrays.
    """
    hidden = ctx.captures.params
    variables += [v for _, v, _ in hidden]
    cells = [*ctx.callers.arrays, *((len(variables) - len(hidden) + i, c) for i, (_, _, c) in enumerate(hidden) if c)]
    mutated = [(i, c) for i, c in cells if c.atom is not variables[i]]
    results += [c.atom for _, c in mutated]
    block = ctx.b.block(variables, results)
    body = prune(unread(block) if ctx.keeps_changes or ctx.tries.any else block)
    check_crowd(ctx, body)
    outside: list[Param] = []
    if free_variables(body):  # of the function that is being read further out, whose inner functions this one was given
        body, outside = close(body)
    program = Function(
        name if name != "<lambda>" else "function",
        (*params, *_apart([*(p for p, _, _ in hidden), *outside], params)),
        body,
        out,
        tuple(i for i, _ in mutated),
        source.first_line(),
    )
    return program, {c for _, c in mutated}


def _leaves_as_rows(ctx: Context, v: Value) -> bool:
    return rows_of(ctx, v) is not None


def _apart(hidden: Sequence[Param], shown: Sequence[Param]) -> list[Param]:
    """Hidden parameters renamed: a helper's global x must not be taken for the function's parameter x."""
    names = unique_names([p.name for p in hidden], {p.name for p in shown})
    return [replace(p, name=name) for p, name in zip(hidden, names, strict=True)]


def _returned(ctx: Context, frame: Frame, source: Source) -> Value:
    """The value of a call of the function, while its own recursive calls stay calls."""

    node = source.node

    def body(inside: Frame) -> Value:
        ctx.frame = inside
        try:
            if isinstance(node, ast.Lambda):
                return ctx.eval(node.body)
            flow = sequence(ctx, node.body, FUNCTION_END)
        finally:
            ctx.frame = frame
        return None if flow is None else flow.value

    if mark(node) in ctx.loops.unroll:
        return call_routine(ctx, frame, node, node, body)
    if may_stay(ctx, frame, node):
        frame.entered = described(frame)
    return body(frame)


def _refuse_method(function: types.FunctionType) -> NoReturn:
    raise UnsupportedError(
        Diagnostic(
            f"{function.__qualname__} is a method of an object",
            why="what the object holds could change unseen between calls",
            instead=f"write a function that takes what {function.__name__} needs, and call the method inside",
        )
    )


def _layouts(ctx: Context, mutated: set[Cell], run_time: list[int]) -> tuple[Layout, ...]:
    """The assumptions about the memory layout of arguments that matter, since something was written."""
    found = []
    for number, (cell, lying) in enumerate(ctx.reshapes.taken):
        waiting, seen = [cell], {cell}
        while waiting:
            new = [c for old in (waiting.pop(),) for c in (*old.sources, *old.twins) if c not in seen]
            waiting += new
            seen.update(new)
        followed = _operands(seen)
        for i, c in ctx.callers.arrays:
            if c in seen and (number in ctx.reshapes.relied_on or (c is not cell and c in mutated)):
                found.append(Layout(run_time[i], lying))
            elif c in followed and number in ctx.reshapes.relied_on:
                found.append(Layout(run_time[i], Lying((), in_order=True)))
    return tuple(dict.fromkeys(found))


def _ordered(ctx: Context, value: Value, results: Sequence[Atom]) -> frozenset[int]:
    """The leaves of the result that were made in C's order, or are wanted in it."""
    asked = {cell for cell, _ in ctx.reshapes.taken}
    arrays = [v.cell for v in leaves_in(value) if type(v) is Ref and not v.path]
    atoms = {c.atom for c in arrays if c.origin is None or c in asked}
    return frozenset(i for i, r in enumerate(results) if r in atoms and len(r.aval.shape) > 1)


def _operands(cells: set[Cell]) -> set[Cell]:
    """The cells whose order in memory decided that of these."""
    found: set[Cell] = set()
    waiting = [c for c in cells if c.origin is not None]
    while waiting:
        origin = waiting.pop().origin
        new = [] if origin is None else [c for c in origin.operands if c not in found]
        found.update(new)
        waiting += new
    return found


def _bind_parameters(
    ctx: Context, frame: Frame, signature: Signature, leaves: frozenset[int], shared: bool
) -> tuple[list[Param], list[Var]]:
    params: list[Param] = []
    variables: list[Var] = []
    run_time = [i for i in range(len(signature.avals)) if i not in leaves]
    waiting = iter(run_time)
    for name, t in specialise(signature, leaves):
        params.append(Param(name, t))
        value = _open_parameter(ctx, t, name, signature, waiting, variables)
        frame.env[name] = ctx.callers.adopt(value, (("item", name),)) if shared else value
    hold_shared(frame)
    frame.env[MIRRORS] = ctx.mirrors.shared
    return params, variables


def _open_parameter(
    ctx: Context, t: TreeDef, name: str, signature: Signature, waiting: Iterator[int], variables: list[Var]
) -> Value:
    """The abstract value of one parameter; its leaves become variables."""
    if t.kind is Kind.LEAF:
        leaf = next(waiting)
        v = Var(name, signature.avals[leaf])
        variables.append(v)
        ctx.numbers.leaf_of[v] = leaf
        if not v.aval.shape and t != ARRAY:
            return v
        cell = ctx.cell(v)
        cell.swapped, cell.immutable = leaf in signature.swapped, leaf in signature.immutable
        ctx.callers.arrays.append((len(variables) - 1, cell))
        return Ref(cell)
    if t.kind is Kind.STATIC:
        value = static_value(t)
        if isinstance(value, Opaque):
            known = argument(ctx, value.cls)
            if known is not None:
                return known
            stream, name = streams.argument(ctx, value), value.cls.__name__
            why = f"is a {name}, of which nothing is known before the run"
            return Undefined(why, _UNKNOWN, stream=stream, cls=value.cls)
        changeable = (callable(value) or is_object(value)) and not is_transformed(value)
        return ctx.captures.known(value) if changeable else value
    labels = t.keys or range(len(t.children))
    children = [
        _open_parameter(ctx, c, child_name(name, k), signature, waiting, variables)
        for k, c in zip(labels, t.children, strict=True)
    ]
    return close_node(t, children)
