"""Masks in what is read to be transformed: np.nonzero and the like as selections, loops over x[mask].

    np.sum(x[np.nonzero(mask)[0]])      the selection arange(n)[mask] as an index
    for v in x[mask]: ...               for k in range(np.sum(mask)): v = x[places[k]]     places = np.argsort(~mask)
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import make
from ..ir import Atom
from .context import Context
from .indexing import index_array
from .runs import count, width_of
from .values import FULL, Masked, Places, Ref, Value

_LISTS = (np.nonzero, np.where, np.flatnonzero, np.argwhere, "nonzero")


def is_list_of_places(ctx: Context, f: Any, args: list[Value], kwargs: dict[str, Value]) -> bool:
    """Whether this is a call, in what is to be transformed, for the places at which one array is not zero."""
    wanted = any(f is g for g in _LISTS[:-1]) or f == "nonzero"
    if not (ctx.transforms and wanted and len(args) == 1 and not kwargs):
        return False
    return type(args[0]) is Ref and args[0].aval.size > 0 < args[0].aval.ndim


def list_of_places(ctx: Context, f: Any, array: Ref) -> Value:
    b, x = ctx.b, ctx.read(array)
    if f is np.flatnonzero:
        x = make.reshape(b, x, (-1,))
    mask = x if x.aval.dtype.kind == "b" else make.not_equal(b, x, 0)
    shape, ndim = mask.aval.shape, mask.aval.ndim

    def along(axis: int) -> Atom:
        others = tuple(a for a in range(ndim) if a != axis)
        return make.broadcast_to(b, make.expand_dims(b, make.iota(b, shape[axis]), others), shape)

    if f is np.argwhere:
        whole = make.concatenate(b, [make.expand_dims(b, along(i), ndim) for i in range(ndim)], ndim)
        return Masked(Ref(ctx.cell(whole)), (Places(mask), FULL))
    part = Places(mask)
    found = tuple(Masked(Ref(ctx.cell(along(i))), (part,), axis=i) for i in range(ndim))
    return found[0] if f is np.flatnonzero else found


def rows_at_true(ctx: Context, s: Masked, node: ast.AST) -> tuple[Value, Callable[[Value], Value]] | None:
    """How many rows a selection x[mask] has, and each by its number; None where it is selected in other axes, too."""
    first = s.parts[0]
    if not isinstance(first, Places) or any(p is not None for p in s.parts[1:]):
        return None
    b, x, width = ctx.b, ctx.read(s.whole), width_of(first)
    line = Ref(ctx.cell(make.reshape(b, x, (math.prod(x.aval.shape[:width]), *x.aval.shape[width:]))))
    mask = make.reshape(b, first.mask, (-1,))
    places = Ref(ctx.cell(make.argsort(b, make.logical_not(b, mask), 0)))
    return count(ctx, s, 0), lambda k: index_array(ctx, line, index_array(ctx, places, k, node), node)
