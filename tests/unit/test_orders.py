"""NumPy arguments that do not lie in C's order: what a program makes of them is NumPy's, and lies as NumPy's does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from drawn import Drawn

from untraced import accelerate, grad
from untraced.runtime.calls import entries, orders

RANDOM = Drawn(0)
BLOCK = RANDOM.normal(size=(6, 5, 4))
MATRIX = RANDOM.normal(size=(7, 6))


@pytest.fixture(autouse=True)
def any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(orders, "SMALLEST", 1)


def inner_store(u: Any) -> Any:
    u[1:-1, 1:-1] = 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
    u[:, 0] = 1.5
    u[-1] += np.arange(6)
    return u.max(axis=0)


def in_place(u: Any) -> Any:
    u *= 0.5
    u += u[0]
    return u / 3.0


def gathered(u: Any) -> Any:
    u[[0, 2]] = u[[2, 0]]
    return u[np.array([1, 1, 3])] + 1.0


def in_loop(u: Any) -> Any:
    total = np.zeros(6)
    for i in range(len(u)):
        total = total * 0.5 + u[i]
    return total


MATRICES: list[Callable[..., Any]] = [
    lambda x: np.sum(x, axis=0),
    lambda x: (np.sum(x), np.max(x, axis=1), np.argmin(x, axis=0), np.argmax(x)),
    lambda x: (x - np.mean(x, axis=0)) / np.std(x, axis=0, keepdims=True),
    lambda x: np.exp(x) * np.arange(6) + np.arange(7)[:, None],
    lambda x: x @ x.T + 1.0,
    lambda x: np.cumsum(x, axis=1) - np.sort(x, axis=0),
    lambda x: np.einsum("ij,ij->j", x, x),
    lambda x: (x[1:] - x[:-1], x[::2, ::-1] * 2.0, x[:, 3] + 1.0),
    lambda x: np.where(x > 0, x, -x).reshape(-1),
    lambda x: {"f4": x.astype(np.float32), "i": (x * 10).astype(np.int16), "b": x > 0},
    lambda x: np.concatenate([x, x * 2.0], axis=1),
    inner_store,
    in_place,
    gathered,
    in_loop,
]


def agrees(fun: Callable[..., Any], *args: np.ndarray[Any, Any]) -> list[Any]:
    """Calls twice, as written arguments are others then; the results."""
    ours = accelerate(fun, target="cpu")
    for _ in range(2):
        mine, theirs = [a.copy("K") if a.flags.forc else a for a in args], [a.copy("K") for a in args]
        got, want = ours(*mine), fun(*theirs)
        flat = (list(r.values()) if isinstance(r, dict) else r if isinstance(r, tuple) else (r,) for r in (got, want))
        for x, y in (*zip(*flat, strict=True), *zip(mine, theirs, strict=True)):
            assert type(x) is type(y) and x.dtype == y.dtype
            np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-12)
    [entry] = [e for found in ours._entries.values() for e in found]
    assert isinstance(entry, entries.TargetEntry) and entry.orders is not None
    return list(entry.orders._ways.values())


@pytest.mark.parametrize("fun", MATRICES)
def test_arguments_in_fortrans_order(fun: Callable[..., Any]) -> None:
    agrees(fun, np.asfortranarray(MATRIX))


@pytest.mark.parametrize("fun", MATRICES[:-4])
@pytest.mark.parametrize("view", [np.s_[::2, ::3], np.s_[::-1], np.s_[1:, 1:]])
def test_arguments_in_no_order(fun: Callable[..., Any], view: Any) -> None:
    agrees(fun, np.repeat(np.repeat(MATRIX, 2, 0), 3, 1)[view][:7, :6])


@pytest.mark.parametrize("order", [(1, 0, 2), (2, 1, 0), (1, 2, 0), (2, 0, 1), (0, 2, 1)])
def test_any_order_of_three_axes(order: tuple[int, ...]) -> None:
    def fun(x: Any) -> Any:
        y = x - np.mean(x, axis=1, keepdims=True)
        return np.sum(y, axis=(0, 2)), y * np.arange(x.shape[2]), np.max(x[:, 1], axis=-1)

    ways = agrees(fun, BLOCK.transpose(order))
    assert [type(w) for w in ways] == [orders.Turned]


def test_reductions_and_stores_are_made_where_the_argument_lies() -> None:
    for fun in (MATRICES[0], MATRICES[2], inner_store, in_place):
        [way] = agrees(fun, np.asfortranarray(MATRIX))
        assert type(way) is orders.Turned and way._orders == {0: (1, 0)}


def test_results_lie_as_numpys() -> None:
    given, rows = np.asfortranarray(MATRIX), MATRIX[:2].copy()
    follows: list[Callable[..., Any]] = [lambda x: np.exp(x) + 1.0, lambda x: x * np.arange(6.0), lambda x: -(x > 0)]
    fixed: list[Callable[..., Any]] = [
        lambda x: np.ascontiguousarray(np.exp(x)),
        lambda x: (x * 2.0).copy(),
        lambda x: np.array(x * 2.0, order="C"),
        lambda x: x @ np.ones((6, 6)),
    ]
    for fun in (*follows[:2], *fixed):
        for target in ("cpu", "numpy"):
            got, want = accelerate(fun, target=target)(given), fun(given)
            assert got.flags.c_contiguous == want.flags.c_contiguous
            np.testing.assert_allclose(got, want, rtol=1e-12)
    mixed = accelerate(lambda x, y: (x * 2.0, y * 3.0), target="cpu")
    first, second = mixed(given, rows)
    assert first.flags.f_contiguous and second.flags.c_contiguous


def test_each_order_has_its_program_up_to_a_few() -> None:
    ours = accelerate(lambda x: np.exp(x).sum(axis=0), target="cpu")
    for order in [(0, 1, 2), (1, 0, 2), (2, 1, 0), (1, 2, 0), (2, 0, 1), (0, 2, 1)] * 2:
        x = RANDOM.normal(size=(20, 20, 20)).transpose(order)
        np.testing.assert_allclose(ours(x), np.exp(x).sum(axis=0), rtol=1e-12)
    [entry] = [e for found in ours._entries.values() for e in found]
    assert isinstance(entry, entries.TargetEntry) and entry.orders is not None
    assert len(entry.orders._ways) == orders.MOST


def test_errors_and_gradients() -> None:
    x = np.asfortranarray(MATRIX)
    picked = accelerate(lambda x, i: np.exp(x)[i].sum(axis=0), target="cpu")
    np.testing.assert_allclose(picked(x, np.array([1, 2])), np.exp(x)[[1, 2]].sum(axis=0), rtol=1e-12)
    with pytest.raises(IndexError):
        picked(x, np.array([9, 1]))
    slope = accelerate(grad(lambda x: np.sum(np.tanh(x) * x[0])), target="cpu")
    np.testing.assert_allclose(slope(x), slope(MATRIX), rtol=1e-12)
    frozen = x.copy("K")
    frozen.setflags(write=False)
    with pytest.raises(ValueError, match="read-only"):
        accelerate(in_place, target="cpu")(frozen)
