"""Memory for what XLA holds between its kernels, kept from call to call.

XLA asks the C library for one block that holds all temporaries of a program, and gives it back when the program ends.
A block of more than 32 MB comes from the kernel each time and goes back to it, so each call maps it anew, page by page
of 4 kB: of three steps of a stencil over 64 MB that takes three quarters of the time (216 ms, 48 without). While such a
program runs the C library takes memory from its heap instead, and it keeps up to `KEPT` free bytes at the heap's end.

Only glibc can be told so, and only for memory that the main thread asks for: elsewhere nothing changes.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from ...translator.settings import switch

KEPT = 1 << 28
"""Bytes of a program's temporaries that are kept, at most."""
MAPPED = 1 << 25  # bytes of a block from which glibc asks the kernel for it: the most that it can be told
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_MMAP_MAX = -1, -3, -4  # of malloc.h
_MMAP_MAX = 1 << 16  # blocks, as glibc has it


def worth_keeping(size: int) -> bool:
    """Whether temporaries of so many bytes would be mapped anew at each call, and can be kept."""
    return MAPPED <= size <= KEPT and _mallopt() is not None


@contextmanager
def keeping() -> Iterator[None]:
    """Take what is asked for from the heap."""
    mallopt = _mallopt()
    if mallopt is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    mallopt(_M_MMAP_MAX, 0)
    try:
        yield
    finally:
        mallopt(_M_MMAP_MAX, _MMAP_MAX)


@cache
def _mallopt() -> Any:
    """glibc's function, told how much to keep; None where there is none."""
    library = ctypes.CDLL(None)
    if not switch("UNTRACED_KEEP_MEMORY", True) or not hasattr(library, "gnu_get_libc_version"):
        return None
    mallopt = library.mallopt
    mallopt(_M_MMAP_THRESHOLD, MAPPED)  # where it is after the first large arrays in any case
    mallopt(_M_TRIM_THRESHOLD, KEPT)
    return mallopt
