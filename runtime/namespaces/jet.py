"""The namespace `untraced.experimental.jet`: derivatives of higher order along a curve, by name as in JAX."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ..transforms.transforms import jvp
from ..trees.tree import map as tree_map


def jet(
    fun: Callable[..., Any], primals: Sequence[Any], series: Sequence[Sequence[Any]], **options: Any
) -> tuple[Any, Any]:
    """(value, derivatives) of t -> fun(*curves(t)) at 0: a tree like the result, with the list of derivatives of order
    1, 2, ... in the place of each leaf.

    primals   arrays or numbers: where the curves are at 0
    series    for each of them its derivatives of order 1, 2, ..., arrays of its shape; as many for all

    By forward mode in forward mode, so its cost doubles with each order. ValueError for series of different lengths.

    >>> jet(np.sin, (0.0,), ((1.0, 0.0, 0.0),))
    (np.float64(0.0), [np.float64(1.0), np.float64(0.0), np.float64(-1.0)])
    """
    if len(series) != len(primals):
        raise ValueError(f"jet: {len(series)} series for {len(primals)} primals")
    order = len(series[0])
    if any(len(terms) != order for terms in series):
        raise ValueError(f"jet: series of {sorted({len(terms) for terms in series})} terms")

    def along(t: Any) -> list[Any]:
        return [fun(*[_curve(x, terms, t) for x, terms in zip(primals, series, strict=True)])]

    derived: Callable[[Any], list[Any]] = along
    for _ in range(order):
        derived = _with_next(derived)
    value, *terms = derived(0.0)
    return value, tree_map(lambda *parts: list(parts), *terms)


def _curve(x: Any, terms: Sequence[Any], t: Any) -> Any:
    for k, term in enumerate(terms):
        x = x + term * (t ** (k + 1) / math.factorial(k + 1))
    return x


def _with_next(derived: Callable[[Any], list[Any]]) -> Callable[[Any], list[Any]]:
    """Of a function that gives a value and its first derivatives, one that gives one derivative more."""

    def further(t: Any) -> list[Any]:
        values, slopes = jvp(derived, (t,), (1.0,))
        return [*values, slopes[-1]]

    return further


__all__ = ["jet"]
