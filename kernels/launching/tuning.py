"""Autotuning: the number of warps or threads of a block, found by trying, and kept on disk.

Asked for by UNTRACED_AUTOTUNE: 1, or the folder to keep them in. One file an entry, named after what it is for: the
device, the kernel's source and constants, and a size class (the power of two of its grid). What is no entry of the
expected form is tuned anew. Sums may differ in their last bits between schedules, as their order does.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from .. import kept
from ..kept import Store
from ..program import Launch

MOST_BYTES = 1 << 22


def store() -> Store | None:
    """The folder of schedules; None where nobody has asked for them."""
    wanted = os.environ.get("UNTRACED_AUTOTUNE", "0")
    if wanted in ("", "0"):
        return None
    if wanted != "1":
        return kept.at(Path(wanted), MOST_BYTES)
    told = "schedules", MOST_BYTES
    return kept.store(*told) or kept.temporary(*told)


def tuned(launch: Launch, device: str, seconds: Callable[[Launch], float]) -> Launch:
    """The launch with the fastest of its choices. `seconds` runs one; it is asked where nothing is kept."""
    where = store()
    if where is None or len(launch.choices) < 2:
        return launch
    entry = where.entry(*_told(launch, device))
    known = _choice(where.read(entry))
    if known not in launch.choices:
        known = min(launch.choices, key=lambda choice: seconds(with_choice(launch, choice)))
        where.keep(entry, str(known).encode())
    return with_choice(launch, known)


def with_choice(launch: Launch, choice: int) -> Launch:
    """The launch with so many warps (Triton), or threads (CUDA), in a block."""
    if launch.program.language == "triton":
        return replace(launch, program=replace(launch.program, num_warps=choice))
    return replace(launch, block=choice)


def _told(launch: Launch, device: str) -> tuple[str, ...]:
    program = launch.program
    size = (launch.grid[0] * launch.grid[1]).bit_length()
    return device, program.language, program.source, repr(program.constants), repr(launch.choices), str(size)


def _choice(entry: bytes | None) -> int | None:
    """None where there is none, or what is there is none."""
    return int(entry) if entry is not None and entry.isdigit() else None
