"""Everything that is not elementwise: casts, reductions, products, shapes, creation, indexing."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ir import DType
from .core import (
    ArgReduce,
    Cast,
    Collective,
    Concatenate,
    Contract,
    Create,
    Cumulative,
    Fourier,
    Index,
    Put,
    Reduce,
    Reshape,
    Sort,
)
from .samples import NUMBERS, ORDERED, Domain

SORTABLE = Domain(kinds="fiubc")
SUMMANDS = Domain(kinds="fiubc")


def wide(dtype: DType) -> DType:
    """NumPy sums and multiplies integers in 64 bits."""
    if dtype.kind == "u":
        return np.dtype(np.uint64)
    return np.dtype(np.int64) if dtype.kind in "bi" else dtype


def same(dtype: DType) -> DType:
    return dtype


def boolean(dtype: DType) -> DType:
    return np.dtype(np.bool_)


def zero(dtype: DType) -> Any:
    return wide(dtype).type(0)


def one(dtype: DType) -> Any:
    return wide(dtype).type(1)


def false(dtype: DType) -> Any:
    return np.False_


def true(dtype: DType) -> Any:
    return np.True_


ASTYPE = Cast()

SUM = Reduce(
    name="sum", numpy="np.sum", evaluate=np.sum, dtype=wide, identity=zero, stablehlo="add", samples=(SUMMANDS,)
)
PROD = Reduce(
    name="prod", numpy="np.prod", evaluate=np.prod, dtype=wide, identity=one, stablehlo="multiply", samples=(SUMMANDS,)
)
MAX = Reduce(
    name="max", numpy="np.max", evaluate=np.max, dtype=same, identity=None, stablehlo="maximum", samples=(ORDERED,)
)
MIN = Reduce(
    name="min", numpy="np.min", evaluate=np.min, dtype=same, identity=None, stablehlo="minimum", samples=(ORDERED,)
)
ANY = Reduce(
    name="any", numpy="np.any", evaluate=np.any, dtype=boolean, identity=false, stablehlo="or", samples=(SUMMANDS,)
)
ALL_ = Reduce(
    name="all", numpy="np.all", evaluate=np.all, dtype=boolean, identity=true, stablehlo="and", samples=(SUMMANDS,)
)
ARGMAX = ArgReduce(name="argmax", numpy="np.argmax", evaluate=np.argmax, samples=(ORDERED,))
ARGMIN = ArgReduce(name="argmin", numpy="np.argmin", evaluate=np.argmin, samples=(ORDERED,))
CUMSUM = Cumulative(name="cumsum", numpy="np.cumsum", evaluate=np.cumsum, dtype=wide, samples=(NUMBERS,))
CUMMAX = Cumulative(
    name="cummax", numpy="np.maximum.accumulate", evaluate=np.maximum.accumulate, dtype=same, samples=(ORDERED,)
)
CUMMIN = Cumulative(
    name="cummin", numpy="np.minimum.accumulate", evaluate=np.minimum.accumulate, dtype=same, samples=(ORDERED,)
)
CUMPROD = Cumulative(name="cumprod", numpy="np.cumprod", evaluate=np.cumprod, dtype=wide, samples=(NUMBERS,))

SORT = Sort(name="sort", numpy="np.sort", evaluate=np.sort, partial=np.partition, samples=(SORTABLE,))
ARGSORT = Sort(name="argsort", numpy="np.argsort", evaluate=np.argsort, partial=np.argpartition, samples=(SORTABLE,))

FFT = Fourier(name="fft", numpy="np.fft.fft", evaluate=np.fft.fftn, samples=(NUMBERS,))
IFFT = Fourier(name="ifft", numpy="np.fft.ifft", evaluate=np.fft.ifftn, samples=(NUMBERS,))
RFFT = Fourier(name="rfft", numpy="np.fft.rfft", evaluate=np.fft.rfftn, samples=(ORDERED,))
IRFFT = Fourier(name="irfft", numpy="np.fft.irfft", evaluate=np.fft.irfftn, samples=(NUMBERS,))

CONTRACT = Contract()

PSUM = Collective(name="psum")
ALL_GATHER = Collective(name="all_gather")
PPERMUTE = Collective(name="ppermute")
AXIS_INDEX = Collective(name="axis_index")

RESHAPE = Reshape(name="reshape")
TRANSPOSE = Reshape(name="transpose")
BROADCAST_TO = Reshape(name="broadcast_to")
EXPAND_DIMS = Reshape(name="expand_dims")
SQUEEZE = Reshape(name="squeeze")
CONCATENATE = Concatenate()

FULL = Create(name="full")
EMPTY = Create(name="empty")
IOTA = Create(name="iota")

INDEX = Index()
PUT = Put(name="put")
PUT_ADD = Put(name="put_add")
