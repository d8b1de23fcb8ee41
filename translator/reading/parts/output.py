"""`out=` and `where=`: results that NumPy's functions write into existing arrays.

    np.divide(x, y, out=z, where=y != 0)            z[...] = np.where(y != 0, x / np.where(y != 0, y, 1), z)
"""

from __future__ import annotations

import ast
import inspect
from functools import cache
from typing import Any

import numpy as np

from ... import make
from ...errors import DTypeError, ShapeError
from ...records import dataclass
from ...surface import Handler
from ..core.context import Context
from ..core.values import Masked, Ref, Value, is_runtime
from .array_stores import check_cast, store_selected, write_in_place

# what these compute with is as wide as the array that they write into
_WIDENED = frozenset({"sum", "prod", "cumsum", "cumprod", "mean", "nansum", "nanprod", "nanmean"})
_STEPPING = frozenset({"around", "round"})  # each step is written into that array
_JOINING = frozenset({"concatenate", "stack"})
_SPREADING = frozenset({"clip", "fix", "isposinf", "isneginf"})  # as ufuncs do, of which they are made
_EXACT = frozenset({"dot", "argmax", "argmin"})


@dataclass(frozen=True, slots=True)
class Output:
    """The destination of results: an array or None for each; `where` selects elements, `unsafe` allows every cast.

    `spread` takes larger arrays, over which results are broadcast, `exact` those of the result's own dtype alone.
    """

    places: tuple[Value, ...]
    where: Value
    unsafe: bool
    spread: bool
    exact: bool


def take_output(
    f: Any, handler: Handler, args: list[Value], kwargs: dict[str, Value]
) -> tuple[Output | None, list[Value], dict[str, Value]]:
    """The output of a call of the NumPy function or array method `f`, and the arguments without it."""
    kwargs = dict(kwargs)
    names: tuple[str, ...] = ()
    if isinstance(f, np.ufunc):
        out = kwargs.pop("out", None)
        if len(args) > f.nin:
            args, out = args[: f.nin], tuple(args[f.nin :])
    else:
        names, has_out = _parameters(f, handler)
        if not has_out or len(args) > len(names) or not kwargs.keys().isdisjoint(names[: len(args)]):
            return None, args, kwargs  # what does not fit the parameters is told by whoever takes them
        if "out" in names and len(args) > names.index("out"):
            args, kwargs = args[:1], {**dict(zip(names[1:], args[1:], strict=False)), **kwargs}
        out = kwargs.pop("out", None)
    places = out if isinstance(out, tuple) else (out,)
    if all(place is None for place in places):
        return None, args, kwargs
    name = f if isinstance(f, str) else getattr(f, "__name__", "")
    if name in _WIDENED and isinstance(places[0], Ref) and is_runtime(args[0]):
        args, kwargs = args[:1], {**dict(zip(names[1:], args[1:], strict=False)), **kwargs}
        if kwargs.get("dtype") is None:
            kwargs["dtype"] = np.result_type(args[0].aval.dtype, places[0].aval.dtype)
    if name in _STEPPING and isinstance(places[0], Ref):
        kwargs["_into"] = places[0].aval.dtype
    if name in _JOINING and isinstance(places[0], Ref):
        if kwargs.get("dtype") is not None:
            raise TypeError(f"{name}() only takes `out` or `dtype` as an argument, but both were provided.")
        kwargs["dtype"] = places[0].aval.dtype
    where, unsafe = kwargs.get("where", True) if isinstance(f, np.ufunc) else True, kwargs.get("casting") == "unsafe"
    spread = isinstance(f, np.ufunc) or name in _SPREADING
    return Output(places, where, unsafe, spread, name in _EXACT), args, kwargs


_UFUNC_METHODS = {
    "reduce": ("array", "axis", "dtype", "out", "keepdims", "initial", "where"),
    "accumulate": ("array", "axis", "dtype", "out"),
    "reduceat": ("array", "indices", "axis", "dtype", "out"),
}


@cache
def _parameters(f: Any, handler: Handler) -> tuple[tuple[str, ...], bool]:
    """The names of the positional parameters, by the handler or else by NumPy, and whether `out` is a parameter."""
    if isinstance(getattr(f, "__self__", None), np.ufunc) and f.__name__ in _UFUNC_METHODS:
        return _UFUNC_METHODS[f.__name__], True
    own = list(signature_of(handler.function).parameters.values())[len(handler.first) if handler.inline else 1 :]
    if not any(p.name == "out" for p in own):
        try:
            own = list(signature_of(getattr(np, f, None) if isinstance(f, str) else f).parameters.values())
        except (TypeError, ValueError):  # compiled
            return (), False
    positional = [p.name for p in own if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return tuple(positional), any(p.name == "out" for p in own)


@cache
def signature_of(function: Any) -> inspect.Signature:
    return inspect.signature(function)


def write_output(ctx: Context, output: Output, result: Value, node: ast.AST) -> Value:
    """Write the results; what the call gives is then the arrays written to."""
    results = result if isinstance(result, tuple) else (result,)
    if len(results) != len(output.places):
        raise TypeError(f"out= holds {len(output.places)} arrays, but there are {len(results)} results")
    written = tuple(_written(ctx, p, r, output, node) for p, r in zip(output.places, results, strict=True))
    return written if isinstance(result, tuple) else written[0]


def _written(ctx: Context, place: Value, result: Value, output: Output, node: ast.AST) -> Value:
    if place is None:
        return result
    if isinstance(place, Masked):
        store_selected(ctx, place, result, node, in_place=not output.unsafe)
        return place
    if type(place) is not Ref:
        raise ctx.error(DTypeError, node, "return arrays must be of ArrayType", instead="pass an array, or None")
    atom = ctx.atom(result)
    ctx.at(node)
    if output.exact and atom.aval.dtype != place.aval.dtype:
        raise ShapeError("output array is not acceptable (must have the right datatype, number of dimensions)")
    if not output.spread and atom.aval.shape != place.aval.shape:
        raise ShapeError(f"output array has shape {place.aval.shape}, and the result {atom.aval.shape}")
    if output.unsafe:
        atom = make.astype(ctx.b, atom, place.aval.dtype)
    if output.where is not True:
        check_cast(ctx, atom.aval, place.aval.dtype, node)
        mask = make.astype(ctx.b, ctx.atom(output.where), np.bool_)
        atom = make.where(ctx.b, mask, make.astype(ctx.b, atom, place.aval.dtype), ctx.read(place))
    write_in_place(ctx, place, atom, node)
    return place
