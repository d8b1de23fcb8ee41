"""Powers by numbers that the source knows: a few products or a root in kernels, with NumPy's special values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from host_cuda import HostCuda

from untraced import grad, vmap
from untraced.kernels.executor import GpuExecutor, kernels_of
from untraced.kernels.powers import BROKEN, WHOLE
from untraced.translator.ir import Function
from untraced.translator.pipeline import translate
from untraced.translator.reading.signature import abstract_with_leaves

pytest.importorskip("triton")
from triton_interpreter import TritonInterpreter  # noqa: E402

LANGUAGES = ("cuda", "triton")
REALS = ("float32", "float64", "float16", "bfloat16")
BITS = {"float32": 23, "float64": 52, "float16": 10, "bfloat16": 7}
STEPS = 2.0  # units in the last place: CUDA's own function is off by 4
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 2.0, 0.25, -3.0]


@pytest.fixture(scope="module")
def backends() -> Iterator[dict[str, Any]]:
    interpreter = TritonInterpreter()
    yield {"cuda": HostCuda(), "triton": interpreter}
    interpreter.close()


def translated(function: Any, args: tuple[Any, ...], language: str) -> Function:
    return translate(function, abstract_with_leaves(function, args, {})[0], target=language).function


def reals(x: Any) -> Any:
    return x**1.0, x**2, x**3, x**4, x**0.5, x**1.5, x**-0.5, x**-1, x**-1.5, x**-2


def wholes(x: Any) -> Any:
    return x**1, x**2, x**3, x**4


def numbers(dtype: str) -> np.ndarray[Any, Any]:
    rng, known = np.random.default_rng(0), np.dtype(getattr(ml_dtypes, dtype) if dtype == "bfloat16" else dtype)
    if known.kind == "i":
        return rng.integers(-(2**30), 2**30, 500).astype(known)
    return np.array([*SPECIAL, *(3 * rng.standard_normal(500))]).astype(known)


def test_all_of_them_are_tried() -> None:
    assert (len(WHOLE) + len(BROKEN), len(WHOLE)) == (10, 4)


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
