"""Ranks and modes of scipy.stats as NumPy source, for derivatives and batches: SciPy's own are as fast elsewhere."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np

from .support import known, only_plain

ModeResult = namedtuple("ModeResult", ("mode", "count"))


def rankdata(a: Any, method: Any = "average", *, axis: Any = None, nan_policy: Any = "propagate") -> Any:
    """Ranks from 1: `method` says what equal values get, "average", "min", "max", "dense" or "ordinal"."""
    if known(method) not in ("average", "min", "max", "dense", "ordinal"):
        raise ValueError(f"unknown method {method!r}")
    x = np.asarray(a)
    only_plain("scipy.stats.rankdata", known(nan_policy) == "propagate" and x.dtype.kind != "c")
    x = np.ravel(x) if axis is None else np.moveaxis(x, axis, -1)
    order = np.argsort(x, axis=-1, kind="stable")
    if x.dtype.kind == "f" and known(method) != "average" and np.any(np.isnan(x)):
        raise ValueError("ranks among NaN are NaN, which these ranks, integers, cannot be")
    if known(method) == "ordinal":
        return _back(_ranked(order), axis)
    s = np.take_along_axis(x, order, axis=-1)
    n = x.shape[-1]
    new = np.concatenate([np.ones((*x.shape[:-1], 1), dtype=bool), s[..., 1:] != s[..., :-1]], axis=-1)
    if known(method) == "dense":
        sorted_ranks = np.cumsum(new, axis=-1)
    else:
        place = np.arange(n)
        first = np.maximum.accumulate(np.where(new, place, 0), axis=-1)
        ends = np.concatenate([new[..., 1:], np.ones((*x.shape[:-1], 1), dtype=bool)], axis=-1)
        last = np.minimum.accumulate(np.where(ends, place, n)[..., ::-1], axis=-1)[..., ::-1]
        if known(method) == "average":
            sorted_ranks = (first + last) / 2 + 1
        else:
            sorted_ranks = (first if known(method) == "min" else last) + 1
    ranks = np.take_along_axis(sorted_ranks, _ranked(order) - 1, axis=-1)
    if x.dtype.kind == "f" and known(method) == "average":
        ranks = np.where(np.any(np.isnan(x), axis=-1, keepdims=True), np.nan, ranks)
    return _back(ranks, axis)


def _ranked(order: Any) -> Any:
    """The place of each element among the sorted ones, from 1."""
    return np.argsort(order, axis=-1, kind="stable") + 1


def _back(ranks: Any, axis: Any) -> Any:
    return ranks if axis is None else np.moveaxis(ranks, -1, axis)


def mode(a: Any, axis: Any = 0, nan_policy: Any = "propagate", keepdims: Any = False) -> Any:
    """(mode, count): the most frequent value, the least of those that are as frequent, and how often it is found."""
    only_plain("scipy.stats.mode", known(nan_policy) == "propagate")
    x = np.ravel(np.asarray(a)) if axis is None else np.moveaxis(np.asarray(a), axis, -1)
    s = np.sort(x, axis=-1)
    differs = s[..., 1:] != s[..., :-1]
    if x.dtype.kind in "fc":
        differs = differs & ~np.isnan(s[..., :-1])  # NaN is one value here, the greatest
    new = np.concatenate([np.ones((*x.shape[:-1], 1), dtype=bool), differs], axis=-1)
    place = np.arange(x.shape[-1])
    so_far = place - np.maximum.accumulate(np.where(new, place, 0), axis=-1) + 1
    where = np.argmax(so_far, axis=-1, keepdims=True)
    found, count = np.take_along_axis(s, where, axis=-1), np.take_along_axis(so_far, where, axis=-1)
    if keepdims and axis is None:
        shape = (1,) * np.ndim(a)
        return ModeResult(np.reshape(found, shape), np.reshape(count, shape))
    if keepdims:
        return ModeResult(np.moveaxis(found, -1, axis), np.moveaxis(count, -1, axis))
    return ModeResult(found[..., 0], count[..., 0])


TRANSFORMED: dict[str, Callable[..., Any]] = {"rankdata": rankdata, "mode": mode}
