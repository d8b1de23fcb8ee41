"""What `untraced.scipy` has no source for is SciPy's own, under the same name.

    untraced.scipy.linalg.hilbert, untraced.scipy.special.fresnel, untraced.scipy.interpolate.CubicSpline, ...

Derivatives, batches and `accelerate` take such a function for what it is: see docs/support.md.
"""

from __future__ import annotations

import functools
import importlib
import types
from collections.abc import Callable
from typing import Any

from ...translator.errors import CutError
from ..arrays.hosted import offered


def scipys_own(module: str) -> Callable[[str], Any]:
    """A `__getattr__` for `untraced.scipy.<module>`: the public names of `scipy.<module>`, where SciPy is installed."""
    face = f"untraced.scipy.{module}"

    def found(name: str) -> Any:
        try:
            theirs = importlib.import_module(f"scipy.{module}")
        except ImportError:
            raise AttributeError(f"module {face!r} has no attribute {name!r}; SciPy is not installed") from None
        if name not in theirs.__all__:
            raise AttributeError(f"module {face!r} has no attribute {name!r}")
        return offered(getattr(theirs, name), face, name)

    return found


def ours_first(function: Any, module: str, name: str) -> Any:
    """NumPy source of a function of SciPy, as the namespace offers it: called under CPython with what the source does
    not cover (other options, a complex root), it is SciPy's own function, where SciPy is installed.
    """
    face = f"untraced.scipy.{module}"
    if hasattr(function, "__untraced_numpy__") or not isinstance(function, types.FunctionType | functools.partial):
        return offered(function, face, name)

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        try:
            return function(*args, **options)
        except (CutError, OverflowError):
            try:
                theirs = importlib.import_module(f"scipy.{module}")
            except ImportError:
                theirs = None
            if not hasattr(theirs, name):
                raise
            return getattr(theirs, name)(*args, **options)

    made = offered(call, face, name)
    made.__untraced_numpy__ = function
    return made
