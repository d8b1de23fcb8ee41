"""The namespace `untraced.scipy.interpolate`: JAX's RegularGridInterpolator; other names are SciPy's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...translator.library.scipy_interpolate import regular_grid
from ..arrays.hosted import offer
from .theirs import scipys_own


def RegularGridInterpolator(
    points: Sequence[Any], values: Any, method: str = "linear", bounds_error: bool = False, fill_value: Any = np.nan
) -> Callable[..., Any]:
    """A function that gives the values between those on a grid, at points (..., number of axes) or at a tuple with an
    array for each axis. `points` has the coordinates along each axis, ascending; `values` an axis for each of them, and
    perhaps more.

    method        "linear" or "nearest"
    fill_value    what lies outside the grid; None continues the cells at its edge
    bounds_error  NotImplementedError for True, which SciPy's RegularGridInterpolator has
    """
    if method not in ("linear", "nearest"):
        raise ValueError("method is 'linear' or 'nearest'")
    if bounds_error:
        raise NotImplementedError("bounds_error=True: SciPy's RegularGridInterpolator has it")
    interpolated: Callable[..., Any] = regular_grid(points, values, method, False, fill_value)
    return interpolated


__all__ = ["RegularGridInterpolator"]

offer(globals(), __all__, "untraced.scipy.interpolate")
__getattr__ = scipys_own("interpolate")
