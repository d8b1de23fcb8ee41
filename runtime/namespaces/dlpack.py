"""The namespace `untraced.dlpack`: memory that libraries share by the DLPack protocol, under JAX's names."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays.adopted import adopted, is_on_gpu
from ..arrays.transfer import device_put


def from_dlpack(external_array: Any, /, device: Any = None, copy: bool | None = None) -> Any:
    """An Array of the value of another library's array, on its device or on the one that is told.

    The memory of the host is copied, of which the other library could change what an Array must not. ValueError with
    copy=False where it is.
    """
    if is_on_gpu(external_array):
        taken = adopted(external_array)
        return taken if device is None else device_put(taken, device)
    if copy is False:
        raise ValueError("from_dlpack: an Array of the host's memory is a copy")
    return device_put(np.array(np.from_dlpack(external_array)), device)


def to_dlpack(x: Any, **options: Any) -> Any:
    """The capsule that other libraries' from_dlpack take: x.__dlpack__()."""
    return x.__dlpack__(**options)


def is_supported_dtype(dtype: Any) -> bool:
    """Whether arrays of this dtype can be exchanged: bool and numbers of NumPy's."""
    return np.dtype(dtype).kind in "biufc"


__all__ = ["from_dlpack", "is_supported_dtype", "to_dlpack"]
