"""Transposes of large arrays on the CPU: native code moves the elements, of arguments from where they lie."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from drawn import Drawn

from untraced import accelerate
from untraced.kernels.loops.transposes import transpose_of
from untraced.tpu import compiler
from untraced.tpu.client import executable as client
from untraced.tpu.client import host_calls, shifted
from untraced.tpu.emit import moved

NDArray = np.ndarray[Any, Any]
RANDOM = Drawn(0)
SHAPES = [(3, 4), (1, 5, 7), (4, 1, 6, 3), (2, 3, 4, 5), (33, 65), (40, 31, 2), (5, 1, 1, 4)]
KINDS = [np.float64, np.float32, np.float16, np.int8, np.bool_, np.complex128]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moved, "LEAST", 1)
    monkeypatch.setattr(shifted, "SMALLEST", 1)
    monkeypatch.setattr(client, "COPY_LIMIT", 0)


def by_plan(x: NDArray, plan: tuple[int, ...]) -> NDArray:
    """What the native function does with its plan."""
    rows, apart, columns_, across, around = plan[:5]
    axes = [plan[5 + 3 * k : 8 + 3 * k] for k in range(around)]
    flat, out = x.ravel(), np.empty(x.size, x.dtype)
    for places in itertools.product(*(range(n) for n, _, _ in axes)):
        start = sum(i * read for i, (_, read, _) in zip(places, axes, strict=True))
        stop = sum(i * written for i, (_, _, written) in zip(places, axes, strict=True))
        for c, r in itertools.product(range(columns_), range(rows)):
            out[stop + c * across + r] = flat[start + r * apart + c]
    return out


@pytest.mark.parametrize("shape", SHAPES)
def test_plans(shape: tuple[int, ...]) -> None:
    x = np.arange(math.prod(shape)).reshape(shape)
    for axes in itertools.permutations(range(len(shape))):
        found, wanted = transpose_of(shape, x.dtype, axes), np.transpose(x, axes).ravel()
        if found is None:  # nothing moves, or whole lines do
            last = [a for a in axes if shape[a] != 1][-1:]
            assert last == [a for a, n in enumerate(shape) if n != 1][-1:]
        else:
            np.testing.assert_array_equal(by_plan(x, found.plan), wanted)


@pytest.mark.skipif(not compiler.available(), reason="there is no C++ compiler")
@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize(("shape", "axes"), [((70, 45), (1, 0)), ((9, 40, 35), (2, 1, 0)), ((5, 33, 34), (0, 2, 1))])
def test_values(shape: tuple[int, ...], axes: tuple[int, ...], dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Arguments are read at any address, without a copy."""
    base = (RANDOM.normal(size=math.prod(shape) + 2) * 9).astype(dtype)
    f = accelerate(lambda x: (np.transpose(x, axes) == 0, np.transpose(x, axes)[::-1]), target="cpu")
    assert "untraced_transpose" in f.inspect(base[: math.prod(shape)].reshape(shape)).stablehlo
    if host_calls.AVAILABLE:
        monkeypatch.setattr(client, "_staging", None)
    for offset in range(2):
        f = accelerate(f.__wrapped__, target="cpu")  # compiled for the first place
        x = base[offset : offset + math.prod(shape)].reshape(shape)
        for found, wanted in zip(f(x), f.__wrapped__(x), strict=True):
            np.testing.assert_array_equal(found, wanted, strict=True)


@pytest.mark.skipif(not compiler.available(), reason="there is no C++ compiler")
@pytest.mark.parametrize(("f", "native"), [
    (lambda x: x.T * 2 + 1, True),
    (lambda x: x.T + x, False),  # XLA's older emitters join columns and rows
    (lambda x: np.exp(x.T + x), True),  # they have no vectors for functions
    (lambda x: x.T + x[0], True),
    (lambda x: x.T @ x, False),
])  # fmt: skip
def test_which_are_native(f: Any, native: bool) -> None:
    x = RANDOM.normal(size=(30, 30))
    fast = accelerate(f, target="cpu")
    assert ("untraced_transpose" in fast.inspect(x).stablehlo) == native
    np.testing.assert_allclose(fast(x), f(x), rtol=1e-12)
