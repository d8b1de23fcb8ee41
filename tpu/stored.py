"""XLA's compiled programs on disk, where the next process finds them: loading one takes a hundredth of compiling it.

An entry is found by all that the machine code depends on: the text, the options, this processor and how many of its
cores may be used, XLA's flags and version. Native loops and calls of NumPy are in the text by names that say what they
are; whoever loads the program has registered them. What several processes compile together is not kept.
"""

from __future__ import annotations

import functools
import os
import sys
from typing import Any

from ..kernels import kept
from .compiler import machine

MOST_BYTES = 1 << 28


def compile_or_load(client: Any, text: str, devices: Any, options: Any) -> Any:
    """The loaded executable of a module. Raises RuntimeError, the compiler's message."""
    store = kept.store("programs", MOST_BYTES)
    if store is None or client.device_count() > client.local_device_count():
        return client.compile_and_load(text, devices, options)
    entry = store.entry(text, options.SerializeAsString(), str(client.device_count()), *_environment())
    made = store.read(entry)
    if made is not None:
        try:
            return client.deserialize_executable(made, devices, options)
        except RuntimeError:
            entry.unlink(missing_ok=True)  # by an XLA that calls itself as this one does
    program = client.compile_and_load(text, devices, options)
    store.keep(entry, program.serialize())
    return program


@functools.cache
def _environment() -> tuple[str, ...]:
    from jaxlib.version import __version__

    return str(__version__), machine(), str(os.cpu_count()), str(_cores()), os.environ.get("XLA_FLAGS", "")


def _cores() -> int:
    """XLA decides by them which loops it cuts in pieces."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
