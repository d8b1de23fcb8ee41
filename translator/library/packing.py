"""Bits packed into bytes and back, as NumPy source."""

from __future__ import annotations

from typing import Any

import numpy as np

from .checks import packed_dtype
from .support import bit_shifts, bits_left, known


def packbits(a: Any, /, axis: Any = None, bitorder: Any = "big") -> Any:
    """Eight elements a byte; zeros fill the last one."""
    x = np.asarray(a)
    packed_dtype(x.dtype)
    shifts = bit_shifts(known(bitorder))
    line = np.ravel(x) if axis is None else np.moveaxis(x, axis, -1)
    n = line.shape[-1]
    bits = np.zeros((*line.shape[:-1], (n + 7) // 8 * 8), dtype=np.uint8)
    bits[..., :n] = line != 0
    groups = np.reshape(bits, (*line.shape[:-1], (n + 7) // 8, 8))
    packed: Any = np.sum(groups << shifts, axis=-1, dtype=np.uint8)
    return packed if axis is None else np.moveaxis(packed, -1, axis)


def unpackbits(a: Any, /, axis: Any = None, count: Any = None, bitorder: Any = "big") -> Any:
    """A byte gives eight elements; `count` of them, from the start, are kept or filled up with zeros."""
    x = np.asarray(a)
    if x.dtype != np.uint8:
        raise TypeError("Expected an input array of unsigned byte data type")
    shifts = bit_shifts(known(bitorder))
    line = np.ravel(x) if axis is None else np.moveaxis(x, axis, -1)
    bits = np.reshape((line[..., None] >> shifts) & np.uint8(1), (*line.shape[:-1], line.shape[-1] * 8))
    n = bits_left(bits.shape[-1], known(count))
    if n <= bits.shape[-1]:
        bits = bits[..., :n]
    else:
        bits = np.concatenate([bits, np.zeros((*line.shape[:-1], n - bits.shape[-1]), dtype=np.uint8)], axis=-1)
    return bits if axis is None else np.moveaxis(bits, -1, axis)


NUMPY_NAMES = {name: name for name in ("packbits", "unpackbits")}
