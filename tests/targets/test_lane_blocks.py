"""Lanes in Triton: blocks of scalar programs in lockstep, in Triton's interpreter against NumPy, to the last bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from untraced import vmap
from untraced.kernels.ahead import compile_program
from untraced.kernels.launching.backend import Backend
from untraced.kernels.launching.executor import GpuExecutor, kernels_of
from untraced.translator.ir import Function
from untraced.translator.pipeline import translate
from untraced.translator.reading.text.signature import abstract_with_leaves

pytest.importorskip("triton")


@pytest.fixture
def backend(interpreter: Backend) -> Backend:
    return interpreter


def collatz(n):
    k = 0
    while n != 1 and k < 200:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        k += 1
    return k


def either_root(x, tolerance):
    y = x
    if x > 1:
        while abs(y * y - x) > tolerance:
            y = 0.5 * (y + x / y)
    else:
        while y < 0.9:
            y = y + 0.1 * np.exp(-y)
    return y, np.float32(x)


def nest(x, k):
    s = 0.0
    i = 0
    while i * x < 3 and i < 40:
        t = x
        j = 0
        while t < 10 and j < 30:
            t = t * 1.5 + k
            j += 1
        for m in range(1, 4):
            s = s + t * m
        i += 1
    return s, i


def exchanged(x):
    a, b, c = x, 1 - x, 0.0
    while c < 9 * x:
        a, b = b, a
        c = c + b
    return a, b, c


def mandelbrot(x, y):
    a = b = 0.0
    n = 0
    while a * a + b * b <= 4 and n < 15:
        a, b = a * a - b * b + x, 2 * a * b + y
        n += 1
    return n


def adaptive(y, rate):
    t, h, n = 0.0, 0.1, 0
    while t < 1.0 and n < 500:
        if t + h > 1.0:
            h = 1.0 - t
        k1 = -rate * y + np.sin(t)
        k2 = -rate * (y + h * k1) + np.sin(t + h)
        error = np.abs(h * (k2 - k1)) * 0.5
        if error < 1e-4:
            t = t + h
            y = y + 0.5 * h * (k1 + k2)
        h = h * min(2.0, max(0.3, 0.9 * np.sqrt(1e-4 / (error + 1e-12))))
        n += 1
    return y, n


def looked_up(x, table):
    n = 0
    while x < 3 and n < 10:
        x = x + table[n % 3]
        n += 1
    return x


def of_two_kinds(x, y):
    n = 0
    while x > y and n < 5 and x < 300:  # no uint8 is more, but 300 is 44 as one
        y = y + y.dtype.type(3)
        n += 1
    return n, x > y, x != 300


RNG = np.random.default_rng(0)
CASES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "mandelbrot": (vmap(mandelbrot), (RNG.uniform(-2, 2, 140).astype("f4"), RNG.uniform(-2, 2, 140).astype("f4"))),
    "collatz": (vmap(collatz), (np.arange(1, 50),)),
    "either_root": (vmap(either_root, in_axes=(0, None)), (RNG.uniform(0.1, 9, 40), 1e-9)),
    "half": (vmap(either_root, in_axes=(0, None)), (RNG.uniform(0.1, 9, 50).astype("f2"), 0.05)),
    "nest": (vmap(nest, in_axes=(0, None)), (RNG.uniform(0.1, 3, 30), 0.3)),
    "exchanged": (vmap(exchanged), (RNG.uniform(0, 1, 33),)),
    "looked_up": (vmap(looked_up, (0, None)), (np.linspace(0.1, 1, 7), np.array([0.5, 0.25, 1.0]))),
    "narrow": (vmap(of_two_kinds), (np.arange(200, 240, 5).astype("u1"), np.arange(-4, 12, 2).astype("i1"))),
    "two_kinds": (vmap(of_two_kinds), (np.arange(8).astype("u8"), np.arange(-4, 12, 2))),
    "adaptive": (vmap(adaptive), (RNG.normal(size=20), RNG.uniform(1, 30, 20))),
}


def translated(function: Any, args: tuple[Any, ...]) -> tuple[Function, list[Any]]:
    signature, leaves = abstract_with_leaves(function, args, {})
    return translate(function, signature, target="triton").function, list(leaves)


@pytest.mark.parametrize("name", CASES)
def test_lanes(name: str, backend: Backend) -> None:
    function, args = CASES[name]
    made, leaves = translated(function, args)
    lanes = [k for k in kernels_of(made, "triton") if k.kind == "lanes"]
    assert [k.language for k in lanes] == ["triton"]
    wanted = function(*args)
    wanted = wanted if type(wanted) is tuple else (wanted,)
    for got, want in zip(GpuExecutor(made, backend)(leaves), wanted, strict=True):
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=1e-14 if name == "adaptive" else 0)  # sin of the C library


@pytest.mark.parametrize("name", ["mandelbrot", "either_root", "nest", "collatz"])
def test_kernels_compile_ahead_of_time(name: str) -> None:
    function, args = CASES[name]
    (kernel,) = (k for k in kernels_of(translated(function, args)[0], "triton") if k.kind == "lanes")
    for architecture in (80, 90, 100) if name == "mandelbrot" else (90,):
        assert "bar.sync" not in compile_program(kernel.program, architecture).ptx


def bounded(x, table):
    n = 0
    while x < 3 and n < 10:  # but lanes that are done go along, with any n
        x = x + table[n]
        n += 1
    return x


def outgrowing(x):
    n = 0
    while x < 3 * n + 2 and n < 30:  # of what n becomes behind the last turn nothing is known
        x = x + 1
        n += 1
    return x


@pytest.mark.parametrize("name", ["bounded", "outgrowing"])
def test_what_triton_has_no_form_for_is_cuda(name: str) -> None:
    x, table = np.linspace(0.1, 1, 7), np.arange(0.5, 10)
    function, args = (vmap(outgrowing), (x,)) if name == "outgrowing" else (vmap(bounded, (0, None)), (x, table))
    (lanes,) = (k for k in kernels_of(translated(function, args)[0], "triton") if k.kind == "lanes")
    assert lanes.language == "cuda"
