"""Transposes of large arrays as one C++ function, called from inside XLA's programs.

    y = np.transpose(x, (2, 0, 1))         for each tile of 32 x 32 elements along the last axes of x and of y:
    (256, 256, 60)                             lines of the cache are read once, and written once

XLA goes through the result element by element, and each comes from a line of the cache of its own: that takes 10 to 30
ns for each, this 1 to 5. How far apart elements lie is told to the function when it is called: one serves all shapes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from ...translator.ir import DType, Shape
from ...translator.records import dataclass
from ..digest import digest
from .native import NativeLoop, prelude

KINDS = {1: "unsigned char", 2: "unsigned short", 4: "unsigned", 8: "unsigned long long", 16: "unsigned __int128"}

_BODY = """
static const long long TILE = 32;

// plan = {rows, how far apart those lie in x, columns, how far apart those lie in y, how many axes are around them,
// then for each of these: its length, and how far apart its elements lie in x and in y}
static void turn(const kind *x, kind *y, const long long *plan) {
    const long long rows = plan[0], apart = plan[1], columns = plan[2], across = plan[3];
    long long count = 1;
    for (long long a = 0; a < plan[4]; a++) count *= plan[5 + 3 * a];
    for (long long k = 0, left = 0; k < count; k++, left = k) {
        const kind *from = x;
        kind *to = y;
        for (long long a = plan[4] - 1; a >= 0; left /= plan[5 + 3 * a], a--) {
            from += left % plan[5 + 3 * a] * plan[6 + 3 * a];
            to += left % plan[5 + 3 * a] * plan[7 + 3 * a];
        }
        for (long long r0 = 0; r0 < rows; r0 += TILE)
            for (long long c0 = 0; c0 < columns; c0 += TILE) {
                const long long r1 = r0 + TILE < rows ? r0 + TILE : rows;
                const long long c1 = c0 + TILE < columns ? c0 + TILE : columns;
                for (long long c = c0; c < c1; c++)
                    for (long long r = r0; r < r1; r++) to[c * across + r] = from[r * apart + c];
            }
    }
}
"""


@dataclass(frozen=True, slots=True)
class Transpose:
    """What the function is told, and the bytes of an element, which it moves whatever they mean."""

    size: int
    plan: tuple[int, ...]


def transpose_of(shape: Shape, dtype: DType, axes: Sequence[int]) -> Transpose | None:
    """None where the function is not for it, as where the last axis stays the last."""
    if dtype.itemsize not in KINDS:
        return None
    groups = _together([a for a in axes if shape[a] != 1], [a for a, n in enumerate(shape) if n != 1])
    if len(groups) < 2 or groups[-1] == max(groups):
        return None
    lengths = [math.prod(shape[a] for a in group) for group in groups]
    read = {group: math.prod(shape[group[-1] + 1 :]) for group in groups}
    written = [math.prod(lengths[k + 1 :]) for k in range(len(groups))]
    last = groups.index(max(groups))
    around = [k for k in range(len(groups) - 1) if k != last]
    plan = [lengths[-1], read[groups[-1]], lengths[last], written[last], len(around)]
    for k in around:
        plan += (lengths[k], read[groups[k]], written[k])
    return Transpose(dtype.itemsize, tuple(plan))


def _together(axes: Sequence[int], ordered: Sequence[int]) -> list[tuple[int, ...]]:
    """The axes, in groups of those that lie behind each other before as after."""
    after = dict(pairwise(ordered))
    groups: list[tuple[int, ...]] = []
    for a in axes:
        if groups and after.get(groups[-1][-1]) == a:
            groups[-1] += (a,)
        else:
            groups.append((a,))
    return groups


def write_transpose(t: Transpose) -> NativeLoop:
    """The function of two arguments: an array, and how many elements of it do not count, with the plan behind that."""
    body = f"typedef {KINDS[t.size]} kind;{_BODY}"
    name = f"untraced_transpose_{digest(prelude(()) + body)}"
    handler = f"""extern "C" XLA_FFI_Error *{name}(XLA_FFI_CallFrame *frame) {{
    if (answered(frame)) return nullptr;
    using {name}_body::kind;
    const long long *plan = (const long long *)argument(frame, 1);
    {name}_body::turn((const kind *)argument(frame, 0) + *plan, (kind *)result(frame, 0), plan + 1);
    return nullptr;
}}
"""
    return NativeLoop(name, f"namespace {name}_body {{\n{body}}}\n{handler}", ())
