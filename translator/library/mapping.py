"""Functions of single elements and of lines carried over whole arrays, as NumPy source."""

from __future__ import annotations

from typing import Any

import numpy as np

from .support import core_shapes, one_axis, output_dtypes, settled

# ---- np.vectorize --------------------------------------------------------------------------------


def vectorized(pyfunc: Any, otypes: Any, excluded: Any, signature: Any, *args: Any, **kwargs: Any) -> Any:
    """np.vectorize(pyfunc, ...)(*args, **kwargs): the function is called once for each element."""
    if signature is not None:
        return _by_signature(pyfunc, otypes, core_shapes(signature), args)
    places = [i for i in range(len(args)) if i not in excluded]
    names = [k for k in kwargs if k not in excluded]
    grids = np.broadcast_arrays(*[args[i] for i in places], *[kwargs[k] for k in names])
    lines, shape = [np.ravel(g) for g in grids], grids[0].shape
    n = lines[0].size
    if otypes is None:
        if n == 0:
            raise ValueError("cannot call `vectorize` on size 0 inputs unless `otypes` is set")
        sample = settled(_call(pyfunc, args, kwargs, places, names, [x[0] for x in lines]))
        several = isinstance(sample, tuple)
        dtypes = tuple([np.asarray(r).dtype for r in (sample if several else (sample,))])
    else:
        dtypes = output_dtypes(otypes)
        several = len(dtypes) > 1
    outs = [np.empty(n, dtype=d) for d in dtypes]
    for k in range(n):
        result = _call(pyfunc, args, kwargs, places, names, [x[k].item() for x in lines])
        for out, r in tuple(zip(outs, result if several else (result,))):
            out[k] = r
    found = [np.reshape(out, shape)[()] for out in outs]
    return tuple(found) if several else found[0]


def _call(pyfunc: Any, args: Any, kwargs: Any, places: Any, names: Any, numbers: Any) -> Any:
    """The function with `numbers` in place of the arguments at `places`, and of those called `names`."""
    given = list(args)
    for i, x in tuple(zip(places, numbers)):
        given[i] = x
    return pyfunc(*given, **{**kwargs, **dict(zip(names, numbers[len(places) :]))})


def _by_signature(pyfunc: Any, otypes: Any, cores: Any, args: Any) -> Any:
    """Of subarrays: each argument has the core dimensions that the signature names, the others are looped over."""
    arrays = [np.asarray(x) for x in args]
    inputs, outputs = cores
    outer = np.broadcast_shapes(*[x.shape[: x.ndim - c] for x, c in tuple(zip(arrays, inputs))])
    rows = [
        np.reshape(np.broadcast_to(x, outer + x.shape[x.ndim - c :]), (-1, *x.shape[x.ndim - c :]))
        for x, c in tuple(zip(arrays, inputs))
    ]
    sample = pyfunc(*[x[0] for x in rows])
    several = len(outputs) > 1
    firsts = [np.asarray(r) for r in (sample if several else (sample,))]
    dtypes = tuple([r.dtype for r in firsts]) if otypes is None else output_dtypes(otypes)
    n = rows[0].shape[0]
    outs = [np.empty((n, *r.shape), dtype=d) for r, d in tuple(zip(firsts, dtypes))]
    for k in range(n):
        result = pyfunc(*[x[k] for x in rows])
        for out, r in tuple(zip(outs, result if several else (result,))):
            out[k] = r
    found = [np.reshape(out, outer + out.shape[1:])[()] for out in outs]
    return tuple(found) if several else found[0]


# ---- lines and axes ------------------------------------------------------------------------------


def apply_along_axis(func1d: Any, axis: Any, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """The function of each line along an axis, line after line."""
    x = np.moveaxis(np.asarray(arr), axis, -1)
    before = x.shape[:-1]
    if 0 in before:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    lines = np.reshape(x, (-1, x.shape[-1])) if x.size else np.zeros((int(np.prod(before)), 0), dtype=x.dtype)
    first = np.asarray(func1d(lines[0], *args, **kwargs))
    results = np.empty((lines.shape[0], *first.shape), dtype=first.dtype)
    results[0] = first
    for i in range(1, lines.shape[0]):
        results[i] = func1d(lines[i], *args, **kwargs)
    whole = np.reshape(results, before + first.shape)
    place = one_axis(axis, len(before) + 1)
    for k in tuple(range(first.ndim)):
        whole = np.moveaxis(whole, len(before) + k, place + k)
    return whole


def apply_over_axes(func: Any, a: Any, axes: Any) -> Any:
    x = np.asarray(a)
    ndim = x.ndim
    for axis in (axes,) if isinstance(axes, int) else tuple(axes):
        place = one_axis(axis, ndim)
        result = np.asarray(func(x, place))
        x = result if result.ndim == ndim else np.expand_dims(result, place)
        if x.ndim != ndim:
            raise ValueError("function is not returning an array of the correct shape")
    return x


NUMPY_NAMES = {
    "vectorize": "vectorized",
    "apply_along_axis": "apply_along_axis",
    "apply_over_axes": "apply_over_axes",
}
