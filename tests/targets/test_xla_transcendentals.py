"""Elementary functions written as arithmetic on XLA's CPU: errors in units in the last place, special values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from drawn import Drawn
from xla_programs import check, program, run_xla

from untraced import accelerate
from untraced.tpu.client import executable as client
from untraced.tpu.client import host_calls
from untraced.tpu.emit import transcendentals
from untraced.tpu.emit.program import emit
from untraced.translator import make, ops


@pytest.fixture(autouse=True)
def no_vectors_of_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is left to NumPy, as on processors on which it has no vector instructions for these functions."""
    monkeypatch.setattr(host_calls, "has_vectors", lambda: False)


COUNT = transcendentals.SMALLEST
RANDOM = Drawn(7)
WIDE = {np.float32: np.float64, np.float64: np.longdouble}
ROWS = {
    "sin": ops.SIN, "cos": ops.COS, "tan": ops.TAN, "arcsin": ops.ARCSIN, "arccos": ops.ARCCOS, "arctan": ops.ARCTAN,
    "log": ops.LOG, "log2": ops.LOG2, "log10": ops.LOG10, "log1p": ops.LOG1P,
    "cbrt": ops.CBRT, "exp2": ops.EXP2,
}  # fmt: skip

SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, 0.5, np.inf, -np.inf, np.nan, 5e-324, -1e-310, 1e-300, 3e-308, 2.0**-30])


def uniform(low: float, high: float) -> np.ndarray[Any, Any]:
    return RANDOM.uniform(low, high, COUNT)


def bits(dtype: type, positive: bool) -> np.ndarray[Any, Any]:
    """Floats of all magnitudes, subnormals included."""
    width = np.dtype(dtype).itemsize
    raw = RANDOM.integers(0, 1 << (8 * width - 1), COUNT, dtype=np.uint64)
    if not positive:
        raw |= RANDOM.integers(0, 2, COUNT, dtype=np.uint64) << np.uint64(8 * width - 1)
    x = raw.astype(f"u{width}").view(dtype)
    return np.where(np.isfinite(x), x, dtype(1))


def near(centre: float, width: float) -> np.ndarray[Any, Any]:
    return centre * (1 + RANDOM.uniform(-width, width, COUNT))


def multiples_of_half_pi(largest: float) -> np.ndarray[Any, Any]:
    return np.round(uniform(-largest, largest)) * (np.pi / 2)


TRIGONOMETRIC: list[Callable[[type], Any]] = [
    lambda t: uniform(-2, 2),
    lambda t: uniform(-100, 100),
    lambda t: uniform(-transcendentals.SINE_LIMIT, transcendentals.SINE_LIMIT),
    lambda t: multiples_of_half_pi(9e5),
    lambda t: np.exp(uniform(-80, 14)),
]
LOGARITHMS: list[Callable[[type], Any]] = [
    lambda t: uniform(0.3, 3),
    lambda t: near(1.0, 1e-4),
    lambda t: near(0.5**0.5, 1e-6),
    lambda t: 2.0 ** RANDOM.integers(-1074, 1023, COUNT),
    lambda t: bits(t, positive=True),
]
ANGLES: list[Callable[[type], Any]] = [
    lambda t: uniform(-1, 1),
    lambda t: uniform(-10, 10),
    lambda t: near(np.tan(np.pi / 8), 1e-4),
    lambda t: near(np.tan(3 * np.pi / 8), 1e-4),
    lambda t: bits(t, positive=False),
]
SINES: list[Callable[[type], Any]] = [
    lambda t: uniform(-1, 1),
    lambda t: 1 - np.exp(uniform(-16, -1)),
    lambda t: np.exp(uniform(-80, -1)),
]
AROUND_ZERO: list[Callable[[type], Any]] = [
    lambda t: uniform(-0.99, 3),
    lambda t: np.exp(uniform(-80, 700)),
    lambda t: -np.exp(uniform(-80, -1e-3)),
]
EXPONENTS: list[Callable[[type], Any]] = [
    lambda t: uniform(-1, 1),
    lambda t: uniform(-120, 120),
    lambda t: uniform(*((-1080, 1023.9) if t is np.float64 else (-155, 127.9))),
    lambda t: np.round(uniform(-1021, 1023)) if t is np.float64 else np.round(uniform(-125, 127)),
    lambda t: np.round(uniform(-20, 20)) + 0.5,
    lambda t: np.exp(uniform(-80, -1)),
]
CASES = [
    *(("tan", np.float32, d) for d in TRIGONOMETRIC),
    *((name, np.float32, d) for name in ("arcsin", "arccos") for d in SINES),
    *(("log1p", np.float64, d) for d in AROUND_ZERO),
    *(("sin", t, d) for t in WIDE for d in TRIGONOMETRIC),
    *(("cos", t, d) for t in WIDE for d in TRIGONOMETRIC),
    *((name, np.float64, d) for name in ("log", "log2", "log10") for d in LOGARITHMS),
    *(("arctan", t, d) for t in WIDE for d in ANGLES),
    *(("exp2", t, d) for t in WIDE for d in EXPONENTS),
    *((name, np.float32, lambda t: bits(t, positive=False)) for name in ("sin", "cos", "tan")),
]


def on_xla(name: str, x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    (result,) = run_xla(program(lambda b, x: make.elementwise(b, ROWS[name], x), x), [x])
    return result


@pytest.mark.parametrize(("name", "dtype", "draw"), CASES)
def test_error_below_two_units_in_the_last_place(name: str, dtype: type, draw: Callable[[type], Any]) -> None:
    x = draw(dtype).astype(dtype)
    exact = getattr(np, name)(x.astype(WIDE[dtype]))
    unit = np.spacing(np.abs(exact).astype(dtype)).astype(WIDE[dtype])
    normal = np.abs(exact) >= np.finfo(dtype).tiny  # XLA flushes subnormal results
    ours = on_xla(name, x)
    assert ours.dtype == dtype
    error = np.abs(ours.astype(WIDE[dtype]) - exact) / unit
    assert error[normal].max(initial=0) < 2.01
    if name in ("sin", "tan", "arcsin", "arctan"):
        np.testing.assert_array_equal(ours[~normal], x[~normal])


@pytest.mark.parametrize(("dtype", "least", "most"), [(np.float64, -1022, 1023), (np.float32, -126, 127)])
def test_powers_of_two_are_exact(dtype: type, least: int, most: int) -> None:
    x = np.resize(np.arange(least, most + 1), COUNT).astype(dtype)
    np.testing.assert_array_equal(on_xla("exp2", x), np.ldexp(dtype(1), x.astype(int)))


@pytest.mark.parametrize(("name", "dtype"), dict.fromkeys((name, dtype) for name, dtype, _ in CASES))
def test_special_values(name: str, dtype: type) -> None:
    x = np.resize(SPECIAL.astype(dtype), COUNT)
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(x)
    ours = on_xla(name, x)
    np.testing.assert_allclose(ours, expected, rtol=5 * np.finfo(dtype).eps)
    np.testing.assert_array_equal(np.signbit(ours)[expected == 0], np.signbit(expected)[expected == 0])


@pytest.mark.parametrize("name", ["sin", "cos"])
@pytest.mark.parametrize("large", [2e6, 1e10, -1e22, 1e300, np.inf])
def test_one_huge_argument_among_small_ones(name: str, large: float) -> None:
    x = uniform(-5, 5)
    x[COUNT // 3] = large
    with np.errstate(invalid="ignore"):
        expected = getattr(np, name)(x)
    np.testing.assert_allclose(on_xla(name, x), expected, rtol=1e-15, atol=1e-16)


def test_the_branch_is_written_for_large_arrays_only() -> None:
    def text(count: int, dtype: type) -> str:
        x = np.zeros(count, dtype)
        return emit(program(lambda b, x: make.elementwise(b, ops.SIN, x), x)).text

    assert text(COUNT, np.float64).count("stablehlo.if") == 1
    assert "stablehlo.sine" not in text(COUNT, np.float32)
    for other in (text(COUNT - 1, np.float64), text(COUNT - 1, np.float32), text(COUNT, np.complex128)):
        assert "stablehlo.sine" in other
        assert "stablehlo.if" not in other


def test_both_branches_stay_branches() -> None:
    """XLA would compute both and select, were they plain arithmetic to it."""
    x = np.zeros(COUNT)
    hlo = client.compile(emit(program(lambda b, x: make.multiply(b, make.elementwise(b, ops.SIN, x), x), x))).hlo
    assert " conditional(" in hlo


def test_a_computed_argument() -> None:
    x, y = uniform(-3, 3), uniform(-3, 3)

    def build(b: Any, x: Any, y: Any) -> Any:
        angle = make.add(b, make.multiply(b, x, 4.0), y)
        growth = make.elementwise(b, ops.EXP, x)
        return make.add(b, make.elementwise(b, ops.SIN, angle), make.elementwise(b, ops.COS, growth))

    check(build, x, y)


def test_results_that_are_broadcast_are_computed_once() -> None:
    x, y = RANDOM.uniform(0.5, 2, (COUNT, 1)), RANDOM.uniform(0.5, 2, (1, 3))
    function = program(lambda b, x, y: make.multiply(b, make.elementwise(b, ops.LOG, x), y), x, y)
    assert "optimization_barrier" in emit(function).text
    np.testing.assert_allclose(run_xla(function, [x, y])[0], np.log(x) * y, rtol=1e-15)


def test_tpus_have_their_own() -> None:
    x = np.zeros(COUNT)
    assert "stablehlo.log" in emit(program(lambda b, x: make.elementwise(b, ops.LOG, x), x), target="tpu").text


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("count", [None, COUNT])
def test_powers_have_whole_logarithms_and_cubes_whole_roots(dtype: type, count: int | None) -> None:
    """Of short arrays too: programs count digits with `int(np.log10(n)) + 1`."""
    tens = dtype(10) ** np.arange(-18, 19)
    twos = dtype(2) ** np.arange(-60, 61)
    cubes = np.arange(-200, 201).astype(dtype) ** 3
    for name, of in (("log10", tens), ("log2", twos), ("cbrt", cubes)):
        x = of.astype(dtype) if count is None else np.resize(of.astype(dtype), count)
        np.testing.assert_array_equal(on_xla(name, x), np.rint(getattr(np, name)(x.astype(np.float64))))


@pytest.mark.parametrize("name", ["log2", "log10", "hypot", "logaddexp", "logaddexp2", "deg2rad", "rad2deg", "exp2"])
def test_half_precision_is_rounded_once(name: str) -> None:
    """What XLA has no operation for is composed of others, in float32."""
    function, random = getattr(np, name), np.random.default_rng(11)  # of its own: float32 decides no tie between halves
    x, y = (random.uniform(0.1, 9, 500).astype(np.float16) for _ in range(2))
    arguments = (x, y)[: function.nin]
    np.testing.assert_array_equal(accelerate(lambda *a: function(*a))(*arguments), function(*arguments))
