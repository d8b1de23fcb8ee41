"""Extremes on the CPU: NaN is kept, and asked for only where it would be missed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xla_programs import tolerance

from untraced import accelerate, grad

X = np.random.default_rng(0).normal(size=(72, 72))


@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=lambda d: np.dtype(d).name)
def test_extremes_with_a_bound_keep_nan_in_sums(dtype: Any) -> None:
    """Where YNNPACK fuses them with a reduction."""

    @accelerate(target="cpu")
    def clipped(x: Any) -> Any:
        return np.minimum(x, 0.5).sum(axis=1), np.minimum(0.5, x).sum(), (np.maximum(0.25, x) * x).sum(axis=0)

    x = np.linspace(-1, 1, 6000, dtype=dtype).reshape(100, 60)
    x[33, 7] = np.nan
    rows, total, columns = clipped(x)
    assert np.flatnonzero(np.isnan(rows)).tolist() == [33]
    assert np.isnan(total)
    assert np.flatnonzero(np.isnan(columns)).tolist() == [7]


def exponentials(x: Any, axis: int = 1) -> Any:
    return np.exp(x - x.max(axis=axis, keepdims=True))


def softmax(x: Any) -> Any:
    e = exponentials(x)
    return e / e.sum(axis=1, keepdims=True)


def softmax_of_columns(x: Any) -> Any:
    m = x.max(axis=0)
    e = np.exp(x - m)
    return e / np.sum(e, axis=0)


def logsumexp(x: Any) -> Any:
    m = x.max(axis=1)
    return np.log(np.exp(x - m[:, None]).sum(axis=1)) + m


def of_all(x: Any) -> Any:
    m = x.max()
    return m + np.log(np.sum(np.exp(x - m)))


def log_softmax(x: Any) -> Any:
    z = x - x.max(axis=1, keepdims=True)
    return z - np.log(np.exp(z).sum(axis=1, keepdims=True))


def attention(x: Any) -> Any:
    e = exponentials(x @ x.T)
    return (e @ x) / e.sum(axis=1, keepdims=True)


def columns_instead_of_rows(x: Any) -> Any:
    e = np.exp(x - x.max(axis=1))
    return e / e.sum(axis=1)


def sums_turned(x: Any) -> Any:
    e = exponentials(x)
    return e / e.sum(axis=1)[None, :]


def sums_of_other_axes(x: Any) -> Any:
    e = exponentials(x)
    return e.T @ x, e.sum(axis=0)


def also_returned(x: Any) -> Any:
    m = x.max(axis=1, keepdims=True)
    return np.exp(x - m).sum(axis=1), m


def looked_at(x: Any) -> Any:
    return np.where(x == x.max(axis=1, keepdims=True), 1.0, 0.0)


def more_axes(x: Any) -> Any:
    m = x.max(axis=1, keepdims=True)
    return (np.exp(x - m) + np.ones((3, *x.shape))).sum(axis=1)


def turned_by_a_product(x: Any) -> Any:
    m = x.max(axis=1, keepdims=True)
    return np.einsum("ij,jk->ki", np.exp(x - m), np.ones((72, 72))) + m


def turned_sums(x: Any) -> Any:
    m = x.max(axis=1)
    return np.outer(np.linspace(1, 2, 72), np.exp(x - m[:, None]).sum(axis=1)) * m[:, None]


def of_numbers(x: Any) -> Any:
    return np.max(np.where(np.isnan(x), -1.0, x), axis=1), np.nanmin(x, axis=0)


def of_other_numbers(x: Any) -> Any:
    return np.max(np.where(np.isnan(x.T), -1.0, x), axis=1)


UNMISSED = [softmax, logsumexp, of_all, log_softmax, attention, of_numbers]
MISSED = [softmax_of_columns, columns_instead_of_rows, sums_turned, sums_of_other_axes, also_returned, looked_at]
MISSED += [turned_by_a_product, turned_sums, of_other_numbers]


@pytest.mark.parametrize("function", [*UNMISSED, *MISSED, more_axes], ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=lambda d: np.dtype(d).name)
def test_nan_in_rows(function: Any, dtype: Any) -> None:
    f = accelerate(function, target="cpu")
    for place in ((3, 7), (0, 0), (71, 71), (40, 0)):
        x = X.astype(dtype)
        x[place] = np.nan
        found, expected = f(x), function(x)
        pairs = zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]
        for a, b in pairs:
            np.testing.assert_allclose(a, b, rtol=tolerance(np.dtype(dtype)), atol=1e-6)


@pytest.mark.parametrize("function", [softmax, logsumexp, log_softmax, also_returned], ids=lambda f: f.__name__)
def test_nan_in_rows_of_gradients(function: Any) -> None:
    """The mask of where an extreme is, too, goes into products with sums over its row."""
    slope = grad(lambda x: np.sum(function(x)[0] ** 2) + np.sum(function(x)[1:3]))
    x = X.copy()
    x[2, 5] = x[40, 0] = np.nan
    np.testing.assert_allclose(accelerate(slope, target="cpu")(x), slope(x), rtol=1e-9, atol=1e-12)


def test_nan_is_asked_for_where_it_would_be_missed() -> None:
    asks = {f.__name__: "xui8" in accelerate(f, target="cpu").inspect(X).stablehlo for f in [*UNMISSED, *MISSED]}
    assert [name for name, asked in asks.items() if not asked] == [f.__name__ for f in UNMISSED]
    slope = accelerate(grad(lambda x: np.mean(log_softmax(x)[:, 0])), target="cpu")
    assert "xui8" not in slope.inspect(X).stablehlo
