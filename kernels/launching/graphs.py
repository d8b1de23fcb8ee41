"""A loop of kernel launches as a CUDA graph, captured by CuPy."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from .arrays import is_host


class Graph:
    """A CUDA graph of all that `loop(*values)` enqueues. Numbers are part of it; arrays are copied into its own.

    Addresses in a graph stay what they were: all that the loop allocates lies in a pool of the graph's own, which one
    run fills before the capture, so that capturing allocates nothing. Calls share these arrays, hence each call waits,
    on the device, for the one before; in one thread at a time. Arrays are in C order, as the copies are.
    """

    def __init__(self, cupy: Any, loop: Callable[..., tuple[Any, ...]], values: Sequence[Any]) -> None:
        self.cupy = cupy
        self.pool = cupy.cuda.MemoryPool()
        stream = cupy.cuda.Stream(non_blocking=True)
        current = cupy.cuda.get_current_stream()
        stream.wait_event(current.record())
        with stream, cupy.cuda.using_allocator(self.pool.malloc):
            self.arguments = [x if is_host(x) else cupy.array(x, order="C") for x in values]
            loop(*self.arguments)
            stream.synchronize()
            stream.begin_capture()
            try:
                self.results = loop(*self.arguments)
            finally:
                self.graph = stream.end_capture()
        self.done = current.record()
        self.lock = threading.Lock()

    def __call__(self, values: Sequence[Any]) -> tuple[Any, ...]:
        with self.lock:
            stream = self.cupy.cuda.get_current_stream()
            stream.wait_event(self.done)
            for mine, x in zip(self.arguments, values, strict=True):
                if not is_host(x):
                    mine[...] = x
            try:
                self.graph.launch(stream)
                return tuple(x if is_host(x) else self.cupy.array(x, order="C") for x in self.results)
            finally:
                self.done = stream.record()
