"""Callables that are not plain functions, made readable: bound methods, callable objects, partials, NumPy's functions.

Each becomes a function of one line whose globals hold what it is bound to, so that the reader sees, guards and
captures it:

    model.norm        def norm(x): return method(self, x)
    np.sin            def sin(x): return function(x)
"""

from __future__ import annotations

import inspect
import itertools
import linecache
import sys
import types
import weakref
from collections.abc import Callable, Mapping
from functools import _lru_cache_wrapper, lru_cache, partial
from typing import Any

import numpy as np

from ...translator.reading.text.libraries import is_library, of_library
from ...translator.reading.text.signature import Opaque, aval_of, known
from ...translator.tracebacks import CALLING
from ...translator.tree import open_node

Fun = Callable[..., Any]
_numbers = itertools.count(1)


def readable(fun: Fun) -> Fun:
    """`fun` itself where the reader can read it, else a function that calls it."""
    if isinstance(fun, types.FunctionType):
        source = getattr(fun, "__untraced_numpy__", None)
        if source is not None:  # what a function of a namespace does but for Arrays outside programs
            return readable(source)
        if _is_scipys(fun):
            return _scipys_function(fun)
        return _library_function(fun) if _is_operation(fun) else fun
    if isinstance(fun, type) and hasattr(fun, "__untraced_numpy__"):  # untraced.numpy.float32
        return _library_function(fun.__untraced_numpy__)
    if hasattr(fun, "__untraced_read__"):
        return fun
    if isinstance(fun, types.MethodType):
        from ...translator import surface

        if surface.handler_for(fun) is not None:  # a method of a distribution of SciPy, which is known as it is
            return _calling(fun, inspect.signature(fun), fun.__name__)
        return bound_function(fun.__func__, fun.__self__)
    if isinstance(fun, partial | _lru_cache_wrapper):
        return _calling(fun, inspect.signature(fun), getattr(fun, "__name__", "partial"))
    if isinstance(fun, np.vectorize):
        called = _required(fun.pyfunc)  # defaults are no arguments to be mapped over
        return _calling(fun, inspect.Signature(called), getattr(fun, "__name__", "vectorized"))
    if isinstance(fun, np.ufunc | types.BuiltinFunctionType) or _is_numpys(fun):
        return _library_function(fun)
    method = type(fun).__call__
    method = getattr(method, "__untraced_function__", method)  # of an accelerated one what it was made of
    return bound_function(method, fun) if isinstance(method, types.FunctionType) else fun


def _is_operation(fun: Fun) -> bool:
    """Whether it evaluates an operation of which NumPy has no function: that is no source to be read."""
    if not of_library(fun.__module__ or ""):  # as the user's own functions, for which nothing need be loaded
        return False
    from ...translator import ops
    from ...translator.ops.core import Elementwise

    return any(isinstance(op, Elementwise) and op.evaluate is fun for op in ops.ALL)


def _is_numpys(fun: Fun) -> bool:
    return (getattr(fun, "__module__", None) or "").partition(".")[0] == "numpy"


def _is_scipys(fun: Fun) -> bool:
    """Whether it is a function of SciPy that is known as it is; the source of others may be read."""
    if (getattr(fun, "__module__", None) or "").partition(".")[0] != "scipy":
        return False
    from ...translator import surface

    return surface.handler_for(fun) is not None


def bound_function(method: Fun, instance: Any) -> Fun:
    """`method` with its first argument bound."""
    return holding(method, {0: instance})


def holding(fun: Fun, held: Mapping[Any, Any]) -> Fun:
    """`fun` with these arguments, by position or name, bound; they are globals of the function that is made."""
    parameters = list(inspect.signature(fun).parameters.values())
    callee = next(n for n in ("method", "function", "callee") if all(p.name != n for p in parameters))
    name = getattr(fun, "__name__", callee)
    space = {callee: fun, HELD: tuple(held.values())}
    if 0 in held and parameters and parameters[0].kind is inspect.Parameter.VAR_POSITIONAL:
        return _compiled(name, parameters, f"{callee}(self, {_arguments(parameters)})", {**space, "self": held[0]}, fun)
    named = {parameters[place].name if isinstance(place, int) else place: x for place, x in held.items()}
    rest = [p for p in parameters if p.name not in named]
    return _compiled(name, rest, f"{callee}({_arguments(parameters)})", {**space, **named}, fun)


HELD = "_untraced_held"  # under which such a function has them all


def is_users_object(x: Any) -> bool:
    """An object of a class of the user's that is neither an array, a container, a value nor a function."""
    if type(x) in _COMMON or not isinstance(known(x), Opaque) or is_library(type(x)):
        return False
    return aval_of(x) is None and open_node(x) is None


_COMMON = (np.ndarray, float, int, bool, str, list, tuple, dict, type(None))


def _calling(fun: Fun, signature: inspect.Signature, name: str) -> Fun:
    inner, parameters = getattr(fun, "func", fun), list(signature.parameters.values())
    if any(p.default is np._NoValue for p in parameters):  # what NumPy takes for not given cannot be handed on
        given = [p for p in parameters if p.default is not np._NoValue and p.kind is not p.VAR_KEYWORD]
        parameters = [*given, inspect.Parameter("options", inspect.Parameter.VAR_KEYWORD)]
    return _compiled(
        getattr(inner, "__name__", name),
        parameters,
        f"function({_arguments(parameters)})",
        {"function": fun},
        inner,
    )


@lru_cache(maxsize=1024)
def _scipys_function(fun: Fun) -> Fun:
    """One of SciPy's, whose options may come by position."""
    return _calling(fun, inspect.signature(fun), fun.__name__)


@lru_cache(maxsize=1024)
def _library_function(fun: Fun) -> Fun:
    """A function compiled in C or one of NumPy's: its required arguments, and options in their order or by name."""
    parameters = _required(fun)
    call = f"{spelled(fun)}({_arguments(parameters)})"
    return _compiled(fun.__name__, parameters, call, {"function": fun, "np": np}, fun)


def _required(fun: Fun) -> list[inspect.Parameter]:
    """The parameters of a function that have no default; what else it may be given is `*further` and `**options`."""
    kind = inspect.Parameter
    options = [kind("options", kind.VAR_KEYWORD)]
    if isinstance(fun, np.ufunc):
        return [
            *(kind(f"x{i}" if fun.nin > 1 else "x", kind.POSITIONAL_OR_KEYWORD) for i in range(fun.nin)), *options
        ]  # fmt: skip
    further = kind("further", kind.VAR_POSITIONAL)
    try:
        parameters = list(inspect.signature(fun).parameters.values())
    except ValueError:  # max, min, math.hypot do not tell
        parameters = [further]
    by_position = (kind.POSITIONAL_ONLY, kind.POSITIONAL_OR_KEYWORD)
    required = [p for p in parameters if p.default is kind.empty and p.kind in by_position]
    optional = [p for p in parameters if p.default is not kind.empty and p.kind in by_position]
    if optional or any(p.kind is kind.VAR_POSITIONAL for p in parameters):
        options.insert(0, further)
    return [*required, *options]


def spelled(fun: Fun) -> str:
    """A function of NumPy as people write it, `np.linalg.norm`; `function` where it is not found under its name."""
    name: str = fun.__name__
    for module in (getattr(fun, "__module__", None) or "numpy", "numpy"):
        owner: Any = np
        for part in module.split(".")[1:]:
            owner = getattr(owner, part, None)
        if module.split(".")[0] == "numpy" and getattr(owner, name, None) is fun:
            return ".".join(["np", *module.split(".")[1:], name])
    return "function"


def _compiled(name: str, parameters: list[inspect.Parameter], call: str, names: Mapping[str, Any], wrapped: Fun) -> Fun:
    """def name(parameters): return call. Defaults are values in the function's globals."""
    name = name if name.isidentifier() and name not in names else "called"
    module = getattr(wrapped, "__module__", None) or "untraced.generated"
    space: dict[str, Any] = {**names, "__name__": module, CALLING: True}
    text = f"def {name}({_parameters(parameters, space)}):\n    return {call}\n"
    file = f"<untraced {name}-{next(_numbers)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(text, file, "exec"), space)
    made: Fun = space.pop(name)
    made.__doc__ = wrapped.__doc__
    weakref.finalize(made, linecache.cache.pop, file, None)
    return made


def _parameters(parameters: list[inspect.Parameter], space: dict[str, Any]) -> str:
    parts = []
    starred = False
    for p in parameters:
        text = p.name
        if p.kind is p.VAR_POSITIONAL:
            text, starred = f"*{p.name}", True
        elif p.kind is p.VAR_KEYWORD:
            text = f"**{p.name}"
        elif p.kind is p.KEYWORD_ONLY and not starred:
            parts.append("*")
            starred = True
        if p.default is not p.empty:
            space[f"default_{p.name}"] = p.default
            text += f"=default_{p.name}"
        parts.append(text)
    return ", ".join(parts)


def _arguments(parameters: list[inspect.Parameter]) -> str:
    parts = []
    for p in parameters:
        match p.kind:
            case p.VAR_POSITIONAL:
                parts.append(f"*{p.name}")
            case p.VAR_KEYWORD:
                parts.append(f"**{p.name}")
            case p.KEYWORD_ONLY:
                parts.append(f"{p.name}={p.name}")
            case _:
                parts.append(p.name)
    return ", ".join(parts)


class Attributes(dict[str, Any]):
    """The `__dict__` of an object with accelerated bound methods: these live as long as it does and are no attribute.

    Copies and pickles are plain dicts.
    """

    __slots__ = ("methods",)

    def __init__(self, given: Mapping[str, Any]) -> None:
        super().__init__(given)
        self.methods: Methods = weakref.WeakKeyDictionary()

    def __reduce__(self) -> Any:
        return dict, (), None, None, iter(self.items())


Methods = weakref.WeakKeyDictionary[Any, dict[Any, Any]]
"""For each accelerated function, while it lives: itself with objects bound, by their places."""


def methods_of(instance: Any) -> Methods | None:
    """The accelerated bound methods of an object. None where none have been kept with it."""
    own = getattr(instance, "__dict__", None)
    return own.methods if type(own) is Attributes else None


def keep_methods(instance: Any) -> Methods | None:
    """A place for them. None where the object has no `__dict__` of its own: it has slots, or shares one with others."""
    found = methods_of(instance)
    own = getattr(instance, "__dict__", None)
    if found is not None or type(own) is not dict or sys.getrefcount(own) > _OF_THE_OBJECT_ALONE:
        return found
    attributes = Attributes(own)
    try:
        object.__setattr__(instance, "__dict__", attributes)
    except (AttributeError, TypeError):
        return None
    return attributes.methods


_OF_THE_OBJECT_ALONE = 3  # references to its dict: its own, the name and the argument
