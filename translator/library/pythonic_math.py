"""Functions of `math` that take several numbers, as source for derivatives and batches."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def dist(p: Any, q: Any, /) -> Any:
    if len(p) != len(q):
        raise ValueError("both points must have the same number of dimensions")
    return math.hypot(*[a - b for a, b in zip(p, q, strict=True)])


def isclose(a: Any, b: Any, *, rel_tol: Any = 1e-09, abs_tol: Any = 0.0) -> Any:
    if rel_tol < 0.0 or abs_tol < 0.0:
        raise ValueError("tolerances must be non-negative")
    d = abs(b - a)
    is_near = (d <= abs(rel_tol * b)) or (d <= abs(rel_tol * a)) or (d <= abs_tol)
    return bool((a == b) or (is_near and not (math.isinf(a) or math.isinf(b))))


def fsum(seq: Any, /) -> Any:
    """Rounded like NumPy's sum."""
    return float(np.sum(np.asarray([x for x in seq], dtype=np.float64)))


def sumprod(p: Any, q: Any, /) -> Any:
    return sum([a * b for a, b in zip(p, q, strict=True)])


SOURCES: dict[Any, Any] = {math.dist: dist, math.isclose: isclose, math.fsum: fsum}
if hasattr(math, "sumprod"):
    SOURCES[math.sumprod] = sumprod
