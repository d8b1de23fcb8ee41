"""What is joined of pieces that kernels make is written once, in its place: `launching/pieces.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from translating import translated

from untraced.kernels.launching.executor import GpuExecutor, driver_of, kernels_of

pytest.importorskip("triton")

rng = np.random.default_rng(0)
X, Y, V = rng.normal(size=(6, 7)), rng.normal(size=(6, 7)), rng.normal(size=9)


def stacked(x: Any, y: Any) -> Any:
    return np.stack([np.sin(x) * y.sum(0), np.cos(x - y) * x.sum(1)[:, None], x * y])


def with_a_product(x: Any, y: Any) -> Any:
    return np.concatenate([np.exp(x).sum(1)[None], np.cumsum(y, axis=1)[:2, :6], x[:, :6] @ y[:6, :6] * 2])


def with_constants(x: Any, y: Any) -> Any:
    return np.vstack([x.max(1), np.ones(6), np.tanh(y).sum(1)])


def needed_beside(x: Any, y: Any) -> Any:
    a = np.sin(x).sum(1)
    return np.stack([a, a * 2]), a


def in_a_loop(x: Any, y: Any) -> Any:
    z = np.zeros((2, 6))
    for i in range(5):
        z = np.stack([z[0] * 0.5 + np.sin(x * z.sum()).sum(1), np.cos(y).sum(1) * i])
    return z


def while_it_grows(x: Any, y: Any) -> Any:
    z = np.zeros((2, 6))
    while z.sum() < 200:
        z = np.stack([z[0] * 0.5 + np.exp(x).sum(1), np.abs(y).sum(1) + z[1]])
        z[0, 1] = 1
    return z


def stored_into(x: Any, y: Any) -> Any:
    z = np.stack([np.exp(x).sum(1), np.abs(y).sum(1)])
    z[0, 2] = 5
    z[1] += z[0]
    return z


def nested(x: Any, y: Any) -> Any:
    return np.stack([np.stack([x.sum(1), y.sum(1)]), np.stack([np.exp(x).sum(1), y.max(1)])])


def with_empty(x: Any, y: Any) -> Any:
    return np.concatenate([x[:0] * 2, np.exp(x) * y.sum(), y.sum(1, keepdims=True) + x * 0])


def beside_each_other(x: Any, y: Any) -> Any:
    return np.concatenate([np.sin(x) * y.sum(0), np.cumsum(x, axis=1)], axis=1)


def of_lines(x: Any) -> Any:
    return np.concatenate([np.cumsum(x) * 2, [np.sum(x)], np.sort(x) + 1, x[::-1] * np.max(x)])


def collided(f: Any) -> Any:
    rho, out = f.sum(0), np.empty_like(f)
    for k in range(5):
        out[k] = f[k] - 0.6 * (f[k] - rho * k)
    return out


PROGRAMS: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    *((f, (X, Y)) for f in (stacked, with_a_product, with_constants, needed_beside, in_a_loop, while_it_grows)),
    *((f, (X, Y)) for f in (stored_into, nested, with_empty, beside_each_other)),
    (of_lines, (V,)),
    (collided, (rng.random((5, 3, 4)),)),
]


@pytest.mark.parametrize(("function", "args"), PROGRAMS, ids=[f.__name__ for f, _ in PROGRAMS])
def test_as_numpy(function: Callable[..., Any], args: tuple[Any, ...], backends: dict[str, Any]) -> None:
    wanted = function(*args)
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    for language in ("cuda", "triton"):
        found = GpuExecutor(translated(function, args, language), backends[language])(list(args))
        for got, want in zip(found, wanted, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)


def moments(x: Any) -> Any:
    mean = x.mean(1)
    return np.stack([mean, mean * mean, np.sqrt(np.abs(mean))])


def test_pieces_are_made_where_they_lie() -> None:
    """One kernel reads its array once and writes all rows of the result; no call joins them."""
    function = translated(moments, (X,), "cuda")
    (kernel,) = kernels_of(function, "cuda")
    assert kernel.bytes_moved == X.nbytes + 3 * 6 * 8
    text = driver_of(function, "cuda").text
    assert "_whole[2]" in text and "concatenate" not in text and "expand_dims" not in text


def polynomial(x: Any, y: Any) -> Any:
    z, w = x + y, x
    for k in range(30):
        z = z * x + 0.1 * k * y
        w = w / (1.0 + z * z)
    return w + z, w - z


def test_long_elementwise_work_is_one_kernel() -> None:
    """In two, each value that the second needs is written and read again."""
    x = np.ones(1000)
    (kernel,) = kernels_of(translated(polynomial, (x, x), "triton"), "triton")
    assert kernel.bytes_moved == 4 * x.nbytes
