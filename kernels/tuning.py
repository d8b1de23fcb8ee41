"""Schedules found by trying: how many warps, or threads, a block of a kernel has; kept on disk between processes.

Asked for by UNTRACED_AUTOTUNE: 1, or the folder to keep them in. One file an entry, named after what it is for: the
device, the kernel's source and constants, and a size class (the power of two of its grid). An entry is written beside
its place and moved there, so that processes which tune at the same time find whole entries or none; what is no entry
of the expected form is tuned anew. Sums may differ in their last bits between schedules, as their order does.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from .program import Launch

FORMAT = 1  # of the entries, and of what `choices` mean


def folder() -> Path | None:
    """Where schedules are kept; None where nobody asked for them."""
    wanted = os.environ.get("UNTRACED_AUTOTUNE", "0")
    if wanted in ("", "0"):
        return None
    if wanted != "1":
        return Path(wanted)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "untraced" / "schedules"


def tuned(launch: Launch, device: str, seconds: Callable[[Launch], float]) -> Launch:
    """The launch with the fastest of its choices. `seconds` runs one; it is asked where nothing is kept."""
    where = folder()
    if where is None or len(launch.choices) < 2:
        return launch
    entry = where / f"{_key(launch, device)}.json"
    known = _read(entry)
    if known not in launch.choices:
        known = min(launch.choices, key=lambda choice: seconds(with_choice(launch, choice)))
        _write(entry, known)
    return with_choice(launch, known)


def with_choice(launch: Launch, choice: int) -> Launch:
    """With so many warps (Triton), or threads (CUDA), in a block."""
    if launch.program.language == "triton":
        return replace(launch, program=replace(launch.program, num_warps=choice))
    return replace(launch, block=choice)


def _key(launch: Launch, device: str) -> str:
    program = launch.program
    size = (launch.grid[0] * launch.grid[1]).bit_length()
    told = [FORMAT, device, program.language, program.source, program.constants, launch.choices, size]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()


def _read(entry: Path) -> int | None:
    """The choice that is kept; None where there is none, or what is there is none."""
    try:
        found = json.loads(entry.read_text())
    except (OSError, ValueError):
        return None
    choice = found.get("choice") if isinstance(found, dict) else None
    return choice if type(choice) is int else None


def _write(entry: Path, choice: int) -> None:
    """A folder that cannot be written costs the trials of the next process, and a warning."""
    try:
        entry.parent.mkdir(parents=True, exist_ok=True)
        handle, beside = tempfile.mkstemp(dir=entry.parent, suffix=".part")
        try:
            with os.fdopen(handle, "w") as file:
                json.dump({"choice": choice}, file)
            os.replace(beside, entry)
        finally:
            Path(beside).unlink(missing_ok=True)
    except OSError as error:
        warnings.warn(f"schedules of kernels cannot be kept in {entry.parent}: {error}", RuntimeWarning, stacklevel=2)
