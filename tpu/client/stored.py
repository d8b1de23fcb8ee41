"""XLA's compiled programs on disk: loading one takes a hundredth of the time of compiling it.

An entry is found by all that the machine code depends on: the text, the options, this processor and how many of its
cores may be used, XLA's flags and version. Native loops and calls of NumPy are in the text by names that say what they
are; whoever loads the program has registered them. What several processes compile together is not kept.
"""

from __future__ import annotations

import functools
import os
import sys
from contextlib import suppress
from typing import Any

from ...kernels import kept

MOST_BYTES = 1 << 28
_SETTINGS = ("XLA_FLAGS", "NPROC", "PJRT_NPROC")


def compile_or_load(client: Any, text: str, devices: Any, options: Any) -> Any:
    """The loaded executable of a module. Raises RuntimeError, the compiler's message."""
    store = kept.store("programs", MOST_BYTES)
    apart = client.device_count() > client.local_device_count()
    if store is None or apart or sys.platform != "linux":  # elsewhere nothing tells one processor from another
        return client.compile_and_load(text, devices, options)
    entry = store.entry(text, options.SerializeAsString(), str(client.device_count()), *_environment())
    made = store.read(entry)
    if made is not None:
        try:
            return client.deserialize_executable(made, devices, options)
        except RuntimeError:
            with suppress(OSError):
                entry.unlink()  # by an XLA that calls itself as this one does
    program = client.compile_and_load(text, devices, options)
    with suppress(RuntimeError):  # of a program that XLA cannot write down
        store.keep(entry, program.serialize())
    return program


@functools.cache
def _environment() -> tuple[str, ...]:
    from jaxlib.version import __version__

    cores = str(os.cpu_count()), str(len(os.sched_getaffinity(0)))  # by which XLA cuts loops in pieces
    return str(__version__), kept.machine(), *cores, *(os.environ.get(name, "") for name in _SETTINGS)
