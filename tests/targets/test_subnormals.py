"""Subnormal numbers on the target "cpu": which programs keep them, and from when on."""

from __future__ import annotations

import numpy as np
import pytest

import untraced
from untraced import accelerate
from untraced.tpu import compiler
from untraced.tpu.client import executable as client
from untraced.tpu.emit import subnormals

needs_compiler = pytest.mark.skipif(not compiler.available(), reason="needs a C++ compiler")
SMALL = [5e-324 * 8, 1e-310, -3e-320, 2.5e-308]


def halved(x):
    return x * 0.5 + x * x


def functions(x):
    return x != 0, np.sign(x), 1e-3 / x, np.hypot(x, x), np.sqrt(np.abs(x)), np.min(x), np.cumprod(x), np.frexp(x)[0]


def exponential(x):
    return np.exp(x)


def logarithm(x):
    return np.log(np.abs(x))


@pytest.fixture
def asked(monkeypatch):
    monkeypatch.setenv("UNTRACED_SUBNORMALS", "1")


@needs_compiler
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_small_programs_keep_them_where_asked(asked, dtype):
    x = np.array(SMALL, dtype) if dtype is np.float64 else np.float32([1e-38, -1e-40, 3e-45, 2.0])
    for f in (halved, functions):
        for found, right in zip(accelerate(f)(x), f(x), strict=True):
            np.testing.assert_allclose(found, right, rtol=4 * np.finfo(dtype).eps, atol=0)
    np.testing.assert_array_equal(np.asarray(accelerate(halved)(untraced.device_put(x))), halved(x))


@needs_compiler
@pytest.mark.parametrize(("dtype", "low", "high"), [(np.float64, -745.1, -706.0), (np.float32, -103.2, -86.0)])
@pytest.mark.parametrize("size", [100, 20_000])
def test_exponentials_underflow_gradually_where_asked(asked, dtype, low, high, size):
    x = np.concatenate([np.linspace(low, high, size), [low - 2, 1.0, -np.inf, np.inf, np.nan]]).astype(dtype)
    smallest = np.finfo(dtype).smallest_subnormal
    np.testing.assert_allclose(accelerate(exponential)(x), np.exp(x), rtol=6 * np.finfo(dtype).eps, atol=smallest)


@needs_compiler
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_logarithms_of_them_where_asked(asked, dtype):
    x = np.concatenate([np.finfo(dtype).smallest_subnormal * np.arange(5), [1.0, np.inf, np.nan]]).astype(dtype)
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(accelerate(logarithm)(x), logarithm(x), rtol=4 * np.finfo(dtype).eps)


@needs_compiler
def test_programs_of_much_work_keep_them_in_all_threads():
    x = np.full((400, 1000), 1e-310)
    np.testing.assert_array_equal(accelerate(halved)(x), halved(x))
    wide = np.full(400_000, 1e-40, np.float32)
    np.testing.assert_array_equal(accelerate(halved)(wide), halved(wide))


def texts_with_the_call(monkeypatch, run):
    made = []
    compile_or_load = client.compile_or_load
    monkeypatch.setattr(client, "compile_or_load", lambda *args: made.append(compile_or_load(*args)) or made[-1])
    run()
    assert made
    return [t for m in made if subnormals.CALL in (t := m.hlo_modules()[0].to_string())]


@needs_compiler
def test_little_work_goes_without_the_call_and_the_switch_says_so_for_all(monkeypatch):
    np.testing.assert_array_equal(accelerate(halved, target="cpu")(np.array(SMALL))[:3], 0)
    monkeypatch.setenv("UNTRACED_SUBNORMALS", "0")
    assert not texts_with_the_call(monkeypatch, lambda: accelerate(halved, target="cpu")(np.full(1 << 17, 1e-310)))
    monkeypatch.setenv("UNTRACED_SUBNORMALS", "yes")
    with pytest.warns(UserWarning, match="UNTRACED_SUBNORMALS must be 0 or 1"):
        accelerate(halved, target="cpu")(np.ones(7))


def branches(x):
    y = x @ x.T
    z = np.cumsum(x, axis=0) / (1 + np.exp(-x.T))
    if y[0, 0] > 0:
        y = y * z
    for _ in range(3):
        y = np.sort(y + z.T, axis=0)
    return y, z.sum(axis=1), np.linalg.inv(y + 300 * np.eye(300))


@needs_compiler
def test_the_call_is_the_first_step(monkeypatch):
    x = np.random.default_rng(0).random((300, 300))
    text, *_ = texts_with_the_call(monkeypatch, lambda: accelerate(branches)(x))
    entry = text[text.index("\nENTRY") :].splitlines()[2:]
    free = ("parameter(", "constant(", "bitcast(", "get-tuple-element(")
    first = next(line for line in entry if not any(kind in line for kind in free))
    assert subnormals.CALL in first
