"""Moving arrays to devices and back to the host."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...translator.ir import Aval
from ...translator.tree import tree_map
from ..targets.devices import Device, Sharding, device_of_target, home, target_of
from .adopted import adopted, is_on_gpu
from .array import Array, spec_of


def device_put(
    x: Any,
    device: Device | Sharding | str | None = None,
    *,
    src: Any = None,
    donate: bool = False,
    may_alias: bool | None = None,
) -> Any:
    """Copy each leaf of the tree `x` (an array or a number) to a device, as an `Array` of its shape and dtype.

    `device` is a Device, the name of a target, or a sharding (of which the first device is taken); the default is where
    accelerated functions run. An Array that is on the device already is returned as it is, unless `may_alias` is
    False: then it is copied. `donate` permits reuse of the memory of `x`, which is not made use of: `x` stays usable.
    `src` may say where `x` is, which every leaf knows.
    Raises TypeError for arrays of objects, strings, dates or records, and TargetError where the machine lacks the
    device.

    >>> device_put(np.arange(3.0)) + 1
    Array([1., 2., 3.], dtype=float64)
    """
    if isinstance(device, Sharding):
        device = device.device
    place = device_of_target(target_of(device or "auto")) if isinstance(device, str | None) else home(device)

    def put(leaf: Any) -> Array:
        if is_on_gpu(leaf):
            return put(adopted(leaf))
        if type(leaf) is Array:
            if leaf.device is place and may_alias is not False:
                return leaf
            return put(np.array(leaf))
        host = np.asarray(leaf)
        if host.dtype.kind not in "biufcV" or host.dtype.names is not None:
            raise TypeError(f"an array of dtype {host.dtype} cannot be put on a device: only numbers and bool can")
        native = host if host.dtype.isnative else host.astype(host.dtype.newbyteorder("="))
        return Array(place.put(native), spec_of(Aval(native.shape, native.dtype), place))

    return tree_map(put, x)


def device_get(x: Any) -> Any:
    """Copy each Array in the tree `x` to a NumPy array, waiting for its value; other leaves stay."""
    return tree_map(lambda leaf: np.array(leaf) if type(leaf) is Array else leaf, x)


def block_until_ready(x: Any) -> Any:
    """Wait until every Array in the tree `x` is computed; returns `x`."""
    tree_map(lambda leaf: leaf.block_until_ready() if type(leaf) is Array else leaf, x)
    return x


def _put_where_derived(x: Any, device: Any = None, **options: Any) -> Any:
    """`device_put` in a function that is derived or batched, all of which is on one device."""
    return tree_map(np.array, x)


device_put.__dict__["__untraced_derived__"] = _put_where_derived
