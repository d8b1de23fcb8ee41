"""A backend that runs generated CUDA kernels on the host: compiled by g++ behind `host_prelude.h`, on NumPy arrays."""

from __future__ import annotations

import ctypes
import hashlib
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from untraced.kernels.backend import Backend
from untraced.kernels.launch import packs_by_four
from untraced.kernels.program import Launch, Program

FLAGS = ("-O1", "-std=c++17", "-fPIC", "-shared", "-ffp-contract=off", "-w", "-x", "c++")


class HostCuda(Backend):
    """Launches CUDA kernels on NumPy arrays; every source is compiled once."""

    language = "cuda"
    xp = np

    def __init__(self) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="untraced-host-")
        self.libraries: dict[str, ctypes.CDLL] = {}
        self.packed_launches = 0

    def library(self, program: Program) -> ctypes.CDLL:
        if program.source not in self.libraries:
            path = Path(self.folder.name) / hashlib.sha1(program.source.encode()).hexdigest()
            names = [n for n in (program.name, f"{program.name}_by4") if f" {n}(" in program.source]
            exports = "".join(f"HOST_KERNEL({n})\n" for n in names)
            text = f'#include "host_prelude.h"\n{program.source}\n{exports}'
            source = path.with_suffix(".cu")
            source.write_text(text)
            command = ["g++", *FLAGS, f"-I{Path(__file__).parent}", str(source), "-o", str(path.with_suffix(".so"))]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, f"{done.stderr}\n{program.source}"
            self.libraries[program.source] = ctypes.CDLL(str(path.with_suffix(".so")))
        return self.libraries[program.source]

    def launch(self, launch: Launch, arguments: Sequence[Any]) -> None:
        program = launch.program
        library = self.library(program)
        by4 = packs_by_four(launch, [a.ctypes.data for a in arguments if isinstance(a, np.ndarray)])
        self.packed_launches += by4
        function = getattr(library, f"run_{program.name}{'_by4' if by4 else ''}")
        cells = [
            np.array([a.ctypes.data], np.uint64) if isinstance(a, np.ndarray) else np.array([a]) for a in arguments
        ]
        pointers = (ctypes.c_void_p * len(cells))(*(c.ctypes.data for c in cells))
        grid = (ctypes.c_uint * 2)(*launch.grid)
        meets = "__syncthreads" in program.source or "__shfl" in program.source
        assert function(grid, ctypes.c_uint(launch.block), pointers, int(meets)) == 0, (
            f"a barrier never met\n{program.source}"
        )
