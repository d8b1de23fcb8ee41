"""Handlers of the collectives over a named axis, for the functions that map the one being read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import make, ops
from ..axes import size_of
from ..builder import Builder
from ..ir import Atom
from ..library import across
from ..ops.core import CollectiveAttrs
from .arguments import array, static, static_int


def _axis(name: Any) -> tuple[Any, int]:
    known = static(name, "an axis name")
    return known, size_of(known)


def sum_over(b: Builder, x: Any, axis_name: Any) -> Any:
    name, size = _axis(axis_name)
    if isinstance(x, int | float | complex):
        return x * size
    atom = array(b, x)
    counted = make.astype(b, atom, np.int64) if atom.aval.dtype.kind == "b" else atom
    return b.apply(ops.PSUM, counted, attrs=CollectiveAttrs(name, size))


def gather_over(b: Builder, x: Any, axis_name: Any) -> Atom:
    return b.apply(ops.ALL_GATHER, array(b, x), attrs=CollectiveAttrs(*_axis(axis_name)))


def permute_over(b: Builder, x: Any, axis_name: Any, perm: Any) -> Atom:
    name, size = _axis(axis_name)
    known = static(perm, "a permutation")
    pairs = tuple((static_int(s, "a source"), static_int(d, "a destination")) for s, d in known)
    for ends, what in zip(zip(*pairs, strict=True), ("source", "destination"), strict=False):
        if len(set(ends)) < len(ends):
            raise ValueError(f"ppermute over {name!r}: the {what} indices of perm must be unique, got {list(pairs)}")
        if not all(0 <= i < size for i in ends):
            raise ValueError(f"ppermute over {name!r}, whose size is {size}: a {what} is not in it, perm={list(pairs)}")
    return b.apply(ops.PPERMUTE, array(b, x), attrs=CollectiveAttrs(name, size, pairs))


def index_over(b: Builder, axis_name: Any) -> Atom:
    return b.apply(ops.AXIS_INDEX, attrs=CollectiveAttrs(*_axis(axis_name)))


def size_over(b: Builder, axis_name: Any) -> int:
    return _axis(axis_name)[1]


HANDLERS: dict[Callable[..., Any], Callable[..., Any]] = {
    across.sum_over: sum_over,
    across.gather_over: gather_over,
    across.permute_over: permute_over,
    across.index_over: index_over,
    across.size_over: size_over,
}
