"""Products of many small matrices as C++ functions, called from inside XLA's programs.

    z = x @ y               for (b = 0; b < 10000; b++)
    (10000, 4, 4)               for each row i, four of them at a time:
                                    s = x[i, 0] * y[0] + x[i, 1] * y[1] + ...      # vectors along the rows of y

A library's product takes 30 to 200 ns to begin with, and has the sizes of large matrices in its inner loops; here the
sizes are known, and sums stay in registers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from ...translator.ir import DType, Shape
from ...translator.ops.core import ContractAttrs
from ...translator.records import dataclass
from ..digest import digest
from .native import NativeLoop, prelude

LARGEST = 32
"""Rows or columns: a library's product has overtaken beyond."""
NARROWEST = 16
"""The same of one matrix with many rows: of wider ones libraries give pieces to all cores."""
SUMS = 8  # vectors of sums that are under way at once: what hides the latency of a multiplication
BYTES = 64  # of the longest vectors
NAMES = {np.dtype(np.float64): "double", np.dtype(np.float32): "float"}


@dataclass(frozen=True, slots=True)
class Product:
    """`z[b, i, j] = sum(x[b, i, k] * y[b, k, j])` for `count` b: how far apart elements lie along each of the axes,
    which for a matrix that is the same for all is 0 along the first.
    """

    dtype: DType
    count: int
    rows: int
    columns: int
    summed: int
    x: tuple[int, int, int]
    y: tuple[int, int, int]


def product_of(attrs: ContractAttrs, x: Shape, y: Shape, dtype: DType) -> tuple[Product, bool] | None:
    """The form of a contraction, and whether its operands are swapped; None unless it is a product of matrices along
    leading axes. One of the matrices may be the same for all.
    """
    made = _product_of(attrs.lhs, attrs.rhs, attrs.out, x, y, dtype)
    if made is not None:
        return made, False
    made = _product_of(attrs.rhs, attrs.lhs, attrs.out, y, x, dtype)
    return None if made is None else (made, True)


def _product_of(
    lhs: Sequence[int], rhs: Sequence[int], out: Sequence[int], x: Shape, y: Shape, dtype: DType
) -> Product | None:
    *batch, i, j = out
    if dtype not in NAMES or i in rhs or j in lhs or lhs[:-2] not in ((), tuple(batch)):
        return None
    if rhs[:-2] != tuple(batch) and not (lhs[:-1] == (*batch, i) and len(rhs) == 2):
        return None
    summed = set(lhs) - set(out)
    if len(summed) != 1 or {i, *summed} != set(lhs[-2:]) or {j, *summed} != set(rhs[-2:]):
        return None
    (k,) = summed
    sizes = dict(zip((*lhs, *rhs), (*x, *y), strict=True))
    count, rows, terms, columns = math.prod(sizes[a] for a in batch), sizes[i], sizes[k], sizes[j]
    if len(rhs) == 2:  # all rows stand below each other
        count, rows = 1, count * rows
    strides = [dict(zip(labels[-2:], (shape[-1], 1), strict=True)) for labels, shape in ((lhs, x), (rhs, y))]
    left = rows * terms if lhs[:-2] else 0
    own = (left, strides[0][i], strides[0][k]), (terms * columns, strides[1][k], strides[1][j])
    return Product(dtype, count, rows, columns, terms, *own)


def is_small(p: Product) -> bool:
    if p.count == 1:
        return min(p.columns, p.summed) >= 2 and max(p.columns, p.summed) <= NARROWEST
    return min(p.rows, p.columns, p.summed) >= 2 and max(p.rows, p.columns, p.summed) <= LARGEST


def write_product(p: Product) -> NativeLoop:
    """The function of three arguments: two arrays, and how many elements of each do not count, which lie in front."""
    body = "\n".join(_lines(p))
    name = f"untraced_product_{digest(prelude(()) + body)}"
    return NativeLoop(name, f"namespace {name}_body {{\n{body}\n}}\n{_handler(p, name)}", ())


def _handler(p: Product, name: str) -> str:
    kind = NAMES[p.dtype]
    x, y = (f"(const {kind} *)argument(frame, {k}) + front[{k}]" for k in range(2))
    return f"""extern "C" XLA_FFI_Error *{name}(XLA_FFI_CallFrame *frame) {{
    if (answered(frame)) return nullptr;
    Arithmetic numpys;
    const long long *front = (const long long *)argument(frame, 2);
    {name}_body::run({x}, {y}, ({kind} *)result(frame, 0));
    return nullptr;
}}
"""


def _lines(p: Product) -> Iterator[str]:
    kind = NAMES[p.dtype]
    for width in sorted({w for _, w in _chunks(p)} - {1}):
        size = width * p.dtype.itemsize
        attributes = f"vector_size({size}), aligned({p.dtype.itemsize}), may_alias"
        yield f"typedef {kind} v{width} __attribute__(({attributes}));"
    yield f"typedef {kind} v1;"
    yield "FUSED_PRODUCTS"
    yield f"static void run(const {kind} *__restrict x, const {kind} *__restrict y, {kind} *__restrict z) {{"
    yield "    FUSED_PRODUCTS_INSIDE"
    yield f"    for (long long b = 0; b < {p.count}; b++) {{"
    along, across = p.y[1:]
    if across != 1:
        yield f"        {kind} turned[{p.summed * p.columns}];"
        yield f"        for (int k = 0; k < {p.summed}; k++)"
        yield f"            for (int j = 0; j < {p.columns}; j++)"
        yield f"                turned[k * {p.columns} + j] = y[k * {along} + j * {across}];"
        along = p.columns
    right = "y" if across == 1 else "turned"
    chunks = _chunks(p)
    for first in range(0, len(chunks), 2):
        pair = chunks[first : first + 2]
        height = min(p.rows, SUMS // len(pair))
        whole = p.rows - p.rows % height
        yield f"        for (long long i = 0; i < {whole}; i += {height}) {{"
        yield from _block(p, right, along, pair, height, "i")
        yield "        }"
        if whole < p.rows:
            yield "        {"
            yield from _block(p, right, along, pair, p.rows - whole, str(whole))
            yield "        }"
    yield f"        x += {p.x[0]}, y += {p.y[0]}, z += {p.rows * p.columns};"
    yield "    }"
    yield "}"


def _chunks(p: Product) -> list[tuple[int, int]]:
    """Where the vectors of a row of the result begin, and how long they are."""
    found, at, width = [], 0, BYTES // p.dtype.itemsize
    while at < p.columns:
        while width > p.columns - at:
            width //= 2
        found.append((at, width))
        at += width
    return found


def _block(
    p: Product, right: str, along: int, chunks: Sequence[tuple[int, int]], height: int, row: str
) -> Iterator[str]:
    """`height` rows of the result, from `row`, at the columns of `chunks`."""
    for r in range(height):
        for c, (_, width) in enumerate(chunks):
            yield f"            v{width} s{r}_{c} = {{}};"
    yield f"            for (int k = 0; k < {p.summed}; k++) {{"
    for c, (at, width) in enumerate(chunks):
        yield f"                v{width} y{c} = *(const v{width} *)({right} + k * {along} + {at});"
        yield f"                IN_REGISTER(y{c});"
    for r in range(height):
        yield f"                const {NAMES[p.dtype]} x{r} = x[({row} + {r}) * {p.x[1]} + k * {p.x[2]}];"
        yield from (f"                s{r}_{c} += x{r} * y{c};" for c in range(len(chunks)))
    yield "            }"
    for r in range(height):
        for c, (at, width) in enumerate(chunks):
            yield f"            *(v{width} *)(z + ({row} + {r}) * {p.columns} + {at}) = s{r}_{c};"
