"""Where a loop is cut in three, so that what it reads again and again is a constant in each of its pieces:

    for j in range(n):                          at k, in [0, k), [k, k + 1) and [k + 1, n)
        d[i, j] = min(d[i, j], d[i, k] + d[k, j])

In the first piece and the last no store meets d[i, k], so the C++ compiler makes vectors of them; of the whole loop it
cannot. The same iterations run in the same order.
"""

from __future__ import annotations

from ...translator.ir import Apply, Atom, For, Fused, If, Var, free_variables, walk
from ...translator.ops.core import At, Dyn, Index, IndexAttrs, Put

SHORTEST = 32
"""Turns: two more loops for fewer are not worth it. They have to be known: `range(k + 1, n)` ends in front of k."""


def place_of_cut(s: For) -> Var | None:
    """The index of the one element that every turn of an innermost loop reads, and that one turn may change."""
    turns = s.range.static()
    if turns is None or len(turns) < SHORTEST:
        return None
    inside = list(walk(s.body))
    if not all(isinstance(x, Apply | If | Fused) for x in inside):
        return None
    applied = [x for x in inside if isinstance(x, Apply)]
    stores = [x for x in applied if isinstance(x.op, Put)]
    axes = {(x.args[0].aval.shape, _axis(x, s.body.params[0])) for x in stores}
    if len(axes) != 1:
        return None
    ((shape, axis),) = axes
    if axis is None:
        return None
    outside = {*free_variables(s.body)}
    reads = [_places(x) for x in applied if isinstance(x.op, Index) and x.args[0].aval.shape == shape]
    cuts = {r[axis] for r in reads if r and all(isinstance(a, int) or a in outside for a in r)}
    [cut] = cuts if len(cuts) == 1 else [None]
    return cut if isinstance(cut, Var) else None


def _places(s: Apply) -> list[Atom | int]:
    """The indices of a single element; none for what reads or stores several."""
    assert isinstance(s.attrs, IndexAttrs)
    if not all(isinstance(d, At) for d in s.attrs.dims):
        return []
    found = [d.index for d in s.attrs.dims if isinstance(d, At)]
    return [s.args[k.arg] if isinstance(k, Dyn) else k for k in found]


def _axis(s: Apply, index: Var) -> int | None:
    """The axis along which a loop's stores go with its index."""
    places = _places(s)
    along = [axis for axis, a in enumerate(places) if a is index]
    return along[0] if len(along) == 1 else None
