"""Differences of loop indices: whether inequalities x - y <= c between them can all hold.

    for k in range(n):
        for i in range(k + 1, n):           # k - i <= -1
            a[i, k] /= a[k, k]              # is a[i, k] ever a[k, k]? i - k <= 0 and k - i <= 0: no

Places are indices of loops plus numbers, and so are the bounds of loops. The inequalities have no solution if and only
if some of them add up to 0 <= c < 0, around a cycle of differences (R. Bellman, "On a routing problem", 1958).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .. import ops
from ..ir import Apply, Atom, Const, For, Var

Makers = Mapping[Var, Apply]
Term = tuple[Var | None, int]  # something unknown, plus a number; of numbers alone the unknown is None
Bound = tuple[object, object, int]  # x - y <= number


def offset_of(a: Atom, makers: Makers) -> Term:
    """The value as a sum of one that nothing is known about, or none, and a number."""
    total = 0
    while isinstance(a, Var):
        made = makers.get(a)
        if made is None or made.op not in (ops.ADD, ops.SUBTRACT) or a.aval.shape or a.aval.dtype.kind not in "iu":
            return a, total
        by = made.args[1]
        if not isinstance(by, Const):
            return a, total
        total += int(by.value) if made.op is ops.ADD else -int(by.value)
        a = made.args[0]
    return None, total + int(a.value)


def bounds_of(s: For, makers: Makers, renamed: Mapping[Var, object]) -> list[Bound]:
    """What the range of a loop says about its index; `renamed` has other names of what is meant in another trip."""
    index = renamed.get(s.body.params[0], s.body.params[0])
    exact = s.range.static()
    if exact is not None:
        low, high = sorted((exact[0], exact[-1])) if exact else (0, -1)
        return [(index, None, high), (None, index, -low)]
    if not isinstance(s.range.step, Const):
        return []
    (x, c), (y, d) = (offset_of(a, makers) for a in (s.range.start, s.range.stop))
    start, stop = (renamed.get(v, v) if v is not None else None for v in (x, y))
    if int(s.range.step.value) > 0:
        return [(start, index, -c), (index, stop, d - 1)]
    return [(index, start, c), (stop, index, -d - 1)]


def contradict(bounds: Sequence[Bound]) -> bool:
    """Whether no integers fulfil all of these."""
    distance: dict[object, int] = {x: 0 for x, _, _ in bounds} | {y: 0 for _, y, _ in bounds}
    for _ in range(len(distance) + 1):
        shorter = False
        for x, y, c in bounds:  # x <= y + c
            if distance[y] + c < distance[x]:
                distance[x], shorter = distance[y] + c, True
        if not shorter:
            return False
    return True
