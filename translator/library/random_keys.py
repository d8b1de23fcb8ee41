"""Keys and bits, as `jax.random` makes them (`jax_threefry_partitionable`, its default), from one cipher.

A key is a number of 64 bits, dtype uint64, so keys are indexed, stacked, batched and carried like any array. Raw keys,
`PRNGKey`, are pairs of uint32 along a last axis; every function takes either, and gives keys of the kind it was given.
The block of key k and counter c is itself a key: that of a split's element c, of fold_in(k, c), and 64 bits of `bits`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ops.random import threefry2x32, threefry_bits32
from ..precision import PRECISION
from .random_support import (
    check_implementation,
    check_key,
    check_keys,
    check_seed,
    counter_dtype,
    is_typed,
    shape_of,
    split_shape,
    uint_dtype,
)
from .support import is_known, product


def key(seed: Any, *, impl: Any = None, dtype: Any = None) -> Any:
    """A key from an integer: a scalar of dtype uint64. Without 64-bit precision the seed's low 32 bits decide.

    Raises TypeError for a seed that is no integer scalar, ValueError for another `impl` than "threefry2x32".
    """
    check_implementation(impl, dtype)
    return _seeded("key", seed)


def PRNGKey(seed: Any, *, impl: Any = None) -> Any:  # JAX's name
    """A raw key from an integer: an array of shape (2,) and dtype uint32."""
    check_implementation(impl)
    return _pair(_seeded("PRNGKey", seed))


def _seeded(name: str, seed: Any) -> Any:
    check_seed(name, seed if is_known(seed) else None, np.result_type(seed), np.shape(seed))
    given = np.asarray(seed)
    if PRECISION.x64 and given.dtype.itemsize == 8:
        return given.astype(np.uint64)[()]
    return given.astype(np.uint32).astype(np.uint64)[()]


def key_data(keys: Any) -> Any:
    """The 32-bit halves of keys, the upper first: uint32, shape (*keys.shape, 2). Of raw keys, themselves."""
    check_keys("key_data", np.result_type(keys), np.shape(keys))
    return _pair(keys) if is_typed(np.result_type(keys)) else keys


def wrap_key_data(key_bits_array: Any, *, impl: Any = None, dtype: Any = None) -> Any:
    """Keys, uint64, from raw ones, uint32 of shape (..., 2)."""
    check_implementation(impl, dtype)
    check_keys("wrap_key_data", np.result_type(key_bits_array), np.shape(key_bits_array))
    return _whole(key_bits_array)


def key_impl(keys: Any) -> str:
    """The name of the generator, "threefry2x32", whatever the keys."""
    check_keys("key_impl", np.result_type(keys), np.shape(keys))
    return "threefry2x32"


def clone(key: Any) -> Any:
    """The key itself: JAX marks keys that are used a second time, here none is."""
    return key


def _pair(keys: Any) -> Any:
    return np.stack([(keys >> 32).astype(np.uint32), keys.astype(np.uint32)], axis=-1)


def _whole(pairs: Any) -> Any:
    return (pairs[..., 0].astype(np.uint64) << 32) | pairs[..., 1].astype(np.uint64)


def one_key(name: str, key: Any) -> Any:
    """The 64 bits of one key of either kind."""
    check_key(name, np.result_type(key), np.shape(key))
    return key if is_typed(np.result_type(key)) else _whole(key)


def counters(shape: Any) -> Any:
    """0, 1, 2, ... in an array of this shape."""
    if not shape:
        return np.uint32(0)
    return np.arange(product(shape), dtype=counter_dtype(shape)).reshape(shape)


def split(key: Any, num: Any = 2) -> Any:
    """`num` new keys, of shape (num,) or, for a tuple, of that shape; raw ones where a raw key is given."""
    whole = one_key("split", key)
    keys = threefry2x32(whole, counters(split_shape(num)))
    return keys if is_typed(np.result_type(key)) else _pair(keys)


def fold_in(key: Any, data: Any) -> Any:
    """A new key from a key and an integer, of which the low 32 bits count."""
    whole = one_key("fold_in", key)
    if np.ndim(data):
        raise TypeError(
            f"fold_in accepts a scalar, but was given an array of shape {np.shape(data)} != (). Use vmap for batching."
        )
    made = threefry2x32(whole, np.asarray(data).astype(np.uint32))
    return made if is_typed(np.result_type(key)) else _pair(made)


def bits(key: Any, shape: Any = (), dtype: Any = None) -> Any:
    """Uniform bits of an unsigned dtype: uint32, uint64 in 64-bit precision. Raises ValueError for other dtypes."""
    return drawn_bits(one_key("bits", key), shape_of(shape), uint_dtype("bits", dtype, PRECISION.x64))


def drawn_bits(key: Any, shape: Any, dtype: Any) -> Any:
    """Bits of a key of 64."""
    if dtype.itemsize == 8:
        return threefry2x32(key, counters(shape))
    return threefry_bits32(key, counters(shape)).astype(dtype)


FUNCTIONS = (key, PRNGKey, key_data, wrap_key_data, key_impl, clone, split, fold_in, bits)
