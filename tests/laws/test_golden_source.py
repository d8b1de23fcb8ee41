"""Printed source, kept in files to be read in review: `pytest --update-golden` writes them anew."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import batched_algorithms  # noqa: F401  (adds to BATCHED)
import numpy as np
import pytest
from batched_programs import BATCHED, Batched
from derivative_programs import GRADIENTS
from laws_helpers import check_l2, read_program
from programs import PROGRAMS, Example

from untraced import accelerate, grad, tree, vmap
from untraced.translator.derive.reverse import vjp
from untraced.translator.passes.simplify import simplify
from untraced.translator.precision import PRECISION
from untraced.translator.printing.printer import print_module

DERIVED = (
    "square_loss",
    "two_layers",
    "layer_norm",
    "heat_step",
    "running_maximum",
    "triangular_solve",
    "power_iteration",
)
NAMES = (
    "square_loss",
    "decay",
    "two_layers",
    "attention",
    "heat_step",
    "double_buffer",
    "in_place",
    "newton_sqrt",
    "clipped_step",
    "through_a_view",
    "windows",
    "leapfrog",
    "histogram",
)


@pytest.mark.parametrize("example", [e for e in PROGRAMS if e.fun.__name__ in NAMES], ids=repr)
def test_printed_source(example: Example, golden: Callable[[str, str], None]) -> None:
    function, _ = read_program(example.fun, example.args)
    golden(f"{example}.py", print_module(simplify(function)))


@pytest.mark.parametrize("example", [e for e in PROGRAMS if e.fun.__name__ in DERIVED], ids=repr)
def test_printed_derivatives(example: Example, golden: Callable[[str, str], None]) -> None:
    function, _ = read_program(example.fun, example.args)
    derivative = simplify(vjp(function, [0]))
    text = re.sub(r"from line (\d+)", "from line ..", print_module(derivative, comments=True))
    golden(f"{example}_vjp.py", text)


@pytest.mark.parametrize(("fun", "args"), GRADIENTS, ids=lambda v: getattr(v, "__name__", ""))
def test_printed_gradients(
    fun: Callable[..., Any], args: tuple[Any, ...], golden: Callable[[str, str], None]
) -> None:
    source = grad(fun).source(*args)
    golden(f"{fun.__name__}_grad.py", re.sub(r"from line (\d+)", "from line ..", source))
    scope: dict[str, Any] = {"np": np}
    exec(source, scope)
    got, want = scope[f"{fun.__name__}_grad"](*args), grad(fun)(*args)
    for g, w in zip(tree.leaves(got), tree.leaves(want), strict=True):
        np.testing.assert_array_equal(g, w)


@pytest.mark.parametrize("case", BATCHED, ids=lambda c: c.fun.__name__)
def test_printed_batches(
    case: Batched, golden: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PRECISION, "told", False)  # draws are of 32 bits, whatever JAX's oracle has been told elsewhere
    many = vmap(case.fun, in_axes=case.in_axes, out_axes=case.out_axes, lanes=case.lanes)
    seen = many.inspect(*case.args, compile=False)
    golden(f"batched/{case.fun.__name__}.py", re.sub(r"from line (\d+)", "from line ..", seen.source))
    check_l2(seen.stages.functions["simplify"], case.args)
    want = _one_by_one(case)
    for got in (many(*case.args), accelerate(many)(*case.args)):
        for g, w in zip(tree.leaves(got), want, strict=True):
            np.testing.assert_allclose(g, w, rtol=1e-12, atol=1e-12)


def _one_by_one(case: Batched) -> list[Any]:
    axes = case.in_axes if isinstance(case.in_axes, tuple) else (case.in_axes,) * len(case.args)
    size = next(tree.leaves(a)[0].shape[axis] for a, axis in zip(case.args, axes, strict=True) if axis is not None)
    results = []
    for i in range(size):
        one = [
            a if axis is None else tree.map(lambda x, axis=axis, i=i: np.take(x, i, axis), a)
            for a, axis in zip(case.args, axes, strict=True)
        ]
        results.append(tree.leaves(case.fun(*one)))
    return [np.stack(leaf, case.out_axes) for leaf in zip(*results, strict=True)]
