"""Calls of NumPy inside XLA's programs, where NumPy is faster on a CPU: sorts, argmax, some sums.

    %s = stablehlo.custom_call @untraced_host(%x) {backend_config = {call = "sort 0"}} ...

The function reads and fills XLA's own buffers (`host_abi`). A call takes about 30 us more than NumPy's own, so only
work of at least `SMALLEST` elements goes this way, and orders that only NumPy gives; none where the system is not
Linux, or with UNTRACED_HOST_CALLS=0.
"""

from __future__ import annotations

import functools
import math
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from ...translator.ir import Aval, DType, Shape
from ...translator.ops.core import At, ContractAttrs, Dim, Gather, ReduceAttrs, SortAttrs
from ...translator.settings import switch
from ..emit.writer import Value, Writer, tensor_type
from . import host_abi
from .host_abi import HostFunction, NDArray

TARGET = "untraced_host"
AVAILABLE = sys.platform == "linux" and switch("UNTRACED_HOST_CALLS", True)
SMALLEST = 1 << 13
"""Elements: XLA takes 5 to 200 ns for each in what is called here, NumPy a fifth of that or less."""
OVERHEAD = 30_000
"""Nanoseconds of a call beyond NumPy's own."""
SHORTEST_LINE = 64
"""Elements of a line in which NumPy looks for an extreme: it starts anew, for 25 ns, at each line."""
MANY_COMPARED = 1 << 15
"""Elements whose extreme NumPy finds at 0.2 ns for each, XLA at 0.6 to 1.2, twice for NaN."""
SHORTEST_SUM = 24
"""Elements of a line of running sums: NumPy's take 2.3 ns for each, XLA's 4 to 5, but less where lines are short."""
SMALLEST_PRODUCT = 1 << 18
"""Multiplications of a complex product: XLA's takes 2.5 to 7 times as long as BLAS, from 64 x 64 on."""
SHORTEST_DOT = 16
LEAST_PRODUCTS = 1 << 16
"""Elements of each sum of products, and of all: XLA takes 0.8 to 1.2 ns for each, on one core, NumPy 0.2."""
SMALLEST_SYSTEM = 32
"""Equations: putting the rows in order in XLA takes 80 times as long as NumPy's whole solution from 200 on."""


VECTORISED: dict[str, tuple[float, float]] = {
    "tan": (15, 4.5),
    "arcsin": (25, 4.4),
    "arccos": (31, 4.4),
    "sinh": (15, 10),
    "cosh": (10, 10),
    "arcsinh": (17, 5),
    "arccosh": (16, 3.5),
    "arctanh": (9, 4),
    "cbrt": (28, 25),
    "power": (25, 10),
    "arctan2": (22, 27),
}
"""Nanoseconds that XLA takes for an element in float64 and float32, of functions for which NumPy has instructions on
vectors of 512 bits: with those it takes 1.5 to 3.5 and 0.7 to 1.3.
"""
TAKEN = 5.0, 2.5  # NumPy's, with what writing its arguments and reading its result takes

Typed = Value | Aval


def sorts(x: Typed, attrs: SortAttrs) -> bool:
    """Whether NumPy is sooner done, or has an order of its own: in a partition, of equal elements.

    bfloat16 NumPy does not know by itself.
    """
    if attrs.places or attrs.kind != "stable":
        return x.dtype.kind in "fciub"
    return _size(x) >= SMALLEST and x.dtype.kind in "fciub"


def sorts_by_digits(dtype: DType) -> bool:
    """Whether NumPy's stable sort is one by digits: 1e6 bytes take 2 ms, 28 where they are compared."""
    return dtype.kind in "iub" and dtype.itemsize <= 2


def searches(x: Typed, axis: int) -> bool:
    """Whether NumPy finds the places of extremes faster: along lines that lie in one piece."""
    last = axis == len(x.shape) - 1 and x.shape[axis] >= SHORTEST_LINE
    return _size(x) >= SMALLEST and last and x.dtype.kind in "fiub"


def accumulates(x: Typed, axis: int, dtype: DType) -> bool:
    """Whether NumPy's running sums are the same ones, and faster: along lines that lie in one piece. Those of half
    precision are never the same: NumPy rounds each.
    """
    if dtype == np.float16:
        return True
    one_piece = math.prod(x.shape[axis:]) == x.shape[axis] >= SHORTEST_SUM
    known = dtype.kind in "fciu" and "e" not in (x.dtype.char, dtype.char)
    same = known and x.dtype.kind in "fciub" and np.can_cast(x.dtype, dtype)
    return _size(x) >= SMALLEST and one_piece and same


def scatters(array: Typed, dims: Sequence[Dim], count: int) -> bool:
    """Whether NumPy adds `count` scattered numbers faster: to single elements, at places in arrays of indices."""
    single = all(isinstance(d, At | Gather) for d in dims) and any(isinstance(d, Gather) for d in dims)
    return single and count >= SMALLEST and array.dtype.kind in "fciu" and array.dtype != np.float16


def multiplies(attrs: ContractAttrs, x: Typed, y: Typed, dtype: DType) -> bool:
    """Whether a product is one of matrices and vectors, in numbers that BLAS knows: also one of arrays that are such
    in other shapes, whose summed axes lie together.
    """
    lhs, rhs, out = attrs.lhs, attrs.rhs, attrs.out
    summed = tuple(label for label in lhs if label not in out)
    free = [tuple(label for label in side if label not in summed) for side in (lhs, rhs)]
    flat = all(summed in (side[: len(summed)], side[-len(summed) :]) for side in (lhs, rhs))
    flat = flat and bool(summed) and out in (free[0] + free[1], free[1] + free[0])
    return flat and dtype.char in "fdFD" and x.dtype == y.dtype == dtype


def multiplies_faster(dtype: DType, multiplications: int) -> bool:
    return dtype.kind == "c" and multiplications >= SMALLEST_PRODUCT


def sums_products(attrs: ContractAttrs, x: Typed, y: Typed, dtype: DType) -> bool:
    """Whether a product takes two arrays element by element and sums along lines of doubles: XLA adds one after
    another, NumPy several at once.
    """
    lhs, rhs, out = attrs.lhs, attrs.rhs, attrs.out
    length = math.prod(n for label, n in zip(lhs, x.shape, strict=True) if label not in out)
    elementwise = sorted(lhs) == sorted(rhs) and bool(out) and length >= SHORTEST_DOT
    return elementwise and dtype.char in "dFD" and x.dtype == y.dtype == dtype and _size(x) >= LEAST_PRODUCTS


def solves(a: Typed, right: Typed) -> bool:
    return a.shape[-1] >= SMALLEST_SYSTEM and a.dtype.char in "fdFD" and a.dtype == right.dtype


def factors(a: Typed) -> bool:
    """Whether eigenvectors and singular vectors are NumPy's: in single precision their signs depend on how products are
    rounded, in which NumPy's LAPACK and jaxlib's differ.
    """
    return a.dtype.char in "fF"


@functools.cache
def has_vectors() -> bool:
    """Whether NumPy runs these functions in vectors on this processor; elsewhere it calls the C library's."""
    from numpy.lib.introspect import opt_func_info

    found = opt_func_info(func_name="^(cbrt|power|arctan2)$", signature="float64")
    loops = [loop for kinds in found.values() for loop in kinds.values()]
    return bool(loops) and all(loop["current"].startswith(("AVX512", "X86_V4")) for loop in loops)


def computes(name: str, dtype: DType, size: int) -> bool:
    """Whether NumPy computes a function of floats sooner, on one core, than XLA on all."""
    if name not in VECTORISED or dtype.char not in "fd" or size < SMALLEST or not has_vectors():
        return False
    narrow = dtype.char == "f"
    return VECTORISED[name][narrow] / len(os.sched_getaffinity(0)) > TAKEN[narrow]


def reduces(name: str, x: Typed, dtype: DType) -> bool:
    """Whether NumPy's reduction is the same one: in the type of the elements, read once, or a count of truths."""
    if name == "sum" and x.dtype.kind == "b":
        return dtype == np.int64
    return name in ("sum", "prod", "max", "min", "any", "all") and x.dtype == dtype and dtype.kind in "fiub"


def compares(name: str, x: Typed, attrs: ReduceAttrs) -> bool:
    """Whether NumPy finds extremes faster in what lies in memory: along lines that lie in one piece, or across them.
    Truths it counts in 0.05 to 0.4 ns, XLA in 0.25 to 3; asked for any or all along lines, it stops where it knows.
    """
    along = len(x.shape) - 1 in attrs.axes
    line = math.prod(x.shape[min(attrs.axes) :]) if along else x.shape[-1]
    of_truths = x.dtype.kind == "b" and (name == "sum" or (along and name in ("any", "all")))
    return (of_truths or name in ("max", "min")) and _size(x) >= MANY_COMPARED and line >= SHORTEST_LINE


def _size(x: Typed) -> int:
    return math.prod(x.shape)


def call(w: Writer, name: str, args: Sequence[Value], shape: Shape, dtype: DType) -> Value:
    """`name`: a function of this file and its integers, as in "sort 0"."""
    return calls(w, name, args, [(shape, dtype)])[0]


def calls(
    w: Writer, name: str, args: Sequence[Value], types: Sequence[tuple[Shape, DType]], *, in_place: bool = False
) -> list[Value]:
    """Like `call`, with several results. `in_place`: the first one takes the memory of the first argument, which XLA
    copies beforehand if its value is still needed.
    """
    name, args = _from_shifted(w, name, args, 1 if in_place else 0)
    results = w.several("host", types)
    made = [tensor_type(*t) for t in types]
    count = f":{len(types)}" if len(types) > 1 else ""
    fields = [
        "api_version = 4 : i32",
        f'backend_config = {{call = "{name}"}}',
        f"operand_layouts = [{', '.join(_rows(len(a.shape)) for a in args)}]",
        f"result_layouts = [{', '.join(_rows(len(shape)) for shape, _ in types)}]",
    ]
    if in_place:
        first = "0" if count else ""
        fields.append(
            f"output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [{first}], "
            "operand_index = 0, operand_tuple_indices = []>]"
        )
    given = ", ".join(tensor_type(a.shape, a.dtype) for a in args)
    head = f"{results[0].name.partition('#')[0]}{count}"
    w.line(
        f"{head} = stablehlo.custom_call @{TARGET}({', '.join(a.name for a in args)}) "
        f"{{{', '.join(fields)}}} : ({given}) -> " + (f"({', '.join(made)})" if count else made[0])
    )
    return results


def _from_shifted(w: Writer, name: str, args: Sequence[Value], kept: int) -> tuple[str, list[Value]]:
    """The call with shifted parameters in place of what XLA would copy from them, but for the first `kept` arguments:
    "sort 0 @ 0 2 1000" sorts argument 0, which has shape (1000,) and 2 elements in front.
    """
    given = list(args)
    for k in range(kept, len(given)):
        x = given[k]
        if x.name in w.shifted:
            given[k], shift = w.shifted[x.name]
            name += f" @ {' '.join(map(str, (k, shift, *x.shape)))}"
    return name, given


def _rows(rank: int) -> str:
    """The layout in which the last axis changes fastest."""
    order = ", ".join(map(str, range(rank - 1, -1, -1)))
    return f"dense<[{order}]> : tensor<{rank}xindex>" if rank else "dense<> : tensor<0xindex>"


# ---- the functions -------------------------------------------------------------------------------


@functools.cache
def find(name: bytes) -> HostFunction:
    """The function of a call's name, with its integers and what it skips of its arguments."""
    head, *skips = name.decode().split("@")
    kind, *numbers = head.split()
    function: HostFunction = functools.partial(_FUNCTIONS[kind], *map(int, numbers))
    for text in skips:
        place, shift, *shape = map(int, text.split())
        function = functools.partial(_skipping, function, place, shift, tuple(shape))
    return function


def _skipping(
    function: HostFunction, place: int, shift: int, shape: Shape, results: Sequence[NDArray], args: Sequence[NDArray]
) -> None:
    given = list(args)
    given[place] = args[place][shift:].reshape(shape)
    function(results, given)


def _sort(axis: int, results: Sequence[NDArray], args: Sequence[NDArray]) -> None:
    np.copyto(results[0], args[0])
    results[0].sort(axis=axis, kind="stable" if sorts_by_digits(args[0].dtype) else None)


def _argsort(axis: int, results: Sequence[NDArray], args: Sequence[NDArray]) -> None:
    """The stable order, by the fast sort that is not: where elements are equal their places are put in order.

    Of 1e6 float64 27 ms, of integers with many ties 31 ms; NumPy's stable sort takes 94 and 58 ms.
    """
    x, order = args[0], results[0]
    if sorts_by_digits(x.dtype) or x.dtype.kind == "c" or x.shape[axis] >= 2**31:
        np.copyto(order, np.argsort(x, axis=axis, kind="stable"))
        return
    lines = np.moveaxis(x, axis, -1)
    found = np.argsort(lines, axis=-1)
    ordered = np.take_along_axis(lines, found, -1)
    differ = ordered[..., 1:] != ordered[..., :-1]
    if x.dtype.kind == "f":
        differ &= ~np.isnan(ordered[..., :-1])  # NaNs are ties, too
    if not differ.all():
        group = np.zeros(lines.shape, np.int64)
        np.cumsum(differ, axis=-1, out=group[..., 1:])
        group <<= 32
        group |= found
        group.sort(axis=-1)
        group &= 2**32 - 1
        found = group
    np.copyto(np.moveaxis(order, axis, -1), found)


def _argsort_own(
    kind: Literal["quicksort", "heapsort"], axis: int, results: Sequence[NDArray], args: Sequence[NDArray]
) -> None:
    np.copyto(results[0], np.argsort(args[0], axis=axis, kind=kind))


def _partition(*numbers: Any) -> None:
    axis, *places, results, args = numbers
    np.copyto(results[0], args[0])
    results[0].partition(places, axis=axis)


def _argpartition(*numbers: Any) -> None:
    axis, *places, results, args = numbers
    np.copyto(results[0], np.argpartition(args[0], places, axis=axis))


def _argmax(axis: int, results: Sequence[NDArray], args: Sequence[NDArray]) -> None:
    np.argmax(args[0], axis=axis, out=results[0])


def _argmin(axis: int, results: Sequence[NDArray], args: Sequence[NDArray]) -> None:
    np.argmin(args[0], axis=axis, out=results[0])


def _scatter(
    store: Callable[[NDArray, NDArray, NDArray], None], results: Sequence[NDArray], args: Sequence[NDArray]
) -> None:
    """The first result is the first argument, in its memory; then whether places are outside, and the largest of those,
    at which nothing is stored.
    """
    (array, outside, worst), (_, places, values) = results, args
    outside[...] = worst[...] = 0
    try:
        store(array, places, values)
    except IndexError:  # raised before anything is stored
        inside = (places >= -array.size) & (places < array.size)
        outside[...], worst[...] = 1, places[~inside].max()
        store(array, places[inside], values[inside] if values.ndim else values)


def _add(array: NDArray, places: NDArray, values: NDArray) -> None:
    """np.add.at. What np.bincount gives to the bit it counts: a whole number that is added everywhere, and float64
    added to zeros, in 60 and in 30 per cent of the time.
    """
    whole = values.ndim == 0 and array.dtype.kind in "iu"
    dense = array.size <= places.size
    zeros = dense and values.ndim == 1 and array.dtype == np.float64 and not _bits(array).any()
    if (dense and whole) or zeros:
        try:
            counts = np.bincount(places, None if whole else values, array.size)
        except ValueError:  # places counted from the end
            counts = places
        if len(counts) == array.size and counts is not places:
            array += counts.astype(array.dtype) * values if whole else counts
            return
    np.add.at(array, places, values)


def _bits(array: NDArray) -> NDArray:
    """The bits of a number: those of -0.0 are not zero."""
    return array.view(np.int64)


def _put(array: NDArray, places: NDArray, values: NDArray) -> None:
    array[places] = values


def _matmul(turned: int, results: Sequence[NDArray], args: Sequence[NDArray]) -> None:
    """`turned`: 1 where the first operand lies transposed, 2 where the second does, 3 both."""
    x = args[0].T if turned & 1 else args[0]
    y = args[1].T if turned & 2 else args[1]
    np.matmul(x, y, out=results[0])


def _einsum(rank: int, *rest: Any) -> None:
    """The labels of both operands, of `rank` axes each, and of the result."""
    *labels, results, args = rest
    lhs, rhs, out = labels[:rank], labels[rank : 2 * rank], labels[2 * rank :]
    np.einsum(args[0], lhs, args[1], rhs, out, out=results[0])


def _factor(function: Callable[..., Any], results: Sequence[NDArray], args: Sequence[NDArray]) -> None:
    """The last result: 1 where a matrix is singular or something does not converge, as LAPACK says."""
    *parts, info = results
    try:
        found = function(*args)
        for part, x in zip(parts, found if isinstance(found, tuple) else (found,), strict=True):
            np.copyto(part, x)
        info[...] = 0
    except np.linalg.LinAlgError:
        for part in parts:
            part[...] = np.nan
        info[...] = 1


def _compute(function: np.ufunc, results: Sequence[NDArray], args: Sequence[NDArray]) -> None:
    function(*args, out=results[0])


def _reduce(function: np.ufunc, *numbers: Any) -> None:
    *axes, results, args = numbers
    function.reduce(args[0], axis=tuple(axes), out=results[0])


def _count(*numbers: Any) -> None:
    *axes, results, args = numbers
    if len(axes) == args[0].ndim:
        results[0][...] = np.count_nonzero(args[0])
    else:
        np.add.reduce(args[0], axis=tuple(axes), out=results[0])


def _accumulate(function: np.ufunc, axis: int, results: Sequence[NDArray], args: Sequence[NDArray]) -> None:
    function.accumulate(args[0], axis=axis, out=results[0])


def _advise(results: Sequence[NDArray], args: Sequence[NDArray]) -> None:
    for r in results:
        host_abi.ask_for_huge_pages(r)


_FUNCTIONS: dict[str, Callable[..., None]] = {
    "sort": _sort,
    "argsort": _argsort,
    "argsort_quicksort": functools.partial(_argsort_own, "quicksort"),
    "argsort_heapsort": functools.partial(_argsort_own, "heapsort"),
    "partition": _partition,
    "argpartition": _argpartition,
    "argmax": _argmax,
    "argmin": _argmin,
    "add_at": functools.partial(_scatter, _add),
    "put_at": functools.partial(_scatter, _put),
    "matmul": _matmul,
    "einsum": _einsum,
    "solve": functools.partial(_factor, np.linalg.solve),
    "eigh": functools.partial(_factor, np.linalg.eigh),
    "eigh_upper": functools.partial(_factor, functools.partial(np.linalg.eigh, UPLO="U")),
    "eig": functools.partial(_factor, np.linalg.eig),
    "svd": functools.partial(_factor, functools.partial(np.linalg.svd, full_matrices=False)),
    "svd_full": functools.partial(_factor, np.linalg.svd),
    "advise": _advise,
    **{name: functools.partial(_compute, getattr(np, name)) for name in VECTORISED},
    "cumsum": functools.partial(_accumulate, np.add),
    "cumprod": functools.partial(_accumulate, np.multiply),
    "cummax": functools.partial(_accumulate, np.maximum),
    "cummin": functools.partial(_accumulate, np.minimum),
    "sum": functools.partial(_reduce, np.add),
    "count": _count,
    "prod": functools.partial(_reduce, np.multiply),
    "max": functools.partial(_reduce, np.maximum),
    "min": functools.partial(_reduce, np.minimum),
    "any": functools.partial(_reduce, np.logical_or),
    "all": functools.partial(_reduce, np.logical_and),
}
