"""Where elements go that are deleted and inserted: known when a function is read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

MOST_RUNS = 64
"""Slices that are put together; of more the elements are gathered."""


def delete_positions(n: int, obj: Any) -> Any:
    """The positions that np.delete keeps."""
    return np.delete(np.arange(n), obj)


def insert_plan(n: int, obj: Any, count: int) -> tuple[Any, Any, Any]:
    """Where np.insert puts the old elements and the new ones, and which of the `count` values each of those takes."""
    indices = np.arange(n)[obj] if isinstance(obj, slice) else np.asarray(obj)
    indices = indices if indices.size else indices.astype(np.int64)
    if indices.ndim > 1:
        raise ValueError("index array argument obj to insert must be one dimensional or scalar")
    if indices.dtype.kind == "b":
        indices = np.flatnonzero(indices)
    if indices.dtype.kind not in "iu":
        kind = TypeError if indices.size == 1 else IndexError
        raise kind(f"positions of np.insert must be integers, not {indices.dtype}")
    if np.any((indices < -n) | (indices > n)):
        raise IndexError(f"index {obj} is out of bounds for an axis of size {n}")
    indices = np.where(indices < 0, indices + n, indices)
    if indices.size == 1:
        new = int(indices.reshape(-1)[0]) + np.arange(count)
    else:
        new = indices.copy()
        new[np.argsort(indices, kind="stable")] += np.arange(indices.size)
    old = np.delete(np.arange(n + new.size), new)
    return old, new, np.zeros(new.size, dtype=np.int64) if count == 1 else np.arange(count)


def runs_of(positions: Any) -> tuple[tuple[int, int], ...]:
    """Start and stop of each run of positions that follow each other; none of too many."""
    ends = np.flatnonzero(np.diff(positions) != 1) + 1
    if len(ends) >= MOST_RUNS:
        return ()
    return tuple((int(p[0]), int(p[-1]) + 1) if p.size else (0, 0) for p in np.split(positions, ends))


def insert_runs(old: Any, new: Any, source: Any) -> tuple[tuple[bool, int, int], ...]:
    """The pieces of np.insert's result in order: whether of the values, which `source` takes, and start and stop."""
    taken = np.zeros(old.size + new.size, dtype=np.int64)
    is_new = np.zeros(taken.size, dtype=np.bool_)
    taken[old], taken[new], is_new[new] = np.arange(old.size), source, True
    ends = np.flatnonzero((np.diff(taken) != 1) | np.diff(is_new)) + 1
    if len(ends) >= MOST_RUNS or not taken.size:
        return ()
    starts = [0, *ends.tolist()]
    stops = [*starts[1:], taken.size]
    return tuple((bool(is_new[a]), int(taken[a]), int(taken[b - 1]) + 1) for a, b in zip(starts, stops, strict=True))


STATIC: tuple[Callable[..., Any], ...] = (delete_positions, insert_plan, runs_of, insert_runs)
