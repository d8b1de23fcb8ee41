"""Arithmetic of Python's own numbers: ints of any size, floats, complex numbers, bits and remainders."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from comparing import TARGETS, Cases, check

CASES = Cases()


@CASES((10,))
def primes(n):
    return [p for p in range(2, n) if all((p % q for q in range(2, p)))]


@CASES((17,), (18,), (2,), (1,))
def is_prime(n):
    if n < 2:
        return False
    i = 2
    while i * i <= n:
        if n % i == 0:
            return False
        i += 1
    return True


_ROW = np.random.default_rng(8).normal(size=40)
_LATE, _EARLY, _ZEROS = _ROW.copy(), _ROW.copy(), np.zeros(30)
_LATE[7] = _EARLY[0] = np.nan
_ZEROS[1::2] = -0.0


@CASES((_ROW,), (_LATE,), (_EARLY,), (_ZEROS,), (-_ZEROS,), (_ROW > 0,), ((9 * _ROW).astype(np.int8),), (_ROW + 1j,))
def of_vectors(x):
    return np.signbit(min(x)), min(x), max(x), any(x), all(x)


@CASES((10, 3), (7, -2), (-7, 2))
def intops(a, b):
    return (
        a // b,
        a % b,
        divmod(a, b),
        a / b,
        a**2,
        -a,
        +a,
        ~a,
        abs(a),
        a & b,
        a | b,
        a ^ b,
        a << 2,
        a >> 1,
        a == b,
        a != b,
        a < b,
        a <= b,
        pow(a, 2),
        int(a / b),
        round(a / 3),
        float(a),
        bool(a),
        min(a, b),
        max(a, b),
        a and b,
        not a,
    )


@CASES((10.5, 3.0), (-7.25, 2.0))
def fltops(a, b):
    return (
        a // b,
        a % b,
        divmod(a, b),
        a / b,
        a**2,
        -a,
        abs(a),
        a < b,
        int(a),
        round(a),
        math.floor(a),
        math.ceil(a),
        min(a, b),
        max(a, b),
        a is b,
        a == b,
        math.trunc(a),
        math.fabs(a),
    )


@CASES((3 + 4j, 1 - 1j))
def cplx(a, b):
    return (a + b, a * b, a / b, abs(a), a.real, a.imag, a.conjugate(), a == b, a**2, -a)


@CASES((5,))
def fact(n):
    r = 1
    while n > 1:
        r *= n
        n -= 1
    return r


@CASES((13,))
def tobin(n):
    s = ""
    while n > 0:
        s = str(n % 2) + s
        n //= 2
    return s


@CASES((2, 10, 1000))
def powmod(b, e, m):
    r = 1
    while e > 0:
        if e & 1:
            r = r * b % m
        b = b * b % m
        e >>= 1
    return r


@CASES((10,))
def lcg(n):
    s = 12345
    out = []
    for _ in range(n):
        s = 1103515245 * s + 12345 & 2147483647
        out.append(s / 2147483647)
    return out


@CASES((5,), (20,), (21,), (25,))
def bigfact(n):
    r = 1
    for i in range(1, n + 1):
        r *= i
    return r


@CASES((50,), (92,), (93,), (200,))
def bigfib(n):
    a, b = (0, 1)
    for _ in range(n):
        a, b = (b, a + b)
    return a


@CASES((2**40, 2**30), (3, 4), (-(2**40), 2**22))
def mul(a, b):
    return (a * b, a - b, a + b)


@CASES((2**62, 2**62), (2**62, -(2**62)))
def add(a, b):
    return a + b


@CASES((1, 70), (1, 62), (5, 61), (-1, 63))
def shl(a, b):
    return a << b


@CASES((10,), (25,), (3,))
def pw(n):
    return (n**13, n * n)


@CASES((np.arange(20), 7))
def poly_hash(x, s):
    h = 5381
    for v in x:
        h = h * 33 + int(v)
    return h


@CASES((100,))
def lcg_p9(n):
    s = 12345
    for _ in range(n):
        s = (6364136223846793005 * s + 1442695040888963407) % 2**64
    return s


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("function", "arguments"), CASES.found)
def test_numbers(function: Any, arguments: Any, target: str) -> None:
    check(function, arguments, target)
