"""Products of many small matrices, which are native code on the cpu, against NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from untraced import accelerate, grad, vmap
from untraced.kernels.loops.small_products import LARGEST, is_small, product_of
from untraced.tpu import compiler
from untraced.tpu.loops import native
from untraced.translator.ops.core import ContractAttrs

pytestmark = pytest.mark.skipif(not compiler.available(), reason="there is no C++ compiler")
PRODUCT = "@untraced_product_"


def text_of(f: Any, *arguments: Any) -> str:
    return str(accelerate(f, target="cpu").inspect(*arguments, compile=False).stablehlo)


def check(f: Any, *arguments: Any, tolerance: float = 1e-13) -> None:
    assert PRODUCT in text_of(f, *arguments)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(accelerate(f, target="cpu")(*arguments), f(*arguments), tolerance, tolerance)


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "LEAST_RESULTS", 1)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("m, k, n", [(2, 2, 2), (3, 3, 3), (5, 4, 7), (8, 8, 8), (9, 2, 31), (16, 17, 12), (4, 32, 3)])
def test_sizes(m: int, k: int, n: int, dtype: Any) -> None:
    rng = np.random.default_rng(m * n)
    a, b = rng.normal(size=(13, m, k)).astype(dtype), rng.normal(size=(13, k, n)).astype(dtype)
    tolerance = 1e-13 if dtype == np.float64 else 1e-5
    check(lambda a, b: a @ b, a, b, tolerance=tolerance)
    turned = np.ascontiguousarray(np.swapaxes(a, 1, 2)), np.ascontiguousarray(np.swapaxes(b, 1, 2))
    check(lambda a, b: np.swapaxes(a, 1, 2) @ b, turned[0], b, tolerance=tolerance)
    check(lambda a, b: a @ np.swapaxes(b, 1, 2), a, turned[1], tolerance=tolerance)
    check(lambda a, b: np.einsum("zki,zjk->zji", a, b), *turned, tolerance=tolerance)


@pytest.mark.parametrize("k", [2, 3, 5, 16])
def test_one_matrix_for_all(k: int) -> None:
    rng = np.random.default_rng(k)
    x, w, rows = rng.normal(size=(7, 3, k, k)), rng.normal(size=(k, k)), rng.normal(size=(41, k))
    check(lambda w, x: w @ x, w, x)
    check(lambda w, x: w.T @ x, w, x)
    check(lambda w, x: x @ w, w, x)
    check(lambda w, x: x @ w.T, w, x)
    check(lambda w, x: x @ w, w, rows)
    check(vmap(lambda w, x: np.tanh(w @ x), in_axes=(None, 0)), w, rows)


def test_several_axes_and_derivatives() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(3, 5, 4, 4)), rng.normal(size=(3, 5, 4, 4))
    check(lambda a, b: a @ b, a, b)
    check(vmap(vmap(lambda a, b: np.tanh(a @ b.T) @ a)), a, b)
    check(vmap(vmap(grad(lambda a, b: np.sum((a @ b) ** 2)))), a, b)


def test_infinities_and_nan() -> None:
    a, b = np.ones((4, 3, 3)), np.ones((4, 3, 3))
    a[1, 2, 0], a[2, 0, 1], b[2, 1, 1], b[3, 0] = np.inf, np.nan, 0.0, -np.inf
    check(lambda a, b: a @ b, a, b)


def test_in_a_loop() -> None:
    def powers(a: Any, n: int) -> Any:
        p = a
        for _ in range(n):
            p = p @ a
        return p

    a = 0.3 * np.random.default_rng(3).normal(size=(40, 5, 5))
    np.testing.assert_allclose(accelerate(powers, target="cpu")(a, 6), powers(a, 6), 1e-12)


def test_what_stays_a_librarys(monkeypatch: pytest.MonkeyPatch) -> None:
    a = np.ones((6, 4, 4))
    for other in (np.ones((6, 4, 1)), np.ones((6, 4, LARGEST + 1)), np.ones(4)):
        assert PRODUCT not in text_of(lambda a, b: a @ b, a, other)
    assert PRODUCT not in text_of(lambda a: a @ a, a.astype(complex))
    assert PRODUCT not in text_of(lambda a: a @ a, a.astype(np.int64))
    monkeypatch.setattr(native, "LEAST_RESULTS", a.size + 1)
    assert PRODUCT not in text_of(lambda a: a @ a, a)
    monkeypatch.setenv("UNTRACED_NATIVE_LOOPS", "0")
    monkeypatch.setattr(native, "LEAST_RESULTS", 1)
    assert PRODUCT not in text_of(lambda a: a @ a, a)


def test_axes_that_are_summed_apart_are_no_product_of_matrices() -> None:
    attrs = ContractAttrs((0, 1, 2, 3), (0, 2, 3, 4), (0, 1, 4))
    assert product_of(attrs, (9, 2, 3, 4), (9, 3, 4, 5), np.dtype(np.float64)) is None
    made = product_of(ContractAttrs((0, 1, 2), (0, 2, 3), (0, 1, 3)), (9, 2, 3), (9, 3, 5), np.dtype(np.float64))
    assert made is not None
    assert is_small(made[0])
