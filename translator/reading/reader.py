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
import enum
import sys
import types
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, Literal, NoReturn

import numpy as np

from ..builder import Builder
from ..errors import Diagnostic, Span, UnsupportedError
from ..ir import Atom, Function, Param, Var, free_variables
from ..purpose import purpose
from ..records import dataclass
from ..rewrite import prune, unique_names
from ..tree import ARRAY, LEAF, NONE, Kind, TreeDef, close_node, open_node, rows_node, static
from . import attributes, calls, comprehensions, control, expressions, loops, matching, stores, streams, trying
from .booleans import returned
from .changes import Change, Returned, changes_of, returned_of
from .context import Context
from .control import FUNCTION_END, check_defined, sequence
from .draws import argument
from .fence import check_entry
from .guards import Captures, Guard, varying
from .inlining import hold_shared, inline, prepare
from .inner import child_name, close, is_made_here
from .iteration import held
from .listed import check_crowd, rows_of
from .maybes import some
from .recursion import Recursions, call_routine, described, mark, may_stay
from .selection import concrete
from .signature import Opaque, Signature, specialise, static_value
from .source import Source, scope_of, source_of
from .unread import unread
from .values import (
    MIRRORS,
    Cell,
    Frame,
    Masked,
    Outside,
    Ref,
    Restart,
    Undefined,
    Value,
    describe,
    is_leaf,
    is_number,
    is_object,
    is_runtime,
    leaves_in,
)
from .views import Lying

# imported for their effect: they register the syntax that they read
_MODULES = (attributes, calls, comprehensions, control, expressions, loops, matching, stores, trying)
_RECURSION_LIMIT = 8_000  # ten frames an inlined call; beyond 10,000 recursion through C overflows a stack of 8 MB
_MAX_RESTARTS = 100
_ONE_BY_ONE = 4  # restarts, before all numbers of a list are asked for where one is


@dataclass(frozen=True, slots=True)
class Layout:
    """The memory layout that a reading assumed of the argument leaf `leaf`, where it matters.

    It matters for reshapes: NumPy decides by an array's strides whether one is a view or a copy.
    """

    leaf: int
    lying: Lying

    def holds(self, x: Any) -> bool:
        return not isinstance(x, np.ndarray) or x.flags.c_contiguous or self.lying.holds(x)


@dataclass(frozen=True, slots=True)
class Reading:
    """A function read for one signature.

    `statics` are the leaves (positions in `Signature.avals`) whose values the program was specialised on; they are not
    among its parameters, and `reasons` say what needs their values. `guards` are the facts about the outside that the
    program relies on, `layouts` those about the memory layout of arguments. `ordered` are the leaves of the result
    that lie in C's order, however the arguments do.
    """

    function: Function
    statics: frozenset[int] = frozenset()
    guards: tuple[Guard, ...] = ()
    layouts: tuple[Layout, ...] = ()
    reasons: tuple[tuple[int, str], ...] = ()
    changes: tuple[Change, ...] = ()  # then the result is a tuple: what is returned, and the contents for each
    returned: tuple[Returned, ...] = ()
    python_bools: frozenset[Var] = frozenset()  # variables that are Python's own bools, which the types do not tell
    ordered: frozenset[int] = frozenset()


Finish = Callable[[Context, Mapping[str, Value], Value], Value]  # of the parameters and the result, before it is kept


Changes = Literal["kept", "dropped", "refused"]


def read(
    fun: Callable[..., Any], signature: Signature, finish: Finish | None = None, changes: Changes = "refused"
) -> Reading:
    """The program of `fun` for arguments of this signature; `finish` may replace its result.

    `changes` says what becomes of changes to the caller's lists, dicts, sets and objects: "kept" as further results
    (`Reading.changes`), "dropped" (the function works on copies), or "refused".

    Raises UnsupportedError, ShapeError, DTypeError, AliasError or OutOfBoundsError at the user's line, and Python's own
    exceptions for operations on known values.
    """
    transformed = getattr(fun, "__untraced_read__", None)
    if transformed is not None:
        return transformed(signature)  # type: ignore[no-any-return]
    owner, function = _unwrap(fun)
    source = source_of(function)
    check_entry(source, changes == "dropped")
    leaves: frozenset[int] = frozenset()
    unroll: frozenset[Any] = frozenset()
    reasons: dict[int, str] = {}
    changing, known = varying.get(), frozenset[Outside]()
    with _deep_recursion():
        for restarts in range(_MAX_RESTARTS):
            ctx = _context(Builder(), partial(Captures, varying=changing, known=known))
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


def read_specialised(
    read_with: Callable[[Signature], Reading], signature: Signature, forced: frozenset[int]
) -> Reading:
    """Read with the leaves `forced` specialised on their values; `statics` of the result count the leaves of
    `signature`.
    """
    if not forced:
        return read_with(signature)
    kept = [i for i in range(len(signature.avals)) if i not in forced]
    values = tuple(signature.values[i] for i in kept)
    params = specialise(signature, forced)
    narrow = replace(signature, params=params, avals=tuple(signature.avals[i] for i in kept), values=values)
    reading = read_with(narrow)
    reasons = tuple((kept[i], why) for i, why in reading.reasons)
    return Reading(reading.function, forced | {kept[i] for i in reading.statics}, reading.guards, reasons=reasons)


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
    ctx.keeps_changes = changes == "kept"
    ctx.transforms = changes == "dropped"
    ctx.numbers.leaf_values = signature.values or (None,) * len(signature.avals)
    frame = Frame(source, None, None, scope_of(function), prepare(source, ctx.transforms), False, function.__name__)
    ctx.frame = frame
    ctx.drawing.anywhere = purpose().draws and streams.is_in_loop(source.node)
    ctx.captures.function(function)
    params, variables = _bind_parameters(ctx, frame, signature, leaves, shared=changes != "dropped")
    entered = dict(frame.env)
    if owner is not _NO_OWNER:
        _refuse_method(function)
    value = _returned(ctx, frame, source)
    if ctx.transforms:
        _warn_of_forgotten(ctx.mirrors.bound)
        for (text, kind), span in ctx.warnings.items():
            warnings.warn_explicit(text, kind, span.file, span.line)
    if finish is not None:
        value = finish(ctx, entered, value)
    results: list[Atom] = []
    contents, changed = changes_of(ctx, value)
    out = result_tree(ctx, (value, *contents) if changed else value, results, source)
    ordered = _ordered(ctx, value, results)
    streams.drop_unused(ctx)
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
        function.__name__ if function.__name__ != "<lambda>" else "function",
        (*params, *_apart([*(p for p, _, _ in hidden), *outside], params)),
        body,
        out,
        tuple(i for i, _ in mutated),
        source.first_line(),
    )
    layouts = _layouts(ctx, {c for _, c in mutated}, [i for i in range(len(signature.avals)) if i not in leaves])
    pythons = frozenset(ctx.numbers.python_bools)
    returned = returned_of(ctx, entered, value, {c for _, c in mutated}) if ctx.keeps_changes else ()
    guards = tuple(ctx.captures.guards.values())
    return Reading(program, leaves, guards, layouts, (), changed, returned, pythons, ordered)


def _apart(hidden: Sequence[Param], shown: Sequence[Param]) -> list[Param]:
    """Hidden parameters renamed: a helper's global x must not be taken for the function's parameter x."""
    names = unique_names([p.name for p in hidden], {p.name for p in shown})
    return [replace(p, name=name) for p, name in zip(hidden, names, strict=True)]


def _warn_of_forgotten(bound: Mapping[str, Span]) -> None:
    """Warn, at the user's assignment, that a derivative or a batch binds nothing outside itself."""
    for name, span in bound.items():
        what = f"{name} lives outside the function: a derivative or a batch leaves it as it was"
        warnings.warn_explicit(what, UserWarning, span.file, span.line)


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


def _context(builder: Builder, captures: Callable[[], Captures] = Captures) -> Context:
    ctx = Context(builder, None)
    ctx.recursions = Recursions()
    ctx.captures = captures()
    return ctx


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
        changeable = (callable(value) or is_object(value)) and not hasattr(value, "__untraced_read__")
        return ctx.captures.known(value) if changeable else value
    labels = t.keys or range(len(t.children))
    children = [
        _open_parameter(ctx, c, child_name(name, k), signature, waiting, variables)
        for k, c in zip(labels, t.children, strict=True)
    ]
    return close_node(t, children)


def result_tree(ctx: Context, value: Value, results: list[Atom], source: Source) -> TreeDef:
    """The structure of what is returned; its leaves become results."""
    check_defined(ctx, value, source.node)
    value = some(ctx, value)
    if isinstance(value, Masked):
        value = concrete(ctx, value, source.node, "the function returns a selection x[mask]")
    if type(value) is int and not -(2**63) <= value < 2**63:
        return static(value)
    if type(value) is Ref and value.cell.stale:
        ctx.cut(
            source.node,
            "the function returns an array that may have changed",
            why=value.cell.stale,
            instead="return a copy of it, taken before the store",
        )
    if is_runtime(value) or is_number(value) or isinstance(value, np.bool_):
        results.append(returned(ctx, value))
        return ARRAY if type(value) is Ref and not value.aval.shape else LEAF
    if value is None:
        return NONE
    value = held(ctx, value)
    rows = rows_of(ctx, value)
    if rows is not None:
        results.append(rows[0])
        return rows_node(rows[1])
    if is_leaf(value):
        ctx.cut(
            source.node,
            f"the function returns {describe(value)}",
            why="results are arrays, numbers and containers of them",
            instead="return the arrays",
        )
    opened = open_node(value)
    if opened is None:
        return _static_result(ctx, value, source)
    children, shell = opened
    if not children:
        return shell
    parts = tuple(result_tree(ctx, c, results, source) for c in children)
    return TreeDef(shell.kind, parts, shell.keys, shell.type, shell.aux)


def _static_result(ctx: Context, value: Value, source: Source) -> TreeDef:
    if is_made_here(value):
        what = "what is made of a function that is defined inside leaves the function"
        ctx.cut(source.node, what, why="it exists only while that is read", instead="make it outside, and pass it")
    if is_object(value) and not isinstance(value, enum.Enum) and not hasattr(value, "__untraced_read__"):
        what = f"the function returns {describe(value)}"
        ctx.cut(source.node, what, instead="make it a dataclass, or return its arrays")
    try:
        hash(value)
    except TypeError:
        ctx.cut(
            source.node,
            f"the function returns {describe(value)}",
            why="results are arrays, numbers and containers of them",
            instead="return the arrays",
        )
    return static(value)


# ---- rules ---------------------------------------------------------------------------------------


def splice(b: Builder, fun: Callable[..., Any], args: Sequence[Atom]) -> Any:
    """Append the statements of a rule, NumPy source, to `b`; an atom, None, or a tuple of those.

    The statements take the span that `b` has now. Raises UnsupportedError for what is not in the language.
    """
    count, span = len(b.statements), b.span
    unroll: frozenset[Any] = frozenset()
    for _ in range(_MAX_RESTARTS):
        ctx = _context(b)
        ctx.loops.unroll = unroll
        ctx.transforms = True
        ctx.frame = _root_frame(fun)
        source = ctx.frame.source
        try:
            values = [ctx.wrap(a) for a in args]
            value = inline(ctx, fun, values, {}, source.node, fixed=True)  # type: ignore[arg-type]
        except Restart as need:
            if need.leaves or need.loops <= unroll:
                what = f"the rule {fun.__name__} needs a value that is known only at run time"
                raise UnsupportedError(what) from need
            unroll |= need.loops | ctx.loops.unroll
            del b.statements[count:]
            b.span = span
            continue
        if ctx.captures.params:
            raise UnsupportedError(f"the rule {fun.__name__} uses an array from outside it")
        return _lowered(ctx, value)
    raise UnsupportedError(f"the rule {fun.__name__} could not be read")


def _root_frame(fun: Callable[..., Any]) -> Frame:
    source = source_of(fun)
    function: Any = fun
    return Frame(source, None, None, scope_of(function), prepare(source, True), True, function.__name__)


def _lowered(ctx: Context, value: Value) -> Any:
    if isinstance(value, tuple | list):
        return tuple(_lowered(ctx, v) for v in value)
    return None if value is None else ctx.atom(value)
