"""The namespace `untraced.debug`: printing and callbacks from the middle of a function, under JAX's names.

CPython does both: `accelerate` cuts the function there, and what is around it is compiled. A derivative or a batch, of
which CPython runs no part, leaves them out with a warning.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any


def print(fmt: str, *args: Any, ordered: bool = False, **kwargs: Any) -> None:
    """Prints `fmt.format(*args, **kwargs)`. Calls are always in order, whether `ordered` or not."""
    builtins.print(fmt.format(*args, **kwargs))


def callback(callback: Callable[..., Any], *args: Any, ordered: bool = False, **kwargs: Any) -> None:
    """Calls `callback(*args, **kwargs)`; what it returns is not looked at."""
    callback(*args, **kwargs)


print.__dict__["__untraced_shows__"] = "debug.print"
callback.__dict__["__untraced_shows__"] = "debug.callback"

__all__ = ["callback", "print"]
