"""Derivatives of collectives, which are linear: each element of the axis receives a cotangent for what it was sent.

    y = psum(x, "i")                d_x = psum(d_y, "i")
    y = all_gather(x, "i")          d_x = psum(d_y, "i")[axis_index("i")]
    y = ppermute(x, "i", pairs)     d_x = ppermute(d_y, "i", the pairs the other way round)
"""

from __future__ import annotations

from dataclasses import replace

from .. import make, ops
from ..builder import Builder
from ..ir import Apply, Atom
from ..ops.core import At, CollectiveAttrs, Dim, Dyn, Run
from .cotangents import cast_like, materialise, strong


def collective_jvp(b: Builder, s: Apply, t: Atom) -> Atom:
    """The tangent of a collective: the collective of the tangent."""
    whole = cast_like(b, materialise(b, t, strong(s.args[0].aval)), strong(s.targets[0].aval))
    return b.apply(s.op, whole, attrs=s.attrs)


def collective_vjp(b: Builder, s: Apply, ct: Atom) -> Atom:
    """What each element of the axis gets back for what it sent: the sum over those that received it."""
    assert isinstance(s.attrs, CollectiveAttrs)
    ct = materialise(b, ct, strong(s.targets[0].aval))
    if s.op is ops.PPERMUTE:
        back = tuple((destination, source) for source, destination in s.attrs.pairs)
        return b.apply(s.op, ct, attrs=replace(s.attrs, pairs=back))
    total = b.apply(ops.PSUM, ct, attrs=s.attrs)
    if s.op is ops.PSUM:
        return total
    own = b.apply(ops.AXIS_INDEX, attrs=s.attrs)
    dims: tuple[Dim, ...] = (At(Dyn(0)), *(Run(0, n) for n in total.aval.shape[1:]))
    return make.index(b, total, dims, (own,))
