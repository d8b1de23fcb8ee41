"""Translating without Python's garbage collector.

A translation, and the import of the translator before the first one, makes objects by the hundred thousand. Their
number calls the collector again and again, which finds nothing: they are kept, or freed by their reference counts. It
was a tenth of the time, and an eighth of that to a first result.
"""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_depth = 0  # translations that are being made, in all threads, since the collector was stopped for one


@contextmanager
def uncollected() -> Iterator[None]:
    """Stops the collector, and starts it again where it ran before."""
    global _depth
    with _lock:
        stopping = _depth > 0 or gc.isenabled()
        if stopping:
            _depth += 1
            gc.disable()
    try:
        yield
    finally:
        with _lock:
            _depth -= stopping
            if stopping and not _depth:
                gc.enable()


def _in_child() -> None:
    """After os.fork: the other threads, and what they translated, are gone."""
    global _lock, _depth
    _lock = threading.Lock()
    if _depth:
        _depth = 0
        gc.enable()


os.register_at_fork(after_in_child=_in_child)
