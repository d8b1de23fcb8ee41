"""Calls: user functions are read and inlined, NumPy's go to the surface, transformed ones are spliced in."""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect
import re
import sys
import types
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from .. import make, surface
from ..errors import CutError, UntracedError
from ..ir import Var
from ..library import mapping
from ..surface.arguments import NeedStatic
from . import fence, recursion
from .contents import call_of_known
from .context import Context
from .control import FUNCTION_END, sequence
from .demand import demand, refuse_undefined, static
from .generators import Collection
from .guards import is_library
from .hooks import accelerated_function, call_hook, is_hook
from .indexing import copy_of_line
from .iteration import consumed, held, known_items
from .liveness import Liveness, liveness
from .output import signature_of, take_output, write_output
from .selected import call
from .selection import concrete
from .source import FunctionNode, Source, scope_of, source_of
from .values import (
    SHARED,
    Bound,
    Closure,
    Detour,
    Flat,
    Foreign,
    Frame,
    Masked,
    Method,
    Partial,
    Ref,
    RunRange,
    SharedNames,
    Undefined,
    Update,
    Value,
    describe,
    has_runtime,
    is_leaf,
    is_runtime,
    leaves_in,
)
from .views import view_of

MAX_DEPTH = 200
MAX_CALLS = 5_000
MAX_REPEATS = 300  # calls of functions by themselves: more are compiled one by one, not as one program of seconds


def call_node(ctx: Context, node: ast.Call) -> Value:
    function = ctx.eval(node.func)
    if function is print:
        ctx.cut(
            node,
            "`print` is left to CPython",
            why="it would print once, when the function is translated, and never again",
            instead="return the value and print it outside",
        )
    args: list[Value] = []
    for a in node.args:
        if type(a) is ast.Starred:
            args += known_items(ctx, ctx.eval(a.value), a)
        else:
            args.append(ctx.eval(a))
    kwargs: dict[str, Value] = {}
    for k in node.keywords:
        value = ctx.eval(k.value)
        if k.arg is not None:
            kwargs[k.arg] = value
        elif isinstance(value, dict):
            kwargs.update(value)
        else:
            ctx.refuse(k.value, "`**` in a call needs a dict", why=f"this is {describe(value)}")
    ctx.at(node)
    return call_value(ctx, function, args, kwargs, node)


def call_value(ctx: Context, f: Value, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """The value of f(*args, **kwargs)."""
    kind = type(f)
    if kind is Method:
        from .methods import call_method

        return call_method(ctx, f, args, kwargs, node)
    if kind is Closure:
        return _inline_closure(ctx, f, args, kwargs, node)
    if kind is Update:
        from .functional import call_update

        return call_update(ctx, f, args, kwargs, node)
    if kind is Bound:
        owner = f.owner.value if type(f.owner) is Foreign else f.owner
        if type(f.function) is types.FunctionType and not is_runtime(owner):
            handler = surface.handler_for(types.MethodType(f.function, owner))
            if handler is not None:
                return call_handler(ctx, handler, f.function, args, kwargs, node)
        return call_value(ctx, f.function, [f.owner, *args], kwargs, node)
    if kind is Partial:
        value = call_value(ctx, f.function, [*f.args, *args], {**f.kwargs, **kwargs}, node)
        return ctx.boxed(value) if f.function is mapping.vectorized and ctx.boxes else value
    if kind is Foreign or kind is np.vectorize or not callable(f):
        return _call_object(ctx, f, args, kwargs, node)
    if hasattr(f, "__untraced_read__") or is_hook(f):
        return _call_own(ctx, f, args, kwargs, node)
    from .pythonic import builtin_for

    builtin = builtin_for(f) if isinstance(f, Hashable) else None
    if builtin is not None:
        value = builtin(ctx, node, *_handed(ctx, f, args, node), **kwargs)
        if type(value) is list and _gives_iterators(f):
            ctx.iterators[id(value)] = value
        return value
    args = _handed(ctx, f, args, node)
    known = call_of_known(ctx, f, args, kwargs)
    if known is not NotImplemented:
        return known
    handler = surface.handler_for(f)
    if handler is not None:
        return call_handler(ctx, handler, f, args, kwargs, node)
    if kind is types.BuiltinMethodType and isinstance(f.__self__, np.ufunc) and f.__name__ == "at":
        from .methods import scatter

        return scatter(ctx, f.__self__, args, node)
    if kind is types.FunctionType:
        return inline(ctx, f, args, kwargs, node)
    if kind is types.MethodType:
        return call_value(ctx, f.__func__, [f.__self__, *args], kwargs, node)
    if isinstance(f, type):
        return _construct(ctx, f, args, kwargs, node)
    if kind is functools._lru_cache_wrapper:
        return _remembered(ctx, f, args, kwargs, node)
    if issubclass(kind, functools.partial):
        return call_value(ctx, f.func, [*f.args, *args], {**f.keywords, **kwargs}, node)
    if isinstance(kind.__call__, types.FunctionType):
        return inline(ctx, ctx.captures.part(kind, "__call__"), [f, *args], kwargs, node)
    return _call_known(ctx, f, args, kwargs, node)


def _gives_iterators(f: Any) -> bool:
    return any(f is g for g in (iter, map, filter, reversed, zip)) or _origin(f) == "itertools"


def _handed(ctx: Context, f: Any, args: list[Value], node: ast.AST) -> list[Value]:
    """Arguments of a function that is not read; it consumes iterators among them."""
    if any(f is g for g in (iter, next, type, isinstance)) or isinstance(f, types.FunctionType):
        return args
    return [consumed(ctx, a, node) for a in args]


def _call_own(ctx: Context, f: Any, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """A function that this package made, or made itself known to it."""
    function = accelerated_function(f)
    if function is not None:
        return inline(ctx, function, args, kwargs, node)
    if hasattr(f, "__untraced_read__"):
        from .transformed import call_transformed

        original = getattr(f, "__untraced_original__", None)
        if type(original) is types.FunctionType and recursion.is_within(ctx.frame, original):
            return inline(ctx, original, args, kwargs, node)
        return call_transformed(ctx, f, args, kwargs, node)
    return call_hook(ctx, f, args, kwargs, node)


def _remembered(ctx: Context, f: Any, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """A function behind functools.cache: of known values it is read once."""
    key = (f, *args, *kwargs.items())
    known = not any(map(has_runtime, [*args, *kwargs.values()])) and all(isinstance(v, Hashable) for v in key)
    if known and key in ctx.remembered:
        return ctx.remembered[key]
    value = call_value(ctx, f.__wrapped__, args, kwargs, node)
    if known and not has_runtime(value) and isinstance(value, Hashable):
        ctx.remembered[key] = value
    return value


def _call_object(ctx: Context, f: Value, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """An instance whose class defines __call__."""
    if isinstance(f, Undefined):
        refuse_undefined(ctx, f, node)
    obj = f.value if isinstance(f, Foreign) else f
    if isinstance(obj, np.vectorize):
        from .pythonic import vectorized

        made = vectorized(obj.pyfunc, obj.otypes, obj.excluded, obj.signature)
        return call_value(ctx, made, args, kwargs, node)
    if is_runtime(obj) or not callable(obj):
        raise TypeError(f"{describe(f)} is not callable")
    if hasattr(obj, "__untraced_read__") or is_hook(obj):
        return _call_own(ctx, obj, args, kwargs, node)
    method = ctx.captures.part(type(obj), "__call__")
    if isinstance(method, types.FunctionType):
        return inline(ctx, method, [f, *args], kwargs, node)
    return _call_known(ctx, obj, args, kwargs, node)


_PURE_MODULES = frozenset({"math", "operator", "_operator", "builtins", "itertools", "cmath", "string", "functools"})


_BUILTIN_CLASSES = _PURE_MODULES | {"numpy", "collections"}

_EFFECTS = frozenset(
    {
        "input", "open", "breakpoint", "help", "exit", "quit", "__import__", "delattr", "id", "iter", "next",
        "memoryview",
    }
)  # fmt: skip
_NAMES = frozenset({"eval", "exec", "compile", "globals", "locals", "vars", "dir"})


# of these every call does something anew: CPython makes it, and what is around it is compiled
_HOST_MODULES = ("time", "_warnings", "warnings", "logging", "_random", "random", "numpy.random", "sys", "datetime")


def _is_of_scipy(f: Any) -> bool:
    """Whether it is a ufunc of scipy.special, of which none knows its module."""
    special = sys.modules.get("scipy.special")
    return isinstance(f, np.ufunc) and special is not None and getattr(special, f.__name__, None) is f


def _origin(f: Any) -> str:
    """The module of a compiled function, that of its object's class for a method."""
    owner = getattr(f, "__self__", None)
    if owner is None or isinstance(owner, types.ModuleType):
        return getattr(f, "__module__", None) or type(f).__module__
    return (owner if isinstance(owner, type) else type(owner)).__module__


def _spelled(ctx: Context, f: Any, node: ast.AST) -> str:
    """The function as the user calls it, else its name."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute) and not ctx.frame.fixed:
        return ctx.frame.source.span(node.func).text
    return getattr(f, "__qualname__", None) or getattr(f, "__name__", None) or repr(f)


def _call_known(ctx: Context, f: Any, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """A compiled function of known values, when it is known to be pure."""
    from .expressions import run_known
    from .standard import GETTERS, call_getter

    if isinstance(f, GETTERS):
        return call_getter(ctx, f, args, node)

    module, label = _origin(f), _spelled(ctx, f, node)
    if any(module == m or module.startswith(m + ".") for m in _HOST_MODULES):
        ctx.cut(
            node,
            f"{label} is left to CPython",
            why="what it does, it would do once, when the function is translated, and never again",
            instead="call it outside and pass what it gives",
        )
    of_number = isinstance(getattr(f, "__self__", None), np.generic | np.dtype)
    if (module.partition(".")[0] in ("numpy", "scipy") and not of_number) or _is_of_scipy(f):
        ctx.cut(
            node,
            f"{label} is not in the language",
            why="no rule says how to compile or differentiate it",
            instead="write it with the NumPy functions that the documentation lists",
        )
    if module.partition(".")[0] not in _PURE_MODULES and not of_number:
        ctx.cut(
            node,
            f"{label} cannot be read",
            why="it is compiled code without Python source",
            instead="use a NumPy function, or call it outside",
        )
    if getattr(f, "__name__", "") in _EFFECTS:
        ctx.refuse(
            node,
            f"`{label}` is not in the language",
            why="it would run once, when the function is translated, and never again",
            instead="call it outside and pass what it gives",
        )
    if getattr(f, "__name__", "") in _NAMES:
        ctx.refuse(
            node,
            f"`{label}` is not in the language",
            why="which names it reads or binds cannot be told from the source",
            instead="write the code out, or pass the values as arguments",
        )
    if any(is_leaf(v) for v in leaves_in([*args, *kwargs.values()])):
        needed = [v for v in leaves_in([*args, *kwargs.values()]) if type(v) is Var]
        if not needed or any(type(v) is Ref for v in leaves_in([*args, *kwargs.values()])):
            ctx.cut(node, f"{label} of run-time values is not in the language", instead="use the NumPy function")
        demand(ctx, needed, node, f"an argument of {label}")
    if isinstance(owner := getattr(f, "__self__", None), slice):
        static(ctx, owner, node, "a slice")
    return run_known(ctx, node, functools.partial(f, **kwargs), *args)


# ---- user functions ------------------------------------------------------------------------------

_prepared: dict[ast.AST, tuple[Source, Liveness]] = {}


def prepare(source: Source, node: FunctionNode) -> Liveness:
    """Check a function against the fence and analyse it, once."""
    known = _prepared.get(node)
    if known is None:
        fence.check(source)
        known = _prepared[node] = (source, liveness(node))
    return known[1]


def inline(
    ctx: Context, f: types.FunctionType, args: list[Value], kwargs: dict[str, Value], node: ast.AST, fixed: bool = False
) -> Value:
    """Read a Python function into the current block. `fixed`: its statements keep the span of the call."""
    source = source_of(f)
    try:
        live = prepare(source, source.node)
    except UntracedError as error:
        error.sites = () if ctx.frame.fixed else (node, *error.sites)
        raise
    fixed = fixed or (ctx.frame.fixed and is_library(f))  # a user's function that library source calls is not
    frame = Frame(source, None, ctx.frame, scope_of(f), live, fixed, f.__name__)
    spec = source.node.args
    frame.env = bind_arguments(f.__name__, spec, args, kwargs, lambda name: _default(ctx, f, spec, name))
    ctx.captures.function(f)
    return run_frame(ctx, frame, source.node, node)


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


def _inline_closure(ctx: Context, f: Closure, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    source = f.frame.source
    inner = Source(f.name, source.file, source.lines, f.node)
    known = _prepared.get(f.node)
    live = known[1] if known is not None else _prepared.setdefault(f.node, (inner, liveness(f.node)))[1]
    frame = Frame(_prepared[f.node][0], f.frame, ctx.frame, f.frame.scope, live, f.frame.fixed, f.name)
    frame.env = bind_arguments(f.name, f.node.args, args, kwargs, lambda name: f.defaults.get(name, _MISSING))
    return run_frame(ctx, frame, f.node, node)


def _repeats(frame: Frame) -> bool:
    """Whether a call is one of a function that calls itself, directly or through others."""
    caller = frame.caller
    while caller is not None and caller.live is not frame.live:
        caller = caller.caller
    return caller is not None


def run_frame(ctx: Context, frame: Frame, node: FunctionNode, call: ast.AST) -> Value:
    """Read the body of a function; the value that it returns. Where the data say how often it calls itself, a call."""
    ctx.calls += 1
    if recursion.mark(node) in ctx.unroll or recursion.is_routine(frame, node):
        return recursion.call_routine(ctx, frame, node, call, lambda inside: _run(ctx, inside, node, call))
    if recursion.may_stay(ctx, frame, node):
        recursion.watch(ctx, frame, node, call, ctx.calls > MAX_CALLS or ctx.depth >= MAX_DEPTH)
    if ctx.calls > MAX_CALLS:
        ctx.cut(call, f"more than {MAX_CALLS} calls would be inlined", instead="write the recursion as a loop")
    ctx.repeats += _repeats(frame)
    if ctx.repeats > MAX_REPEATS and ctx.keeps_changes:
        ctx.cut(call, f"{frame.name} calls itself over {MAX_REPEATS} times", instead="write the recursion as a loop")
    if ctx.depth >= MAX_DEPTH:
        recursion.ask_for_end(ctx, frame, call, floats=True)
        ctx.cut(
            call,
            f"{frame.name} calls itself more than {MAX_DEPTH} times",
            why="calls are read and inlined, so the recursion must end by values known before the run",
            instead="write the recursion as a loop",
        )
    return _run(ctx, frame, node, call)


def _run(ctx: Context, frame: Frame, node: FunctionNode, call: ast.AST) -> Value:
    """Read the body of a function into the current block."""
    outer = ctx.frame
    ctx.frame = frame
    ctx.depth += 1
    if not frame.fixed:
        frame.env.update((k, held(ctx, v)) for k, v in frame.env.items())
    hold_shared(frame)
    collection = Collection(ctx, frame, outer) if frame.live.generates else None
    try:
        if isinstance(node, ast.Lambda):
            return ctx.eval(node.body)
        flow = sequence(ctx, node.body, FUNCTION_END)
        if collection is not None:
            return collection.generator(node, call)
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
        ctx.depth -= 1


def hold_shared(frame: Frame) -> None:
    """Make the place of the names that inner functions bind; parameters among them move there."""
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
        raise TypeError(f"{label}() takes {len(positional)} positional arguments but {len(args)} were given")
    if spec.vararg is not None:
        env[spec.vararg.arg] = tuple(args[len(positional) :])
    only_positional = {a.arg for a in spec.posonlyargs}
    by_name = {*positional, *(a.arg for a in spec.kwonlyargs)} - only_positional
    extra: dict[str, Value] = {}
    for k, v in kwargs.items():
        if k not in by_name:
            extra[k] = v
        elif k in env:
            raise TypeError(f"{label}() got multiple values for argument {k!r}")
        else:
            env[k] = v
    if spec.kwarg is not None:
        env[spec.kwarg.arg] = extra
    elif extra:
        raise TypeError(f"{label}() got an unexpected keyword argument {next(iter(extra))!r}")
    for name in (*positional, *(a.arg for a in spec.kwonlyargs)):
        if name not in env:
            value = default(name)
            if value is _MISSING:
                raise TypeError(f"{label}() missing a required argument: {name!r}")
            env[name] = value
    return env


def _construct(ctx: Context, cls: type, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """An instance of a user's class: dataclasses and namedtuples hold their values, __init__ of others is read."""
    from .expressions import run_known

    if issubclass(cls, np.generic | BaseException | np.dtype) or cls.__module__ in _BUILTIN_CLASSES:
        return _construct_builtin(ctx, cls, args, kwargs, node)
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        return run_known(ctx, node, lambda: cls(*args, **kwargs))
    if hasattr(cls, "__dataclass_fields__") and "__post_init__" not in dir(cls):
        return run_known(ctx, node, lambda: cls(*args, **kwargs))
    if cls.__new__ is not object.__new__:
        (ctx.refuse if isinstance(cls.__new__, types.FunctionType) else ctx.cut)(
            node,
            f"an object of the class {cls.__name__} cannot be made here",
            why="its class makes objects in a way of its own (__new__)",
            instead="make it outside the function and pass it",
        )
    initialise = cls.__init__
    instance: Value = object.__new__(cls)
    if hasattr(cls, "__dataclass_fields__"):
        return _construct_dataclass(ctx, cls, args, kwargs, node)
    if isinstance(initialise, types.FunctionType):
        inline(ctx, initialise, [instance, *args], kwargs, node)
    elif args or kwargs:
        raise TypeError(f"{cls.__name__}() takes no arguments")
    return instance


def _construct_dataclass(ctx: Context, cls: type, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """Fields first, then the user's __post_init__ is read."""
    given = inspect.signature(cls).bind(*args, **kwargs).arguments
    instance: Value = object.__new__(cls)
    for f in dataclasses.fields(cls):
        if f.name in given:
            object.__setattr__(instance, f.name, given[f.name])
        elif f.default_factory is not dataclasses.MISSING:
            object.__setattr__(instance, f.name, call_value(ctx, f.default_factory, [], {}, node))
        elif f.default is not dataclasses.MISSING:
            object.__setattr__(instance, f.name, ctx.captures.member(cls, f.name))
    inline(ctx, cls.__post_init__, [instance], {}, node)  # type: ignore[attr-defined]
    return instance


def _construct_builtin(ctx: Context, cls: type, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    from .expressions import run_known

    if issubclass(cls, np.generic) and len(args) == 1 and (has_runtime(args[0]) or isinstance(args[0], list | tuple)):
        return ctx.wrap(make.astype(ctx.b, ctx.atom(args[0]), np.dtype(cls)))
    if cls is functools.partial:
        return Partial(args[0], tuple(args[1:]), kwargs)
    if issubclass(cls, BaseException):
        return cls(*(a if not has_runtime(a) else describe(a) for a in args))
    if cls is np.dtype or cls is np.finfo or cls is np.iinfo or not any(map(has_runtime, [*args, *kwargs.values()])):
        return run_known(ctx, node, lambda: cls(*args, **kwargs))
    return ctx.cut(node, f"{cls.__name__}(...) of run-time values is left to CPython")


# ---- NumPy ---------------------------------------------------------------------------------------


def call_handler(
    ctx: Context, handler: Any, f: Any, args: list[Value], kwargs: dict[str, Value], node: ast.AST
) -> Value:
    """A NumPy function, method or attribute. Errors of the arguments are told at the call."""
    output, args, kwargs = take_output(f, handler, args, kwargs)
    if output is not None:
        return write_output(ctx, output, call_handler(ctx, handler, f, args, kwargs, node), node)
    args = [_with_arrays(ctx, a, f, node) if type(a) is list or type(a) is tuple else a for a in args]
    args = [copy_of_line(ctx, a) if type(a) is Flat else a for a in args]
    for v in (*args, *kwargs.values()):
        if type(v) is RunRange:
            static(ctx, v, node, "the range")
    if any(isinstance(v, Masked) for v in (*args, *kwargs.values())):
        return call(ctx, f, args, kwargs, node, lambda xs, ks: call_handler(ctx, handler, f, list(xs), dict(ks), node))
    if handler.inline:
        try:
            signature_of(handler.function).bind(*handler.first, *args, **kwargs)
        except TypeError as error:
            raise _unknown_arguments(ctx, f, args, kwargs, error, node) from error
        made = inline(ctx, handler.function, [*handler.first, *args], kwargs, node, fixed=True)
        return _boxed(ctx, f, made, args)
    for v in (*args, *kwargs.values()):
        if isinstance(v, Foreign):
            ctx.cut(
                node,
                f"{_label(f)} of a {type(v.value).__name__} from outside the function",
                why="what it holds cannot be seen, so a change of it could go unnoticed",
                instead="use a list, a tuple or a dict of arrays, or pass it as an argument",
            )
    lowered = [ctx.lower(a) for a in args]
    keywords = {k: ctx.lower(v) for k, v in kwargs.items()}
    ctx.at(node)
    try:
        if handler.view and args and type(args[0]) is Ref:
            view = view_of(ctx, handler.function, args[0], lowered[1:], keywords)
            if view is not None:
                return view
        result = handler.function(ctx.b, *lowered, **keywords)
    except NeedStatic as need:
        demand(ctx, need.atoms, node, need.what)
    except TypeError as error:
        if isinstance(error, UntracedError):
            raise
        raise _unknown_arguments(ctx, f, args, kwargs, error, node) from error
    return _boxed(ctx, f, ctx.wrap(result), args)


def _boxed(ctx: Context, f: Any, found: Value, args: list[Value]) -> Value:
    """What NumPy gives as an array of shape () is one; what it gives as a number is no argument that is an array."""
    if f is np.asarray and not ctx.frame.fixed:  # in printed programs: how they return arrays without axes
        return ctx.boxed(found)
    if not ctx.boxes:
        return found
    if _gives_array(f, args):
        return ctx.boxed(found)
    return ctx.number(found) if not any(found is a for a in args) or f not in _VIEWS else found


def _gives_array(f: Any, args: list[Value]) -> bool:
    if not isinstance(f, Hashable):
        return False
    of_number = bool(args) and (type(args[0]) in (bool, int, float, complex) or _is_weak(args[0]))
    return f in _MAKERS or (f is np.where and len(args) > 1) or (of_number and f in _TURNING)


def _is_weak(v: Value) -> bool:
    return type(v) is Var and v.aval.weak


_TURNING: set[Any] = {np.squeeze, np.transpose, np.permute_dims}  # they make arrays of Python's numbers


_VIEWS: set[Any] = {np.real, np.imag, np.squeeze, np.transpose, np.permute_dims, "real", "imag", "T", "squeeze", "view"}
_MAKERS: set[Any] = {
    *(np.array, np.asarray, np.asanyarray, np.copy, np.broadcast_to, np.zeros, np.ones, np.empty, np.full),
    *(np.zeros_like, np.ones_like, np.empty_like, np.full_like, np.select, np.piecewise, np.block, np.broadcast_arrays),
    *(np.cov, np.i0, np.isin, np.pad, np.roll, np.tensordot, np.linalg.tensordot, np.linalg.tensorsolve),
    *(np.fft.fftn, np.fft.ifftn, np.apply_along_axis, np.lib.stride_tricks.as_strided, "copy"),
}


def _unknown_arguments(
    ctx: Context, f: Any, args: list[Value], kwargs: dict[str, Value], error: TypeError, node: ast.AST
) -> Exception:
    """A TypeError where NumPy does not take such arguments either."""
    words = _OWN_NAME.sub("", str(error))
    if callable(f) and not _takes(f, args, kwargs):
        return TypeError(f"{getattr(f, '__name__', f)}() {words}")
    return ctx.error(
        CutError,
        node,
        f"{_label(f)}: {words}",
        why="these are not the arguments that the language knows for it",
        instead="call it with NumPy's usual arguments, and write the rest with other functions",
    )


_OWN_NAME = re.compile(r"^[\w.<>]+(\(\))? (?=takes|got|missing)")  # of the handler: the user's function is named


def _takes(function: Any, args: list[Value], kwargs: dict[str, Value]) -> bool:
    """Whether NumPy's function takes such arguments; taken for granted where its parameters are not known."""
    if isinstance(function, np.ufunc):
        return function.nin <= len(args) <= function.nargs and kwargs.keys() <= _UFUNC_OPTIONS
    try:
        inspect.signature(function).bind(*args, **kwargs)
    except TypeError:
        return False
    except ValueError:  # no signature is known
        return True
    return True


_UFUNC_OPTIONS = {"out", "where", "axes", "axis", "keepdims", "casting", "order", "dtype", "subok", "signature"}


def _with_arrays(ctx: Context, v: Value, f: Any, node: ast.AST) -> Value:
    """A list with arrays in place of selections."""
    if type(v) is list or type(v) is tuple:
        return type(v)(_with_arrays(ctx, x, f, node) for x in v)
    return concrete(ctx, v, node, f"{_label(f)} of selections x[mask]") if isinstance(v, Masked) else v


def _label(f: Any) -> str:
    if isinstance(f, str):
        return f"the array method .{f}"
    return f"np.{getattr(f, '__name__', f)}"


Context.expressions[ast.Call] = call_node
