"""`untraced.numpy.vectorize`: np.vectorize of functions that may be written for JAX, in Arrays.

    @partial(unp.vectorize, signature="(n),(n)->(n)")
    def cross(a, b):
        return unp.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ...translator.tree import tree_map
from .. import above
from ..arrays.array import Array
from ..arrays.hosted import lifted


def vectorize(
    pyfunc: Callable[..., Any],
    otypes: Any = None,
    doc: str | None = None,
    excluded: Any = None,
    cache: bool = False,
    signature: str | None = None,
) -> Callable[..., Any]:
    """np.vectorize(pyfunc, ...). With Arrays among its arguments the function is accelerated and gives Arrays."""
    options = {"otypes": otypes, "doc": doc, "excluded": excluded, "cache": cache, "signature": signature}
    kept = np.vectorize(pyfunc, **options)
    hosted = np.vectorize(_on_host(pyfunc), **options)
    compiled = functools.cache(lambda: above.accelerate(kept))

    @functools.wraps(pyfunc)
    def call(*args: Any, **kwargs: Any) -> Any:
        if Array in map(type, (*args, *kwargs.values())):
            return compiled()(*args, **kwargs)
        return lifted(hosted(*args, **kwargs))

    vars(call).update(__untraced_numpy__=kept, __doc__=doc or pyfunc.__doc__)
    return call


vectorize.__dict__["__untraced_numpy__"] = np.vectorize


def _on_host(pyfunc: Callable[..., Any]) -> Callable[..., Any]:
    """The function of what NumPy gives it, as JAX's arrays; its Arrays are NumPy's, which go into others."""

    @functools.wraps(pyfunc)
    def call(*args: Any, **kwargs: Any) -> Any:
        found = pyfunc(*map(lifted, args), **{name: lifted(x) for name, x in kwargs.items()})
        return tree_map(lambda x: np.asarray(x) if type(x) is Array else x, found)

    return call
