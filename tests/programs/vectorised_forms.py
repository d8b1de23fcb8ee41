"""What became of the loops of a function, with a look whether it does what NumPy does."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from untraced import accelerate


def same(got: Any, want: Any, exact: bool = False) -> None:
    if want is None:
        assert got is None
        return
    if isinstance(want, tuple):
        assert isinstance(got, tuple)
        for g, w in zip(got, want, strict=True):
            same(g, w, exact)
        return
    g, w = np.asarray(got), np.asarray(want)
    assert g.dtype == w.dtype
    np.testing.assert_allclose(g, w, rtol=0 if exact else 1e-12, atol=0 if exact else 1e-12)


def forms(fun: Callable[..., Any], *args: Any, target: str = "numpy") -> list[str]:
    """What became of each loop, outermost last."""
    inspection = accelerate(fun, target=target).inspect(*copy.deepcopy(args), compile=False)
    return [note.form for note in inspection.loops]


def run(fun: Callable[..., Any], *args: Any, target: str = "numpy", exact: bool = True) -> str:
    """The accelerated function does what the function does; the form of its outermost loop."""
    theirs, ours = copy.deepcopy(args), copy.deepcopy(args)
    same(accelerate(fun, target=target)(*ours), fun(*theirs), exact)
    same(ours, theirs, exact)
    return forms(fun, *args, target=target)[-1]
