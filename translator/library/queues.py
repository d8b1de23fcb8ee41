"""collections.deque as a list, for derivatives and batches: what CPython has is compiled code."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

import numpy as np

from .support import known


class Deque:
    """The elements from left to right, at most `maxlen` of them: one more at one end pushes out one at the other."""

    __untraced_class__ = collections.deque

    def __init__(self, iterable: Any, maxlen: Any) -> None:
        self.items: Any = []
        self.maxlen = maxlen
        self.extend(iterable)

    def append(self, x: Any) -> None:
        if self.maxlen != 0:
            self.items.append(x)
        if self.maxlen is not None and len(self.items) > self.maxlen:
            del self.items[0]

    def appendleft(self, x: Any) -> None:
        if self.maxlen != 0:
            self.items.insert(0, x)
        if self.maxlen is not None and len(self.items) > self.maxlen:
            del self.items[-1]

    def extend(self, iterable: Any) -> None:
        for x in list(iterable):
            self.append(x)

    def extendleft(self, iterable: Any) -> None:
        for x in list(iterable):
            self.appendleft(x)

    def pop(self) -> Any:
        self._check("pop")
        return self.items.pop()

    def popleft(self) -> Any:
        self._check("pop")
        return self.items.pop(0)

    def _check(self, verb: Any) -> None:
        if len(self.items) == 0:
            raise IndexError(f"{verb} from an empty deque")

    def rotate(self, n: Any = 1) -> None:
        count = len(self.items)
        if count > 1:
            cut = -known(n) % count
            self.items[:] = self.items[cut:] + self.items[:cut]

    def clear(self) -> None:
        self.items.clear()

    def copy(self) -> Any:
        return Deque(self.items, self.maxlen)

    def insert(self, i: Any, x: Any) -> None:
        if self.maxlen is not None and len(self.items) >= self.maxlen:
            raise IndexError("deque already at its maximum size")
        self.items.insert(i, x)

    def reverse(self) -> None:
        self.items.reverse()

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Any:
        return iter(self.items)

    def __getitem__(self, i: Any) -> Any:
        return self.items[i]

    def __setitem__(self, i: Any, x: Any) -> None:
        self.items[i] = x

    def __delitem__(self, i: Any) -> None:
        del self.items[i]

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array(self.items, dtype=dtype)

    def __iadd__(self, iterable: Any) -> Any:
        self.extend(iterable)
        return self


def deque(iterable: Any = (), maxlen: Any = None) -> Any:
    return Deque(iterable, known(maxlen))


TRANSFORMED: dict[Any, Callable[..., Any]] = {collections.deque: deque}
