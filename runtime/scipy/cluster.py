"""The namespace `untraced.scipy.cluster.vq`: the nearest of the entries of a code book."""

from __future__ import annotations

import types
from typing import Any

import numpy as np

from ..arrays.hosted import offered


def _vq(obs: Any, code_book: Any, check_finite: bool = True) -> tuple[Any, Any]:
    """(codes, distances): for each row of `obs` (n, k) the number of the nearest row of `code_book` (m, k), the first
    of those that are as near, and how far it is. Vectors stand for columns. ValueError for other ranks.
    """
    x, book = np.asarray(obs), np.asarray(code_book)
    if x.ndim != book.ndim or x.ndim not in (1, 2):
        raise ValueError("Observation and code_book should have the same rank, 1 or 2")
    if x.ndim == 1:
        x, book = x[:, None], book[:, None]
    distances = np.linalg.norm(x[:, None, :] - book[None, :, :], axis=-1)
    return np.argmin(distances, axis=-1), np.min(distances, axis=-1)


vq = types.ModuleType("untraced.scipy.cluster.vq", __doc__)
vars(vq).update(vq=offered(_vq, vq.__name__, "vq"), __all__=["vq"])
__all__ = ["vq"]
