"""Programs compiled for the alignment of their large arguments in memory: see `shifted.py`.

NumPy's large arrays lie 16 bytes behind a multiple of 64, XLA's results at one. A program is compiled at the first
call, for the places of its arguments, and again for others only when copies into place have taken as long as that did.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .executable import Executable, misplaced

COPIED_BYTES_A_SECOND = 5e9
MOST = 4  # compiled forms of one program


class Placements:
    def __init__(self, positions: Iterable[int], compile: Callable[[Mapping[int, int]], Executable]) -> None:
        """`positions` of arguments that may be shifted; `compile` takes by how many elements those are that are."""
        self._positions = sorted(positions)
        self._compile = compile
        self._made: dict[tuple[int, ...], Executable] = {}
        self._latest: Executable | None = None
        self._seconds = 0.0
        self._copied: Counter[tuple[int, ...]] = Counter()
        self._lock = threading.Lock()

    def executable(self, values: Sequence[Any]) -> Executable:
        """The best for a call with these arguments; what lies elsewhere than it wants it is copied."""
        places = tuple(max(0, misplaced(x)) if type(x := values[k]) is np.ndarray else 0 for k in self._positions)
        found = self._made.get(places)
        return found if found is not None else self._other(places, values)

    def _other(self, places: tuple[int, ...], values: Sequence[Any]) -> Executable:
        with self._lock:
            if self._latest is not None:
                self._copied[places] += sum(np.asarray(values[k]).nbytes for k in self._positions)
                paid = self._copied[places] / COPIED_BYTES_A_SECOND
                if len(self._made) == MOST or paid < self._seconds:
                    return self._latest
            start = time.perf_counter()
            shifts = {k: n for k, n in zip(self._positions, places, strict=True) if n}
            self._latest = self._made[places] = self._compile(shifts)
            self._seconds = time.perf_counter() - start
            return self._latest
