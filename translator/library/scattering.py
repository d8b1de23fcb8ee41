"""Updates through index arrays in which an index may stand more than once, as NumPy source."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def scattered(combine: Callable[[Any, Any], Any], x: Any, places: Any, value: Any) -> Any:
    """`x` after `combine(element, value)` at each of `places`, which count its elements in C order, one by one."""
    flat = np.reshape(x, -1).copy()
    values = np.reshape(np.broadcast_to(value, places.shape), -1)
    order = np.reshape(places, -1)
    for k in range(order.shape[0]):
        flat[order[k]] = combine(flat[order[k]], values[k])
    return np.reshape(flat, x.shape)


def changed(function: Callable[[Any], Any], x: Any, places: Any) -> Any:
    """`x` after `function(element)` at each of `places`, which count its elements in C order, one by one."""
    flat = np.reshape(x, -1).copy()
    order = np.reshape(places, -1)
    for k in range(order.shape[0]):
        flat[order[k]] = function(flat[order[k]])
    return np.reshape(flat, x.shape)
