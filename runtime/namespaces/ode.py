"""The namespace `untraced.experimental.ode`: JAX's odeint, as NumPy source."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...translator.library.scipy_odes import integrated
from ..arrays.hosted import offer
from ..trees.tree_util import tree_flatten, tree_unflatten


def odeint(
    func: Callable[..., Any],
    y0: Any,
    t: Any,
    *args: Any,
    rtol: float = 1.4e-8,
    atol: float = 1.4e-8,
    mxstep: float = np.inf,
    hmax: float = np.inf,
) -> Any:
    """The solution of y' = func(y, t, *args), y(t[0]) = y0, at the times `t`, which go up or down: a tree like `y0`
    whose leaves have an axis of the times in front.

    Steps of Dormand and Prince's pair of orders 5 and 4, none longer than `hmax`. There is no limit to their number:
    ValueError for a finite `mxstep`. Everything is float64.
    """
    if mxstep < np.inf:
        raise ValueError("untraced.experimental.ode.odeint: steps are not counted, leave mxstep at infinity")
    leaves, tree = tree_flatten(y0)
    shapes = [np.shape(x) for x in leaves]
    flat = np.concatenate([np.ravel(x).astype(np.float64) for x in leaves])

    def rates(y: Any, now: Any, *rest: Any) -> Any:
        slopes, _ = tree_flatten(func(tree_unflatten(tree, _parts(y, shapes, ())), now, *rest))
        return np.concatenate([np.ravel(x) for x in slopes])

    times = np.asarray(t).astype(np.float64)
    states = integrated(rates, False, flat, times, args, rtol, atol, hmax)
    return tree_unflatten(tree, _parts(states, shapes, (len(times),)))


def _parts(flat: Any, shapes: Any, front: tuple[int, ...]) -> list[Any]:
    """The last axis cut into arrays of these shapes."""
    parts, start = [], 0
    for shape in shapes:
        size = int(np.prod(shape, dtype=np.int64))
        parts.append(np.reshape(flat[..., start : start + size], (*front, *shape)))
        start += size
    return parts


__all__ = ["odeint"]

offer(globals(), __all__, "untraced.experimental.ode")
