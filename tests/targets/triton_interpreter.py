"""A backend that runs generated Triton kernels in Triton's interpreter, in a process of its own, on NumPy arrays.

Compiling and interpreting do not go together in one process, and an address out of bounds ends the interpreter's: hence
the child. It reads pickled requests from its standard input and answers on its standard output.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from host_cuda import HostCuda

from untraced.kernels.launching.backend import Backend
from untraced.kernels.program import Launch

CHILD = os.path.join(os.path.dirname(__file__), "triton_interpreter_child.py")


class TritonInterpreter(Backend):
    """Launches Triton kernels on NumPy arrays, and the CUDA kernels beside them."""

    language = "triton"
    xp = np

    def __init__(self) -> None:
        self.child: subprocess.Popen[bytes] | None = None
        self.cuda = HostCuda()

    def start(self) -> subprocess.Popen[bytes]:
        if self.child is None or self.child.poll() is not None:
            environment = {**os.environ, "TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"}
            pipe = subprocess.PIPE
            self.child = subprocess.Popen([sys.executable, CHILD], stdin=pipe, stdout=pipe, env=environment)
        return self.child

    def launch(self, launch: Launch, arguments: Sequence[Any]) -> None:
        if launch.program.language == "cuda":  # a loop
            self.cuda.launch(launch, arguments)
            return
        child = self.start()
        assert child.stdin is not None and child.stdout is not None
        program = launch.program
        sent = [_memory(a) if isinstance(a, np.ndarray) else a for a in arguments]
        stored = [a.role in ("out", "partial") for a in launch.arguments]
        pickle.dump((program.name, program.source, dict(program.constants), launch.grid, sent, stored), child.stdin)
        child.stdin.flush()
        try:
            answer = pickle.load(child.stdout)
        except EOFError:
            raise AssertionError(f"the interpreter died (an address out of bounds?) in\n{program.source}") from None
        assert not isinstance(answer, str), f"{answer}\n{program.source}"
        written = [k for k, a in enumerate(launch.arguments) if a.role in ("out", "partial")]
        for k, buffer in zip(written, (answer[k] for k in written), strict=True):
            held, first = arguments[k], sent[k][2] // arguments[k].itemsize
            memory = np.frombuffer(buffer, held.dtype, len(buffer) // held.itemsize)[first:]
            held[...] = np.lib.stride_tricks.as_strided(memory, held.shape, held.strides)

    def close(self) -> None:
        if self.child is not None and self.child.stdin is not None:
            self.child.stdin.close()
            self.child.wait()


def _memory(a: np.ndarray[Any, Any]) -> tuple[str, bytes, int]:
    """An array's dtype, all the memory that its strides reach, and where in it its first element lies."""
    low, high = np.lib.array_utils.byte_bounds(a)
    here = a.__array_interface__["data"][0]
    if a.size == 0 or a.flags.c_contiguous:
        return a.dtype.name, a.tobytes(), 0
    import ctypes

    return a.dtype.name, ctypes.string_at(low, high - low), here - low
