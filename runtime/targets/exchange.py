"""Exchanging arrays by DLPack. bfloat16, which NumPy and CuPy do not know there, is passed as its bits."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import numpy as np

_BFLOAT = 4  # DLPack's kDLBfloat
_KIND = {b"dltensor": 20, b"dltensor_versioned": 52}  # bytes before the elements' kind in DLPack's two structures


def capsule_of(data: Any, **options: Any) -> Any:
    """A DLPack capsule of the memory of a NumPy or CuPy array. BufferError for what DLPack has no name for."""
    if data.dtype.name != "bfloat16":
        return data.__dlpack__(**options)
    capsule = data.view(np.int16).__dlpack__(**options)
    name = _name_of(capsule)
    ctypes.c_uint8.from_address(_place_of(capsule, name) + _KIND[name]).value = _BFLOAT
    return capsule


_name_of = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", ctypes.pythonapi))
_place_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


def is_bfloat16(x: Any) -> bool:
    """Whether an array of any library is of bfloat16, by how its dtype prints (PyTorch's as "torch.bfloat16")."""
    return str(getattr(x, "dtype", "")).rpartition(".")[2] == "bfloat16"


def bits_of(x: Any) -> Any:
    """Another library's bfloat16 array as integers of 16 bits, in the same memory where the library has it so."""
    library = sys.modules[type(x).__module__.partition(".")[0]]
    return x.view(getattr(library, "int16", np.int16))
