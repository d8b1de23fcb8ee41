"""Long known sequences of Python's numbers: loops over them stay loops, and the run may choose among them."""

from __future__ import annotations

import numpy as np
import pytest
from comparing import TARGETS, Cases, check
from reading import check as check_reading
from reading import count

from untraced import accelerate, grad, vmap
from untraced.translator.ir import For

CASES = Cases()

TABLE = [(i * 2654435761 >> 7) & 0xFFFFFFFF for i in range(256)]
WEIGHTS = [0.1 * i for i in range(40)]
PLACES = tuple(range(30, 130))
LINE = np.linspace(0.0, 3.0, 60)
BYTES = np.frombuffer(bytes(range(7, 250)), np.uint8)


@CASES((bytes(range(200)),), (bytearray(b"abc" * 40),), (b"abc",), (BYTES,))
def remainder(data):
    value = 0xFFFF
    for byte in data:
        value ^= int(byte)
        for _ in range(8):
            value = (value >> 1) ^ (0xA001 if value & 1 else 0)
    return value


@CASES((BYTES,), (bytes(BYTES),))
def by_table(data):
    value = 0xFFFFFFFF
    for byte in data:
        value = TABLE[(value ^ int(byte)) & 0xFF] ^ (value >> 8)
    return value


@CASES((LINE,))
def weighted(x):
    total = 0.0
    for i in range(1, len(WEIGHTS)):
        total += WEIGHTS[i] * x[i] + WEIGHTS[-i]
    return total


@CASES((LINE, 3), (LINE, 12345))
def chosen(x, k):
    return PLACES[int(x[1]) + k], WEIGHTS[np.argmax(x) - 59]


@CASES((0.5,), (40,))
def changed_while_it_is_read(x):
    numbers = list(range(20))
    total = 0
    for i, v in enumerate(numbers):
        numbers[19 - i] = v + 1
        total += v * x
    return total, numbers


@CASES((0.5,))
def grown_while_it_is_read(x):
    numbers = [1.0 * i for i in range(20)]
    total = 0.0
    for v in numbers:
        if len(numbers) < 25:
            numbers.append(v)
        total += v * x
    return total, numbers


@CASES(({0: [1, 2], 1: [3], 2: [3], 3: [0]}, 0))
def breadth_first(neighbours, start):
    order = [start]
    for u in order:
        for v in neighbours[u]:
            if v not in order:
                order.append(v)
    return order


@CASES((2,))
def few_changed_while_they_are_read(x):
    numbers = [1, 2, 3, 4, 5, 6]
    total = 0
    for i, v in enumerate(numbers):
        numbers[5 - i] = v * x
        total += v
    for v in reversed(numbers):
        numbers[0] = v
    for v in numbers:
        if v % 2 == 0:
            numbers.remove(v)
    return total, numbers


@CASES((1.5,))
def sizes(x):
    return sum([np.zeros(k).size * x for k in PLACES])


@CASES((45.5,), (1000,))
def first_above(x):
    for i, v in enumerate(PLACES):
        if v > x:
            return i, v
    return -1


@CASES(("ACGT" * 40, "AGGT" * 39), ("kitten", "sitting"))
def distance(a, b):
    steps = np.zeros((len(a) + 1, len(b) + 1), int)
    steps[:, 0], steps[0] = np.arange(len(a) + 1), np.arange(len(b) + 1)
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            other = steps[i - 1, j - 1] + (a[i - 1] != b[j - 1])
            steps[i, j] = min(steps[i - 1, j] + 1, steps[i, j - 1] + 1, other)
    return steps[-1, -1], steps


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("function", "arguments"), CASES.found)
def test_the_numbers_are_pythons(function, arguments, target):
    check(function, arguments, target)


def test_a_loop_over_many_numbers_stays_a_loop() -> None:
    def f(x):
        for v in PLACES:
            for _ in range(4):
                x = x * 0.5 + v if x > v else x + 1.0
        return x

    assert count(check_reading(f, 0.5), For) == 2


def test_other_bytes_need_no_other_program() -> None:
    """300 of them, written out one by one, took XLA 4 seconds; 3,000 minutes, at every call with other bytes."""
    f = accelerate(remainder, target="cpu")
    for k in range(4):
        data = bytes(np.random.default_rng(k).integers(0, 256, 3000).astype(np.uint8))
        assert f(data) == remainder(data)
    assert f.explain_recompiles().count("\n") < 10


def test_polynomials_are_written_out() -> None:
    """A loop over its coefficients would go over the arrays once for each."""

    def f(x):
        y = np.zeros_like(x)
        for c in WEIGHTS:
            y = y * x + c
        return y

    assert count(check_reading(f, LINE), For) == 0


def doubled_until(x, k):
    total = 0 * x
    while x * k < 8:
        total += x * 2**k
        k += 1
    return total


def test_powers_of_ints_by_what_a_loop_counts():
    """The exponent need not be known: it is an int unless it is negative, and the turns are not written out."""
    xs = np.arange(1.0, 5.0)
    want = [doubled_until(x, 0) for x in xs]
    assert accelerate(doubled_until)(1.0, 0) == want[0] and grad(doubled_until)(2.0, 0) == want[1] / 2.0
    np.testing.assert_array_equal(vmap(doubled_until, in_axes=(0, None))(xs, 0), want)
    assert accelerate(doubled_until)(1.0, -2) == doubled_until(1.0, -2)  # of floats, by CPython
    with pytest.raises(ValueError, match="a Python int to a power below 0"):
        vmap(doubled_until, in_axes=(0, None))(xs, -2)

    def doubled(x, n):
        for i in range(n):
            x = x + 2**i
        return x

    assert accelerate(doubled)(1, 70) == doubled(1, 70)  # past 64 bits
    np.testing.assert_array_equal(vmap(lambda x, n: doubled(x, n))(xs, np.arange(4)), xs + [0, 1, 3, 7])


def test_powers_of_ints_that_are_never_above_one_are_floats_in_derivatives():
    def halved(x, n):
        total = 0.0
        for i in range(n):
            total += 2**-i * x[i]
        return total

    x, want = np.arange(1.0, 5.0), 0.5 ** np.arange(4)
    assert accelerate(halved)(x, 4) == halved(x, 4)
    for f in (grad(halved), accelerate(grad(halved))):
        np.testing.assert_array_equal(f(x, 4), want)
    assert vmap(halved, in_axes=(0, None))(x[None], 4) == [halved(x, 4)]
