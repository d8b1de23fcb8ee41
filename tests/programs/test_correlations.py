"""np.convolve and np.correlate of long arrays: a piece of the result after the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from drawn import Drawn

from untraced import accelerate, grad, vmap

RNG = Drawn(0)
SIZES = [(4096, 6), (4096, 7), (4607, 512), (4608, 513), (5120, 100), (4096, 1024), (4096, 1025), (7, 5000)]


@pytest.mark.parametrize("n, m", SIZES)
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("function", [np.convolve, np.correlate])
def test_equals_numpy(function: Any, mode: str, n: int, m: int) -> None:
    f = lambda a, v: function(a, v, mode)
    a, v = RNG.normal(size=n), RNG.normal(size=m)
    np.testing.assert_allclose(accelerate(f, target="cpu")(a, v), f(a, v), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("kind", [np.float32, np.float16, np.int64, np.uint8, np.complex128, np.bool_])
def test_dtypes(kind: Any) -> None:
    a, v = (RNG.normal(size=4200) * 3).astype(kind), (RNG.normal(size=9) * 3).astype(kind)
    ours, expected = accelerate(np.convolve, target="cpu")(a, v), np.convolve(a, v)
    assert ours.dtype == expected.dtype
    np.testing.assert_allclose(ours, expected, rtol=2e-2 if kind is np.float16 else 1e-5, atol=0.1)


def test_what_is_not_finite_stays_where_it_meets_a_weight() -> None:
    a, v = RNG.normal(size=5000), RNG.normal(size=20)
    a[[0, 2500, 4999]] = np.inf, np.nan, -np.inf
    v[[0, 19]] = np.inf, np.nan
    with np.errstate(invalid="ignore"):
        expected = np.convolve(a, v)
    np.testing.assert_allclose(accelerate(np.convolve, target="cpu")(a, v), expected, rtol=1e-10, atol=1e-10)


def test_derivatives_and_batches_have_no_loop_over_pieces() -> None:
    a, v = RNG.normal(size=4200), RNG.normal(size=9)
    slopes = grad(lambda a, v: np.sum(np.convolve(a, v) ** 2), argnums=1)
    expected = 2 * np.correlate(np.convolve(a, v), a, "valid")[: len(v)]
    np.testing.assert_allclose(accelerate(slopes, target="cpu")(a, v), expected, rtol=1e-10)
    assert "512" not in slopes.source(a, v)
    both = accelerate(vmap(np.convolve), target="cpu")(np.stack([a, 2 * a]), np.stack([v, v]))
    np.testing.assert_allclose(both, np.stack([np.convolve(a, v), np.convolve(2 * a, v)]), rtol=1e-9, atol=1e-9)
