"""Float32 values whose results are all rounded to half precision: faster functions, and what must stay exact."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from translating import translated

from untraced.kernels.ahead import compile_program
from untraced.kernels.launching.executor import GpuExecutor, kernels_of

pytest.importorskip("triton")

LANGUAGES = ("cuda", "triton")
BFLOAT = np.dtype(ml_dtypes.bfloat16)


def computed(function: Callable[..., Any], args: tuple[Any, ...], language: str, backends: dict[str, Any]) -> list[Any]:
    run = GpuExecutor(translated(function, args, language), backends[language])
    return [np.asarray(r) for r in run([np.asarray(a) for a in args])]


def sources(function: Callable[..., Any], args: tuple[Any, ...], language: str) -> str:
    return "\n".join(k.source for k in kernels_of(translated(function, args, language), language))


def steps_apart(x: Any, y: Any) -> Any:
    """How many numbers of half precision lie between two."""
    signs = [a.view(np.int16).astype(int) for a in (x, y)]
    m, n = (np.where(s < 0, -(s & 0x7FFF), s) for s in signs)
    return np.abs(m - n)


def chain(x: Any) -> Any:
    y = np.tanh(x * x + 0.5)
    y = np.sqrt(y * y + 1.0) * x
    return (np.exp(-y * y) + y / (1.5 + y * y)).astype(x.dtype)


def shares(x: Any) -> Any:
    y = x.astype(np.float32)
    e = np.exp(y - np.max(y, axis=1, keepdims=True))
    return (e / np.sum(e, axis=1, keepdims=True)).astype(x.dtype)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("dtype", [BFLOAT, np.dtype(np.float16)])
@pytest.mark.parametrize("function", [chain, shares])
def test_results_are_within_a_step_of_numpys(
    function: Callable[..., Any], dtype: np.dtype[Any], language: str, backends: dict[str, Any]
) -> None:
    x = (3 * np.random.default_rng(0).standard_normal((7, 600))).astype(dtype)
    (found,) = computed(function, (x,), language, backends)
    apart = steps_apart(found, function(x))
    assert found.dtype == dtype and apart.max() <= 1 and np.mean(apart > 0) < 0.01


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_hyperbolic_tangent_of_every_bfloat16(language: str, backends: dict[str, Any]) -> None:
    x = np.arange(1 << 16).astype(np.uint16).view(BFLOAT)
    with np.errstate(all="ignore"):
        want = np.tanh(x)
    (found,) = computed(lambda x: np.tanh(x), (x,), language, backends)
    nan = np.isnan(x.astype(np.float32))
    np.testing.assert_array_equal(np.isnan(found.astype(np.float32)), nan)
    apart = steps_apart(found[~nan], want[~nan])
    assert apart.max() <= 1 and np.mean(apart > 0) < 1e-4
    large = ~nan & (np.abs(x.astype(np.float32)) >= 9.5)
    np.testing.assert_array_equal(found[large].astype(np.float32), np.sign(x[large].astype(np.float32)))


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_hyperbolic_tangent_of_float32(language: str, backends: dict[str, Any]) -> None:
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.uniform(-12, 12, 4000), 10.0 ** rng.uniform(-44, 3, 2000), [0, -0.0, np.inf, -np.inf]])
    x = x.astype(np.float32)
    (found,) = computed(lambda x: np.tanh(x), (x,), language, backends)
    np.testing.assert_array_max_ulp(found, np.tanh(x.astype(np.float64)).astype(np.float32), 4)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(x))


def compared(x: Any) -> Any:
    y = np.sqrt(x.astype(np.float32))
    return np.where(np.sqrt(y) > 1.25, y, 1 / y).astype(x.dtype)


def kept(x: Any) -> Any:
    y = np.sqrt(x.astype(np.float32))
    return np.exp(y), (y * 2).astype(x.dtype)


def counted(x: Any) -> Any:
    y = np.sqrt(x.astype(np.float32))
    return np.floor(y).astype(x.dtype), y.astype(np.int32)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("function", [compared, kept, counted])
def test_what_decides_or_is_kept_in_float32_is_exact(function: Callable[..., Any], language: str) -> None:
    found = sources(function, (np.ones(2048, BFLOAT),), language)
    assert "quick_" not in found.replace("quick_quotient", "") and "tl.sqrt(" not in found and "tl.exp(" not in found


def cancelling(x: Any, y: Any) -> Any:
    x, y = x.astype(np.float32), y.astype(np.float32)
    return (x * y - y * x + x * x - np.square(x)).astype(BFLOAT)


def contracted(x: Any, y: Any) -> Any:
    x, y = x.astype(np.float32), y.astype(np.float32)
    return ((0.5 - x * y) * (x * x - 1.5) / (np.exp(y) + x * 0.25)).astype(BFLOAT)


@pytest.mark.parametrize("language", LANGUAGES)
def test_sums_are_rounded_once_where_nothing_cancels_against_the_product(
    language: str, backends: dict[str, Any]
) -> None:
    rng = np.random.default_rng(2)
    x, y = (rng.standard_normal(500).astype(BFLOAT) for _ in range(2))
    for function, count in ((cancelling, 0), (contracted, 3)):
        (found,) = computed(function, (x, y), language, backends)
        assert steps_apart(found, function(x, y)).max() <= 1
        source = sources(function, (x, y), language)
        assert len(re.findall(r"\bfmaf?\(", source.partition("_by8")[0])) == count


def root_of_one_at_least(x: Any) -> Any:
    y = x.astype(np.float32)
    return np.sqrt(y * y + 1.0).astype(x.dtype)


def root_of_anything(x: Any) -> Any:
    return np.sqrt(np.abs(x.astype(np.float32))).astype(x.dtype)


@pytest.mark.parametrize(
    ("root", "instruction"),
    [(root_of_one_at_least, "sqrt.approx.ftz.f32"), (root_of_anything, "sqrt.approx.f32")],
)
def test_roots_are_scaled_where_they_may_be_of_less_than_normal_numbers(
    root: Callable[..., Any], instruction: str
) -> None:
    (kernel,) = kernels_of(translated(root, (np.ones(1 << 20, BFLOAT),), "triton"), "triton")
    assert compile_program(kernel.program, 90, kernel.program.regular).ptx.count(instruction) == 8


def test_a_chain_of_bfloat16_has_no_branches() -> None:
    (kernel,) = kernels_of(translated(chain, (np.ones(1 << 20, BFLOAT),), "triton"), "triton")
    ptx = compile_program(kernel.program, 90, kernel.program.regular).ptx
    assert "sqrt.rn" not in ptx and "div.rn" not in ptx and ptx.count("sqrt.approx.ftz.f32") == 8


@pytest.mark.parametrize("language", LANGUAGES)
def test_roots_of_the_smallest_numbers(language: str, backends: dict[str, Any]) -> None:
    x = np.array([0.0, 1e-40, 1e-38, 1e-20, np.inf, np.nan, 3.0, -2.0]).astype(BFLOAT)
    (found,) = computed(root_of_anything, (x,), language, backends)
    np.testing.assert_array_equal(found.astype(np.float32), root_of_anything(x).astype(np.float32))


def test_roots_of_float32_share_one_branch_among_four() -> None:
    (kernel,) = kernels_of(translated(lambda x: np.sqrt(x) + 1, (np.ones(1 << 20, np.float32),), "triton"), "triton")
    ptx = compile_program(kernel.program, 90, kernel.program.regular).ptx
    assert ptx.count("@plain bra") == 2 and ptx.count("rsqrt.approx.ftz.f32") == 8


def less_one(x: Any) -> Any:
    return (np.exp(x.astype(np.float32)) - 1).astype(x.dtype)


def beyond_one(x: Any) -> Any:
    y = x.astype(np.float32)
    return (np.sqrt(1 + y) - 1 / (1 + y)).astype(x.dtype)


def differences(x: Any) -> Any:
    y = x[1:].astype(np.float32) - x[:-1].astype(np.float32)
    return (np.exp(y * 0.5) - np.exp(-y)).astype(x.dtype)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("dtype", [BFLOAT, np.dtype(np.float16)])
@pytest.mark.parametrize("function", [less_one, beyond_one])
def test_what_is_left_of_a_difference_is_as_good_as_float32_s(
    function: Callable[..., Any], dtype: np.dtype[Any], language: str, backends: dict[str, Any]
) -> None:
    # What float32 rounds away of 1 is a step of the difference here; approximations would take four and more.
    x = ((2.0**-13 if dtype == np.float16 else 2.0**-16) * (1 + np.random.default_rng(4).random(600))).astype(dtype)
    (found,) = computed(function, (x,), language, backends)
    assert steps_apart(found, function(x)).max() <= 2


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_is_computed_from_float32_has_no_grid(language: str, backends: dict[str, Any]) -> None:
    """Its quotients come next to 1, and so logarithms next to 0."""

    def logarithms(x: Any, y: Any) -> Any:
        return np.log(x / y).astype(np.float16)

    rng = np.random.default_rng(5)
    y = (1 + rng.random(600)).astype(np.float32)
    x = (y * (1 + 2.0**-13 * (1 + rng.random(600)))).astype(np.float32)
    (found,) = computed(logarithms, (x, y), language, backends)
    assert steps_apart(found, logarithms(x, y)).max() <= 1


def test_functions_stay_fast_where_nothing_is_lost() -> None:
    """A sigmoid, and sums of which one part is next to nothing where the other is not."""

    def sigmoid(x: Any) -> Any:
        return (1 / (1 + np.exp(-x.astype(np.float32)))).astype(x.dtype)

    for function in (sigmoid, chain):
        found = sources(function, (np.ones(2048, BFLOAT),), "cuda")
        assert "__expf(" in found, function.__name__
    for function in (less_one, differences):
        assert "__expf(" not in sources(function, (np.ones(2048, BFLOAT),), "cuda"), function.__name__
