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


def columns(x: Any, y: Any) -> Any:
    a, b, c = x.T[:3]
    d, e, _ = y.T[:3]
    return np.stack([a * e - b * d, b * d + c, np.sin(a) * e], axis=1)


def some_columns(x: Any, y: Any) -> Any:
    a, b = x[:, 0] * y[:, 1], y[:, 0] + x[:, 2]
    return np.column_stack([a, np.cumsum(a), b, np.ones(6), a * b])


def softmaxes(x: Any, y: Any) -> Any:
    p, q = (np.exp(z - z.max(1, keepdims=True)) for z in (x, y))
    return np.concatenate([p / p.sum(1, keepdims=True), x[:, 2:5], q / q.sum(1, keepdims=True)], axis=-1)


def in_the_middle(x: Any, y: Any) -> Any:
    z = np.stack([np.sin(x) * y, np.cos(x) - y], axis=1)
    return np.concatenate([z, z[:, :1] * 2, z[:, :0], np.exp(z)], axis=1)


def with_narrow_ones(x: Any, y: Any) -> Any:
    return np.hstack([np.sin(x[:, :1]) * 3, np.exp(y[:, :2]) + 1, np.abs(y[:, 1:]) * 2, x[:, :4] > y[:, 3:]])


def turned_pieces(x: Any, y: Any) -> Any:
    return np.stack([np.sin(x) * 2, np.cos(y) + x], axis=-1).transpose(2, 1, 0)


def columns_in_a_loop(x: Any, y: Any) -> Any:
    z = np.ones((6, 2))
    for i in range(4):
        z = np.stack([z[:, 0] * 0.5 + x[:, i], z[:, 1] - y[:, i] * z[:, 0]], axis=1)
    return z


def written_again(x: Any, y: Any) -> Any:
    z, u, k = np.zeros((6, 2, 7)), np.zeros((6, 14)), 0
    for i in range(3):
        z = np.stack([np.exp(x) * i, x * i], axis=1)
    while u.sum() < 1e4 and k < 4:
        u, k = np.concatenate([np.exp(x + np.abs(u[:, :7])), y * y + u[:, 7:]], axis=1), k + 1
    return z, u


def rows_written_again(x: Any, y: Any) -> Any:
    z, u = np.zeros((2, 6, 7)), np.zeros((2, 6, 7))
    for i in range(3):
        z = np.stack([np.exp(x) * i, x * i])
        u = np.stack([np.exp(-u[1]) + y, u[0].sum(1, keepdims=True) + x])
    return z, u


def long_rows(x: Any, y: Any) -> Any:
    u, v = np.resize(x, (3, 64)).astype(np.float32), np.resize(y, (3, 64)).astype(np.float32)
    return np.concatenate([np.sqrt(np.abs(u)), u * v, v[:, :3] * 2], axis=1)


def of_numbers(x: Any) -> Any:
    return np.cross(x[:3], x[3:6]), np.array([x.sum(), x[0] * x[1], np.max(x)])


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
    *((f, (X, Y)) for f in (columns, some_columns, softmaxes, in_the_middle, with_narrow_ones, turned_pieces)),
    *((f, (X, Y)) for f in (columns_in_a_loop, long_rows, written_again, rows_written_again)),
    (of_lines, (V,)),
    (of_numbers, (V,)),
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


def product_of_quaternions(q: Any, p: Any) -> Any:
    w, x, y, z = q.T
    a, b, c, d = p.T
    parts = [w * a - x * b - y * c - z * d, w * b + x * a + y * d - z * c]
    return np.stack([*parts, w * c - x * d + y * a + z * b, w * d + x * c - y * b + z * a], axis=1)


def rotated(x: Any, c: Any, s: Any) -> Any:
    even, odd = x[:, ::2], x[:, 1::2]
    return np.stack([even * c - odd * s, even * s + odd * c], axis=-1).reshape(x.shape)


@pytest.mark.parametrize("language", ["cuda", "triton"])
def test_columns_are_read_and_written_once(language: str) -> None:
    """Each number of a line goes to all columns of the result: one kernel reads it once."""
    q, x, c = np.ones((1000, 4)), np.ones((50, 64), np.float32), np.ones((50, 32), np.float32)
    for f, args, least in ((product_of_quaternions, (q, q), 3 * q.nbytes), (rotated, (x, c, c), 3 * x.nbytes)):
        function = translated(f, args, language)
        (kernel,) = kernels_of(function, language)
        assert kernel.bytes_moved == least
        assert "concatenate" not in driver_of(function, language).text


def far_apart(x: Any, y: Any) -> Any:
    return np.concatenate([np.sin(x), np.sqrt(y)], axis=1), np.stack([np.sin(x)[:, 0], np.cumsum(y[:, 1])], axis=1)


def test_parts_of_sectors_are_joined_afterwards() -> None:
    """A column that a kernel of its own writes would leave 28 of 32 bytes to others, and memory moves them all."""
    x = np.ones((100, 40), np.float32)
    text = driver_of(translated(far_apart, (x, x), "cuda"), "cuda").text
    assert text.count("_whole[:, ") == 2 and "concatenate" in text


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
