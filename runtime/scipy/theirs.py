"""What `untraced.scipy` has no source for is SciPy's own, under the same name.

    untraced.scipy.linalg.hilbert, untraced.scipy.special.fresnel, untraced.scipy.interpolate.CubicSpline, ...

Derivatives, batches and `accelerate` take such a function for what it is: see docs/support.md.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

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
