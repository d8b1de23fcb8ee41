"""Lanes of lanes, from vmap in vmap and from the user's own loops in loops: one thread for each of the innermost."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from drawn import Drawn

from untraced import vmap
from untraced.kernels.ahead import compile_program
from untraced.kernels.launching.executor import GpuExecutor, Kernel, kernels_of
from untraced.kernels.program import Launch
from untraced.translator.errors import RaisedError
from untraced.translator.ir import Function
from untraced.translator.pipeline import translate
from untraced.translator.reading.text.signature import abstract_with_leaves

pytest.importorskip("triton")

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="no host compiler")
LANGUAGES = ("cuda", "triton")


def escape(x, y):
    a = b = 0.0
    n = 0
    while a * a + b * b <= 4 and n < 50:
        a, b = a * a - b * b + x, 2 * a * b + y
        n += 1
    return n, a


def climbs(x, y, z):
    t = x
    while t < y:
        t = t * 1.3 + z
    return t


def every_escape(x, y):
    out = np.zeros((len(y), len(x)))
    for i in range(len(y)):
        for j in range(len(x)):
            a = b = 0.0
            n = 0
            while a * a + b * b <= 4 and n < 50:
                a, b = a * a - b * b + x[j], 2 * a * b + y[i]
                n += 1
            out[i, j] = n
    return out


def inside(x):
    """Some elements of some rows, by their neighbours."""
    out = x.copy()
    for i in range(1, x.shape[0] - 1):
        for j in range(0, x.shape[1], 2):
            t = x[i, j]
            while t > 0.1:
                t = t * 0.5 - 0.01 * x[i - 1, j]
            out[i, j] = t
    return out


def planes(x):
    """What the outer lanes compute, the inner ones compute again."""
    out = np.empty(x.shape)
    for i in range(x.shape[0]):
        s = np.exp(x[i, 0, 0])
        for j in range(x.shape[1]):
            for k in range(x.shape[2]):
                t = x[i, j, k]
                while t < 3.0:
                    t = t + s
                out[i, j, k] = t
    return out


def halved_sums(x):
    out = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        s = 0.0
        for j in range(x.shape[1]):
            t = x[i, j]
            while t > 0.5:
                t = t * 0.5
            s += t
        out[i] = s
    return out


def places(x, keys):
    """Binary searches, whose Python ints might outgrow 64 bits for all that is known."""
    out = np.zeros(len(keys), np.int64)
    for i in range(len(keys)):
        low, high = 0, len(x)
        while low < high:
            middle = (low + high) // 2
            if x[middle] < keys[i]:
                low = middle + 1
            else:
                high = middle
        out[i] = low
    return out


def collatz(n):
    out = np.zeros(n, np.int64)
    for i in range(1, n):
        k, steps = i, 0
        while k != 1:
            k = k // 2 if k % 2 == 0 else 3 * k + 1
            steps += 1
        out[i] = steps
    return out


def roots(a):
    out = np.empty(len(a))
    for i in range(len(a)):
        if a[i] < 0:
            raise ValueError("no root")
        x = a[i]
        while abs(x * x - a[i]) > 1e-9:
            x = 0.5 * (x + a[i] / x)
        out[i] = x
    return out


RNG = Drawn(0)
X, Y, SOLID = np.linspace(-2, 1, 37), np.linspace(-1, 1, 23), RNG.random((4, 5, 6))
GRID = (vmap(vmap(escape, in_axes=(0, None)), in_axes=(None, 0)), (X, Y))
ROWS = (vmap(vmap(escape)), (RNG.normal(size=(5, 7)), RNG.normal(size=(5, 7))))
DEEP = (
    vmap(vmap(vmap(climbs, in_axes=(0, None, None)), in_axes=(None, 0, None)), in_axes=(None, None, 0)),
    (X[20:25], Y[:6] + 2, Y[:4] + 1.5),
)
CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...], int]] = {
    "grid": (*GRID, 37 * 23),
    "rows": (*ROWS, 35),
    "deep": (*DEEP, 5 * 6 * 4),
    "every_escape": (every_escape, (X, Y), 37 * 23),
    "inside": (inside, (RNG.random((9, 10)),), 35),
    "planes": (planes, (SOLID,), 120),
    "halved_sums": (halved_sums, (RNG.random((6, 9)) * 3,), 54),
    "places": (places, (np.sort(RNG.random(50)), RNG.random(40)), 40),
    "collatz": (collatz, (60,), 59),
    "roots": (roots, (RNG.random(50) * 9,), 50),
}
CHECKED = ("places", "collatz")  # Triton's lanes raise nothing


def translated(f: Any, args: Any, language: str) -> tuple[Function, list[Any]]:
    signature, leaves = abstract_with_leaves(f, args, {})
    made = translate(f, signature, target=language)
    return made.function, [a for k, a in enumerate(leaves) if k not in made.statics]


def lanes_of(function: Function, language: str) -> Kernel:
    (kernel,) = (k for k in kernels_of(function, language) if k.kind == "lanes")
    return kernel


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", CASES)
def test_one_thread_for_each_innermost_lane(
    name: str, language: str, backends: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    f, args, count = CASES[name]
    function, leaves = translated(f, args, language)
    kernel = lanes_of(function, language)
    assert kernel.language == ("cuda" if name in CHECKED else language)
    backend, counts = backends[language], []
    launch = backend.launch

    def launched(what: Launch, arguments: Any) -> None:
        counts.extend(a.value for (n, _), a in zip(what.program.signature, what.arguments, strict=True) if n == "lanes")
        launch(what, arguments)

    monkeypatch.setattr(backend, "launch", launched)
    expected = f(*args)
    expected = expected if isinstance(expected, tuple) else (expected,)
    for got, want in zip(GpuExecutor(function, backend)(leaves), expected, strict=True):
        assert (got.dtype, got.shape) == (want.dtype, want.shape)
        np.testing.assert_allclose(got, want, rtol=1e-12)
    assert counts == [count]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", ["grid", "planes"])
def test_kernels_compile_ahead_of_time(name: str, language: str) -> None:
    kernel = lanes_of(translated(*CASES[name][:2], language)[0], language)
    assert "outer = lane" in kernel.source and "inner = lane" in kernel.source
    for architecture in (80, 90, 100) if name == "grid" else (90,):
        assert compile_program(kernel.program, architecture).cubin


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_a_trip_raises(language: str, backends: dict[str, Any]) -> None:
    function, leaves = translated(roots, (np.array([1.0, 4.0, -1.0, 9.0]),), language)
    with pytest.raises(RaisedError, match="ValueError"):
        GpuExecutor(function, backends[language])(leaves)


def of_rows(x):
    """The outer lane works on a row as a whole: it stays a thread."""
    t = np.cumsum(x)
    while t[0] < 3.0:
        t = t * 1.5
    return vmap(lambda e: climbs(e, 4.0, 0.1))(t)


@pytest.mark.parametrize("language", LANGUAGES)
def test_outer_lanes_with_work_on_arrays_stay(language: str, backends: dict[str, Any]) -> None:
    x = RNG.random((6, 5)) + 0.1
    function, leaves = translated(vmap(of_rows), (x,), language)
    (got,) = GpuExecutor(function, backends[language])(leaves)
    np.testing.assert_allclose(got, vmap(of_rows)(x), rtol=1e-12)
