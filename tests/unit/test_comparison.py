"""`untraced.compare`: targets beside NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from untraced import accelerate, compare, grad

X = np.linspace(0.1, 1.0, 12).reshape(3, 4)


def scaled(x: Any, state: Any) -> Any:
    state["calls"] += 1
    x[0] = 0.0
    return {"sum": x.sum(), "rows": np.sort(x, axis=1)}


def test_results_and_written_arguments_are_compared_and_the_callers_stay() -> None:
    x, state = X.copy(), {"calls": np.zeros(1)}
    found = compare(scaled, x, state)
    assert found
    assert [t.target for t in found.targets] == ["numpy", "cpu"]
    assert all(0 < t.seconds <= t.first for t in found.targets)
    assert all(t.difference < 1e-14 for t in found.targets)
    np.testing.assert_array_equal(x, X)
    assert state["calls"] == 0
    assert "NumPy takes" in str(found)


def test_what_numpy_raises_is_compared() -> None:
    def third(x: Any) -> Any:
        return np.cumsum(x)[12]

    assert compare(third, X.ravel())


def test_a_target_that_is_not_there_says_so() -> None:
    found = compare(lambda x: np.tanh(x), X, targets=("cpu", "tpu"))
    assert not found
    assert found.targets[0].equal
    assert "refused: " in found.targets[1].why
    assert found.targets[1].seconds == 0.0


def test_transformations_and_static_arguments() -> None:
    def power(x: Any, n: int) -> Any:
        return np.sum(x**n)

    assert compare(grad(power), X, 3)
    assert compare(accelerate(grad(power), static_argnums=1), X, 3)
    assert compare(accelerate(power, static_argnums=1), X, 3)


@pytest.mark.parametrize(
    ("other", "why"),
    [
        (lambda x: x.astype(np.float32), "dtype float32 instead of float64"),
        (lambda x: x[:2], r"shape \(2, 4\) instead of \(3, 4\)"),
        (lambda x: x + 1e-3, "12 of 12 elements differ, by up to 0.001"),
        (lambda x: np.where(x > 0.5, np.nan, x), "NaN at 7 places instead of 0"),
        (lambda x: np.where(x > 0.5, np.inf, x), "7 of 12 elements differ, by up to inf"),
        (lambda x: (x,), "PyTreeDef"),
        (lambda x: 1 / 0, "ZeroDivisionError"),
    ],
)
def test_differences_are_found(monkeypatch: pytest.MonkeyPatch, other: Any, why: str) -> None:
    monkeypatch.setattr("untraced.runtime.inspection.comparison.accelerate", lambda fun, target: other)
    found = compare(lambda x: x * 1.0, X, targets=("cpu",))
    assert not found
    with pytest.raises(AssertionError, match=why):
        raise AssertionError(found.targets[0].why)


def test_tolerances() -> None:
    def total(x: Any) -> Any:
        return np.sum(x.astype(np.float32) / np.float32(3))

    x = np.random.default_rng(0).normal(size=100_000)
    assert compare(total, x, targets=("cpu",), rtol=1e-3)
    assert compare(total, x, targets=("numpy",), rtol=0.0, atol=0.0)
