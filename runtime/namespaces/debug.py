"""The namespace `untraced.debug`: printing and callbacks from the middle of a function, under JAX's names.

CPython does both: `accelerate` cuts the function there, and what is around it is compiled. A derivative or a batch, of
which CPython runs no part, leaves them out with a warning.
"""

from __future__ import annotations

import builtins
import pdb
import sys
from collections.abc import Callable
from typing import Any


def print(fmt: str, *args: Any, ordered: bool = False, **kwargs: Any) -> None:
    """Prints `fmt.format(*args, **kwargs)`. Calls are always in order, whether `ordered` or not."""
    builtins.print(fmt.format(*args, **kwargs))


def callback(callback: Callable[..., Any], *args: Any, ordered: bool = False, **kwargs: Any) -> None:
    """Calls `callback(*args, **kwargs)`; what it returns is not looked at."""
    callback(*args, **kwargs)


def breakpoint(*, backend: str | None = None, num_frames: int = 16, ordered: bool = False, **options: Any) -> None:
    """Stops in Python's debugger, with the arguments and variables of the caller. ValueError for another `backend`."""
    if backend not in (None, "cli"):
        raise ValueError(f'debug.breakpoint: the debugger is Python\'s, backend="cli", not {backend!r}')
    frame = sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith(_PACKAGE):
        frame = frame.f_back  # what runs a function in pieces stands between
    pdb.Pdb().set_trace(frame)


_PACKAGE = __name__.partition(".")[0] + "."


print.__dict__["__untraced_shows__"] = "debug.print"
callback.__dict__["__untraced_shows__"] = "debug.callback"
breakpoint.__dict__["__untraced_shows__"] = "debug.breakpoint"

__all__ = ["breakpoint", "callback", "print"]
