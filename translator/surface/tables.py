"""The tables of what is known: for each callable of NumPy and Python, each method and attribute, its handler."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

import numpy as np

from .. import ops
from ..library import (
    across as across_source,
)
from ..library import (
    binning,
    checks,
    comparing,
    complex_numbers,
    composing,
    convolving,
    gathering,
    grids,
    inserting,
    joining,
    linalg,
    looping,
    mapping,
    numbers,
    ordering,
    packing,
    padding,
    polynomials,
    quantiles,
    queues,
    random_sources,
    rearranging,
    scattering,
    scipy_support,
    special,
    spectral,
    statistics,
    support,
    ufuncs,
    windows,
    writing,
)
from ..ops import foreign, implicit
from ..ops import random as random_rows
from ..ops.core import Elementwise
from ..records import dataclass
from . import across as across
from . import create as create
from . import elementwise as elementwise
from . import fourier as fourier
from . import matrices as matrices
from . import polynomial as polynomial
from . import product as product
from . import python as python
from . import reduce as reduce
from . import shape as shape
from . import sort as sort


@dataclass(frozen=True, slots=True)
class Handler:
    """How a callable is read.

    inline   `function` is NumPy source, read and inlined like a user's function, with `first` before the arguments.
    else     `function(b, *args, **kwargs)`, NumPy's own signature after the builder: arrays arrive as atoms, what is
             known as plain Python objects, containers as containers; returns atoms, Python values, tuples of them.
    view     the result shares memory with the first argument: the statements appended lead from it.
    """

    function: Callable[..., Any]
    view: bool = False
    inline: bool = False
    first: tuple[Any, ...] = ()


Table = dict[int, tuple[Any, Handler]]  # by identity, as a callable may be unhashable; the object is kept alive


# ---- functions -----------------------------------------------------------------------------------


@cache
def transformed() -> Table:
    """NumPy's functions whose result has a kind or a size by the data, or that go by pieces, as derivatives and batches
    have them.
    """
    table: Table = {}
    direct = {"linalg.eig": matrices.complex_eig, "linalg.eigvals": matrices.complex_eigvals}
    _enter_numpy(table, direct, inline=False, view=False)
    for module in (polynomials, linalg, convolving):
        _enter_numpy(table, module.TRANSFORMED, inline=True, view=False)
    for function, source in (*complex_numbers.TRANSFORMED.items(), *queues.TRANSFORMED.items()):
        enter(table, Handler(source, inline=True), [function])
    return table


@cache
def functions() -> Table:
    """The handlers of NumPy's and Python's callables, and of the library's own."""
    table: Table = {}
    for op in (*ops.ALL, *random_rows.ROWS, *implicit.ROWS, *foreign.ROWS):
        if isinstance(op, Elementwise):
            enter(table, Handler(elementwise.elementwise(op)), [op.evaluate])
    for alias, op in ((np.degrees, ops.RAD2DEG), (np.radians, ops.DEG2RAD)):
        enter(table, Handler(elementwise.elementwise(op)), [alias])
    for entries, inline, view in _entries():
        _enter_numpy(table, entries, inline=inline, view=view)
    for scalar_type in SCALAR_TYPES:
        enter(table, Handler(create.constructor(scalar_type)), [scalar_type])
    for builtin, handler in (*python.MATH.items(), *_BUILTINS.items()):
        enter(table, Handler(handler), [builtin])
    enter(table, Handler(elementwise.stop_gradient), [ops.STOP_GRADIENT.evaluate])
    called: tuple[Callable[..., Any], ...] = (
        *looping.CALLED,
        *windows.CALLED,
        *gathering.CALLED,
        *across_source.CALLED,
        *random_sources.CALLED,
    )
    sources: tuple[Callable[..., Any], ...] = (*special.SCIPY_NAMES.values(), *called)
    for source in sources:
        enter(table, Handler(source, inline=True), [source])
    enter(table, Handler(looping.scan_in_place, inline=True), [looping.scan])
    enter(table, Handler(product.einsum), [windows.summed])
    enter(table, Handler(scattering.updated_in_place, inline=True), [scattering.updated])
    for primitive, told in across.HANDLERS.items():
        enter(table, Handler(told), [primitive])
    enter(table, Handler(python.is_known), [support.is_known])
    enter(table, Handler(python.is_weak), [support.is_weak])
    known: tuple[Callable[..., Any], ...] = (
        *support.STATIC,
        *scipy_support.STATIC,
        *checks.STATIC,
        *polynomials.STATIC,
        *gathering.STATIC,
        *inserting.STATIC,
        *random_sources.STATIC,
        *_AT_ONCE,
    )
    for question in known:
        enter(table, Handler(python.at_once(question)), [question])
    return table


@cache
def polynomial_classes() -> Table:
    """The handlers of numpy.polynomial's, which NumPy imports when it is asked for: that takes 6 ms."""
    table: Table = {}
    for entries, inline, view in _entries():
        chosen = {name: own for name, own in entries.items() if name.startswith(_POLYNOMIAL)}
        _enter_numpy(table, chosen, inline=inline, view=view, skipped=None)
    return table


@cache
def transformed_series() -> Table:
    """The handlers of numpy.polynomial's that only derivatives and batches have."""
    table: Table = {}
    _enter_numpy(table, polynomials.TRANSFORMED_SERIES, inline=True, view=False, skipped=None)
    return table


_POLYNOMIAL = "polynomial."


def _entries() -> tuple[tuple[Mapping[str, Callable[..., Any]], bool, bool], ...]:
    """By NumPy's names: handlers, or sources (then they are inlined), and whether they give views."""
    return (_DIRECT, False, False), (_VIEWS, False, True), (_library(), True, False)


def enter(table: Table, handler: Handler, functions: Iterable[Any]) -> None:
    for function in functions:
        table[id(function)] = (function, handler)


def _enter_numpy(
    table: Table,
    entries: Mapping[str, Callable[..., Any]],
    *,
    inline: bool,
    view: bool,
    skipped: str | None = _POLYNOMIAL,
) -> None:
    for name, own in entries.items():
        function: Any = None if skipped is not None and name.startswith(skipped) else np
        for part in name.split("."):
            function = getattr(function, part, None)
        if function is not None:  # an older NumPy lacks a few names
            enter(table, Handler(own, view, inline), [function])
        if inline:
            enter(table, Handler(own, view, inline), [own])


SCALAR_TYPES: tuple[type, ...] = (
    np.bool_,
    np.int8,
    np.int16,
    np.int32,
    np.int64,
    np.uint8,
    np.uint16,
    np.uint32,
    np.uint64,
    np.float16,
    np.float32,
    np.float64,
    np.complex64,
    np.complex128,
)

_AT_ONCE: tuple[Callable[..., Any], ...] = (
    np.dtype,
    np.finfo,
    np.iinfo,
    np.promote_types,
    np.issubdtype,
    np.broadcast_shapes,
    np.isdtype,
    np.min_scalar_type,
)

_DIRECT: dict[str, Callable[..., Any]] = {
    "where": elementwise.where,
    "clip": elementwise.clip,
    "round": elementwise.round_,
    "around": elementwise.round_,
    "fix": elementwise.fix,
    "conjugate": elementwise.conjugate,
    "astype": elementwise.astype,
    "divmod": elementwise.divmod_,
    "modf": elementwise.modf,
    "sum": reduce.sum_like(ops.SUM),
    "prod": reduce.sum_like(ops.PROD),
    "max": reduce.extreme_like(ops.MAX),
    "min": reduce.extreme_like(ops.MIN),
    "amax": reduce.extreme_like(ops.MAX),
    "amin": reduce.extreme_like(ops.MIN),
    "any": reduce.truth_like(ops.ANY),
    "all": reduce.truth_like(ops.ALL_),
    "argmax": reduce.arg_extreme(ops.ARGMAX),
    "argmin": reduce.arg_extreme(ops.ARGMIN),
    "cumsum": reduce.cumulative(ops.CUMSUM),
    "cumprod": reduce.cumulative(ops.CUMPROD),
    "concatenate": shape.concatenate,
    "stack": shape.stack,
    "take": shape.take,
    "take_along_axis": shape.take_along_axis,
    "unravel_index": shape.unravel_index,
    "ravel_multi_index": shape.ravel_multi_index,
    "shape": shape.shape_of,
    "ndim": shape.ndim_of,
    "size": shape.size_of,
    "copy": shape.copy,
    "zeros": create.filled(0),
    "ones": create.filled(1),
    "empty": create.empty,
    "ndarray": create.ndarray,
    "full": create.full,
    "zeros_like": create.filled_like(0),
    "ones_like": create.filled_like(1),
    "empty_like": create.filled_like(None),
    "full_like": create.full_like,
    "arange": create.arange,
    "linspace": create.linspace,
    "eye": create.eye,
    "identity": create.identity,
    "tri": create.tri,
    "array": create.new_array,
    "indices": create.indices,
    "matmul": product.matmul,
    "dot": product.dot,
    "vdot": product.vdot,
    "inner": product.inner,
    "outer": product.outer,
    "vecdot": product.vecdot,
    "matvec": product.matvec,
    "vecmat": product.vecmat,
    "tensordot": product.tensordot,
    "einsum": product.einsum,
    **matrices.HANDLERS,
    **polynomial.HANDLERS,
    "linalg.multi_dot": product.multi_dot,
    "i0": elementwise.i0,
    "linalg.matmul": product.matmul,
    "linalg.outer": product.linalg_outer,
    "linalg.tensordot": product.linalg_tensordot,
    "linalg.vecdot": product.vecdot,
    "sort": sort.sort,
    "argsort": sort.argsort,
    "partition": sort.partition,
    "argpartition": sort.argpartition,
    **{name: sort.refused(name) for name in sort.DATA_DEPENDENT},
    "fft.fft": fourier.along_one(ops.FFT),
    "fft.ifft": fourier.along_one(ops.IFFT),
    "fft.rfft": fourier.along_one(ops.RFFT),
    "fft.irfft": fourier.along_one(ops.IRFFT),
    "fft.hfft": fourier.hfft,
    "fft.ihfft": fourier.ihfft,
    "fft.fft2": fourier.along_several(ops.FFT, 2),
    "fft.ifft2": fourier.along_several(ops.IFFT, 2),
    "fft.rfft2": fourier.along_several(ops.RFFT, 2),
    "fft.irfft2": fourier.along_several(ops.IRFFT, 2),
    "fft.fftn": fourier.along_several(ops.FFT, None),
    "fft.ifftn": fourier.along_several(ops.IFFT, None),
    "fft.rfftn": fourier.along_several(ops.RFFT, None),
    "fft.irfftn": fourier.along_several(ops.IRFFT, None),
    "result_type": python.result_type,
    "can_cast": python.can_cast,
    "isscalar": python.isscalar,
    "iscomplexobj": python.of_kind("c", np.iscomplexobj),
    "isrealobj": python.of_kind("biufV", np.isrealobj),
}

_VIEWS: dict[str, Callable[..., Any]] = {
    "reshape": shape.reshape,
    "ravel": shape.ravel,
    "transpose": shape.transpose,
    "matrix_transpose": shape.matrix_transpose,
    "linalg.matrix_transpose": shape.matrix_transpose,
    "swapaxes": shape.swapaxes,
    "moveaxis": shape.moveaxis,
    "rollaxis": shape.rollaxis,
    "broadcast_to": shape.broadcast_to,
    "expand_dims": shape.expand_dims,
    "squeeze": shape.squeeze,
    "diagonal": shape.diagonal,
    "linalg.diagonal": shape.matrix_diagonal,
    "lib.stride_tricks.as_strided": shape.as_strided,
    "lib.stride_tricks.sliding_window_view": shape.sliding_window_view,
    "real": elementwise.real,
    "imag": elementwise.imag,
    "asarray": create.as_array,
    "asanyarray": create.as_array,
    "ascontiguousarray": create.as_contiguous,
    "asfortranarray": create.as_contiguous,
}

_BUILTINS: dict[Callable[..., Any], Callable[..., Any]] = {
    builtins.float: python.float_,
    builtins.int: python.int_,
    builtins.complex: python.complex_,
    builtins.bool: python.bool_,
    builtins.abs: python.abs_,
    builtins.round: python.round_,
    builtins.pow: python.pow_,
    builtins.divmod: python.divmod_,
    builtins.len: python.len_,
    builtins.min: python.min_,
    builtins.max: python.max_,
    builtins.sum: python.sum_,
    builtins.any: python.any_,
    builtins.all: python.all_,
}


def _library() -> dict[str, Callable[..., Any]]:
    """NumPy's name -> its source in the library."""
    modules = (
        statistics,
        numbers,
        ordering,
        composing,
        convolving,
        grids,
        binning,
        quantiles,
        polynomials,
        spectral,
        joining,
        rearranging,
        comparing,
        linalg,
        writing,
        padding,
        packing,
        mapping,
    )
    return {name: getattr(m, own) for m in modules for name, own in m.NUMPY_NAMES.items()}


# ---- methods and attributes ----------------------------------------------------------------------


@cache
def methods() -> dict[str, Handler]:
    table = {name: Handler(function) for name, function in _METHODS.items()}
    table |= {name: Handler(function, view=True) for name, function in _VIEW_METHODS.items()}
    for module in (statistics, rearranging, binning, writing, composing, numbers):
        table |= {name: Handler(function, inline=True) for name, function in module.METHODS.items()}
    return table


_SIZE_UNKNOWN = "the size of the result is not known before the run"

_METHODS: dict[str, Callable[..., Any]] = {
    **{name: _DIRECT[name] for name in ("sum", "prod", "max", "min", "any", "all", "argmax", "argmin")},
    **{name: _DIRECT[name] for name in ("argsort", "argpartition")},
    **{name: _DIRECT[name] for name in ("cumsum", "cumprod", "take", "copy", "astype")},
    "round": elementwise.round_,
    "clip": elementwise.clip_method,
    "dot": product.dot_method,
    "conj": elementwise.conjugate_method,
    "conjugate": elementwise.conjugate_method,
    "flatten": shape.ravel,
    "item": python.item,
    "nonzero": python.refused_method("nonzero", _SIZE_UNKNOWN, "np.where(mask, x, y)"),
    "tobytes": python.refused_method("tobytes", "bytes are not arrays", "return the array"),
}

_VIEW_METHODS: dict[str, Callable[..., Any]] = {
    "reshape": shape.reshape_method,
    "ravel": shape.ravel,
    "transpose": shape.transpose_method,
    "swapaxes": shape.swapaxes,
    "squeeze": shape.squeeze,
    "diagonal": shape.diagonal,
}

ATTRIBUTES: dict[str, Handler] = {
    "T": Handler(shape.transpose, view=True),
    "mT": Handler(shape.matrix_transpose, view=True),
    "real": Handler(elementwise.real, view=True),
    "imag": Handler(elementwise.imag, view=True),
    "shape": Handler(python.shape),
    "ndim": Handler(python.ndim),
    "size": Handler(python.size),
    "dtype": Handler(python.dtype),
    "itemsize": Handler(python.itemsize),
    "nbytes": Handler(python.nbytes),
}


def ufunc_method(ufunc: np.ufunc, name: str) -> Handler | None:
    """np.add.reduce, np.multiply.accumulate, np.subtract.outer, ..."""
    if ufunc.nin != 2 or ufunc.nout != 1 or id(ufunc) not in functions():
        return None
    if name == "reduce" and ufunc in _REDUCTIONS:
        return Handler(_REDUCTIONS[ufunc])
    if name == "accumulate" and ufunc in _ACCUMULATIONS:
        return Handler(_ACCUMULATIONS[ufunc])
    source = ufuncs.METHODS.get(name)
    return None if source is None else Handler(source, inline=True, first=(ufunc,))


_REDUCTIONS: dict[np.ufunc, Callable[..., Any]] = {
    np.add: reduce.ufunc_reduce(ops.SUM),
    np.multiply: reduce.ufunc_reduce(ops.PROD),
    np.maximum: reduce.ufunc_reduce(ops.MAX),
    np.minimum: reduce.ufunc_reduce(ops.MIN),
    np.logical_or: reduce.ufunc_reduce(ops.ANY),
    np.logical_and: reduce.ufunc_reduce(ops.ALL_),
}
_ACCUMULATIONS: dict[np.ufunc, Callable[..., Any]] = {
    np.add: reduce.cumulative(ops.CUMSUM, 0),
    np.multiply: reduce.cumulative(ops.CUMPROD, 0),
    np.maximum: reduce.cumulative(ops.CUMMAX, 0),
    np.minimum: reduce.cumulative(ops.CUMMIN, 0),
}
