"""The precision of random numbers whose dtype is None: 32 or 64 bits, which decides what numbers are drawn.

JAX's switch `jax_enable_x64` decides, so that a script gets the numbers that it got there: float32 and int32 without
it, float64 and int64 with it. The switch is what `untraced.config` was told; else that of JAX, where the process has
loaded it too; else the environment's JAX_ENABLE_X64.
"""

from __future__ import annotations

import os
import sys


class Precision:
    """`x64` is looked up at each question: programs that asked are guarded by the answer."""

    def __init__(self) -> None:
        self.told: bool | None = None

    def __getattr__(self, name: str) -> bool:
        if name != "x64":
            raise AttributeError(name)
        if self.told is not None:
            return self.told
        theirs = getattr(sys.modules.get("jax._src.config"), "enable_x64", None)
        if theirs is not None:
            return bool(theirs.value)
        return os.environ.get("JAX_ENABLE_X64", "").lower() in ("1", "true", "t", "yes", "y", "on")


PRECISION = Precision()
