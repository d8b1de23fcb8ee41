"""Whether compiling a region pays: a region is translated once NumPy has spent as long on it, with arguments of that
size, as a translation takes. Sizes are counted apart, since a translation for one does not serve the others.

So a program that is cut never takes much more than twice NumPy's time, however its regions are called. What is plainly
worth it is compiled at once; what turns out slower than NumPy goes back to NumPy.
"""

from __future__ import annotations

import math
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from time import perf_counter
from typing import Any

PLAINLY = 1_000_000
"""Operations times elements from which a region is compiled at its first call: about a millisecond of NumPy's."""
_PRICE = 0.1  # seconds that a translation takes, as long as none was made
_TRIAL = 10
_ASKED = 2  # calls
SHORT_CALL = 2e-4  # seconds in which compiled code makes no more turns of a loop than Python can make without harm
_IN_VAIN = 10  # prices that a translation costs where the ones before it met no further call
_COMPILED_CALL = 1e-5  # seconds that a call of what is compiled takes, whatever it computes
_OFTEN = 100  # calls


class _Accounted(threading.local):
    """What all ledgers' translations and calls have taken in this thread: no part of what the statements around them
    take. Another thread's are not inside them.
    """

    seconds = 0.0


_accounted = _Accounted()


class Ledger:
    """The account of one region, or of a function that is called with arguments of ever new kinds.

    `work` counts its operations; `at_once` translations may be made without savings. `longest`: how long a compiled
    call may take for NumPy to be asked what it takes. `size` is that of a call, see `size_of`.
    """

    def __init__(self, work: float, at_once: int, longest: float = 0.0) -> None:
        self._work = work
        self._longest = longest
        self._at_once = at_once
        self._price = _PRICE
        self._saved: defaultdict[int, float] = defaultdict(float)  # by size
        self._numpy: dict[int, Timing] = {}  # by size
        self._compiled: defaultdict[int, Timing] = defaultdict(Timing)
        self._compiled_in_vain: set[int] = set()
        self._misses = 0  # calls since one met a translation
        self._calls, self._spent = 0, 0.0  # by NumPy, since it was last said to be little

    def allows(self, size: int) -> bool:
        """Whether a translation for arguments of this size may be made now."""
        plainly = self._at_once > 0 and self._work * max(size, 1) >= PLAINLY
        saved = self._saved.get(size, 0.0) >= self._price
        return (saved or plainly) and size not in self._compiled_in_vain

    def looks(self, size: int) -> bool:
        """Whether it pays to find out what kind the arguments are: of a list that grows that takes ever longer, and
        no call is of a kind that was there before.
        """
        return self._misses < _TRIAL or self.allows(size)

    def met(self) -> None:
        """A call was of a kind that is translated."""
        self._misses = 0

    def missed(self) -> None:
        """A call was of no such kind."""
        self._misses += 1

    def run(self, size: int, function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """A call of the statements as they are, which saves what it takes."""
        start, accounted = perf_counter(), _accounted.seconds
        try:
            return function(*args, **kwargs)
        finally:
            elapsed = max(perf_counter() - start - (_accounted.seconds - accounted), 0.0)
            _accounted.seconds += elapsed
            self._saved[size] += elapsed
            self._calls += 1
            self._spent += elapsed
            self._numpy.setdefault(size, Timing()).add(elapsed)

    def is_little(self) -> bool:
        """Whether many calls have shown that the statements take less than any call of a region; said once for them."""
        if self._calls < _OFTEN:
            return False
        little = self._spent < self._calls * _COMPILED_CALL
        self._calls, self._spent = 0, 0.0
        return little

    def translate(self, size: int, make: Callable[[], Any]) -> Any:
        """A translation for arguments of this size, which is paid for."""
        if self._saved.get(size, 0.0) < self._price:
            self._at_once -= 1
        self._saved[size] = 0.0
        start = perf_counter()
        try:
            return make()
        finally:
            elapsed = perf_counter() - start
            self._price = elapsed * (1 if self._misses < _TRIAL else _IN_VAIN)
            _accounted.seconds += elapsed

    def asks_numpy(self, size: int) -> bool:
        """Whether a call is NumPy's only to learn what it takes: what was compiled at once was never compared."""
        known = self._numpy.get(size)
        if not self._longest or (known is not None and known.count >= _ASKED):
            return False
        compiled = self._compiled[size]
        return self._longest == math.inf or (compiled.count >= _ASKED and compiled.least < self._longest)

    def on_trial(self, size: int) -> bool:
        """Whether compiled calls of this size are still compared with NumPy's."""
        return bool(self._longest or size in self._numpy) and self._compiled[size].count < _TRIAL

    def try_out(self, size: int, run: Callable[[], Any]) -> Any:
        """One of those calls."""
        start = perf_counter()
        result = run()
        self._compiled[size].add(perf_counter() - start)
        return result

    def is_slower(self, size: int) -> bool:
        """Whether compiled calls have shown to be slower than NumPy's were."""
        compiled, numpy = self._compiled[size], self._numpy.get(size)
        slower = numpy is not None and compiled.count == _TRIAL and compiled.least > numpy.least
        if slower:
            self._compiled_in_vain.add(size)
        return slower


class Timing:
    """The times of calls that do the same: the least is what they take, the rest is due to the machine."""

    __slots__ = ("count", "least")

    def __init__(self) -> None:
        self.count, self.least = 0, float("inf")

    def add(self, seconds: float) -> None:
        self.count += 1
        self.least = min(self.least, seconds)


def size_of(values: Iterable[Any]) -> int:
    """Elements in all. A `size` of the user's objects and classes may be anything."""
    return sum([x.size if hasattr(type(x), "size") and type(x.size) is int else 1 for x in values])
