"""Arrays made of the parts that a process or its devices hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..arrays.array import Array
from ..arrays.shards import Index
from ..arrays.transfer import device_put
from ..targets.devices import Sharding


def make_array_from_callback(
    shape: Sequence[int], sharding: Sharding | None, data_callback: Callable[[Index], Any], dtype: Any = None
) -> Array:
    """The Array of this shape that `data_callback(index)` gives, which is asked once, for all of it: a slice for each
    axis. ValueError where what it gives has another shape.
    """
    return _put(shape, data_callback(tuple(slice(0, n) for n in shape)), sharding, dtype)


def make_array_from_process_local_data(
    sharding: Sharding, local_data: Any, global_shape: Sequence[int] | None = None
) -> Array:
    """The Array of the data of this process. ValueError where `global_shape` is not theirs: the parts of several
    processes meet in `pmap`.
    """
    return _put(np.shape(local_data) if global_shape is None else global_shape, local_data, sharding, None)


def make_array_from_single_device_arrays(shape: Sequence[int], sharding: Any, arrays: Sequence[Any]) -> Array:
    """The Array whose blocks lie on the devices of `sharding`, one array for each, in their order."""
    whole: np.ndarray[Any, Any] = np.empty(tuple(shape), np.asarray(arrays[0]).dtype)
    places = sharding.devices_indices_map(tuple(shape)).values()
    for index, block in zip(places, arrays, strict=True):
        if np.shape(block) != whole[index].shape:
            raise ValueError(f"a block of shape {np.shape(block)}, where the sharding has {whole[index].shape}")
        whole[index] = np.asarray(block)
    return _put(shape, whole, sharding, None)


def _put(shape: Sequence[int], data: Any, sharding: Sharding | None, dtype: Any) -> Array:
    found = np.asarray(data, dtype)
    if found.shape != tuple(shape):
        raise ValueError(f"data of shape {found.shape} for an array of shape {tuple(shape)}")
    made: Array = device_put(found, sharding)
    return made
