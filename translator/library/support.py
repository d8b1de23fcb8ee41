"""What the library's NumPy source asks about shapes: computed while a program is read, never part of it."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import AxisError, CutError, Diagnostic, DTypeError, ShapeError, SquareError, UnsupportedError

Axis = int | Sequence[int] | None


def known(value: Any) -> Any:
    """The value itself; where a run-time number stands, the program is specialised on it."""
    return value


def is_weak(value: Any) -> bool:
    """Whether it is a Python number; in a program, whether that has it for one, whatever the data make of it."""
    return type(value) in (int, float, complex)


def axes_of(axis: Axis, ndim: int) -> tuple[int, ...]:
    """The axes as non-negative numbers, in the order given; all of them for None."""
    if axis is None:
        return tuple(range(ndim))
    given = axis if isinstance(axis, tuple) else (axis,)
    return tuple(one_axis(i, ndim) for i in given)


def one_axis(axis: Any, ndim: int) -> int:
    """A non-negative axis; AxisError when it is out of range."""
    i = operator.index(axis)
    if not -ndim <= i < ndim:
        raise AxisError(i, ndim)
    return i % ndim


def axis_size(shape: Sequence[int], axis: Axis) -> int:
    """How many elements a reduction over `axis` takes together."""
    return math.prod(shape[i] for i in axes_of(axis, len(shape)))


def product(shape: Sequence[int]) -> int:
    """How many elements an array of this shape has."""
    return math.prod(shape)


def mean_dtypes(dtype: Any, wanted: Any) -> tuple[Any, Any]:
    """The dtypes in which a mean is computed and returned: float64 for integers, float32 for float16."""
    given = np.dtype(dtype)
    if wanted is not None:
        return np.dtype(wanted), np.dtype(wanted)
    if given.kind in "biu":
        return np.dtype(np.float64), np.dtype(np.float64)
    return (np.dtype(np.float32), given) if given == np.float16 else (given, given)


def variance_dtypes(dtype: Any, wanted: Any) -> tuple[Any, Any, Any]:
    """The dtypes of the mean and the sum, of the distances from the mean, and of the result of a variance.

    Raises CutError where the wanted dtype would cut off parts of numbers.
    """
    given, (inside, result) = np.dtype(dtype), mean_dtypes(dtype, wanted)
    if wanted is None:
        return inside, inside, result if result.kind != "c" else result.type(0).real.dtype
    only_plain("a variance", inside.kind in "fcV" and (given.kind != "c" or inside.kind == "c"), f"as {inside}")
    return inside, np.result_type(given, inside), result


def everywhere(ndim: int, axis: int, where: Any) -> tuple[Any, ...]:
    """The index that is `where` on one axis and takes the others whole."""
    return (*[slice(None)] * one_axis(axis, ndim), where)


def repeat_positions(n: int, repeats: Any) -> Any:
    """For each element of np.repeat's result, the position that it comes from."""
    return np.repeat(np.arange(n), repeats)


def section_bounds(n: int, indices_or_sections: Any, equal: bool) -> tuple[tuple[int, int], ...]:
    """The (start, stop) of each part of np.split (`equal`) and np.array_split."""
    if isinstance(indices_or_sections, int | np.integer):
        count = int(indices_or_sections)
        if count <= 0:
            raise ShapeError("the number of sections must be positive")
        if equal and n % count:
            raise ShapeError(f"an array of {n} elements does not split into {count} equal parts")
        small, more = divmod(n, count)
        sizes = [small + 1] * more + [small] * (count - more)
        ends = np.cumsum([0, *sizes]).tolist()
    else:
        ends = [0, *(slice(None, operator.index(i)).indices(n)[1] for i in indices_or_sections), n]
    return tuple((int(a), max(int(a), int(b))) for a, b in itertools.pairwise(ends))


def triangle(n: int, k: int, m: int | None, upper: bool) -> tuple[Any, Any]:
    """np.tril_indices and np.triu_indices of known sizes."""
    rows, columns = (np.triu_indices if upper else np.tril_indices)(n, k, m)
    return rows, columns


def pad_widths(pad_width: Any, ndim: int) -> tuple[tuple[int, int], ...]:
    """np.pad's widths, one pair an axis. Raises what NumPy raises for others."""
    if isinstance(pad_width, dict):
        pairs: list[Any] = [(0, 0)] * ndim
        for axis, width in pad_width.items():
            pairs[axis] = (width, width) if isinstance(width, int | np.integer) else tuple(width)
        pad_width = pairs
    widths = np.asarray(pad_width)
    if widths.dtype.kind not in "iu":
        raise DTypeError("`pad_width` must be of integral type.")
    if np.any(widths < 0):
        raise ValueError("index can't contain negative values")
    return tuple((int(a), int(b)) for a, b in np.broadcast_to(widths, (ndim, 2)))


def stat_lengths(stat_length: Any, ndim: int, axis: int, n: int) -> tuple[int, int]:
    """From how many elements np.pad takes a statistic at the two ends of an axis, which has some."""
    if n == 0:
        raise ShapeError(f"can't extend empty axis {axis} using modes other than 'constant' or 'empty'")
    if stat_length is None:
        return n, n
    left, right = np.broadcast_to(np.asarray(stat_length), (ndim, 2))[axis]
    return min(int(left), n), min(int(right), n)


def pad_reaches(shape: Sequence[int], widths: Sequence[tuple[int, int]], mode: str, reflect_type: str) -> bool:
    """Whether the margins are no wider than what they repeat."""
    if mode not in ("edge", "reflect", "symmetric", "wrap") or reflect_type != "even":
        return False
    reach = [max(n - 1, 0) if mode == "reflect" else n for n in shape]
    return all(max(w) <= r or (mode == "edge" and r) for w, r in zip(widths, reach, strict=True))


def margins(widths: Any, shape: Sequence[int], axis: int, mode: str) -> list[tuple[tuple[slice, ...], slice]]:
    """Of the margins along an axis that has any: where they lie beside the earlier axes' and the array itself, and
    which elements along the axis they repeat: one that is broadcast, or as many as there is room for.
    """
    n, (before, after) = shape[axis], widths[axis]
    skip = 1 if mode == "reflect" else 0
    if mode == "edge":
        sources = slice(0, 1), slice(n - 1, n)
    elif mode == "wrap":
        sources = slice(n - before, n), slice(0, after)
    else:
        sources = backwards(skip, before), backwards(n - skip - after, after)
    later = [slice(w[0], w[0] + size) for w, size in zip(widths[axis + 1 :], shape[axis + 1 :], strict=True)]
    places = slice(0, before), slice(before + n, before + n + after)
    found = zip(places, sources, (before, after), strict=True)
    return [((*[slice(None)] * axis, place, *later), source) for place, source, count in found if count]


def backwards(start: int, count: int) -> slice:
    """`count` elements from `start` on, the last first."""
    return slice(start + count - 1, start - 1 if start else None, -1)


def pad_positions(n: int, before: int, after: int, mode: str) -> Any:
    """Where each element of a padded axis comes from, for the modes that repeat elements."""
    name = {"edge": "edge", "reflect": "reflect", "symmetric": "symmetric", "wrap": "wrap"}[mode]
    return np.pad(np.arange(n), (before, after), mode=name)  # type: ignore[call-overload]


def reduced_to(shape: Sequence[int], axis: Axis, keepdims: bool) -> tuple[int, ...]:
    """The shape of a reduction over `axis`."""
    gone = axes_of(axis, len(shape))
    if keepdims:
        return tuple(1 if i in gone else n for i, n in enumerate(shape))
    return tuple(n for i, n in enumerate(shape) if i not in gone)


def float_of(dtype: Any) -> Any:
    """The dtype itself; float64 for integers and bools."""
    given = np.dtype(dtype)
    return np.dtype(np.float64) if given.kind in "biu" else given


def real_float_of(dtype: Any) -> Any:
    """The same, of a function that is known for real numbers only."""
    if np.dtype(dtype).kind == "c":
        raise DTypeError("this special function is for real numbers")
    return float_of(dtype)


def halvings(n: int) -> int:
    """How often a range of `n` + 1 places is halved until one is left."""
    return int(n).bit_length()


def bin_count(n: Any, may_be_none: bool = False) -> int:
    """The number of bins. A rule for it is cut out of the program; NumPy's ValueError for none."""
    if isinstance(n, str):
        cut(f"bins={n!r}", "the number of bins depends on the data, and is the size of the result", "give a number")
    try:
        count = operator.index(n)
    except TypeError:
        raise DTypeError(f"a number of bins must be an integer, not {n!r}") from None
    if count < 0 or (count == 0 and not may_be_none):
        what = "'minlength' must not be negative" if may_be_none else "`bins` must be positive, when an integer"
        raise ValueError(what)
    return count


def counted_size(x: Any, minlength: int) -> int:
    """How many counts np.bincount makes of known elements."""
    if np.size(x) and np.min(x) < 0:
        raise ValueError("'list' argument must have no negative elements")
    return max(minlength, int(np.max(x)) + 1 if np.size(x) else 0)


def whole_range(dtype: Any) -> tuple[int, int]:
    """The least and the largest value of a dtype of integers or truth values."""
    kind = np.dtype(dtype)
    return (0, 1) if kind.kind == "b" else (int(np.iinfo(kind).min), int(np.iinfo(kind).max))


def only_axis(axis: int | None, ndim: int) -> int:
    """The axis; that of an array of one axis for None."""
    if axis is None and ndim != 1:
        raise ShapeError("For arrays which have more than one dimension ``axis`` argument is required.")
    return one_axis(0 if axis is None else axis, ndim)


def require_square(shape: Sequence[int]) -> None:
    """Raises SquareError, a LinAlgError, unless the last two axes of an array have one size."""
    if len(shape) < 2:
        raise SquareError(f"{len(shape)}-dimensional array given. Array must be at least two-dimensional")
    if shape[-1] != shape[-2]:
        raise SquareError("Last 2 dimensions of the array must be square")


def require_precision(*dtypes: Any) -> None:
    """Raises DTypeError for half precision, which NumPy's linear algebra does not take."""
    if np.float16 in dtypes:
        raise DTypeError("array type float16 is unsupported in linalg")


def require_system(a: Sequence[int], b: Sequence[int]) -> None:
    """Raises SquareError, a LinAlgError, unless a is a matrix and b has a number for each of its rows."""
    if len(a) != 2 or len(b) not in (1, 2):
        wrong = len(a) if len(a) != 2 else len(b)
        raise SquareError(f"{wrong}-dimensional array given. Array must be two-dimensional")
    if a[0] != b[0]:
        raise SquareError("Incompatible dimensions")


def real_kind(dtype: Any) -> Any:
    """The dtype in which polynomials with roots of a real dtype are. Raises CutError for complex ones."""
    if np.dtype(dtype).kind == "c":
        raise CutError(
            Diagnostic(
                "np.poly of complex roots is not in the language",
                why="its result is real where the roots come in conjugate pairs, which depends on the data",
                instead="multiply the factors with np.convolve",
            )
        )
    return float_of(dtype)


def check_fit(count: int, x: Sequence[int], y: Sequence[int]) -> None:
    """What np.polyfit asks of the number of coefficients and of the shapes of its data."""
    if count < 1:
        raise ValueError("expected deg >= 0")
    if len(x) != 1:
        raise DTypeError("expected 1D vector for x")
    if x[0] == 0:
        raise DTypeError("expected non-empty vector for x")
    if len(y) not in (1, 2):
        raise DTypeError("expected 1D or 2D array for y")
    if x[0] != y[0]:
        raise DTypeError("expected x and y to have same length")


def check_fit_weights(w: Sequence[int], y: Sequence[int]) -> None:
    if len(w) != 1:
        raise DTypeError("expected a 1-d array for weights")
    if w[0] != y[0]:
        raise DTypeError("expected w and y to have the same length")


def factorial_of(n: Any) -> int:
    """n! of a known integer, 0 below 0. Raises UnsupportedError for arrays, whose factorials need Python's integers."""
    return math.factorial(_count(n, "factorial")) if _count(n, "factorial") >= 0 else 0


def comb_of(n: Any, k: Any, repetition: bool) -> int:
    """Ways to choose k of n, exactly."""
    n, k = _count(n, "comb") + (k - 1 if repetition else 0), _count(k, "comb")
    return math.comb(n, k) if 0 <= k <= n else 0


def perm_of(n: Any, k: Any) -> int:
    """The number of ordered choices of k out of n, Python integers."""
    n, k = _count(n, "perm"), _count(k, "perm")
    return math.perm(n, k) if 0 <= k <= n else 0


def _count(n: Any, function: str) -> int:
    try:
        return operator.index(n)
    except TypeError:
        what = f"scipy.special.{function} of arrays with exact=True is not in the language"
        why = "its results may be too large for the integers of arrays"
        raise UnsupportedError(Diagnostic(what, why=why, instead="use exact=False, or Python ints")) from None


def only_plain(function: str, plain: bool, use: str = "with these options") -> None:
    """Raises CutError for a use of a function that is left to CPython."""
    if not plain:
        raise CutError(Diagnostic(f"{function} {use} is not in the language", instead="call it in the usual way"))


def is_whole(order: Any) -> bool:
    """Whether this is known, and a whole number."""
    return isinstance(order, int | float | np.integer | np.floating) and float(order).is_integer()


def integer_order(order: Any, function: str) -> int:
    """The order of a Bessel function as an int. Raises CutError where it is none: those are left to SciPy."""
    only_plain(f"scipy.special.{function}", is_whole(order), "of an order that is no whole number")
    return int(order)


def grid_plan(start: Any, stop: Any, step: Any) -> tuple[Any, Any, int]:
    """The first point, step and count of a slice in np.mgrid; an imaginary step is a count, the end included."""
    start, step = start or 0, 1 if step is None else step
    if isinstance(step, complex):
        count = int(abs(step))
        return float(start), (stop - start) / (count - 1) if count > 1 else 0.0, count
    return start, step, max(0, math.ceil((stop - start) / step))


ASSOCIATIVE = frozenset(
    {
        "maximum",
        "minimum",
        "fmax",
        "fmin",
        "bitwise_and",
        "bitwise_or",
        "bitwise_xor",
        "logical_and",
        "logical_or",
        "logical_xor",
        "gcd",
    }
)


def is_associative(ufunc: Any, exactly: bool = False) -> bool:
    """Whether the order in which a ufunc combines elements is free; `exactly`: to the last bit."""
    return ufunc.__name__ in ASSOCIATIVE or (not exactly and ufunc.__name__ in ("hypot", "logaddexp", "logaddexp2"))


def fold_dtype(ufunc: Any, given: Any, wanted: Any) -> Any:
    """The dtype in which a ufunc combines elements of the dtype `given`. Raises DTypeError where there is no loop."""
    try:
        if wanted is None:
            return ufunc.resolve_dtypes((None, np.dtype(given), None), reduction=True)[0]
        signature = (np.dtype(wanted), None, None)
        return ufunc.resolve_dtypes((None, np.dtype(wanted), None), signature=signature, reduction=True)[0]
    except TypeError as error:
        raise DTypeError(str(error)) from None


def fold_axes(ufunc: Any, axis: Axis, ndim: int) -> tuple[int, ...]:
    """The axes of a ufunc's reduce. Raises ShapeError for several, where the order of the elements matters."""
    axes = axes_of(axis, ndim)
    if len(axes) > 1 and ufunc.identity is None and ufunc.__name__ not in ("fmax", "fmin", "maximum", "minimum"):
        raise ShapeError(
            f"reduction operation '{ufunc.__name__}' is not reorderable, so at most one axis may be specified"
        )
    return axes


def fold_start(ufunc: Any, count: int, has_initial: bool, masked: bool) -> Any:
    """What the first of `count` elements is combined with; None for `initial`, or for nothing. Raises ShapeError."""
    name, identity = ufunc.__name__, ufunc.identity
    if has_initial or (count and not masked):
        return None
    if identity is None and count:
        raise ShapeError(
            f"reduction operation '{name}' does not have an identity, "
            "so to use a where mask one has to specify 'initial'"
        )
    if identity is None:
        raise ShapeError(f"zero-size array to reduction operation {name} which has no identity")
    return identity


def wrapped_diagonal(shape: Sequence[int]) -> tuple[Any, Any]:
    """The diagonal of a tall matrix that starts again below its end, after a free row."""
    rows, columns = np.unravel_index(np.arange(0, math.prod(shape), shape[1] + 1), tuple(shape))
    return rows, columns


def is_plain(x: Any) -> bool:
    """Whether `x` is a Python number, which takes the dtype of what it meets."""
    return isinstance(x, int | float | complex) and not isinstance(x, bool | np.generic)


def loop_dtype(ufunc: Any, *dtypes: Any) -> Any:
    """The dtype of the first argument in the loop that a ufunc takes. Raises DTypeError where there is none."""
    try:
        return ufunc.resolve_dtypes((*dtypes, *[None] * ufunc.nout))[0]
    except TypeError as error:
        raise DTypeError(str(error)) from None


def unsigned_of(dtype: Any) -> Any:
    """The unsigned integers of the same size."""
    return np.dtype(f"u{np.dtype(dtype).itemsize}")


def bits_of(dtype: Any) -> Any:
    """The integers of the same size."""
    return np.dtype(f"i{np.dtype(dtype).itemsize}")


def settled(value: Any) -> Any:
    """The value itself, where its type does not depend on the data; all values in CPython have one."""
    return value


def spreads(*shapes: Sequence[int]) -> bool:
    """Whether arrays of these shapes broadcast."""
    try:
        np.broadcast_shapes(*map(tuple, shapes))
    except ValueError:
        return False
    return True


def is_known(value: Any) -> bool:
    """Whether the value is known while the program is read; CPython knows all."""
    return True


def cut(what: str, why: str, instead: str) -> None:
    """Refuse what only the run can know: the function is cut there into compiled regions."""
    raise CutError(Diagnostic(f"{what} is not in the language", why=why, instead=instead))


def output_dtypes(otypes: Any) -> tuple[Any, ...]:
    """The dtypes of np.vectorize's results."""
    return tuple(np.dtype(t) for t in otypes)


def core_shapes(signature: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """How many core dimensions the arguments and the results of a signature like "(m,n),(n)->(m)" have."""
    parse = np.lib._function_base_impl._parse_gufunc_signature  # type: ignore[attr-defined]
    given, made = parse(signature)
    return tuple(map(len, given)), tuple(map(len, made))


def mask_positions(n: int, mask_func: Any, k: Any) -> Any:
    """np.mask_indices of one of NumPy's own masks."""
    return np.mask_indices(n, mask_func, k)


def block_depth(arrays: Any) -> int:
    """How deep the lists of np.block are nested. Raises ValueError where some are deeper than others, or empty."""
    if not isinstance(arrays, list):
        return 0
    depths = {block_depth(x) for x in arrays}
    if not depths:
        raise ValueError("List at arrays cannot be empty")
    if len(depths) > 1:
        raise ValueError("List depths are mismatched")
    return 1 + depths.pop()


def subscript_directive(text: str, axis: int, ndim: int, place: int) -> tuple[int, int, int]:
    """What a leading text asks of np.r_[...]: the axis, how many axes at least, where those of smaller arrays start."""
    if text in ("r", "c"):
        raise UnsupportedError(Diagnostic(f"np.r_[{text!r}, ...] makes a matrix", instead="reshape the array"))
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(f"unknown special directive {text!r}") from None
    return (*numbers, *(axis, ndim, place)[len(numbers) :])  # type: ignore[return-value]


def raised_order(ndim: int, given: int, place: int) -> tuple[int, ...]:
    """The order that takes the axes of an array of `given` axes, the last of `ndim`, to `place`."""
    new = ndim - given
    start = place + new + 1 if place < 0 else place
    axes = list(range(ndim))
    return tuple(axes[:start] + axes[new:] + axes[start:new])


def bit_shifts(bitorder: Any) -> Any:
    """By how much each of the eight bits of a byte is shifted."""
    if bitorder not in ("big", "little"):
        raise ValueError(f"bitorder must be one of 'big' or 'little' (got {bitorder!r})")
    shifts = np.arange(8, dtype=np.uint8)
    return shifts[::-1].copy() if bitorder == "big" else shifts


def bits_left(n: int, count: Any) -> int:
    """How many of `n` bits np.unpackbits returns."""
    if count is None:
        return n
    if count < -n:
        raise ValueError("-count larger than number of elements")
    return n + int(count) if count < 0 else int(count)


STATIC: tuple[Callable[..., Any], ...] = (
    known,
    integer_order,
    spreads,
    axes_of,
    one_axis,
    axis_size,
    product,
    mean_dtypes,
    everywhere,
    repeat_positions,
    section_bounds,
    triangle,
    pad_widths,
    pad_positions,
    reduced_to,
    float_of,
    real_float_of,
    halvings,
    bin_count,
    only_axis,
    grid_plan,
    require_square,
    only_plain,
    factorial_of,
    comb_of,
    perm_of,
    real_kind,
    check_fit,
    check_fit_weights,
    require_system,
    is_associative,
    fold_dtype,
    fold_axes,
    fold_start,
    wrapped_diagonal,
    stat_lengths,
    cut,
    output_dtypes,
    core_shapes,
    mask_positions,
    block_depth,
    subscript_directive,
    raised_order,
    counted_size,
    whole_range,
    bit_shifts,
    bits_left,
    loop_dtype,
    unsigned_of,
    bits_of,
)
