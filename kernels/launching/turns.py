"""Loops of the host source that do not wait for the device: `while` asked after several turns, `for` as one graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...translator.reading.text.signature import value_key
from .arrays import is_host
from .backend import Backend, Recording

AHEAD = 8  # turns that are enqueued before the device is asked
KEPT = 1 << 28  # bytes of the states that are kept till it has answered
CHEAP = 1 << 26  # bytes that a turn moves: more take longer than an answer, so nothing is gained by going ahead
RECORDED = 1 << 26  # bytes of a graph's arguments and results, which are copied at every call
FEWEST, MOST = 8, 4096  # kernels of a graph
GRAPHS = 8  # of one loop: for other numbers it is recorded anew

Carried = tuple[Any, ...]


def turning(backend: Backend) -> Callable[..., Carried]:
    """`while going(*carried): carried = turn(*carried)` for a condition that the device computes.

    Asking waits for all that was enqueued, so some turns are done ahead, at most a quarter of those that were needed;
    the state in which the condition first fails is the result. `turn` must leave what it is given as it is.
    """

    def turns(going: Callable[..., Any], turn: Callable[..., Carried], *carried: Any) -> Carried:
        size = sum(x.nbytes for x in carried if not is_host(x))
        most = max(1, min(AHEAD, KEPT // max(size, 1)))
        states, flags, done = [carried], [going(*carried)], 0
        while True:
            for state, goes in zip(states, backend.truths(flags), strict=True):
                if not goes:
                    return state
            carried, done = states[-1], done + len(states)
            states, flags = [], []
            for _ in range(min(most, 1 + done // 4)):
                carried = turn(*carried)
                states.append(carried)
                flags.append(going(*carried))
                if is_host(flags[-1]) and not flags[-1]:
                    break

    return turns


class Recorder:
    """A loop of kernels alone, recorded as a graph when it comes again with the same numbers.

    `launches`: kernels of one turn. What a graph gives is compared once with what the loop gives, to the bit.
    """

    def __init__(self, backend: Backend, launches: int) -> None:
        self.backend = backend
        self.launches = launches
        self.known: dict[Any, Recording | None] = {}
        self.seen: set[Any] = set()

    def __call__(self, turns: range, loop: Callable[..., Carried], *values: Any) -> Carried:
        if not FEWEST <= len(turns) * self.launches <= MOST or not _in_order(values):
            return loop(*values)
        key = (self.backend.place(), *(value_key(x) if is_host(x) else None for x in values))
        if key in self.known:
            recording = self.known[key]
            return loop(*values) if recording is None else recording(values)
        if key not in self.seen:
            if len(self.seen) < 8 * GRAPHS:
                self.seen.add(key)
            return loop(*values)
        recording = self.backend.record(loop, values) if len(self.known) < GRAPHS else None
        if recording is None:
            self.known[key] = None
            return loop(*values)
        found = recording(values)
        expected = loop(*values)  # the last to see the values, which it may write
        agree = _in_order(expected) and all(self.backend.same(a, b) for a, b in zip(found, expected, strict=True))
        self.known[key] = recording if agree else None
        return expected


def _in_order(values: Carried) -> bool:
    """Whether arrays lie as a graph's own do: its kernels, and those that take its results, go by their strides."""
    return all(is_host(x) or x.flags.c_contiguous for x in values)
