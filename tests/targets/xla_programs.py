"""What the tests of the XLA target share: programs built by hand, run on XLA and by the reference interpreter."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from untraced.tpu.client import executable as client
from untraced.tpu.emit.program import emit
from untraced.translator.builder import Builder
from untraced.translator.evaluate import evaluate
from untraced.translator.ir import Atom, Function, Param, Var, const
from untraced.translator.tree import LEAF, Kind, TreeDef


def program(build: Callable[..., Any], *examples: Any, name: str = "f") -> Function:
    """A function of parameters typed as the examples; `build(b, *params)` returns its results."""
    b = Builder()
    params = [Var("xyzuvw"[k % 6], const(e).aval) for k, e in enumerate(examples)]
    results = build(b, *params)
    atoms: list[Atom] = list(results) if isinstance(results, list | tuple) else [results]
    out = TreeDef(Kind.TUPLE, (LEAF,) * len(atoms))
    return Function(name, tuple(Param(p.hint) for p in params), b.block(params, atoms), out)


def run_xla(function: Function, leaves: Sequence[Any]) -> list[np.ndarray[Any, Any]]:
    return client.compile(emit(function)).run_numpy(leaves)


def tolerance(dtype: np.dtype[Any]) -> float:
    """Some tens of units in the last place: XLA's functions and orders of summation are not NumPy's."""
    if dtype.kind not in "fcV":
        return 0.0
    size = dtype.itemsize // (2 if dtype.kind == "c" else 1)
    if dtype.name == "bfloat16":
        return 2e-2
    return {2: 4e-3, 4: 2e-5, 8: 1e-12}[size]


def assert_same(ours: Any, theirs: Any, rtol: float | None = None) -> None:
    """Equal types, equal NaN masks, values within the tolerance of the dtype."""
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert ours.shape == theirs.shape
    assert ours.dtype == theirs.dtype
    if ours.dtype.kind in "biu":
        np.testing.assert_array_equal(ours, theirs)
        return
    rtol = tolerance(ours.dtype) if rtol is None else rtol
    if ours.dtype.name == "bfloat16":
        ours, theirs = ours.astype(np.float32), theirs.astype(np.float32)
    np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=rtol * 0.1, equal_nan=True)


def check(build: Callable[..., Any], *examples: Any, rtol: float | None = None) -> None:
    """The program on XLA gives what the reference interpreter gives, in writable arrays."""
    function = program(build, *examples)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = evaluate(function, list(examples))
    results = run_xla(function, list(examples))
    assert len(results) == len(expected)
    for ours, theirs in zip(results, expected, strict=True):
        assert ours.flags.writeable
        assert_same(ours, theirs, rtol)
