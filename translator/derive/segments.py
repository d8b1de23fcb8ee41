"""Loops whose tape would be too large: run in segments, of which only the first state is kept.

    for i in range(n):               y_tape = np.empty((100, 3))
        y = np.sin(y) * x            for first in range(0, n, 100):          # n = 10_000
                                         y_tape[first // 100] = y
                                         for k in range(100):
                                             y = np.sin(y) * x
                                     for first in reversed(range(0, n, 100)):
                                         y = y_tape[first // 100]
                                         ... the segment again, with a tape of 100 entries, then backwards

With segments of about sqrt(n) trips a loop of n trips takes memory for 2 sqrt(n) of them, and one more forward pass.
Where that is still too much, segments are cut into segments, at most three times: the memory falls to a higher root at
each level, and each level costs a forward pass.
"""

from __future__ import annotations

import math

from ..records import dataclass


@dataclass(frozen=True, slots=True)
class Cut:
    """Segments of `size` trips, at most `count` of them; what one of them may take."""

    size: int
    count: int
    left: Budget


@dataclass(frozen=True, slots=True)
class Budget:
    """Bytes for the tapes of a loop, and how often the loop has been cut already."""

    memory: int
    cuts: int = 0


DEEPEST = 3  # cuts: each nests a loop in the loop, and CPython takes no more than twenty nested blocks


def cut(trips: int, entry: int, state: int, budget: Budget) -> Cut | None:
    """How a loop of so many trips is cut so that its tapes stay in the budget, or take as little as can be.

    `entry` bytes are kept for the backward pass of one trip, `state` bytes are carried into a segment. None where no
    cut is needed, or none helps.
    """
    memory = budget.memory
    if trips * entry <= memory or trips < 4 or budget.cuts >= DEEPEST:
        return None
    size = min(max(1, math.isqrt(trips * max(state, 1) // entry)), trips // 2)
    if _ceiling(trips, size) * state + size * entry > memory:
        parts = max(2, math.ceil(trips ** (1 / (DEEPEST + 1 - budget.cuts))), memory // (2 * max(state, 1)))
        size = min(_ceiling(trips, parts), trips // 2)
    size = _even(trips, size)
    count = _ceiling(trips, size)
    return Cut(size, count, Budget(max(0, memory - count * state), budget.cuts + 1))


def _even(trips: int, size: int) -> int:
    """A size close to this one that divides the trips, if there is one: no segment is shorter then."""
    near = range(max(1, size * 3 // 4), min(trips // 2, size * 4 // 3) + 1)
    return min((k for k in near if trips % k == 0), key=lambda k: abs(k - size), default=size)


def _ceiling(n: int, d: int) -> int:
    return -(-n // d)
