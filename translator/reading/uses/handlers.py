"""Calls of NumPy's functions, methods and attributes: the surface's handlers, and the errors that NumPy would raise."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Hashable
from types import MethodType
from typing import Any

import numpy as np

from ... import make, ops
from ...errors import CutError, UntracedError
from ...ops.core import CastAttrs
from ...patterns import pattern
from ...purpose import purpose
from ...surface.arguments import NeedStatic
from ..core.context import Context
from ..core.demand import demand, static
from ..core.growing import Pile
from ..core.layout import note_result
from ..core.values import (
    Flat,
    Foreign,
    Generator,
    Masked,
    Ref,
    RunRange,
    Value,
    aval_of_value,
    is_weak,
    leaves_in,
)
from ..facts.booleans import is_bool, is_python_bool
from ..facts.views import view_of
from ..functions.inlining import inline
from ..parts.indexing import copy_of_line
from ..parts.output import signature_of, take_output, write_output
from ..parts.piled import selection_of
from ..parts.selection import concrete, shape_of
from ..paths.generators import taken
from ..text.signature import bare, misfit
from .marked import as_long, is_list_of_places, is_unique, list_of_places, unique
from .selected import call, one_behind_another


def call_handler(
    ctx: Context, handler: Any, f: Any, args: list[Value], kwargs: dict[str, Value], node: ast.AST
) -> Value:
    """A NumPy function, method or attribute. Errors of the arguments are told at the call."""
    if kwargs.get("where", True) is None and not isinstance(f, np.ufunc):  # no mask, as functions hand their default on
        kwargs = {name: v for name, v in kwargs.items() if name != "where"}
    if isinstance(f, np.ufunc) and len(args) > f.nargs and (theirs := _refusal_of_ufunc(f, len(args), kwargs)):
        raise theirs
    output, args, kwargs = take_output(f, handler, args, kwargs)
    if output is not None:
        return write_output(ctx, output, call_handler(ctx, handler, f, args, kwargs, node), node)
    args = [selection_of(ctx, f, a, node) if type(a) is Pile else a for a in args]
    kwargs = {k: selection_of(ctx, f, v, node) if type(v) is Pile else v for k, v in kwargs.items()}
    if _joins_selections(f, args, kwargs):
        ctx.at(node)
        joined = one_behind_another(ctx, args[0])
        if joined is not None:
            return joined
    args = [_with_arrays(ctx, a, f, node) if type(a) is list or type(a) is tuple else a for a in args]
    args = [copy_of_line(ctx, a) if type(a) is Flat else a for a in args]
    if f is np.indices:
        args = [tuple(taken(ctx, a, node)) if type(a) is Generator else a for a in args]
    for v in (*args, *kwargs.values()):
        if type(v) is RunRange:
            static(ctx, v, node, "the range")
    if any(isinstance(v, Masked) for v in (*args, *kwargs.values())):
        return call(ctx, f, args, kwargs, node, lambda xs, ks: call_handler(ctx, handler, f, list(xs), dict(ks), node))
    if is_list_of_places(ctx, f, args, kwargs):
        return list_of_places(ctx, f, args[0])
    if is_unique(ctx, f, args, kwargs):
        return unique(ctx, args[0], kwargs)
    made = as_long(ctx, f, args, kwargs, lambda xs, ks: call_handler(ctx, handler, f, list(xs), dict(ks), node))
    if made is not None:
        return made
    leave_to_cpython(ctx, f, args, kwargs, node)
    loop = _loop_of(f, args, kwargs)
    if loop is not None:
        *takes, gives = loop
        args = [_cast(ctx, a, dtype) for a, dtype in zip(args, takes, strict=True)]
        made = _computed(ctx, handler, f, args, kwargs, node)
        return _cast(ctx, made, gives)
    return _computed(ctx, handler, f, args, kwargs, node)


def _computed(
    ctx: Context, handler: Any, f: Any, args: list[Value], kwargs: dict[str, Value], node: ast.AST
) -> Value:
    """The result of the handler for arguments in the form that it takes."""
    if handler.inline:
        try:
            signature_of(handler.function).bind(*handler.first, *args, **kwargs)
        except TypeError as error:
            raise _unknown_arguments(ctx, f, args, kwargs, error, node) from None
        births = ctx.births
        made = inline(ctx, handler.function, [*handler.first, *args], kwargs, node, fixed=True)
        if type(made) is Ref and made.path and made.cell.birth > births and not ctx.frame.fixed:
            made = Ref(ctx.cell(ctx.read(made)))  # NumPy's is an array of its own
        return _boxed(ctx, f, made, args, kwargs)
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
        raise _unknown_arguments(ctx, f, args, kwargs, error, node) from None
    return _boxed(ctx, f, ctx.wrap(result), args, kwargs)


def _loop_of(f: Any, args: list[Value], kwargs: dict[str, Value]) -> tuple[np.dtype[Any], ...] | None:
    """The dtypes that a ufunc of SciPy's takes these arguments in, and that of its result: it has fewer loops than
    NumPy's functions. None for other functions, and where there is no such loop.
    """
    if not isinstance(f, np.ufunc) or getattr(np, f.__name__, None) is f or f.nout != 1 or kwargs:
        return None
    kinds = [_kind(a) for a in args]
    if len(kinds) != f.nin or None in kinds:
        return None
    try:
        found: tuple[np.dtype[Any], ...] = f.resolve_dtypes((*kinds, None))
    except TypeError:
        return None
    return found


_SCIPYS = frozenset(
    (
        *("beta", "betaln", "betainc", "betaincc", "betaincinv", "binom", "poch", "erfinv", "erfcinv", "ndtri"),
        *("gammainc", "gammaincc", "gammaincinv", "gammainccinv", "zeta", "spence", "iv", "ive"),
        *("k0", "k0e", "k1", "k1e", "kn", "kv", "kve"),
    )
)
"""Ufuncs that take XLA 3 to 170 times as long as SciPy (erfinv 145 against 17 ns for an element, gammainc up to 22,000
against 130): series and continued fractions, of which it goes over all elements as long as one of them needs it.
"""
_MANY = 1024  # elements: as many make up for the way to CPython and back
_OWN = frozenset((np.unpackbits, np.packbits, np.gcd, np.lcm, np.lexsort))
"""Functions of NumPy that take XLA about twice as long and more: nanoseconds for an element 0.3 and 4.8, 0.04 and 0.2,
24 and 54, 24 and 70, 180 and 400.
"""
_SELECTING: dict[Any, int] = {np.nanmedian: 1, np.nanpercentile: 2, np.nanquantile: 2}
"""Those that select where XLA sorts, 26 and 170 ns, and how many arguments they have before an axis: along that NumPy
takes longer, line by line.
"""
_MANY_OWN = 1 << 16  # elements of these


def leave_to_cpython(ctx: Context, f: Any, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> None:
    """A cut where CPython had better call a function of SciPy's or NumPy's, though the language knows it."""
    own = f in _OWN or (f in _SELECTING and len(args) <= _SELECTING[f] and kwargs.get("axis") is None)
    if ctx.transforms or not ctx.keeps_changes or not (own or _is_series(f)):
        return
    many, arrays = _MANY_OWN if own else _MANY, [x for a in args for x in leaves_in(a) if type(x) is Ref]
    if purpose().target in ("cpu", "numpy") and any(a.aval.size >= many for a in arrays):
        ctx.cut(node, f"{_label(f)} of many elements", why="its own code takes a fraction of XLA's time on a CPU")


def _is_series(f: Any) -> bool:
    if isinstance(f, MethodType):
        by_series = f.__name__ in ("ppf", "isf") or getattr(f.__self__, "name", "") in _INCOMPLETE
        return by_series and f.__name__ in ("cdf", "sf", "logcdf", "logsf", "ppf", "isf")
    return isinstance(f, np.ufunc) and f.__name__ in _SCIPYS


_INCOMPLETE = frozenset(("gamma", "beta", "t", "f", "chi2", "binom", "nbinom", "poisson", "invgamma", "maxwell"))
"""Distributions of scipy.stats whose cumulative functions are incomplete gamma or beta functions."""


def _kind(v: Value) -> Any:
    """Its dtype, or Python's type of a number of Python's."""
    if type(v) in (bool, int, float, complex):
        return type(v)
    aval = getattr(v, "aval", None)
    if aval is None:
        return v.dtype if isinstance(v, np.generic) else None
    return {"i": int, "f": float, "c": complex}[aval.dtype.kind] if aval.weak else aval.dtype


def _cast(ctx: Context, v: Value, dtype: np.dtype[Any]) -> Value:
    """A number of Python's stays as it is: the result alone shows in which dtype it counted."""
    if _kind(v) == dtype or not isinstance(_kind(v), np.dtype):
        return v
    return ctx.wrap(make.astype(ctx.b, ctx.atom(v), dtype))


def _boxed(ctx: Context, f: Any, found: Value, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """The result as NumPy gives it, an array of shape () or a number; an argument itself only for views."""
    is_array = ctx.boxes and (_gives_array(f, args) or (f is np.einsum and _ends_in_product(found, args, kwargs)))
    own = isinstance(f, np.ufunc) or (_is_numpys(f) and any(found is a for a in args))
    if own and ctx.boxes and is_bool(found) and is_python_bool(ctx, found):
        found = make.emit(ctx.b, ops.ASTYPE, found, attrs=CastAttrs(found.aval.dtype))  # np.max(True) is NumPy's
    if is_array:
        found = ctx.boxed(found)
    if not ctx.frame.fixed:
        note_result(f, found, args, kwargs)
    if f is np.asarray and not ctx.frame.fixed:  # in printed programs: how they return arrays without axes
        return ctx.boxed(found)
    if is_array or not ctx.boxes:
        return found
    return ctx.number(found) if not any(found is a for a in args) or f not in _VIEWS else found


def _is_numpys(f: Any) -> bool:
    return str(getattr(f, "__module__", None)).partition(".")[0] == "numpy"


def _gives_array(f: Any, args: list[Value]) -> bool:
    if not isinstance(f, Hashable):
        return False
    of_number = bool(args) and (type(args[0]) in (bool, int, float, complex, list, tuple) or is_weak(args[0]))
    if getattr(f, "__name__", None) in _SCIPYS_MAKERS:
        return str(getattr(f, "__module__", None)).startswith("scipy.")
    return f in _MAKERS or (f is np.where and len(args) > 1) or (of_number and f in _TURNING)


def _ends_in_product(found: Value, args: list[Value], kwargs: dict[str, Value]) -> bool:
    """Whether an optimised einsum without axes ends in a call of np.tensordot, which gives an array."""
    optimize = kwargs.get("optimize", False)
    if optimize is False or not isinstance(optimize, bool | str | list | tuple):
        return False
    result = aval_of_value(found)
    if result is None or result.shape:
        return False
    operands = range(1, len(args)) if isinstance(args[0], str) else range(0, len(args) - 1, 2)
    small: list[Any] = [np.zeros(_no_more_than_two(v)) if i in operands else v for i, v in enumerate(args)]
    return isinstance(np.einsum(*small, optimize=optimize), np.ndarray)


def _no_more_than_two(v: Value) -> tuple[int, ...]:
    """The shape of an operand with axes of up to two elements."""
    aval = aval_of_value(v)
    if aval is not None:
        return tuple(min(n, 2) for n in aval.shape)
    return (min(len(v), 2), *_no_more_than_two(v[0])) if isinstance(v, list | tuple) and v else ()


_TURNING: set[Any] = {np.squeeze, np.transpose, np.permute_dims}  # they make arrays of Python's numbers and lists


_VIEWS: set[Any] = {np.real, np.imag, np.squeeze, np.transpose, np.permute_dims, "real", "imag", "T", "squeeze", "view"}
_MAKERS: set[Any] = {
    *(np.array, np.asarray, np.asanyarray, np.copy, np.broadcast_to, np.zeros, np.ones, np.empty, np.full),
    *(np.zeros_like, np.ones_like, np.empty_like, np.full_like, np.select, np.piecewise, np.block, np.broadcast_arrays),
    *(np.cov, np.cross, np.i0, np.isin, np.pad, np.roll, np.tensordot, np.linalg.tensordot, np.linalg.tensorsolve),
    *(np.fft.fftn, np.fft.ifftn, np.apply_along_axis, np.lib.stride_tricks.as_strided, "copy"),
}

_SCIPYS_MAKERS = frozenset({"polygamma"})  # by name: SciPy may not be there


def _unknown_arguments(
    ctx: Context, f: Any, args: list[Value], kwargs: dict[str, Value], error: TypeError, node: ast.AST
) -> Exception:
    """NumPy's own TypeError where it does not take such arguments either."""
    theirs = _refusal(f, args, kwargs) if callable(f) else None
    if theirs is not None:
        return theirs
    words = _OWN_NAME.sub("", str(error))
    return ctx.error(
        CutError,
        node,
        f"{_label(f)}: {words}",
        why="these are not the arguments that the language knows for it",
        instead="call it with NumPy's usual arguments, and write the rest with other functions",
    )


_OWN_NAME = pattern(r"^[\w.<>]+(\(\))? (?=takes|got|missing)")  # of the handler: the user's function is named


def _refusal(function: Any, args: list[Value], kwargs: dict[str, Value]) -> TypeError | None:
    """The exception that NumPy's function raises for such arguments; None where there is none, or nobody knows."""
    if isinstance(function, np.ufunc):
        return _refusal_of_ufunc(function, len(args), kwargs)
    try:
        signature = inspect.signature(function)
    except ValueError:
        return None
    try:
        signature.bind(*args, **kwargs)
    except TypeError:
        return misfit(getattr(function, "__name__", str(function)), bare(signature), args, kwargs)
    return None


def _refusal_of_ufunc(f: np.ufunc, given: int, kwargs: dict[str, Value]) -> TypeError | None:
    if not f.nin <= given <= f.nargs:
        were = "was" if given == 1 else "were"
        return TypeError(
            f"{f.__name__}() takes from {f.nin} to {f.nargs} positional arguments but {given} {were} given"
        )
    unknown = kwargs.keys() - _UFUNC_OPTIONS
    return TypeError(f"{f.__name__}() got an unexpected keyword argument {min(unknown)!r}") if unknown else None


_UFUNC_OPTIONS = {"out", "where", "axes", "axis", "keepdims", "casting", "order", "dtype", "subok", "signature"}


def _joins_selections(f: Any, args: list[Value], kwargs: dict[str, Value]) -> bool:
    """Whether it is np.concatenate or np.hstack, along the first axis, of selections among others."""
    if len(args) != 1 or not isinstance(args[0], list | tuple) or not any(isinstance(v, Masked) for v in args[0]):
        return False
    if f is np.hstack:
        return not kwargs and all((len(v.parts) if isinstance(v, Masked) else len(shape_of(v))) == 1 for v in args[0])
    return f is np.concatenate and (not kwargs or kwargs == {"axis": 0})


def _with_arrays(ctx: Context, v: Value, f: Any, node: ast.AST) -> Value:
    """A list with arrays in place of selections."""
    if type(v) is list or type(v) is tuple:
        return type(v)(_with_arrays(ctx, x, f, node) for x in v)
    return concrete(ctx, v, node, f"{_label(f)} of selections x[mask]") if isinstance(v, Masked) else v


def _label(f: Any) -> str:
    if isinstance(f, str):
        return f"the array method .{f}"
    name = getattr(f, "__name__", str(f))
    room, *inner = [p for p in (getattr(f, "__module__", None) or "numpy").split(".") if p[:1] != "_"] or ["builtins"]
    if room == "builtins":
        return name
    return ".".join([room.replace("numpy", "np"), *inner, name]) if room != "untraced" else f"{inner[-1]}.{name}"
