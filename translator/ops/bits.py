"""x.view(dtype): the same bits as numbers of another dtype of the same size. One row for each dtype that is viewed as.

The rows stand in `VIEWS`, not in `ops.ALL`: what they take depends on the size of the dtype, which no domain says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import CutError, Diagnostic, DTypeError
from ..ir import Aval, DType
from .core import Elementwise

_CUDA = {  # kernels hold half precision in float32, which leaves no bits to view
    "int32": "__float_as_int({0})",
    "uint32": "(unsigned int)__float_as_int({0})",
    "float32": "__int_as_float({0})",
    "int64": "__double_as_longlong({0})",
    "uint64": "(unsigned long long)__double_as_longlong({0})",
    "float64": "__longlong_as_double({0})",
}


def _row(dtype: DType) -> Elementwise:
    def view(x: Any) -> Any:
        return x.view(dtype)

    def by_view(x: Any) -> Any:
        if x.dtype.kind in "biu" and dtype.kind in "iu":
            return x.astype(dtype)
        return x.view(dtype)

    return Elementwise(
        name=f"view_{dtype.name}", numpy=f"view({dtype.name})", evaluate=view, loop=_loop(dtype), decompose=by_view,
        stablehlo="bitcast_convert", stablehlo_kinds="iuf", cuda=_CUDA.get(dtype.name, ""),
        triton=f"({{0}}).to(tl.{dtype.name}, bitcast=True)" if dtype.itemsize > 2 else "",
        kernel_kinds="iu" if dtype.kind == "f" else "f", samples=(),
    )  # fmt: skip


def _loop(dtype: DType) -> Callable[[Sequence[Aval]], tuple[tuple[DType, ...], DType]]:
    def loop(avals: Sequence[Aval]) -> tuple[tuple[DType, ...], DType]:
        given = avals[0].dtype
        if given.kind == "c" or (given.itemsize != dtype.itemsize and given.kind in "biuf"):
            what = f"an array of dtype {given} viewed as {dtype}"
            raise CutError(Diagnostic(what, why="a view is known between numbers of one size"))
        if given.itemsize != dtype.itemsize or given.kind not in "biuf" or dtype.kind not in "iuf":
            what = f"an array of dtype {given} viewed as {dtype}"
            why = "a view of the same bits is known between numbers of the same size"
            raise DTypeError(Diagnostic(what, why=why, instead="use .astype(...) to convert values"))
        return (given,), dtype

    return loop


VIEWS: dict[DType, Elementwise] = {
    np.dtype(name): _row(np.dtype(name))
    for size in (8, 16, 32, 64)
    for name in (f"int{size}", f"uint{size}", *([f"float{size}"] if size > 8 else []))
}
NAMES = frozenset(row.name for row in VIEWS.values())
