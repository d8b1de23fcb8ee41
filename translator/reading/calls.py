"""Calls: user functions are read and inlined, NumPy's go to the surface, transformed ones are spliced in."""

from __future__ import annotations

import ast
import functools
import inspect
import re
import types
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from .. import make, surface, tree
from ..builder import Builder
from ..derive.tape import NeedTrip
from ..errors import UnsupportedError, UntracedError
from ..ir import Atom, Var
from ..rewrite import splice_block
from ..surface.arguments import NeedStatic
from ..tree import Kind
from . import fence
from .context import Context, apply_view
from .control import FUNCTION_END, sequence
from .demand import demand, from_arguments
from .guards import fetch
from .hooks import call_hook, is_hook
from .inner import outside
from .iteration import known_items
from .liveness import Liveness, liveness
from .selection import call, concrete
from .signature import abstract_with_leaves, aval_of
from .source import FunctionNode, Source, scope_of, source_of
from .stores import write_in_place
from .values import (
    Bound,
    Closure,
    Foreign,
    Frame,
    Masked,
    Method,
    OpStep,
    Partial,
    Ref,
    Step,
    Undefined,
    Update,
    Value,
    describe,
    has_runtime,
    is_leaf,
    is_runtime,
    leaves_in,
)

MAX_DEPTH = 200
MAX_CALLS = 20_000


def call_node(ctx: Context, node: ast.Call) -> Value:
    function = ctx.eval(node.func)
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
        return call_value(ctx, f.function, [f.owner, *args], kwargs, node)
    if kind is Partial:
        return call_value(ctx, f.function, [*f.args, *args], {**f.kwargs, **kwargs}, node)
    if kind is Foreign or not callable(f):
        return _call_object(ctx, f, args, kwargs, node)
    if hasattr(f, "__untraced_read__"):
        return _call_transformed(ctx, f, args, kwargs, node)
    if is_hook(f):
        return call_hook(ctx, f, args, kwargs, node)
    from .pythonic import BUILTINS

    builtin = BUILTINS.get(f) if isinstance(f, Hashable) else None
    if builtin is not None:
        return builtin(ctx, node, *args, **kwargs)
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
    if kind is functools.partial:
        return call_value(ctx, f.func, [*f.args, *args], {**f.keywords, **kwargs}, node)
    if isinstance(kind.__call__, types.FunctionType):
        return inline(ctx, ctx.captures.part(kind, "__call__"), [f, *args], kwargs, node)
    return _call_known(ctx, f, args, kwargs, node)


def _call_object(ctx: Context, f: Value, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """An instance whose class defines __call__."""
    if isinstance(f, Undefined):
        ctx.refuse(node, f.why, instead=f.instead)
    obj = f.value if isinstance(f, Foreign) else f
    if is_runtime(obj) or not callable(obj):
        raise TypeError(f"{describe(f)} is not callable ({ctx.b.span})")
    if hasattr(obj, "__untraced_read__"):
        return _call_transformed(ctx, obj, args, kwargs, node)
    if is_hook(obj):
        return call_hook(ctx, obj, args, kwargs, node)
    method = ctx.captures.part(type(obj), "__call__")
    if isinstance(method, types.FunctionType):
        return inline(ctx, method, [f, *args], kwargs, node)
    return _call_known(ctx, obj, args, kwargs, node)


_PURE_MODULES = frozenset({"math", "operator", "_operator", "builtins", "itertools", "cmath", "string", "functools"})


_EFFECTS = frozenset(
    {
        "input", "open", "eval", "exec", "compile", "globals", "locals", "vars", "dir", "breakpoint", "help", "exit",
        "quit", "__import__", "setattr", "delattr", "id", "iter", "next", "memoryview",
    }
)  # fmt: skip


def _call_known(ctx: Context, f: Any, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """A compiled function of known values, when it is known to be pure."""
    from .expressions import run_known

    module = getattr(f, "__module__", None) or getattr(type(f), "__module__", "") or ""
    label = getattr(f, "__qualname__", None) or getattr(f, "__name__", None) or repr(f)
    if module.partition(".")[0] == "numpy":
        ctx.refuse(
            node,
            f"np.{label} is not in the language",
            why="no rule says how to compile or differentiate it",
            instead="write it with the NumPy functions that the documentation lists",
        )
    if module.partition(".")[0] not in _PURE_MODULES:
        ctx.refuse(
            node,
            f"{label} cannot be read",
            why="it is compiled code without Python source",
            instead="use a NumPy function, or call it outside",
        )
    if label in _EFFECTS:
        ctx.refuse(
            node,
            f"`{label}` is not in the language",
            why="it would run once, when the function is translated, and never again",
            instead="call it outside and pass what it gives",
        )
    if any(is_leaf(v) for v in leaves_in([*args, *kwargs.values()])):
        needed = [v for v in leaves_in([*args, *kwargs.values()]) if type(v) is Var]
        if not needed or any(type(v) is Ref for v in leaves_in([*args, *kwargs.values()])):
            ctx.refuse(node, f"{label} of run-time values is not in the language", instead="use the NumPy function")
        demand(ctx, needed, node, f"an argument of {label}")
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
    live = prepare(source, source.node)
    frame = Frame(source, None, ctx.frame, scope_of(f), live, fixed or ctx.frame.fixed, f.__name__)
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


def run_frame(ctx: Context, frame: Frame, node: FunctionNode, call: ast.AST) -> Value:
    """Read the body of a function; the value that it returns."""
    ctx.calls += 1
    if ctx.calls > MAX_CALLS:
        ctx.refuse(call, f"more than {MAX_CALLS} calls would be inlined", instead="write the recursion as a loop")
    if ctx.depth >= MAX_DEPTH:
        ends = [v for v in frame.env.values() if type(v) is Var and from_arguments(ctx, v)]
        if ends:
            demand(ctx, ends, call, "an argument of a function that calls itself")
        ctx.refuse(
            call,
            f"{frame.name} calls itself more than {MAX_DEPTH} times",
            why="calls are read and inlined, so the recursion must end by values known before the run",
            instead="write the recursion as a loop",
        )
    outer = ctx.frame
    ctx.frame = frame
    ctx.depth += 1
    try:
        if isinstance(node, ast.Lambda):
            return ctx.eval(node.body)
        flow = sequence(ctx, node.body, FUNCTION_END)
        return None if flow is None else flow.value
    finally:
        ctx.frame = outer
        ctx.depth -= 1


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

    if issubclass(cls, np.generic | BaseException | np.dtype) or cls.__module__ in ("builtins", "numpy", "functools"):
        return _construct_builtin(ctx, cls, args, kwargs, node)
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        return run_known(ctx, node, lambda: cls(*args, **kwargs))
    if hasattr(cls, "__dataclass_fields__") and "__post_init__" not in dir(cls):
        return run_known(ctx, node, lambda: cls(*args, **kwargs))
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
    bound = inspect.signature(cls).bind(*args, **kwargs)
    bound.apply_defaults()
    instance: Value = object.__new__(cls)
    for name, value in bound.arguments.items():
        object.__setattr__(instance, name, value)
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
    raise ctx.error(UnsupportedError, node, f"{cls.__name__}(...) of run-time values is not in the language")


# ---- NumPy ---------------------------------------------------------------------------------------


def call_handler(
    ctx: Context, handler: Any, f: Any, args: list[Value], kwargs: dict[str, Value], node: ast.AST
) -> Value:
    """A NumPy function, method or attribute. Errors of the arguments are told at the call."""
    args = [_with_arrays(ctx, a, f, node) if type(a) is list or type(a) is tuple else a for a in args]
    if any(isinstance(v, Masked) for v in (*args, *kwargs.values())):
        return call(ctx, f, args, kwargs, node, lambda xs, ks: call_handler(ctx, handler, f, list(xs), dict(ks), node))
    if handler.inline:
        return inline(ctx, handler.function, args, kwargs, node, fixed=True)
    out = kwargs.pop("out", None) if "out" in kwargs else None
    for v in (*args, *kwargs.values()):
        if isinstance(v, Foreign):
            ctx.refuse(
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
            view = _view(ctx, handler.function, args[0], lowered[1:], keywords)
            if view is not None:
                return view
        result = handler.function(ctx.b, *lowered, **keywords)
    except NeedStatic as need:
        demand(ctx, need.atoms, node, need.what)
    except TypeError as error:
        if isinstance(error, UntracedError):
            raise
        raise ctx.error(
            UnsupportedError,
            node,
            f"{_label(f)}: {_OWN_NAME.sub('', str(error))}",
            why="these are not the arguments that the language knows for it",
            instead="call it with NumPy's usual arguments, and write the rest with other functions",
        ) from error
    if out is not None:
        return _write_out(ctx, out, ctx.wrap(result), node)
    return ctx.wrap(result)


_OWN_NAME = re.compile(r"^[\w.<>]+\(\) ")  # of the handler: the user's function is named before it


def _with_arrays(ctx: Context, v: Value, f: Any, node: ast.AST) -> Value:
    """A list with arrays in place of selections."""
    if type(v) is list or type(v) is tuple:
        return type(v)(_with_arrays(ctx, x, f, node) for x in v)
    return concrete(ctx, v, node, f"{_label(f)} of selections x[mask]") if isinstance(v, Masked) else v


def _label(f: Any) -> str:
    if isinstance(f, str):
        return f"the array method .{f}"
    return f"np.{getattr(f, '__name__', f)}"


def _write_out(ctx: Context, out: Value, result: Value, node: ast.AST) -> Value:
    if isinstance(out, tuple) and len(out) == 1:
        out = out[0]
    if type(out) is not Ref:
        ctx.refuse(node, "out= must be an array")
    write_in_place(ctx, out, ctx.atom(result), node)
    return out


def _view(
    ctx: Context, function: Callable[..., Any], base: Ref, rest: list[Any], keywords: dict[str, Any]
) -> Value | None:
    """The view of `base` that a handler makes; None where it makes a copy, in NumPy too.

    The handler runs on a stand-in, so that what is known of the array's present content hides no step.
    """
    scratch, stand_in = Builder(), Var("t", base.aval)
    atom = function(scratch, stand_in, *rest, **keywords)
    steps: list[OpStep] = []
    while atom is not stand_in:
        made = scratch.definitions.get(atom) if type(atom) is Var else None
        if made is None or made.op.name not in _VIEWS:
            return None
        steps.append(OpStep(made.op, made.attrs, made.args[1:], atom.aval))
        atom = made.args[0]
    if not steps:
        return base
    view = Ref(base.cell, (*base.path, *reversed(steps)))
    is_view = takes_views(view.path, np.empty(view.cell.atom.aval.shape, np.int8))
    if any(isinstance(s, OpStep) and s.op.name == "reshape" for s in view.path):
        ctx.reshaped.setdefault(view.cell, []).append(len(ctx.reshapes))
        ctx.reshapes.append((view.cell, view.path, is_view))
    if not is_view:
        copy = Ref(ctx.cell(atom_of_copy(ctx, base, steps)))
        ctx.reshaped[copy.cell] = [len(ctx.reshapes) - 1]
        return copy
    return view if view.aval.shape else ctx.wrap(ctx.read(view))


def atom_of_copy(ctx: Context, base: Ref, steps: list[OpStep]) -> Atom:
    atom = ctx.read(base)
    for step in reversed(steps):
        atom = apply_view(ctx.b, atom, step.op, step.attrs, step.extra)
    return atom


_VIEWS = frozenset({"reshape", "transpose", "broadcast_to", "expand_dims", "squeeze", "real", "imag"})


def takes_views(path: Sequence[Step], array: np.ndarray[Any, Any]) -> bool:
    """Whether every reshape on the way is a view in NumPy too, and no copy, for an array of this layout."""
    if not any(isinstance(s, OpStep) and s.op.name == "reshape" for s in path):
        return True
    item = np.empty(1, np.int8)
    array = np.lib.stride_tricks.as_strided(item, array.shape, array.strides)
    for step in path:
        if not isinstance(step, OpStep):
            array = _strided_index(array, step)
        elif step.op.name == "reshape":
            try:
                array = np.reshape(array, step.aval.shape, copy=False)
            except ValueError:
                return False
        elif step.op.name in ("transpose", "expand_dims", "squeeze"):
            array = getattr(np, step.op.name)(array, step.attrs.axes)  # type: ignore[union-attr]
        else:
            return False
    return True


def _strided_index(array: Any, step: Any) -> Any:
    """The same view at any start: only sizes and steps matter for the layout."""
    from ..ops.core import At

    shape, strides = [], []
    for d, stride in zip(step.dims, array.strides, strict=True):
        if not isinstance(d, At):
            shape.append(d.size)
            strides.append(stride * d.step)
    return np.lib.stride_tricks.as_strided(array, shape, strides)


# ---- transformed functions -----------------------------------------------------------------------


def _call_transformed(ctx: Context, f: Any, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """A call of grad(f), vmap(f), ...: their own reading is spliced in."""

    def shown(v: Value) -> Any:
        if isinstance(v, Closure | Bound | Partial):
            ctx.refuse(
                node,
                f"{describe(v)} as an argument of a transformed function",
                why="an inner function is not an object yet when the function is translated",
                instead="define it at the top of the module",
            )
        if isinstance(v, Foreign):
            return v.value
        if isinstance(v, Undefined):
            ctx.refuse(node, v.why, instead=v.instead)
        return v.aval if is_runtime(v) else v

    label = f"an argument of {getattr(f, '__name__', f)}"
    args = [concrete(ctx, v, node, label) if isinstance(v, Masked) else v for v in args]
    kwargs = {k: concrete(ctx, v, node, label) if isinstance(v, Masked) else v for k, v in kwargs.items()}
    values = [*args, *kwargs.values()]
    flat, structure = tree.flatten(values, is_leaf=is_leaf)
    tree_of_avals = tree.unflatten(structure, [shown(v) for v in flat])
    keywords = dict(zip(kwargs, tree_of_avals[len(args) :], strict=True))
    signature, _ = abstract_with_leaves(f, tree_of_avals[: len(args)], keywords)
    _, leaves = abstract_with_leaves(f, *_marked(values, len(args), kwargs))
    leaves = [m.value if isinstance(m, _Mark) else m for m in leaves]  # the others are defaults
    known = tuple(v if not is_runtime(v) else _value_of(ctx, v) for v in leaves)
    signature = type(signature)(signature.params, signature.avals, known)
    try:
        reading = f.__untraced_read__(signature)
    except NeedTrip as need:  # a loop of an inner function whose length comes from outside it
        demand(ctx, need.atoms, node, "a number of trips")
        raise
    needed = [leaves[i] for i in reading.statics if is_runtime(leaves[i])]
    if needed:
        demand(ctx, needed, node, f"an argument of {getattr(f, '__name__', f)}")
    return _splice_reading(ctx, reading, [v for i, v in enumerate(leaves) if i not in reading.statics], node)


class _Mark:
    """A leaf that carries its abstract value through the binding of arguments."""

    def __init__(self, value: Value) -> None:
        self.value = value
        self.aval = value.aval if is_runtime(value) else aval_of(value)


def _marked(values: list[Value], count: int, kwargs: dict[str, Value]) -> tuple[list[Any], dict[str, Any]]:
    flat, structure = tree.flatten(values, is_leaf=is_leaf)

    def mark(v: Value) -> Any:
        if is_runtime(v) or aval_of(v) is not None:
            return _Mark(v)
        return v.value if isinstance(v, Foreign) else v

    marked = tree.unflatten(structure, [mark(v) for v in flat])
    return marked[:count], dict(zip(kwargs, marked[count:], strict=True))


def _value_of(ctx: Context, v: Value) -> Any:
    leaf = ctx.leaf_of.get(v) if type(v) is Var else None
    if leaf is not None:
        return ctx.leaf_values[leaf]
    return 1 if type(v) is Var and v.aval.weak and v.aval.dtype.kind == "i" else None


def _splice_reading(ctx: Context, reading: Any, leaves: list[Value], node: ast.AST) -> Value:
    function = reading.function
    atoms = [ctx.atom(v if not isinstance(v, _Mark) else v.value) for v in leaves]
    cells: list[Value] = list(leaves)
    for p in function.params:
        free = outside(p)
        if free is not None:
            cells.append(free)
            atoms.append(free)
        elif p.capture is not None:
            value = fetch(p.capture)
            from .guards import space_of

            captured = ctx.captures.adopt(value, p.capture, space_of(p.capture.function, p.capture.name))
            cells.append(captured)
            atoms.append(ctx.atom(captured))
    ctx.captures.merge(reading.guards)
    ctx.at(node)
    results = splice_block(ctx.b, function, atoms)
    count = function.out.leaf_count
    for position, new in zip(function.mutated, results[count:], strict=True):
        target = cells[position]
        assert type(target) is Ref
        ctx.write(target, new)
    return unflatten(function.out, [ctx.wrap(r) for r in results[:count]])


def unflatten(structure: tree.TreeDef, leaves: list[Value]) -> Value:
    assert structure.kind in Kind
    return tree.unflatten(structure, leaves)


Context.expressions[ast.Call] = call_node
