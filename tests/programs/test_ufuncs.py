"""Ufuncs with their options and methods, reductions with theirs, bits of numbers, and what Python's `math` raises."""

from __future__ import annotations

import math
import platform
from typing import Any

import numpy as np
import pytest
from comparing import TARGETS, Arguments, Cases, check

from untraced import accelerate, grad, vmap
from untraced.translator.pipeline import translate
from untraced.translator.reading.text.signature import abstract

RNG = np.random.default_rng(0)
A = RNG.normal(size=(3, 4))
B = RNG.normal(size=(3, 4))
I = RNG.integers(0, 9, (3, 4))
M = A > 0
SPECIAL = np.array([0.0, -0.0, 1.0, -1.5, np.nan, np.inf, -np.inf, 6e-8, 6e4, 0.3])
CASES = Cases()

# ---- out, where, dtype ---------------------------------------------------------------------------


@CASES((A, B, np.zeros((3, 4))), (A.astype(np.float32), B, np.zeros((3, 4))))
def out_everywhere(x: Any, y: Any, o: Any) -> Any:
    first = np.add(x, y, o).copy()
    np.multiply(o, 2.0, out=(o,))
    np.sqrt(np.abs(x[:, 1:]), out=o[:, 1:])
    np.add(x[1:], y[1:], out=o[:-1])
    np.sum(x, 0, None, o[2])
    np.cumsum(y[0], out=o[1])
    return first, np.clip(y, -1, 1, o[:]).sum(), np.mean(y, axis=0, out=o[0])


@CASES((A, B, np.zeros((3, 4))))
def where_chooses(x: Any, y: Any, o: Any) -> Any:
    np.divide(x, y, out=o, where=y > 0)
    np.log(x, where=x > 0, out=x)
    np.negative(y, y, where=o == 0)
    return np.add(x, y, where=True)


@CASES((A, B))
def several_results(x: Any, y: Any) -> Any:
    p, q = np.empty((3, 4)), np.empty((3, 4))
    r = np.divmod(x, y, out=(p, q))
    np.modf(y, q, p)
    return p, q, r[0] is p


@CASES((I, np.zeros((3, 4))), (I.astype(np.int8), np.zeros((3, 4), np.float32)))
def casts(x: Any, o: Any) -> Any:
    np.add(x, 1.5, out=o)
    k = np.zeros((3, 4), np.int64)
    np.multiply(x, 1.5, out=k, casting="unsafe")
    return k, np.sqrt(x, dtype=np.float32), np.multiply(x, x, dtype=float)


# ---- reductions ----------------------------------------------------------------------------------


@CASES((A, M), (I, M), (A.astype(np.complex128) * (1 + 2j), M))
def sums(x: Any, m: Any) -> Any:
    return (
        np.sum(x, where=m),
        np.sum(x, axis=0, where=m, initial=2),
        x.prod(axis=1, initial=3, where=m[0]),
        np.mean(x, axis=1, where=m),
        x.var(axis=0, where=m, ddof=1),
        np.std(x, correction=1),
        np.var(x, axis=1, mean=np.mean(x, axis=1, keepdims=True)),
    )


@CASES((np.where(A > 1, np.nan, A), M), (I, M))
def extremes(x: Any, m: Any) -> Any:
    return (
        np.max(x, axis=1, where=m, initial=-3),
        x.min(initial=-100),
        np.any(x, where=m, axis=0),
        np.all(x > 0, axis=1, where=m, keepdims=True),
        np.nanmax(x, axis=0, initial=0),
        np.nansum(x, axis=1, where=m, initial=1),
        np.nanmean(x, where=m),
        np.max(np.zeros((2, 0)), axis=1, initial=7.0),
    )


@CASES((A, M))
def no_identity(x: Any, m: Any) -> Any:
    return np.max(x, where=m)


# ---- methods of ufuncs ---------------------------------------------------------------------------


@CASES((A, M))
def folds_of_floats(x: Any, m: Any) -> Any:
    return (
        np.subtract.reduce(x),
        np.divide.reduce(x, axis=1, keepdims=True),
        np.fmax.reduce(x, axis=None),
        np.hypot.reduce(x, axis=(0, 1)),
        np.logaddexp.reduce(x, axis=1, where=m, initial=1),
        np.maximum.accumulate(x, axis=1),
        np.logaddexp.accumulate(x),
        np.fmin.reduceat(x, [0, 2, 1], axis=1),
        np.add.reduceat(x[0], np.array([0, 2, 3])),
        np.maximum.reduce(x, initial=0.5, where=m),
    )


@CASES((I,), (I.astype(np.int8),), (I.astype(np.uint16),))
def folds_of_integers(x: Any) -> Any:
    return (
        np.bitwise_and.reduce(x),
        np.bitwise_xor.reduce(x, axis=None),
        np.bitwise_or.accumulate(x, axis=1),
        np.gcd.reduce(x + 1, axis=1),
        np.add.reduce(x, axis=(0, 1)),
        np.multiply.accumulate(x),
        np.subtract.outer(x[0], x[1], dtype=float),
        np.logical_xor.reduce(x),
        np.left_shift.reduce(x[:2] // 3),
        np.bitwise_xor.reduce(np.resize(x, (603, 2))),  # in several parts at once
    )


@CASES((A,))
def not_reorderable(x: Any) -> Any:
    return np.subtract.reduce(x, axis=(0, 1))


# ---- numbers -------------------------------------------------------------------------------------


@CASES((np.array([-128, -7, 0, 6, 127], np.int8),), (np.array([2**63 - 1, 12, -18, 0, 1]),))
def integers(x: Any) -> Any:
    return np.gcd(x, 6), np.lcm(x[1:4], x[2:]), np.bitwise_count(x), np.gcd(x[1], x[2])


@CASES((np.array([[-99, 64, 35], [98, 50, -3], [31, 7, 90]], np.int8),))
def folds_that_wrap_around(x: Any) -> Any:
    return np.lcm.reduce(x), np.lcm.reduce(x, axis=1), np.lcm.accumulate(x, axis=1)


@CASES((SPECIAL,), (SPECIAL.astype(np.float32),), (SPECIAL.astype(np.float16),))
def floats(x: Any) -> Any:
    m, e = np.frexp(x)
    part, whole = np.modf(x)
    after = np.nextafter(x, np.inf), np.nextafter(x, x[::-1])
    return m, e, part, whole, after, np.spacing(x), np.ldexp(x, e), np.ldexp(x, -3), np.degrees(x), np.sign(x)


@CASES((I.astype(np.int8), I.astype(np.uint8)), (I.astype(np.int16), I.astype(np.uint8)), (I.astype(np.int8), 2.5))
def neighbours_of_two_dtypes(x: Any, y: Any) -> Any:
    return np.nextafter(x, y), np.nextafter(y, x[0]), np.nextafter(x[0, 0], y), np.nextafter(x, 1)


@CASES((A[0].copy(),), (A[0].astype(np.float32),))
def bits(x: Any) -> Any:
    size = np.int64 if x.dtype == np.float64 else np.int32
    v = x.view(size)
    v[0] = 0
    x[1:3].view(size)[:] += 1
    x[3] = 2.5
    return v ^ 1, x[3].view(size), (v >> 1).view(x.dtype), (x > 0).view(np.uint8)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("function", "arguments"), CASES.found)
def test_as_numpy(function: Any, arguments: Arguments, target: str) -> None:
    with np.errstate(all="ignore"):
        check(function, arguments, target)


def quotient_into(x: Any, o: Any) -> Any:
    return np.true_divide(x, 2, out=o)


@CASES((A, I), (I, I))
def changed_at_indices(x: Any, i: Any) -> Any:
    np.negative.at(x, (i[0] % 3, i[1] % 4))
    np.square.at(x, i > 4)
    np.absolute.at(x[0], slice(1, 3))
    return x


@CASES((I,))
def added_to_integers(x: Any) -> Any:
    np.add.at(x, np.array([0, 1, 0]), 1.5)  # NumPy casts the number as it likes
    return x * 2


def added_to_narrow_integers(h: Any, i: Any, v: Any) -> Any:
    np.add.at(h, i, v)
    np.multiply.at(h, i[:3], v[:3] + 3)
    np.subtract.at(h, i[0], np.int64(700))
    np.multiply.at(h, i[4:9], 3)
    np.add.at(h, i, -300)
    return h


@pytest.mark.parametrize("target", ("numpy", "cpu"))
@pytest.mark.parametrize("dtype", ["u1", "i2", "u4"])
def test_integers_are_cast_to_where_they_are_added(target: str, dtype: str) -> None:
    rng = np.random.default_rng(0)
    i, v = rng.integers(0, 5, 50), rng.integers(-900, 900, 50)
    accelerated = accelerate(added_to_narrow_integers, target=target, fallback="error")
    translate(added_to_narrow_integers, abstract(added_to_narrow_integers, (np.ones(5, dtype), i, v), {}))  # whole
    np.testing.assert_array_equal(
        accelerated(np.ones(5, dtype), i, v), added_to_narrow_integers(np.ones(5, dtype), i, v)
    )


@pytest.mark.parametrize("target", TARGETS)
def test_bools_are_subtracted_at_indices(target: str) -> None:
    def function(x: Any, i: Any) -> Any:
        np.subtract.at(x, i, i > 1)
        return x

    np.testing.assert_array_equal(
        accelerate(function, target=target)(np.ones(4), np.array([1, 2, 2])), [1.0, 1.0, -1.0, 1.0]
    )


@pytest.mark.parametrize("target", TARGETS)
def test_a_cast_that_numpy_refuses(target: str) -> None:
    with pytest.raises(TypeError, match="float64.* to .*int64"):
        accelerate(quotient_into, target=target)(I, np.zeros((3, 4), int))


def fast_inverse_root(x: Any) -> Any:
    i = np.int32(0x5F3759DF) - (x.view(np.int32) >> 1)
    y = i.view(np.float32)
    return y * (np.float32(1.5) - np.float32(0.5) * x * y * y)


def test_bits_in_a_batch() -> None:
    x = np.abs(A).astype(np.float32)
    np.testing.assert_allclose(vmap(fast_inverse_root)(x), fast_inverse_root(x), rtol=1e-6)


def guarded_quotient(x: Any, y: Any) -> Any:
    return np.sum(np.divide(x, y, out=np.zeros_like(x), where=y != 0))


def test_what_a_mask_leaves_out_has_no_derivative() -> None:
    x, y = np.array([1.0, 2.0]), np.array([0.0, 4.0])
    np.testing.assert_array_equal(grad(guarded_quotient)(x, y), [0.0, 0.25])
    np.testing.assert_array_equal(grad(guarded_quotient, argnums=1)(x, y), [0.0, -0.125])


@pytest.mark.skipif(platform.machine() != "x86_64", reason="what is out of range is left to the processor")
@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int16, np.int32, np.int64, np.uint64])
def test_floats_out_of_range(dtype: Any) -> None:
    x = np.array([-1.5, 255.9, 256.0, -300.0, 70000.0, np.nan] * 4)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(accelerate(as_type, target="cpu")(x, dtype), x.astype(dtype))


def as_type(x: Any, dtype: Any) -> Any:
    return x.astype(dtype)


# ---- numbers of Python ---------------------------------------------------------------------------

PYTHON = Cases()


@PYTHON((2.0,), (0.0,), (-1.0,), (math.nan,))
def root_and_logarithm(x: Any) -> Any:
    return math.sqrt(x) + math.log(x)


@PYTHON((1.0, 2.0), (800.0, 2.0), (2.0, 2000.0), (0.0, -1.0), (-8.0, 0.5))
def exponentials(x: Any, y: Any) -> Any:
    return math.exp(x) + math.pow(x, y) + math.hypot(x, y, 2.0)


@PYTHON((1.0, 2.0), (1.0, 0.0), (0.0, 0.0))
def quotient(x: Any, y: Any) -> Any:
    return x / y


@PYTHON((2.0, -1.0), (0.0, -1.0), (10.0, 400.0))
def power(x: Any, y: Any) -> Any:
    return x**y


@PYTHON((2,), (-3,), (0,))
def negative_power_of_an_int(n: Any) -> Any:
    return n**-1


@PYTHON((2.7,), (math.nan,), (math.inf,), (1j,))
def whole(x: Any) -> Any:
    return int(x) + math.floor(x)


@PYTHON((0.5,), (0.0,), (-1.0,), (-math.inf,), (1e306,), (math.nan,))
def logarithm_of_gamma(x: Any) -> Any:
    return math.lgamma(x)


@PYTHON((3,), (7,))
def roots_in_a_loop(n: Any) -> Any:
    total = 0.0
    for i in range(n):
        total += math.sqrt(5 - i)
    return total


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("function", "arguments"), PYTHON.found)
def test_as_python(function: Any, arguments: Arguments, target: str) -> None:
    check(function, arguments, target)


def test_a_negative_number_to_a_fractional_power_is_complex() -> None:
    assert accelerate(power, target="cpu")(-8.0, 1 / 3) == power(-8.0, 1 / 3)


def test_functions_of_math_are_differentiated_and_batched() -> None:
    slope = grad(root_and_logarithm)
    assert slope(4.0) == pytest.approx(0.5)
    assert "math.sqrt" in accelerate(root_and_logarithm).source(4.0)
    np.testing.assert_allclose(vmap(slope)(np.array([1.0, 4.0])), [1.5, 0.5])
