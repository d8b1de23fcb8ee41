"""Sums over sliding windows: of slices of the array, place by place; no window is made."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from drawn import Drawn

from untraced import accelerate, grad, vmap
from untraced.testing import check_grads
from untraced.tpu.shaping import apart
from untraced.translator.passes import sliding as windows

sliding = np.lib.stride_tricks.sliding_window_view
RANDOM = Drawn(0)
X, Y = RANDOM.normal(size=(2, 40))
IMAGE = RANDOM.normal(size=(9, 11))
COLOURS = RANDOM.normal(size=(8, 9, 2))
K = RANDOM.normal(size=(3, 2))


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(windows, "LEAST", 1)
    monkeypatch.setattr(apart, "LONG", 1)
    yield


def nan_at_3(x: Any) -> Any:
    y = x.copy()
    y[3] = np.nan
    return y


def scores(x):
    w = sliding(x, 5)
    return (x[4:] - w.mean(1)) / w.std(1)


CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "means": (lambda x: sliding(x, 5).mean(axis=-1), (X,)),
    "one place": (lambda x: sliding(x, 1).sum(1), (X,)),
    "the whole line": (lambda x: sliding(x, 40).sum(1), (X,)),
    "extremes": (lambda x: (sliding(x, 4).max(1), sliding(x, 4).min(1)), (X,)),
    "extremes of NaN": (lambda x: (sliding(x, 4).max(1), sliding(x, 4).min(1)), (nan_at_3(X),)),
    "products": (lambda x: np.prod(sliding(x, 3), axis=1, keepdims=True), (X,)),
    "truths": (lambda x: (np.any(sliding(x, 3) > 1, axis=1), (sliding(x, 3) > -1).all(1)), (X,)),
    "counts": (lambda x: (np.sum(sliding(x, 3) > 0, axis=1), np.count_nonzero(sliding(x, 3), axis=1)), (X,)),
    "small integers": (lambda x: (sliding(x, 3).sum(1), sliding(x, 3).max(1)), ((X * 9).astype(np.int8),)),
    "float32": (lambda x: sliding(x, 3).mean(1), (X.astype(np.float32),)),
    "float16": (lambda x: sliding(x, 3).sum(1), (X.astype(np.float16),)),
    "complex": (lambda x: sliding(x, 3).sum(1), (X + 1j * Y,)),
    "scores": (scores, (X,)),
    "two lines": (lambda x, y: np.sum(sliding(x, 5) * sliding(y, 5), axis=1), (X, Y)),
    "weights": (lambda x, w: (sliding(x, 3) @ w, sliding(x, 3)[:, ::-1] @ w, w @ sliding(x, 3).T), (X, K[:, 0])),
    "weighted": (lambda x, w: (sliding(x, 3) * w).sum(-1) / w.sum(), (X, K[:, 0])),
    "weights of int": (lambda x: sliding(x, 3) @ np.arange(3), (X,)),
    "strided": (lambda x: sliding(x, 5)[1::3, ::2].mean(1), (X,)),
    "reversed": (lambda x: sliding(x, 5)[::-1].sum(1), (X,)),
    "by index": (lambda x: x[np.arange(9)[:, None] * 2 + np.arange(4)].sum(1), (X,)),
    "images": (lambda a: (sliding(a, (3, 2)).sum((2, 3)), sliding(a, (3, 2)).max(axis=(-1, -2))), (IMAGE,)),
    "images along one axis": (lambda a: (sliding(a, 3, axis=0).sum(-1), sliding(a, 3, axis=1).mean(2)), (IMAGE,)),
    "one axis of two": (lambda a: (sliding(a, (3, 2)).sum(2), sliding(a, (3, 2)).sum(3)), (IMAGE,)),
    "axes of both kinds": (lambda a: (sliding(a, (3, 2)).sum((0, 2)), sliding(a, (3, 2)).sum()), (IMAGE,)),
    "pooling": (lambda a: sliding(a, (2, 2))[::2, ::2].max(axis=(2, 3)), (IMAGE,)),
    "filters": (lambda a, k: np.einsum("ijkl,kl->ij", sliding(a, k.shape), k), (IMAGE, K)),
    "filters, turned": (lambda a, k: np.einsum("ijkl,kl->ji", sliding(a, k.shape), k[::-1]), (IMAGE, K)),
    "tensordot": (lambda a, k: np.tensordot(sliding(a, k.shape), k), (IMAGE, K)),
    "weights that vary": (lambda a, k: np.einsum("ijkl,jk->ij", sliding(a, k.shape), a.T[:10, :3]), (IMAGE, K)),
    "templates": (lambda a, k: np.sqrt(((sliding(a, k.shape) - k) ** 2).sum((2, 3))), (IMAGE, K)),
    "colours": (
        lambda a: np.einsum("ijckl,klc->ij", sliding(a, (2, 3), axis=(0, 1)), np.ones((2, 3, 2))),
        (COLOURS,),
    ),
    "colours apart": (lambda a: sliding(a, (2, 3), axis=(0, 1)).mean((3, 4)), (COLOURS,)),
    "windows of windows": (lambda x: sliding(sliding(x, 4).sum(1), 3).max(1), (X,)),
    "windows twice": (lambda x: sliding(sliding(x, 4), 3, axis=0).sum((1, 2)), (X,)),
    "made of windows": (lambda x: np.cumsum(sliding(x, 4), axis=1).sum(1), (X,)),
    "read again": (lambda x: (sliding(x, 4).sum(1), sliding(x, 4) * 2), (X,)),
    "added": (lambda x, y: added(x, y), (X, Y)),
    "in a loop": (lambda x: smoothed(x), (X,)),
}


def added(x, y):
    total = x.copy()
    places = np.arange(30)[:, None] + np.arange(6)
    np.add.at(total, places, y[:30, None] * np.arange(6))
    np.add.at(total, places, y[None, :6])
    return total


def smoothed(x):
    for _ in range(3):
        x[2:-2] = sliding(x, 5).mean(1)
    return x


@pytest.mark.parametrize("most", [64, 4, 1])
@pytest.mark.parametrize("name", CASES)
def test_as_numpy(name: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(windows, "MOST", most)
    f, arguments = CASES[name]
    expected = f(*(np.copy(a) for a in arguments))
    found = accelerate(f, target="cpu")(*(np.copy(a) for a in arguments))
    for x, y in zip(*(r if isinstance(r, tuple) else (r,) for r in (found, expected)), strict=True):
        assert x.dtype == y.dtype and x.shape == y.shape
        rtol = {"e": 5e-3, "f": 2e-6}.get(x.dtype.char, 1e-13)
        np.testing.assert_allclose(x, y, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("most", [64, 4])
@pytest.mark.parametrize("name", ["means", "scores", "weights", "images", "filters", "templates", "pooling", "colours"])
def test_derivatives(name: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(windows, "MOST", most)
    f, arguments = CASES[name]

    def loss(*args):
        found = f(*args)
        return np.sum(np.sin(found[0] if isinstance(found, tuple) else found))

    check_grads(accelerate(loss, target="cpu"), arguments, order=2 if most > 4 else 1)
    fast = accelerate(grad(loss), target="cpu")
    np.testing.assert_allclose(fast(*arguments), grad(loss)(*arguments), rtol=1e-12, atol=1e-13)


def test_batches() -> None:
    f, arguments = CASES["scores"]
    rows = RANDOM.normal(size=(4, 40))
    np.testing.assert_allclose(accelerate(vmap(f), target="cpu")(rows), [f(r) for r in rows], rtol=1e-12)


def text(f: Callable[..., Any], *arguments: Any) -> str:
    return str(accelerate(f, target="cpu").inspect(*arguments, compile=False).stablehlo)


def test_no_window_is_made() -> None:
    for name in ("means", "images", "filters", "templates", "windows twice", "colours apart"):
        f, arguments = CASES[name]
        assert "gather" not in text(f, *arguments), name
    f, arguments = CASES["means"]
    assert "scatter" not in text(grad(lambda x: np.sum(f(x) ** 2)), *arguments)


def test_few_windows_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    def spectra(x):
        return np.sum(np.abs(sliding(x, 32)[::4]), axis=1)

    assert "gather" in text(spectra, X)


def test_long_windows_are_gone_through_in_a_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(windows, "MOST", 4)
    assert "while" in text(CASES["two lines"][0], X, Y) and "gather" not in text(CASES["two lines"][0], X, Y)


def test_sums_of_parts_of_arrays_are_made_of_what_is_kept() -> None:
    def energy(x):
        return np.sum((x[2:] - 2 * x[1:-1] + x[:-2]) ** 2)

    def energies(x):
        return np.sum((x[2:] - 2 * x[1:-1] + x[:-2]) ** 2, axis=1)

    rows = RANDOM.normal(size=(12, 7))
    for f, x in ((energy, X), (energies, rows)):
        assert apart.MARK in text(f, x)
        np.testing.assert_allclose(accelerate(f, target="cpu")(x), f(x), rtol=1e-13)
    assert apart.MARK not in text(lambda x: np.sum(x[1:] ** 2), X)
