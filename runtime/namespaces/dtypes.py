"""The namespace `untraced.dtypes`: kinds of numbers, NumPy's and bfloat16."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from numpy import result_type

from ...translator.float0 import FLOAT0

bfloat16 = ml_dtypes.bfloat16
float0 = FLOAT0
prng_key = extended = np.uint64  # a key of `untraced.random` is a number of this dtype


def issubdtype(arg1: Any, arg2: Any) -> bool:
    """As np.issubdtype, which does not know that bfloat16 is a floating point number."""
    kind = np.dtype(arg1).type if not isinstance(arg1, type) else arg1
    if kind is not bfloat16:
        return bool(np.issubdtype(arg1, arg2))
    return arg2 in (np.generic, np.number, np.inexact, np.floating, bfloat16, np.dtype(bfloat16), "bfloat16")


_finfo: Any = ml_dtypes.finfo


def finfo(dtype: Any) -> Any:
    """As np.finfo, of bfloat16 too."""
    return _finfo(bfloat16) if np.dtype(dtype) == bfloat16 else np.finfo(dtype)


def canonicalize_dtype(dtype: Any, allow_extended_dtype: bool = False) -> np.dtype[Any]:
    """The dtype itself: 64 bits stay 64 bits."""
    kind: np.dtype[Any] = np.dtype(dtype)
    return kind


for _known in (issubdtype, finfo, canonicalize_dtype):
    _known.__dict__["__untraced_static__"] = True  # within a function that is read it is called then

iinfo = np.iinfo

__all__ = [
    "bfloat16",
    "canonicalize_dtype",
    "extended",
    "finfo",
    "float0",
    "iinfo",
    "issubdtype",
    "prng_key",
    "result_type",
]
