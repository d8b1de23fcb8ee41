"""Accelerated programs give NumPy's results: values, dtypes, shapes, and the arguments changed in place."""

from __future__ import annotations

import copy
from typing import Any

import kernels_applied
import kernels_dense
import kernels_discrete
import kernels_fields
import kernels_flows
import kernels_signals
import numpy as np
import pytest

from kernels import PROGRAMS
from untraced import accelerate
from untraced.translator import tree

# They add to PROGRAMS.
FILES = (kernels_applied, kernels_dense, kernels_discrete, kernels_fields, kernels_flows, kernels_signals)


def assert_same(ours: Any, expected: Any, what: str) -> None:
    """Equal structure, dtypes, shapes and NaN masks; values within 64 ulp of the largest one.

    The tolerance is for sums in another order.
    """
    our_leaves, our_def = tree.flatten(ours)
    expected_leaves, expected_def = tree.flatten(expected)
    assert our_def == expected_def, what
    for a, b in zip(our_leaves, expected_leaves, strict=True):
        assert type(a) is type(b), f"{what}: {type(a)} is not {type(b)}"
        a, b = np.asarray(a), np.asarray(b)
        assert a.dtype == b.dtype and a.shape == b.shape, f"{what}: {a.dtype}{a.shape} is not {b.dtype}{b.shape}"
        if a.dtype.kind in "fc":
            assert np.array_equal(np.isnan(a), np.isnan(b)), what
            scale = np.nanmax(np.abs(b), initial=1.0)
            assert np.allclose(a, b, rtol=0, atol=64 * np.finfo(a.dtype).eps * scale, equal_nan=True), what
        else:
            assert np.array_equal(a, b), what


@pytest.mark.parametrize("target", ["cpu", "numpy"])
@pytest.mark.parametrize("function, maker", PROGRAMS, ids=[f.__name__ for f, _ in PROGRAMS])
def test_equals_numpy(function: Any, maker: Any, target: str) -> None:
    arguments = maker(np.random.default_rng(0))
    plain_arguments = copy.deepcopy(arguments)
    expected = function(*plain_arguments)
    ours = accelerate(function, target=target)(*arguments)
    assert_same(ours, expected, "result")
    assert_same(arguments, plain_arguments, "arguments after the call")
