"""The namespace `untraced.experimental.mesh_utils`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..targets.devices import devices as _devices


def create_device_mesh(mesh_shape: Sequence[int], devices: Sequence[Any] | None = None) -> np.ndarray[Any, Any]:
    """The first devices as an array of this shape. ValueError where there are too few of them."""
    there = list(_devices() if devices is None else devices)
    wanted = math.prod(mesh_shape)
    if wanted > len(there):
        raise ValueError(
            f"a mesh of shape {tuple(mesh_shape)} wants {wanted} devices, and there are {len(there)}; "
            f"untraced.config.cpu_devices = {wanted} before the first computation makes as many of the processor"
        )
    chosen = np.empty(wanted, dtype=object)
    chosen[:] = there[:wanted]
    return chosen.reshape(tuple(mesh_shape))


__all__ = ["create_device_mesh"]
