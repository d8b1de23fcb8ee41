"""Reductions across wide rows: parts of the array are combined, in as few kernels as there are stages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from drawn import Drawn

from untraced import accelerate, grad, vmap
from untraced.runtime.transforms.testing import check_grads
from untraced.translator.passes import across

RANDOM = Drawn(0)
X, Y = RANDOM.normal(size=(2, 7, 5))
MANY = RANDOM.normal(size=(43, 6))
CUBE = RANDOM.normal(size=(4, 3, 5))


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(across, "WIDE", 1)
    monkeypatch.setattr(across, "LEAST", 1)
    monkeypatch.setattr(across, "LONG", 1)
    yield


def with_nan(x: Any) -> Any:
    y = x.copy()
    y[3, 1] = np.nan
    return y


def normalised(x):
    return (x - x.mean(axis=0)) / x.std(axis=0)


def softmax(x):
    e = np.exp(x - x.max(axis=0))
    return e / e.sum(axis=0)


def in_a_loop(x):
    y = np.zeros(x.shape[1])
    z = x * 2
    for k in range(3):
        z = z * 0.5 + k
        y += np.sum(z * z, axis=0)
    return y


def where_it_is_needed(x):
    z = np.exp(x)
    total = np.zeros(x.shape[1])
    if x[0, 0] > -9:
        total = np.sum(z, axis=0)
    return total


def of_views(x):
    y = x.copy()
    y[1:3] += 1
    return y[::-1].sum(axis=0), y[1:, ::2].max(axis=0), y.T.sum(axis=1), y.T.sum(axis=0)


CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "sums": (lambda x: (np.sum(x, axis=0), np.sum(x * x + 1, axis=0)), (X,)),
    "several stages": (lambda x: (np.sum(x * x + 1, axis=0), np.prod(x, axis=0)), (MANY,)),
    "as many as there are terms": (lambda x: np.sum(x * 2, axis=0), (MANY[:16],)),
    "one row": (lambda x: np.sum(x * 2, axis=0), (X[:1],)),
    "no rows": (lambda x: (np.sum(x * 2, axis=0), np.any(x > 0, axis=0)), (X[:0],)),
    "rows without elements": (lambda x: np.sum(x * 2, axis=0), (X[:, :0],)),
    "keepdims": (lambda x: np.sum(x * 2, axis=0, keepdims=True), (X,)),
    "extremes": (lambda x: (np.max(np.abs(x), axis=0), np.min(x - 1, axis=0)), (MANY,)),
    "extremes of NaN": (lambda x: (np.max(x * 2, axis=0), np.nanmin(x, axis=0)), (with_nan(X),)),
    "extremes of all": (lambda x: (np.max(np.abs(x)), np.min(x * 2, keepdims=True), np.ptp(x)), (MANY,)),
    "extremes of a line": (lambda x: (np.max(np.abs(x)), np.min(x)), (MANY.reshape(-1)[:61],)),
    "extremes along rows": (lambda x: (np.max(x * 2, axis=1), np.min(x, axis=1, keepdims=True)), (MANY.T.copy(),)),
    "extremes of trailing axes": (lambda a: (np.max(a * 2, axis=(1, 2)), np.min(a, axis=(0, 2))), (CUBE,)),
    "extremes of all, with NaN": (lambda x: (np.max(x * 2), np.nanmax(x), np.max(x, axis=1)), (with_nan(X),)),
    "extremes of integers": (lambda x: (np.max(x * 2), np.min(x, axis=1)), ((X * 9).astype(int),)),
    "extremes of a transpose": (lambda x: (np.max(x.T * 2), np.max(x.T, axis=1)), (MANY,)),
    "places": (lambda x: (np.argmax(x, axis=0), np.argmin(x * x, axis=0), np.argmax(-x, axis=1)), (MANY,)),
    "places of few": (lambda x: (np.argmax(x, axis=0), np.argmin(x + 1, axis=0, keepdims=True)), (X,)),
    "places of NaN": (lambda x: (np.argmax(x, axis=0), np.argmin(x, axis=0)), (with_nan(with_nan(MANY)[::-1]),)),
    "places of ties": (lambda x: (np.argmax(x % 3, axis=0), np.argmin(x % 3, axis=0)), ((MANY * 9).astype(int),)),
    "places of signed zeros": (lambda x: (np.argmax(x * 0.0, axis=0), np.argmin(x * 0.0, axis=0)), (MANY,)),
    "places in cubes": (lambda a: (np.argmax(a, axis=0), np.argmin(a, axis=1), np.argmax(a, axis=2)), (CUBE,)),
    "places of bytes": (lambda x: np.argmax(x, axis=0), ((MANY * 40).astype(np.uint8),)),
    "a distance": (lambda x, y: np.max(np.abs(x - y)) / np.max(np.abs(x)), (X, Y)),
    "truths": (lambda x: (np.any(x > 1, axis=0), np.all(x > -1, axis=0), np.all(x, axis=0)), (X,)),
    "counts": (lambda x: (np.sum(x > 0, axis=0), np.count_nonzero(x > 0.5, axis=0)), (MANY,)),
    "small integers": (lambda x: (np.sum(x * x, axis=0), np.max(x, axis=0)), ((X * 9).astype(np.int8),)),
    "unsigned": (lambda x: (np.sum(x + 250, axis=0), np.prod(x, axis=0)), ((Y * 9).astype(np.uint8),)),
    "float32": (lambda x: (np.sum(x * x, axis=0), np.mean(x, axis=0)), (X.astype(np.float32),)),
    "float16": (lambda x: np.sum(x * x, axis=0), (X.astype(np.float16),)),
    "complex": (lambda x: (np.sum(x * x, axis=0), np.prod(x, axis=0)), (X + 1j * Y,)),
    "leading axes": (lambda a: (np.sum(a * a, axis=(0, 1)), np.max(a, axis=(0, 1), keepdims=True)), (CUBE,)),
    "an axis between": (lambda a: (np.sum(a * a, axis=1), np.sum(a + 1, axis=1, keepdims=True)), (CUBE,)),
    "axes apart": (lambda a: (np.sum(a * a, axis=(0, 2)), np.sum(a + 1, axis=-1)), (CUBE,)),
    "axes apart, one of them one": (lambda a: np.sum(a[:, :1] * 2, axis=(0, 1)), (CUBE,)),
    "spread": (lambda x, y: np.sum(x[:, None] * y[None] - 1, axis=0), (X, Y)),
    "spread along the axis": (lambda x: np.sum(np.broadcast_to(x[0] * 2, (4, 5)) + 1, axis=0), (X,)),
    "columns": (lambda x: np.sum(x[:, :1] * np.ones(5), axis=0), (X,)),
    "transposes": (lambda x: (np.sum(x.T * 2, axis=0), np.sum(x.T + x.T, axis=1)), (X,)),
    "both ways": (lambda a: np.sum(a + a.T, axis=0), (X[:5],)),
    "turned cubes": (lambda a: np.sum(a.transpose(1, 0, 2) * 2, axis=0), (CUBE,)),
    "scores": (normalised, (MANY,)),
    "softmax": (softmax, (MANY,)),
    "products": (lambda x, y: (np.sum(x * y, axis=0), np.einsum("ij,ij->j", x, y)), (X, Y)),
    "products of parts": (lambda x, y: np.einsum("kij,kj->ij", x, y), (CUBE, RANDOM.normal(size=(4, 5)))),
    "products of columns": (lambda x, y: np.einsum("kij,ki->ij", x, y), (CUBE, RANDOM.normal(size=(4, 3)))),
    "products of kinds": (lambda x: np.einsum("ij,ij->j", x, x.astype(np.float32)), (X,)),
    "products of integers": (lambda x: np.einsum("ij,ij->j", x, x), ((X * 9).astype(int),)),
    "matrices": (lambda x: (x.T @ x, x[:, 0] @ x), (X,)),
    "in a loop": (in_a_loop, (X,)),
    "where it is needed": (where_it_is_needed, (X,)),
    "views": (of_views, (X,)),
    "weights": (lambda x: np.average(x, axis=0, weights=np.arange(7.0)), (X,)),
    "variances": (lambda x: (np.var(x, axis=0, ddof=1), np.cov(x.T)), (X,)),
    "means of integers": (lambda x: (np.mean(x), np.mean(x, axis=1), np.std(x)), ((MANY * 9).astype(int),)),
    "means of truths": (lambda x: (np.mean(x > 0.5), (x > 0).mean(axis=1, keepdims=True)), (MANY.T.copy(),)),
    "sums of choices": (lambda x: (np.where(x > 0, x, 0).sum(), x.clip(0, 1).sum(axis=1)), (with_nan(MANY),)),
    "sums without NaN": (lambda x: (np.nansum(x), np.nanmean(x), np.nanvar(x, axis=1)), (with_nan(MANY),)),
    "sums of choices in cubes": (lambda a: (np.maximum(a, 0).sum(), np.maximum(a, 0).sum(axis=(1, 2))), (CUBE,)),
    "sums of a line's choices": (lambda x: np.fmax(x, 0).sum(), (MANY.reshape(-1)[:61],)),
    "complex choices": (lambda x: np.where(x.real > 0, x, 1j).sum(), (X + 1j * Y,)),
    "products of all": (lambda x, y: (np.einsum("ij,ij->", x, y), np.einsum("ij,ij->", x.T, y.T)), (X, Y)),
    "products of all, computed": (lambda x, y: np.vdot(np.sign(x), np.maximum(x, y)), (X, Y)),
    "numbers": (lambda x: np.sum(np.full((3, 5), 2.0), axis=0) + np.sum(np.zeros((3, 5)), axis=0) + x[0], (X,)),
}


@pytest.mark.parametrize("name", CASES)
def test_as_numpy(name: str) -> None:
    f, arguments = CASES[name]
    found, wanted = accelerate(f, target="cpu")(*arguments), f(*arguments)
    pairs = zip(found, wanted, strict=True) if isinstance(wanted, tuple) else [(found, wanted)]
    for a, b in pairs:
        assert a.dtype == b.dtype
        tolerance = 1e-2 if b.dtype == np.float16 else 1e-5 if b.dtype.itemsize < 8 and b.dtype.kind == "f" else 1e-12
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=1e-12)


def parts(f: Callable[..., Any], *arguments: Any) -> int:
    """In how many parts arrays are read; -1 where there is a reduction."""
    text = accelerate(f, target="cpu").inspect(*arguments).stablehlo
    return -1 if "stablehlo.reduce" in text or "dot_general" in text else text.count("stablehlo.slice")


def test_how_many_parts_there_are() -> None:
    assert parts(lambda x: np.sum(x * x + 1, axis=0), X) == 7
    assert parts(lambda x: np.sum(x * x + 1, axis=0), MANY) == 14 + 3 + 1  # of 3 rows each, of these 1; the last row
    assert parts(lambda a: np.max(a, axis=(0, 1)), CUBE) == 4 + 3
    assert parts(lambda x, y: np.einsum("ij,ij->j", x, y), X, Y) == 14
    assert parts(lambda a: np.sum(a.T * 2, axis=0), CUBE[0]) == -1  # it lies along the rows
    text = accelerate(lambda x: np.max(np.abs(x)), target="cpu").inspect(MANY).stablehlo
    assert text.count("stablehlo.slice") == 7 + 1  # of 6 rows each; the last row


def test_sums_of_what_would_be_written_first() -> None:
    assert parts(lambda x: np.sum(np.exp(x)), MANY) == -1  # YNNPACK computes it on the way
    chosen = lambda x: np.where(x > 0, x, 0).sum()  # noqa: E731
    for f in (chosen, lambda x: np.mean(x.astype(np.int32)), lambda x: np.log1p(x).sum()):
        text = accelerate(f, target="cpu").inspect(MANY).stablehlo
        assert text.count("stablehlo.slice") == 7 + 1  # of 6 rows each; the last row
    assert accelerate(lambda x: np.einsum("ij,ij->", x, x), target="cpu").inspect(MANY).stablehlo.count("slice") == 8


def test_what_another_needs_is_made_once() -> None:
    def f(x):
        e = np.exp(x)
        return e, np.sum(e, axis=0)

    text = accelerate(f, target="cpu").inspect(X).stablehlo
    assert text.count("stablehlo.exponential") == 1 and text.count("stablehlo.slice") == 7


def test_small_ones_are_left_to_xla(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(across, "LEAST", X.size + 1)
    assert parts(lambda x: np.sum(x * x + 1, axis=0), X) == -1
    monkeypatch.setattr(across, "LEAST", 1)
    monkeypatch.setattr(across, "WIDE", X.shape[1] + 1)
    assert parts(lambda x: np.sum(x * x + 1, axis=0), X) == -1


def test_long_work_is_written_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(across, "WRITTEN", 16)

    def f(x):
        return np.sum(np.sin(x) * np.cos(x), axis=0)

    assert accelerate(f, target="cpu").inspect(X).stablehlo.count("stablehlo.sine") == 1
    np.testing.assert_allclose(accelerate(f, target="cpu")(X), f(X), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", ["scores", "softmax", "products", "spread", "leading axes", "products of all"])
def test_derivatives_and_batches(name: str) -> None:
    f, arguments = CASES[name]

    def total(*values):
        found = f(*values)
        return sum(np.sum(y * y * y) for y in (found if isinstance(found, tuple) else (found,)))

    check_grads(accelerate(total, target="cpu"), arguments, order=2, modes=("rev",))
    stacked = [np.stack([a, a * 0.5]) for a in arguments]
    found = accelerate(vmap(grad(total)), target="cpu")(*stacked)
    for k in range(2):
        np.testing.assert_allclose(found[k], grad(total)(*[a[k] for a in stacked]), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("offset", range(0, 8, 3))
def test_arrays_at_any_address(offset: int) -> None:
    """XLA reads them in place, part by part, where they are large."""
    memory = RANDOM.normal(size=(1 << 17) + 64)
    x = memory[offset : offset + (1 << 17)].reshape(64, 2048)
    f = accelerate(lambda x: (np.sum(x * x, axis=0), x[3] + x[5:7].sum(0)), target="cpu")
    for found, wanted in zip(f(x), (np.sum(x * x, axis=0), x[3] + x[5:7].sum(0)), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)
