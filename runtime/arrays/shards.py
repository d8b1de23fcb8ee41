"""The parts of an array that devices hold: `Array.addressable_shards`.

An Array is whole on one device, but for those of `pmap`, which have a piece on each.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...translator.records import dataclass
from ..targets.devices import Device

Index = tuple[slice, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Shard:
    """What a device holds of an array: where it is in the array, how many hold the same before it, and its elements."""

    device: Device
    index: Index
    replica_id: int
    data: Any


def shards_of(x: Any, put: Callable[[Any, Device], Any]) -> list[Shard]:
    """A shard for each device that holds a part of an Array or a NumPy array, or all of it. `put` is `device_put`."""
    from ..targets.xla import Pieces, local_devices

    whole = (slice(None),) * np.ndim(x)
    place = x.device
    if not isinstance(place, Pieces):
        return [Shard(place, whole, 0, x)]
    devices = [local_devices()[n] for n in place.numbers]
    pieces = place.devices.pieces(x.data())
    if place.axis is None:
        return [Shard(d, whole, i, put(p, d)) for i, (d, p) in enumerate(zip(devices, pieces, strict=True))]
    axis: int = place.axis
    found = []
    for i, (d, p) in enumerate(zip(devices, pieces, strict=True)):
        index = (*whole[:axis], slice(i, i + 1), *whole[axis + 1 :])
        found.append(Shard(d, index, 0, put(np.expand_dims(p, axis), d)))
    return found
