"""Powers by numbers that the source knows: a few products or a root in kernels, with NumPy's special values."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from translating import translated

from untraced import accelerate, grad, vmap
from untraced.kernels.launching.executor import GpuExecutor, kernels_of
from untraced.kernels.source.powers import BROKEN
from untraced.translator.powers import FACTORS, WHOLE, product, whole

pytest.importorskip("triton")

LANGUAGES = ("cuda", "triton")
REALS = ("float32", "float64", "float16", "bfloat16")
BITS = {"float32": 23, "float64": 52, "float16": 10, "bfloat16": 7}
STEPS = 2.0  # units in the last place: CUDA's own function is off by 4
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 2.0, 0.25, -3.0]


def reals(x: Any) -> Any:
    return x**1.0, x**2, x**3, x**4, x**0.5, x**1.5, x**-0.5, x**-1, x**-1.5, x**-2


def wholes(x: Any) -> Any:
    return x**1, x**2, x**3, x**4


def numbers(dtype: str) -> np.ndarray[Any, Any]:
    rng, known = np.random.default_rng(0), np.dtype(getattr(ml_dtypes, dtype) if dtype == "bfloat16" else dtype)
    if known.kind == "i":
        return rng.integers(-(2**30), 2**30, 500).astype(known)
    return np.array([*SPECIAL, *(3 * rng.standard_normal(500))]).astype(known)


def by_many_products(x: Any) -> Any:
    return x**5, x**7, x**8, x**15, x**16, x**-3, x**-6, x**-16


def test_all_ways_are_tried() -> None:
    assert {*WHOLE} | {*BROKEN} == {*range(-FACTORS, 0), *range(1, FACTORS + 1), 0.5, 1.5, -0.5, -1.5}


@pytest.mark.parametrize("factors", WHOLE)
def test_powers_are_made_by_squaring(factors: int) -> None:
    made: list[int] = []

    def multiply(x: int, y: int) -> int:
        made.append(x * y)
        return made[-1]

    assert product(3, factors, multiply) == 3**factors == [1, *made][-1] * (3 if factors == 1 else 1)
    assert len(made) <= 6


def test_exponents_without_a_product() -> None:
    assert [whole(e) for e in (0, -2, 2.5, 17, 1j, 2 + 1j, np.array([2]), np.nan)] == [None] * 8
    assert [whole(e) for e in (2, 3.0, np.float32(4), 5 + 0j)] == [2, 3, 4, 5]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("target", ["cpu", *LANGUAGES])
def test_powers_of_many_factors(dtype: str, target: str, backends: dict[str, Any]) -> None:
    x = numbers(dtype)[:200]
    x = np.concatenate([x, np.array([1e-30, -1e-30, 1e30, -1e3], dtype)])
    with np.errstate(all="ignore"):
        wanted = by_many_products(x)
    if target == "cpu":
        results = accelerate(by_many_products, target="cpu")(x)
    else:
        results = GpuExecutor(translated(by_many_products, (x,), target), backends[target])([x])
    tiny = np.finfo(dtype).tiny
    for found, want in zip(results, wanted, strict=True):
        assert found.dtype == want.dtype
        np.testing.assert_allclose(found, want, rtol=FACTORS * 2.0 ** -BITS[dtype] / 2, atol=tiny)
        np.testing.assert_array_equal(np.signbit(found[:4]), np.signbit(want[:4]))


def test_powers_in_a_native_loop() -> None:
    def powers(a: Any) -> Any:
        out = np.zeros((4, a.shape[0]))
        for i in range(a.shape[0]):
            t = a[i] ** 5
            if t > 1.0:
                t = a[i] ** 13 - a[i] ** -4
            out[0, i], out[1, i], out[2, i] = t, a[i] ** 6, a[i] ** -1
            out[3, i] = out[3, i - 1] + t
        return out

    x = np.random.default_rng(0).normal(size=60)
    np.testing.assert_allclose(accelerate(powers, target="cpu")(x), powers(x), rtol=1e-14)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("dtype", [*REALS, "int32", "int64"])
def test_powers_are_numpys(dtype: str, language: str, backends: dict[str, Any]) -> None:
    function, x = wholes if dtype.startswith("int") else reals, numbers(dtype)
    program = translated(function, (x,), language)
    (kernel,) = kernels_of(program, language)
    assert "pow" not in kernel.source and "integer_power" not in kernel.source
    with np.errstate(all="ignore"):
        wanted = function(x)
    for found, want in zip(GpuExecutor(program, backends[language])([x]), wanted, strict=True):
        assert found.dtype == want.dtype
        off = STEPS * 2.0 ** -BITS[want.dtype.name] if want.dtype.name in BITS else 0.0
        got, want = (np.asarray(a).astype("f8" if want.dtype.kind != "i" else "i8") for a in (found, want))
        np.testing.assert_allclose(got, want, rtol=off, atol=2.0**-24 if x.dtype == np.float16 else 0)  # subnormals
        np.testing.assert_array_equal(np.signbit(got[:4]), np.signbit(want[:4]))


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
def test_their_gradients_are_computed_in_the_dtype_of_the_numbers(dtype: str, language: str) -> None:
    x = numbers(dtype)
    for function in (lambda x: np.sum(0.5 * x**3), lambda x: np.sum(np.power(2.0, x) * 0.2)):
        for kernel in kernels_of(translated(grad(function), (x,), language), language):
            entry = kernel.source[kernel.source.index(kernel.name) :]
            assert "double" not in entry and "float64" not in entry


@pytest.mark.parametrize("language", LANGUAGES)
def test_powers_of_lanes(language: str, backends: dict[str, Any]) -> None:
    def steps(x: Any) -> Any:
        n = 0
        while x**2 + x**-1.5 > 1.0 and n < 50:
            x, n = x * 0.75 + 0.25 * x**3 * 0.5, n + 1
        return x, n

    lanes, x = vmap(steps), np.linspace(0.3, 1.6, 40)
    program = translated(lanes, (x,), language)
    (kernel,) = kernels_of(program, language)
    assert kernel.kind == "lanes" and kernel.language == language
    if language == "triton":
        assert "pow(" not in kernel.source
    got, want = GpuExecutor(program, backends[language])([x]), [steps(v) for v in x]
    np.testing.assert_allclose(got[0], [w[0] for w in want], rtol=1e-9)
    np.testing.assert_array_equal(got[1], [w[1] for w in want])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_large_powers_on_the_cpu_have_the_signs_of_numpys(dtype: str) -> None:
    """NumPy's function may be given magnitudes alone, from 8,192 elements on."""
    ends = np.array([0.0, 1, 2, 0.5, 3, np.inf, np.nan, 1e30, 1e-30, 1.5, 2.0**40 + 1])
    ends = np.concatenate([ends, -ends])
    x, y = (np.tile(a.ravel(), 20).astype(dtype) for a in np.meshgrid(ends, ends))

    def powers(x: Any, y: Any, k: Any) -> Any:
        return (x + 0) ** (y * 1), (x + 0) ** k * 1, 3.0 ** (y * 1)

    fast = accelerate(powers, target="cpu")
    for k in (-7, -2, 0, 3, 64, 65):
        with np.errstate(all="ignore"):
            results, wanted = fast(x, y, k), powers(x, y, k)
        for found, want in zip(results, wanted, strict=True):
            assert found.dtype == want.dtype
            np.testing.assert_allclose(found, want, rtol=4 * np.finfo(dtype).eps, atol=np.finfo(dtype).tiny)
            real = ~np.isnan(want)
            np.testing.assert_array_equal(np.signbit(found[real]), np.signbit(want[real]))
