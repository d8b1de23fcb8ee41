"""The namespace `untraced.ops`: reductions over segments, which an array of integers names row by row.

Rows whose segment is out of range are left out. Where `num_segments` is not given it is one more than the largest
segment, which only a call outside of accelerated functions can know. A segment without rows has the neutral element.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...translator.library.gathering import GatherScatterMode, parsed_mode
from ...translator.library.scattering import or_behind
from ..arrays.hosted import offer


def segment_sum(
    data: Any,
    segment_ids: Any,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: Any = None,
) -> Any:
    """The sum of the rows of each segment: shape (num_segments, *data.shape[1:])."""
    return _reduced(np.add.at, 0, data, segment_ids, num_segments, mode)


def segment_prod(
    data: Any,
    segment_ids: Any,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: Any = None,
) -> Any:
    """The product of the rows of each segment."""
    return _reduced(np.multiply.at, 1, data, segment_ids, num_segments, mode)


def segment_max(
    data: Any,
    segment_ids: Any,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: Any = None,
) -> Any:
    """The greatest of the rows of each segment; -inf, or the least integer, where there are none."""
    return _reduced(np.maximum.at, _least(np.result_type(data)), data, segment_ids, num_segments, mode)


def segment_min(
    data: Any,
    segment_ids: Any,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: Any = None,
) -> Any:
    """The least of the rows of each segment; inf, or the greatest integer, where there are none."""
    return _reduced(np.minimum.at, _greatest(np.result_type(data)), data, segment_ids, num_segments, mode)


def _reduced(combine_at: Any, neutral: Any, data: Any, segment_ids: Any, num_segments: Any, mode: Any) -> Any:
    """Rows of no segment are left out, or with mode "clip" of the first or the last."""
    x, rows = np.asarray(data), np.asarray(segment_ids)
    n = int(np.max(rows)) + 1 if num_segments is None else num_segments
    if n < 0:
        raise ValueError(f"num_segments must be non-negative, not {n}")
    out = np.full((n + 1, *x.shape[rows.ndim :]), neutral, dtype=x.dtype)  # the last row takes what is left out
    rows, clips = rows.astype(np.int64), parsed_mode(mode) is GatherScatterMode.CLIP
    combine_at(out, np.clip(rows, 0, n - 1) if clips else or_behind(np.where(rows < 0, n, rows), n), x)
    return out[:n]


def _least(dtype: Any) -> Any:
    return -np.inf if dtype.kind == "f" else False if dtype.kind == "b" else np.iinfo(dtype).min


def _greatest(dtype: Any) -> Any:
    return np.inf if dtype.kind == "f" else True if dtype.kind == "b" else np.iinfo(dtype).max


__all__ = ["segment_max", "segment_min", "segment_prod", "segment_sum"]

offer(globals(), __all__, "untraced.ops")
