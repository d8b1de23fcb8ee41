"""Functions of the user: their arguments bound, their bodies read into the block that calls them."""

from __future__ import annotations

import ast
import types
from collections.abc import Callable

from ... import make, ops
from ...errors import CutError, SourcelessError, UntracedError
from ...verdict import is_verdict
from ..core.context import Context
from ..core.detours import Detour
from ..core.growing import Pile
from ..core.values import SHARED, YIELDS, Closure, Frame, SharedNames, Value
from ..parts.piled import list_of
from ..paths.flow import FUNCTION_END, sequence
from ..paths.generators import Pieces, of_function
from ..paths.iterables import held
from ..text import fence
from ..text.libraries import is_library
from ..text.liveness import Liveness, liveness
from ..text.nodes import nodes_of
from ..text.signature import misfit
from ..text.source import FunctionNode, Source, scope_of, source_of
from . import recursion

MAX_DEPTH = 200
MAX_CALLS = 5_000
MAX_REPEATS = 300  # calls of functions by themselves: more are compiled one by one, not as one program of seconds

_prepared: dict[ast.AST, tuple[Source, Liveness]] = {}


def prepare(source: Source, transforms: bool) -> Liveness:
    """Check a function against the fence, and analyse it, once."""
    fence.check(source, transforms)
    known = _prepared.get(source.node)
    if known is None:
        known = _prepared[source.node] = (source, liveness(source.node))
    return known[1]


def inline(
    ctx: Context, f: types.FunctionType, args: list[Value], kwargs: dict[str, Value], node: ast.AST, fixed: bool = False
) -> Value:
    """Read a Python function into the current block. `fixed`: its statements keep the span of the call."""
    try:
        source = source_of(f)
    except SourcelessError as error:
        raise CutError(error.diagnostic) from None
    if is_verdict(source.node) and len(args) == 1:
        return _verdict(ctx, args[0], node)
    try:
        live = prepare(source, ctx.transforms)
    except UntracedError as error:
        raise ctx.unprepared(error, f.__name__, source.file, node) from None
    fixed = fixed or (ctx.frame.fixed and is_library(f))  # a user's function that library source calls is not
    frame = Frame(source, None, ctx.frame, scope_of(f), live, fixed, f.__name__)
    spec = source.node.args
    frame.env = bind_arguments(f.__name__, spec, args, kwargs, lambda name: _default(ctx, f, spec, name))
    ctx.captures.function(f)
    return run_frame(ctx, frame, source.node, node)


def _verdict(ctx: Context, a: Value, node: ast.AST) -> Value:
    """A call of the function that asks for a Cholesky factor."""
    ctx.at(node)
    return ctx.wrap(make.linalg(ctx.b, ops.INDEFINITE, ctx.atom(a)))


def _default(ctx: Context, f: types.FunctionType, spec: ast.arguments, name: str) -> Value:
    if f.__kwdefaults__ and name in f.__kwdefaults__:
        return ctx.captures.default(f, "__kwdefaults__", name)
    positional = [a.arg for a in (*spec.posonlyargs, *spec.args)]
    defaults = f.__defaults__ or ()
    offset = len(positional) - len(defaults)
    if name in positional and positional.index(name) >= offset:
        return ctx.captures.default(f, "__defaults__", positional.index(name) - offset)
    return _MISSING


_MISSING = object()


def inline_closure(ctx: Context, f: Closure, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    if is_verdict(f.node) and len(args) == 1:
        return _verdict(ctx, args[0], node)
    source = f.frame.source
    inner = Source(f.name, source.file, source.lines, f.node)
    known = _prepared.get(f.node)
    live = known[1] if known is not None else _prepared.setdefault(f.node, (inner, liveness(f.node)))[1]
    frame = Frame(_prepared[f.node][0], f.frame, ctx.frame, f.frame.scope, live, f.frame.fixed, f.name)
    frame.env = bind_arguments(f.name, f.node.args, args, kwargs, lambda name: f.defaults.get(name, _MISSING))
    return run_frame(ctx, frame, f.node, node)


def _repeats(frame: Frame) -> bool:
    """Whether the function called is being read already: a recursive call, direct or through others."""
    caller = frame.caller
    while caller is not None and caller.live is not frame.live:
        caller = caller.caller
    return caller is not None


def run_frame(ctx: Context, frame: Frame, node: FunctionNode, call: ast.AST) -> Value:
    """Read the body of a function, and return its value. Where the data decides the recursion, the call stays."""
    ctx.effort.calls += not frame.fixed
    if recursion.mark(node) in ctx.loops.unroll or recursion.is_routine(frame, node):
        return recursion.call_routine(ctx, frame, node, call, lambda inside: _run(ctx, inside, node, call))
    if recursion.may_stay(ctx, frame, node):
        recursion.watch(ctx, frame, node, call, ctx.effort.calls > MAX_CALLS or ctx.effort.depth >= MAX_DEPTH)
    if ctx.effort.calls > MAX_CALLS:
        ctx.cut(call, f"more than {MAX_CALLS} calls would be inlined", instead="write the recursion as a loop")
    if _repeats(frame):
        ctx.effort.repeats += 1
        recursion.expect_end(ctx, frame, call)
    if ctx.effort.repeats > MAX_REPEATS and ctx.keeps_changes:
        ctx.cut(call, f"{frame.name} calls itself too often to be one program", instead="write the recursion as a loop")
    if ctx.effort.depth >= MAX_DEPTH:
        recursion.refuse(ctx, frame, call, f"{frame.name} calls itself more than {MAX_DEPTH} times")
    return _run(ctx, frame, node, call)


def _is_kept(frame: Frame, call: ast.AST) -> bool:
    """Whether a name is bound to what a call gives."""
    bindings = (ast.Assign, ast.AnnAssign, ast.NamedExpr)
    return any(isinstance(n, bindings) and n.value is call for n in nodes_of(frame.source.node))


def _run(ctx: Context, frame: Frame, node: FunctionNode, call: ast.AST) -> Value:
    """Read the body of a function into the current block."""
    outer, repeats = ctx.frame, _repeats(frame)
    ctx.frame = frame
    frame.call = call
    ctx.effort.depth += 1
    ctx.effort.repeating += repeats
    if not frame.fixed:
        frame.env.update((k, held(ctx, v)) for k, v in frame.env.items())
    hold_shared(frame)
    pieces = Pieces(ctx, outer)
    if frame.live.generates:
        frame.env[YIELDS] = list_of(ctx, node, [])
    try:
        if isinstance(node, ast.Lambda):
            return ctx.eval(node.body)
        flow = sequence(ctx, node.body, FUNCTION_END)
        if frame.live.generates and flow is not None and flow.value is not None:
            ctx.cut(call, f"{frame.name}, a generator, returns a value", "only `yield from` and StopIteration show it")
        if frame.live.generates:
            if type(frame.env[YIELDS]) is Pile and _is_kept(outer, call):
                ctx.cut(call, f"{frame.name}, a generator, yields by data", "it may be consumed again", "use list(...)")
            return of_function(pieces, frame, node)
        return None if flow is None else flow.value
    except Detour:
        raise
    except Exception as error:
        ctx.frame = outer
        passed = ctx.passed(error, frame, call)
        if passed is error:
            raise
        raise passed from error
    finally:
        ctx.frame = outer
        ctx.effort.depth -= 1
        ctx.effort.repeating -= repeats


def hold_shared(frame: Frame) -> None:
    """Set up the object that holds the names which inner functions bind; parameters among them move there."""
    if frame.live.shared:
        held = frame.env[SHARED] = SharedNames()
        held.__dict__.update((k, frame.env.pop(k)) for k in frame.live.shared & frame.env.keys())


def bind_arguments(
    label: str, spec: ast.arguments, args: list[Value], kwargs: dict[str, Value], default: Callable[[str], Value]
) -> dict[str, Value]:
    """Parameters by Python's rules. Raises TypeError as Python does."""
    positional = [a.arg for a in (*spec.posonlyargs, *spec.args)]
    env = dict(zip(positional, args, strict=False))
    if len(args) > len(positional) and spec.vararg is None:
        raise misfit(label, _bare(spec), args, kwargs)
    if spec.vararg is not None:
        env[spec.vararg.arg] = tuple(args[len(positional) :])
    only_positional = {a.arg for a in spec.posonlyargs}
    by_name = {*positional, *(a.arg for a in spec.kwonlyargs)} - only_positional
    extra: dict[str, Value] = {}
    for k, v in kwargs.items():
        if k not in by_name:
            extra[k] = v
        elif k in env:
            raise misfit(label, _bare(spec), args, kwargs)
        else:
            env[k] = v
    if spec.kwarg is not None:
        env[spec.kwarg.arg] = extra
    elif extra:
        raise misfit(label, _bare(spec), args, kwargs)
    for name in (*positional, *(a.arg for a in spec.kwonlyargs)):
        if name not in env:
            value = default(name)
            if value is _MISSING:
                raise misfit(label, _bare(spec), args, kwargs)
            env[name] = value
    return env


def _bare(spec: ast.arguments) -> str:
    """The parameters as written, without annotations, each default replaced by None."""
    none = ast.Constant(None)
    written = ast.arguments(
        posonlyargs=[ast.arg(a.arg) for a in spec.posonlyargs],
        args=[ast.arg(a.arg) for a in spec.args],
        vararg=spec.vararg and ast.arg(spec.vararg.arg),
        kwonlyargs=[ast.arg(a.arg) for a in spec.kwonlyargs],
        kw_defaults=[default and none for default in spec.kw_defaults],
        kwarg=spec.kwarg and ast.arg(spec.kwarg.arg),
        defaults=[none for _ in spec.defaults],
    )
    return ast.unparse(written)
