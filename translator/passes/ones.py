"""The only element along an axis, read as a shape without that axis: kernels have it where they have the array.

    def f(x):                                       def f(x):
        top = np.max(x, axis=1, keepdims=True)          top = np.max(x, axis=1, keepdims=True)
        return top[:, 0] + np.sum(x - top, axis=1)      return top.squeeze(1) + np.sum(x - top, axis=1)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..ir import Apply, Function, Statement
from ..ops import INDEX, SQUEEZE
from ..ops.core import At, AxesAttrs, Dim, IndexAttrs, Run
from ..rewrite import spelled_out


def ones(function: Function) -> Function:
    """Apply to every read that takes all that there is."""
    return replace(function, body=spelled_out(function.body, _squeezed))


def _squeezed(s: Apply) -> Sequence[Statement]:
    if s.op is not INDEX or not isinstance(s.attrs, IndexAttrs):
        return (s,)
    shape, dims = s.args[0].aval.shape, s.attrs.dims
    axes = tuple(k for k, d in enumerate(dims) if isinstance(d, At))
    if not axes or not all(_is_all(d, n) for d, n in zip(dims, shape, strict=True)):
        return (s,)
    return (Apply(s.targets, SQUEEZE, s.args[:1], AxesAttrs(axes), s.span),)


def _is_all(d: Dim, n: int) -> bool:
    """Whether it leaves nothing of an axis of `n` elements out."""
    if isinstance(d, At):
        return n == 1 and d.index == 0
    return isinstance(d, Run) and (d.start, d.size, d.step) == (0, n, 1)
