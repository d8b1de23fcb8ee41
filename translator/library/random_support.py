"""What the sources of random numbers ask about dtypes and shapes while they are read; the errors are JAX's."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from ..errors import DTypeError

_IMPLEMENTATIONS = (None, "threefry2x32", "fry", "key<fry>")


def check_implementation(impl: Any, dtype: Any = None) -> None:
    """ValueError for any generator but threefry2x32."""
    if impl is not None and dtype is not None:
        raise ValueError("`impl` and `dtype` cannot both be given")
    for name in (impl, dtype):
        if name not in _IMPLEMENTATIONS and name != np.uint64:
            raise ValueError(f"unrecognized PRNG implementation {name!r}: this package has 'threefry2x32'")


def check_seed(name: str, seed: Any, dtype: Any, shape: Sequence[int]) -> None:
    """A seed is one integer. `seed` is None where only the run knows it."""
    if np.dtype(dtype).kind not in "iu":
        if isinstance(seed, int):
            raise OverflowError(f"{name}: the seed {seed} does not fit 64 bits")
        raise TypeError(f"PRNG key seed must be an integer; got one of dtype {np.dtype(dtype)}")
    if shape:
        raise TypeError(
            f"{name} accepts a scalar seed, but was given an array of shape {tuple(shape)} != (). Use vmap for batching"
        )


def is_typed(dtype: Any) -> bool:
    """Whether keys of this dtype are whole numbers of 64 bits, not pairs of 32."""
    return bool(np.dtype(dtype) == np.uint64)


def check_key(name: str, dtype: Any, shape: Sequence[int]) -> None:
    """One key: a number of dtype uint64, or two of dtype uint32."""
    check_keys(name, dtype, shape)
    left = tuple(shape) if is_typed(dtype) else tuple(shape[:-1])
    if left:
        raise ValueError(
            f"{name} accepts a single key, but was given a key array of shape {left} != (). Use vmap for batching."
        )


def check_keys(name: str, dtype: Any, shape: Sequence[int]) -> None:
    """Any number of keys."""
    if is_typed(dtype):
        return
    if np.dtype(dtype) != np.uint32:
        raise DTypeError(
            f"{name}: unexpected PRNG key of dtype {np.dtype(dtype)} and shape {tuple(shape)}; "
            "make one with random.key(seed)"
        )
    if tuple(shape[-1:]) != (2,):
        raise DTypeError(f"{name}: invalid PRNG key data: the last axis must be of size 2, not shape {tuple(shape)}")


# ---- dtypes --------------------------------------------------------------------------------------


def float_dtype(name: str, dtype: Any, x64: bool, kinds: str = "f") -> Any:
    """The dtype asked for, or the default; ValueError for what is no float (`kinds` "fc": no complex number either)."""
    wanted = np.dtype((np.float64 if x64 else np.float32) if dtype is None or dtype is float else dtype)
    kind = "f" if wanted.name == "bfloat16" else wanted.kind
    if kind not in kinds or wanted.itemsize > (16 if kind == "c" else 8):
        what = "a float or complex dtype" if "c" in kinds else "a float dtype"
        raise ValueError(f"dtype argument to `{name}` must be {what}, got {wanted}")
    return wanted


def int_dtype(name: str, dtype: Any, x64: bool) -> Any:
    """The dtype asked for, or the default; TypeError for what is no integer."""
    wanted = np.dtype((np.int64 if x64 else np.int32) if dtype is None or dtype is int else dtype)
    if wanted.kind not in "iu":
        raise TypeError(f"{name} only accepts integer dtypes, got {wanted}")
    return wanted


def any_dtype(dtype: Any, x64: bool) -> Any:
    """The dtype asked for, or the default integer."""
    return np.dtype((np.int64 if x64 else np.int32) if dtype is None or dtype is int else dtype)


def uint_dtype(name: str, dtype: Any, x64: bool) -> Any:
    """The dtype asked for, or the default; ValueError for what is no unsigned integer."""
    wanted = np.dtype((np.uint64 if x64 else np.uint32) if dtype is None else dtype)
    if wanted.kind != "u":
        raise ValueError(f"dtype argument to `{name}` must be an unsigned int dtype, got {wanted}")
    return wanted


def drawn_dtype(given: Any, x64: bool) -> Any:
    """The float dtype in which a parameter is compared with what is drawn: as JAX would hold it."""
    dtype = np.dtype(given)
    if dtype.name == "bfloat16":
        return dtype
    if dtype.kind not in "f":
        return np.dtype(np.float64 if x64 else np.float32)
    return np.dtype(np.float32) if dtype.itemsize > 4 and not x64 else dtype


def check_probability(dtype: Any) -> None:
    if np.dtype(dtype).kind != "f" and np.dtype(dtype).name != "bfloat16":
        raise TypeError(f"bernoulli probability `p` must have a floating dtype, got {np.dtype(dtype)}.")


@cache
def unsigned_of(dtype: Any) -> Any:
    """The unsigned integer of the same size."""
    return np.dtype(f"uint{8 * np.dtype(dtype).itemsize}")


@cache
def real_of(dtype: Any) -> Any:
    """The dtype of the parts of a complex number."""
    return np.dtype(f"float{4 * np.dtype(dtype).itemsize}")


@cache
def float_facts(dtype: Any) -> Any:
    """Of a float dtype: np.finfo's tiny, eps, epsneg, nmant, and the largest number below 0 that 1 can be added to."""
    info: Any = finfo(dtype)
    return float(info.tiny), float(info.eps), float(info.epsneg), int(info.nmant), -1.0 + float(info.epsneg)


def finfo(dtype: Any) -> Any:
    """np.finfo, of bfloat16 too."""
    if np.dtype(dtype).name == "bfloat16":
        import ml_dtypes

        return ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]
    return np.finfo(dtype)


@cache
def one_in_bits(dtype: Any) -> int:
    """The number 1.0 as an integer of the same bits."""
    return int(np.ones((), dtype).view(unsigned_of(dtype)))


def integer_bounds(given: Any, wanted: Any) -> tuple[int, int, bool]:
    """The integers that both dtypes have, and whether `given` has larger ones than `wanted`."""
    a, b = np.iinfo(given), np.iinfo(wanted)
    return max(int(a.min), int(b.min)), min(int(a.max), int(b.max)), int(a.max) > int(b.max)


# ---- shapes --------------------------------------------------------------------------------------


def shape_of(shape: Any) -> tuple[int, ...]:
    """A size, or a sequence of them, as a tuple. TypeError for anything else."""
    try:
        sizes = tuple(operator.index(n) for n in ((shape,) if isinstance(shape, int) else shape))
    except TypeError:
        raise TypeError(f"Shapes must be 1D sequences of integers, got {shape!r}") from None
    if any(n < 0 for n in sizes):
        raise ValueError(f"Shapes must not be negative, got {sizes}")
    return sizes


def drawn_shape(name: str, shape: Any, *parameters: Sequence[int]) -> tuple[int, ...]:
    """The shape asked for, which the parameters' shapes must broadcast to; without one, what they broadcast to."""
    together = np.broadcast_shapes(*[tuple(p) for p in parameters])
    if shape is None:
        return together
    wanted = shape_of(shape)
    try:
        found = np.broadcast_shapes(wanted, together)
    except ValueError:
        found = None
    if found != wanted:
        raise ValueError(
            f"{name}: the parameters' shapes {' and '.join(str(tuple(p)) for p in parameters)} "
            f"must broadcast to the shape argument {wanted}"
        )
    return wanted


def split_shape(num: Any) -> tuple[int, ...]:
    """The shape of `num` keys."""
    return shape_of(num if isinstance(num, list | tuple) else (num,))


def counter_dtype(shape: Sequence[int]) -> Any:
    """The dtype in which the elements of an array are counted."""
    return np.dtype(np.uint32 if math.prod(shape) <= 1 << 32 else np.uint64)


def sorting_rounds(size: int) -> int:
    """How often random sort keys of 32 bits must be sorted by, for collisions not to matter: JAX's choice."""
    return int(np.ceil(3 * np.log(max(1, size)) / np.log(np.iinfo(np.uint32).max)))


def concrete_size(value: Any, what: str) -> int:
    """An integer that decides a shape. TypeError for what is none."""
    if np.result_type(value).kind not in "iu":
        raise TypeError(f"{what} must be an integer or at least 1-dimensional")
    return int(value)


STATIC: tuple[Callable[..., Any], ...] = (
    check_implementation,
    check_seed,
    is_typed,
    check_key,
    check_keys,
    float_dtype,
    int_dtype,
    any_dtype,
    uint_dtype,
    drawn_dtype,
    check_probability,
    unsigned_of,
    real_of,
    float_facts,
    one_in_bits,
    integer_bounds,
    shape_of,
    drawn_shape,
    split_shape,
    counter_dtype,
    sorting_rounds,
    concrete_size,
)
