"""Handlers of the functions that order elements, and refusals of those whose result's size depends on the data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import make
from ..builder import Builder
from ..errors import CutError, Diagnostic
from ..ir import Atom
from ..ops.attributes import SortKind
from .arguments import array, refuse, static, static_int

Direct = Callable[..., Any]

KINDS: dict[str | None, SortKind] = {
    None: "quicksort",
    "quicksort": "quicksort",
    "heapsort": "heapsort",
    "mergesort": "stable",
    "stable": "stable",
}


def sort(
    b: Builder, a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> Atom:
    """np.sort; every `kind` gives the same elements."""
    _check_kind("np.sort", kind, order)
    x, place = _along(b, a, axis)
    return make.sort(b, x, place)


def argsort(
    b: Builder, a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> Atom:
    """np.argsort: without a kind equal elements have the order that NumPy's quicksort leaves them in."""
    chosen = _check_kind("np.argsort", kind, order)
    if static(stable, "whether a sort is stable"):
        chosen = "stable"
    x, place = _along(b, a, axis)
    if not x.aval.ndim and place in (0, -1):  # NumPy gives the place of the one element
        x = make.reshape(b, x, (1,))
    return make.argsort(b, x, place, kind=chosen)


def partition(b: Builder, a: Any, kth: Any, axis: Any = -1, kind: Any = "introselect", order: Any = None) -> Atom:
    refuse("np.partition", order=order)
    x, place = _along(b, a, axis)
    return make.sort(b, x, place, _places("np.partition", x, kth, place))


def argpartition(b: Builder, a: Any, kth: Any, axis: Any = -1, kind: Any = "introselect", order: Any = None) -> Atom:
    refuse("np.argpartition", order=order)
    x, place = _along(b, a, axis)
    return make.argsort(b, x, place, _places("np.argpartition", x, kth, place))


def _check_kind(function: str, kind: Any, order: Any) -> SortKind:
    refuse(function, order=order)
    if static(kind, "the kind of a sort") not in KINDS:
        raise ValueError(f"sort kind must be one of 'quicksort', 'heapsort', or 'stable' (got {kind!r})")
    return KINDS[kind]


def _along(b: Builder, a: Any, axis: Any) -> tuple[Atom, int]:
    """The operand and its axis; flat for no axis."""
    x = array(b, a)
    if static(axis, "an axis") is None:
        return make.reshape(b, x, (-1,)), 0
    return x, static_int(axis, "an axis")


def _places(function: str, x: Atom, kth: Any, axis: int) -> tuple[int, ...]:
    """The places of a partition, counted from the front; none in an array without elements. One that is given twice
    counts twice: NumPy then orders more of what lies around it.
    """
    places = static(kth, "the place of a partition")
    kind = np.asarray(places).dtype.kind
    if kind == "b":
        raise ValueError("Booleans unacceptable as partition index")
    if kind not in "iu":
        raise TypeError("Partition index must be integer")
    n = x.aval.shape[make.normalize_axis(axis, x.aval.ndim)]
    found = []
    for k in (places if isinstance(places, tuple | list) else (places,)) if x.aval.size else ():
        if not -n <= int(k) < n:
            raise ValueError(f"{function}: kth(={k}) out of bounds ({n})")
        found.append(int(k) % n)
    return tuple(sorted(found))



# ---- sizes that depend on the data ---------------------------------------------------------------

SIZE_UNKNOWN = "the size of the result depends on the data, and is not known before the run"

DATA_DEPENDENT = {
    "unique": "s = np.sort(x) and s[1:] != s[:-1], which marks the first of each value",
    "unique_values": "s = np.sort(x) and s[1:] != s[:-1], which marks the first of each value",
    "union1d": "np.sort(np.concatenate([x, y]))",
    "intersect1d": "np.isin(x, y) as a mask",
    "setdiff1d": "~np.isin(x, y) as a mask",
    "setxor1d": "~np.isin(x, y) as a mask",
    "nonzero": "the mask itself: np.where(mask, x, y)",
    "flatnonzero": "the mask itself: np.where(mask, x, y)",
    "argwhere": "the mask itself: np.where(mask, x, y)",
    "trim_zeros": "a slice with known bounds",
    "roots": "np.linalg.eigvals of the companion matrix, of complex numbers",
    "polymul": "np.convolve, which keeps leading zeros",
    "polydiv": "a loop over the coefficients, which keeps leading zeros",
}


def refused(name: str) -> Direct:
    """A function that NumPy has and the language cannot have."""

    def handler(b: Builder, *args: Any, **kwargs: Any) -> Any:
        instead = f"use {DATA_DEPENDENT[name]}"
        raise CutError(Diagnostic(f"np.{name} is not in the language", why=SIZE_UNKNOWN, instead=instead))

    return handler
