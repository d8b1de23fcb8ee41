"""Shares among elements that tie for an extreme, where a compiler may compute an operand twice.

    before                       after
    mask = x == y                mask = (x == y) | (np.abs(x - y) < 8 * eps * np.abs(y))
    share = mask / np.sum(mask)  share = mask / np.sum(mask)

`y` is the maximum of x. XLA computes cheap operands anew for each use, with roundings that depend on what they are
fused with, so of a computed x no element might equal it, and the share would be 0 / 0. NumPy needs none of this.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from .. import make, ops
from ..builder import Builder
from ..ir import Apply, Atom, Function, Statement, inputs_of, walk
from ..ops.core import Cast, Reduce
from ..rewrite import spelled_out

_ROUNDINGS = 8


def ties(function: Function) -> Function:
    """Apply to every comparison of floats that does nothing else but divide by its own count."""
    uses: defaultdict[Atom, list[Statement]] = defaultdict(list)
    for s in walk(function.body):
        for v in set(inputs_of(s)):
            uses[v].append(s)
    shared = {
        s.targets[0]
        for s in walk(function.body)
        if isinstance(s, Apply) and s.op is ops.EQUAL and _is_share(s, uses) and s.args[0].aval.dtype.kind == "f"
    }
    if not shared:
        return function

    def written(s: Apply) -> Sequence[Statement]:
        return _with_margin(s) if s.targets[0] in shared else (s,)

    return replace(function, body=spelled_out(function.body, written))


def _is_share(s: Apply, uses: Mapping[Atom, list[Statement]]) -> bool:
    (mask,) = s.targets
    found = uses.get(mask, [])
    casts = [u for u in found if isinstance(u, Apply) and isinstance(u.op, Cast)]
    others = [u for u in found if u not in casts]
    masks = [mask, *(c.targets[0] for c in casts)]
    reached = [*others, *(u for c in casts for u in uses.get(c.targets[0], []))]
    counts = [u for u in reached if isinstance(u, Apply) and isinstance(u.op, Reduce) and u.op.name == "sum"]
    shares = [u for u in reached if isinstance(u, Apply) and u.op is ops.DIVIDE and u.args[0] in masks]
    return bool(counts and shares) and all(u in counts or u in shares for u in others)


def _with_margin(s: Apply) -> Sequence[Statement]:
    x, y = s.args
    b = Builder()
    with b.at(s.span):
        margin = make.multiply(b, _magnitude(b, y), _ROUNDINGS * float(np.finfo(x.aval.dtype).eps))
        near = make.less(b, _magnitude(b, make.subtract(b, x, y)), margin)
        found = make.logical_or(b, make.equal(b, x, y), near)
    last = b.statements[-1]
    assert isinstance(last, Apply) and last.targets == (found,)
    return (*b.statements[:-1], replace(last, targets=s.targets))


def _magnitude(b: Builder, x: object) -> object:
    return make.elementwise(b, ops.ABSOLUTE, x)
