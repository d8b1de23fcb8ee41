"""Every elementwise row on XLA against NumPy: all kinds of dtype, special values, broadcasting."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from xla_programs import assert_same, check, program, run_xla, tolerance

from untraced import accelerate
from untraced.translator import make, ops
from untraced.translator.builder import Builder
from untraced.translator.errors import DTypeError
from untraced.translator.ir import Atom
from untraced.translator.ops.core import Elementwise
from untraced.translator.ops.samples import Domain

ROWS = [op for op in ops.ALL if isinstance(op, Elementwise)]
DTYPES = {
    "f": [np.float64, np.float32, np.float16],
    "i": [np.int64, np.int32, np.int8],
    "u": [np.uint8, np.uint64],
    "c": [np.complex128, np.complex64],
    "b": [np.bool_],
}


def draw(domain: Domain, dtype: Any, shape: tuple[int, ...], seed: int) -> Any:
    random = np.random.default_rng(seed)
    kind = np.dtype(dtype).kind
    if kind == "b":
        return random.random(shape) < 0.5
    values = random.uniform(domain.low, domain.high, shape)
    if kind == "c":
        return (values + 1j * random.uniform(domain.low, domain.high, shape)).astype(dtype)
    if kind == "u":
        values = np.abs(values)
    return (np.rint(values) if kind in "iu" else values).astype(dtype)


def signatures(op: Elementwise) -> list[tuple[Any, ...]]:
    """Dtypes of arguments: one for each kind that the first numeric argument takes."""
    domains = [op.samples[min(k, len(op.samples) - 1)] for k in range(op.arity)]
    kinds = "".join(dict.fromkeys("".join(d.kinds for d in domains)))
    found = []
    for kind in kinds:
        for level in range(3):
            dtypes = []
            for d in domains:
                choices = DTYPES[kind if kind in d.kinds else d.kinds[0]]
                dtypes.append(choices[min(level, len(choices) - 1)])
            found.append(tuple(dtypes))
    return list(dict.fromkeys(found))


def accuracy(op: Elementwise, result: np.dtype[Any]) -> float:
    rough = {"tan", "power", "float_power", "exp2", "log2", "log10", "arccosh", "arctanh", "arcsinh", "lgamma", "erfc"}
    return tolerance(result) * (20 if op.name in rough else 1)


@pytest.mark.parametrize("op", ROWS, ids=lambda op: op.name)
def test_a_row(op: Elementwise) -> None:
    """For all dtypes in one program: most of the time goes into compiling."""
    given: list[Any] = []
    expected: list[np.ndarray[Any, Any]] = []
    for dtypes in signatures(op):
        domains = [op.samples[min(k, len(op.samples) - 1)] for k in range(op.arity)]
        shapes = [(4, 5), (5,), (4, 1)]
        args = [draw(d, t, s, seed) for seed, (d, t, s) in enumerate(zip(domains, dtypes, shapes, strict=False))]
        try:
            program(lambda b, *xs: make.elementwise(b, op, *xs), *args)
        except DTypeError:
            continue
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected.append(np.asarray(op.evaluate(*args)))
        given += args
    assert expected, f"no sample of {op.name} is accepted by NumPy"

    def rows(b: Builder, *xs: Atom) -> list[Atom]:
        return [make.elementwise(b, op, *xs[k : k + op.arity]) for k in range(0, len(xs), op.arity)]

    for ours, theirs in zip(run_xla(program(rows, *given), given), expected, strict=True):
        assert_same(ours, theirs, accuracy(op, theirs.dtype))


SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 1e300, -1e-300, np.inf, -np.inf, np.nan])
UNARY_SPECIAL = [op for op in ROWS if op.arity == 1]
LOOSE = {"reciprocal"}


@pytest.mark.parametrize("op", UNARY_SPECIAL, ids=lambda op: op.name)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_special_values(op: Elementwise, dtype: Any) -> None:
    with np.errstate(all="ignore"):
        x = SPECIAL.astype(dtype)
        if op.name in ("sin", "cos", "tan"):
            x = x[np.abs(x) != np.inf][:6]  # huge arguments lose all digits in float32
        try:
            expected = np.asarray(op.evaluate(x))
            function = program(lambda b, x: make.elementwise(b, op, x), x)
        except (TypeError, DTypeError):
            pytest.skip("not for floats")
        (ours,) = run_xla(function, [x])
    assert_same(ours, expected, accuracy(op, expected.dtype))


BINARY_SPECIAL = [
    ops.ADD, ops.SUBTRACT, ops.MULTIPLY, ops.DIVIDE, ops.FLOOR_DIVIDE, ops.REMAINDER, ops.FMOD, ops.POWER, ops.MAXIMUM,
    ops.MINIMUM, ops.FMAX, ops.FMIN, ops.ARCTAN2, ops.HYPOT, ops.LOGADDEXP, ops.COPYSIGN, ops.HEAVISIDE, ops.LESS,
    ops.EQUAL, ops.NOT_EQUAL, ops.GREATER_EQUAL, ops.LOGICAL_AND, ops.LOGICAL_XOR,
]


@pytest.mark.parametrize("op", BINARY_SPECIAL, ids=lambda op: op.name)
def test_pairs_of_special_values(op: Elementwise) -> None:
    pairs = np.array(list(itertools.product(SPECIAL, SPECIAL)))
    x, y = np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])
    if op is ops.FLOOR_DIVIDE:
        keep = np.abs(x) < 1e299  # 1e300 // 0.5 overflows the exact remainder's quotient
        x, y = x[keep], y[keep]
    check(lambda b, x, y: make.elementwise(b, op, x, y), x, y)


INTEGER_ROWS = [ops.FLOOR_DIVIDE, ops.REMAINDER, ops.FMOD, ops.LEFT_SHIFT, ops.RIGHT_SHIFT, ops.MAXIMUM, ops.LESS]


@pytest.mark.parametrize("op", INTEGER_ROWS, ids=lambda op: op.name)
@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.uint8, np.uint64])
def test_integers_with_zeros_signs_and_limits(op: Elementwise, dtype: Any) -> None:
    info = np.iinfo(dtype)
    values = np.array([0, 1, 2, 3, 7, 8, info.min, info.max, *([-1, -2, -7] if info.min else [200])], dtype)
    pairs = np.array(list(itertools.product(values, values)))
    x, y = np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])
    if "shift" in op.name:
        keep = (y >= 0) & (y < 8 * np.dtype(dtype).itemsize + 3)
        x, y = x[keep], y[keep]
    check(lambda b, x, y: make.elementwise(b, op, x, y), x, y)


def test_signed_against_unsigned() -> None:
    x, y = np.array([-1, 0, 5, 2**62], np.int64), np.array([0, 5, 5, 2**63 + 1], np.uint64)
    rows = [ops.LESS, ops.LESS_EQUAL, ops.GREATER, ops.GREATER_EQUAL, ops.EQUAL, ops.NOT_EQUAL]
    check(lambda b, x, y: [make.elementwise(b, op, x, y) for op in rows], x, y)
    check(lambda b, x, y: [make.elementwise(b, op, y, x) for op in rows], x, y)


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 4, 5, -1, -2, 0.5, 1.5, 2.5, -0.5])
def test_constant_powers(exponent: float) -> None:
    x = np.array([0.0, 0.5, 2.0, 7.5, np.inf, np.nan])
    check(lambda b, x: make.power(b, x, exponent), x)
    check(lambda b, x: make.power(b, x, exponent), x.astype(np.float32))
    if isinstance(exponent, int):
        check(lambda b, x: make.power(b, x, exponent), -x)
        check(lambda b, x: make.power(b, x, exponent), np.array([1 + 2j, -0.5 + 0.1j]), rtol=1e-10)
    if exponent in (0, 1, 2, 3, 4, 5):
        check(lambda b, x: make.power(b, x, int(exponent)), np.array([0, -3, 7]))


def test_bfloat16() -> None:
    x = np.array([0.5, -1.25, 3.0, np.nan], ml_dtypes.bfloat16)
    function = program(lambda b, x: [make.elementwise(b, ops.TANH, x), make.multiply(b, x, x), make.sum(b, x, (0,))], x)
    ours = run_xla(function, [x])
    wide = x.astype(np.float32)
    for got, expected in zip(ours, (np.tanh(wide), wide * wide, wide.sum()), strict=True):
        assert got.dtype == x.dtype
        np.testing.assert_allclose(got.astype(np.float32), expected, rtol=1e-2)


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64], ids=lambda d: d.__name__)
@pytest.mark.parametrize("size", [100, 20_000])
def test_products_of_complex_numbers_are_numpys_to_the_last_bit(dtype: type, size: int) -> None:
    """Both fuse one multiplication of each part with the addition, where the machine can: the same one."""

    def step(z, c):
        return z * c, z**2 + c, (z + c) * (z - c)

    rng = np.random.default_rng(0)
    z, c = (rng.standard_normal((2, size)) + 1j * rng.standard_normal((2, size))).astype(dtype)
    for found, expected in zip(accelerate(step, target="cpu")(z, c), step(z, c), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_grids_are_numpys_to_the_last_bit() -> None:
    def grid(a, b):
        x = np.linspace(a, b, 125)
        return x, x[:, None] + 0 * np.linspace(0, b, 60), a + np.arange(100) * b

    for found, expected in zip(accelerate(grid, target="cpu")(-1.75, 0.3), grid(-1.75, 0.3), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", [np.int64, np.uint64, np.int16])
@pytest.mark.parametrize("largest", [60, 120])
def test_powers_of_many_integers(dtype: Any, largest: int) -> None:
    """Those with small exponents alone look at fewer bits."""
    random = np.random.default_rng(0)
    x, y = random.integers(0, 100, 5000).astype(dtype), random.integers(0, largest, 5000).astype(dtype)
    np.testing.assert_array_equal(accelerate(lambda x, y: x**y, target="cpu")(x, y), x**y)
