"""What Python's numbers and NumPy's integers refuse, in programs of a GPU: asked on the host, around the kernels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from host_cuda import HostCuda

from untraced.kernels.launching.executor import GpuExecutor
from untraced.translator.errors import RaisedError
from untraced.translator.ir import Function
from untraced.translator.pipeline import translate
from untraced.translator.reading.text.signature import abstract_with_leaves


def executor_of(f: Any, given: Any, checks: bool = True) -> GpuExecutor:
    function: Function = translate(f, abstract_with_leaves(f, given, {})[0], target="cuda").function
    return GpuExecutor(function, HostCuda(), checks=checks)



def plus(x: Any, n: Any) -> Any:
    return x * 2 + n


def plus_total(x: Any, y: Any) -> Any:
    return x + int(y.sum())


def total(x: Any) -> Any:
    return int(x.sum())


def root(x: Any) -> Any:
    return math.sqrt(float(x.sum()))


def share(x: Any) -> Any:
    return 1.0 / float(x.min())


def raised(x: Any, n: Any) -> Any:
    return np.exp(0.0 * (x + 1) ** n)


def added(a: Any, b: Any) -> Any:
    return a + b


def powered(a: Any, b: Any) -> Any:
    return a**b


BYTES = np.arange(4, dtype=np.uint8)


@pytest.mark.parametrize(
    ("f", "given", "error"),
    [
        (plus, (BYTES, 300), OverflowError),
        (plus, (BYTES, -1), OverflowError),
        (plus_total, (BYTES, np.full(3, 100)), OverflowError),
        (total, (np.array([1.0, np.nan]),), ValueError),
        (total, (np.array([1e300]),), OverflowError),  # CPython is to have it
        (root, (np.array([-1.0]),), ValueError),
        (share, (np.zeros(3),), ZeroDivisionError),
        (raised, (np.arange(3), -1), ValueError),
        (raised, (np.arange(3), np.array([1, -1, 2])), ValueError),
        (added, (2**62, 2**62), OverflowError),
        (powered, (-8.0, 0.5), RaisedError),
    ],
)
def test_what_numpy_and_python_refuse(f: Any, given: Any, error: Any) -> None:
    with pytest.raises(error):
        executor_of(f, given)(list(given))
    right = [np.abs(np.nan_to_num(a)) % 7 + 1 if np.ndim(a) else abs(a) % 7 for a in given]
    (got,) = executor_of(f, right)(right)
    want = f(*right)
    np.testing.assert_allclose(got, want, rtol=1e-12)
    assert np.asarray(got).dtype == np.asarray(want).dtype


def test_a_power_of_an_array_is_asked_once_for_all_its_exponents() -> None:
    x = np.arange(3)
    with pytest.raises(ValueError, match="negative integer powers") as caught:
        executor_of(raised, (x, x - 1))([x, x - 1])
    assert "(x + 1) ** n" in str(caught.value)


def test_without_checks_nothing_is_asked() -> None:
    (got,) = executor_of(plus, (BYTES, 300), checks=False)([BYTES, 300])
    np.testing.assert_array_equal(got, BYTES * 2 + np.uint8(44))


def test_comparisons_with_ints_that_the_dtype_cannot_hold_are_exact() -> None:
    def f(x: Any) -> Any:
        return x < 300, x == 256, -1 < x, x != -5

    def of_the_run(x: Any, n: Any) -> Any:
        return x < n, x == n, n >= x

    x = np.array([1, 200], np.uint8)
    for n in (300, -1, 200, 2**40):
        for got, want in zip(executor_of(of_the_run, (x, n))([x, n]), of_the_run(x, n), strict=True):
            np.testing.assert_array_equal(got, want)
    for got, want in zip(executor_of(f, (x,))([x]), f(x), strict=True):
        np.testing.assert_array_equal(got, want)
