"""Handlers of what numpy.polynomial's own source calls, which is read as it stands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import make
from ..builder import Builder
from ..errors import CutError, Diagnostic
from .arguments import holds_atoms, plain, static_int


def as_int(b: Builder, x: Any, desc: Any) -> int:
    return static_int(x, str(desc))


def normalize_axis_index(b: Builder, axis: Any, ndim: Any, msg_prefix: Any = None) -> int:
    return make.normalize_axis(static_int(axis, "an axis"), static_int(ndim, "a number of axes"))


def as_series(b: Builder, alist: Any, trim: Any = True) -> Any:
    """Series without their trailing zeros, where they are known; else how many there are is known only to the run."""
    items = [plain(x) for x in alist] if isinstance(alist, list | tuple) else [None]
    if any(x is None or holds_atoms(x) for x in items):
        raise CutError(
            Diagnostic(
                "series without their trailing zeros are not in the language",
                why="how many coefficients remain depends on the data",
                instead="np.convolve for products, sums of arrays of one length, np.linalg.eigvals for roots",
            )
        )
    return [make.lift(c) for c in np.polynomial.polyutils.as_series(items, trim=bool(trim))]


HANDLERS: dict[str, Callable[..., Any]] = {
    "polynomial.polyutils._as_int": as_int,
    "polynomial.polyutils.as_series": as_series,
    "lib.array_utils.normalize_axis_index": normalize_axis_index,
}
