"""NumPy functions that write into an array, take over its memory, or run over its elements: against plain NumPy.

Results, dtypes and the caller's arrays are compared, under CPython and under XLA.
"""

from __future__ import annotations

import itertools
import linecache
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from drawn import Drawn

import untraced
from untraced.translator.errors import UnsupportedError

RNG = Drawn(0)
ARRAYS: dict[str, Any] = {
    "v": RNG.normal(size=6),
    "w": RNG.normal(size=6),
    "f": RNG.normal(size=(3, 4)),
    "q": RNG.normal(size=(4, 4)),
    "t": RNG.normal(size=(2, 3, 4)),
    "i": RNG.integers(-4, 5, (3, 4)),
    "s": RNG.normal(size=(3, 4)).astype(np.float32),
    "u": RNG.integers(0, 256, (2, 9)).astype(np.uint8),
    "n": 3,
    "k": np.array([4, 0, 2, 2]),
}
_numbers = itertools.count()


def function_of(body: str) -> tuple[Callable[..., Any], list[str]]:
    """A function of those arrays that its body names, with source that the reader can find."""
    names = [a for a in ARRAYS if f"{a}" in set(_words(body))]
    file = f"<writes {next(_numbers)}>"
    lines = [f"def f({', '.join(names)}):\n", *(f"    {line}\n" for line in body.split("\n"))]
    linecache.cache[file] = (sum(map(len, lines)), None, lines, file)
    space: dict[str, Any] = {"np": np, "math": math}
    exec(compile("".join(lines), file, "exec"), space)
    return space["f"], names


def _words(text: str) -> list[str]:
    return "".join(c if c.isalnum() or c == "_" else " " for c in text).split()


def assert_same(found: Any, wanted: Any) -> None:
    if isinstance(wanted, tuple | list):
        assert type(found) is type(wanted) and len(found) == len(wanted)
        for ours, theirs in zip(found, wanted, strict=True):
            assert_same(ours, theirs)
        return
    if wanted is None:
        assert found is None
        return
    ours, theirs = np.asarray(found), np.asarray(wanted)
    assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
    tolerance = 1e-5 if theirs.dtype == np.float32 else 1e-12
    np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


def check(body: str, target: str) -> None:
    function, names = function_of(body)
    ours, theirs = ([np.copy(ARRAYS[a]) if a != "n" else ARRAYS[a] for a in names] for _ in range(2))
    assert_same(untraced.accelerate(function, target=target)(*ours), function(*theirs))  # type: ignore[call-overload]
    assert_same(ours, theirs)


WRITES = (
    "np.copyto(f, 3)",
    "np.copyto(f, -f, where=f < 0)",
    "np.copyto(f[1:], f[:-1])",
    "np.copyto(i, s, casting='unsafe')",
    "np.put(v, k, w)",
    "np.put(f, [0, -1, 5], [7, 8])",
    "np.put(f.T, [22, 1], 2, mode='wrap')",
    "f.put([1, 2], -1)",
    "np.putmask(f, f > 0, w)",
    "np.place(f, f > 0, [1, 2, 3])",
    "np.put_along_axis(f, np.argmax(f, axis=1)[:, None], 0, axis=1)",
    "np.put_along_axis(q, np.argsort(q, 0), np.arange(4), 1)",
    "np.fill_diagonal(q, w)",
    "np.fill_diagonal(f.T, n, wrap=True)",
    "np.fill_diagonal(np.fliplr(q), [1, 2])",
    "np.nan_to_num(v, copy=False)",
    "f.flat[3] = 7",
    "f.T.flat[::5] = v[0]",
    "f.flat = 1",
    "f[np.ix_([0, 2], [True, False, True, False])] += 1",
    "q[np.diag_indices_from(q)] = q[np.triu_indices_from(q, 1)][:4]",
)
VIEWS = tuple(
    f"y = {view}\ny += 1\nreturn y"
    for view in (
        "np.asarray(f)",
        "np.array(f, copy=None, ndmin=3)",
        "np.asarray(f, copy=True)",
        "np.ascontiguousarray(f.T)",
        "np.ascontiguousarray(f)",
        "np.asfortranarray(f.T)",
        "f.reshape(2, 6, order='F')",
        "np.ravel(f.T, order='F')",
        "f.flatten('F')",
        "f.flat[2:5]",
        "np.tile(v, 1)",
        "np.repeat(v, 1)",
        "np.pad(v, 0, 'edge')",
        "np.einsum('ijk->kij', t)",
        "np.broadcast_arrays(f, 1.0)[0]",
        "np.meshgrid(v, w, copy=False, sparse=True)[0]",
        "np.meshgrid(v, w)[0]",
        "np.unstack(t, axis=1)[2]" if hasattr(np, "unstack") else "np.split(t, 3, axis=1)[2]",
    )
)
LATER = (
    "y = np.lib.stride_tricks.sliding_window_view(v, 3)\nv[2] = 9\nreturn y.sum(axis=1)",
    "y = np.lib.stride_tricks.as_strided(v, (2, 4), v.strides * 2)\nv[2] = 9\nreturn y + 0",
    "y = np.einsum('ii->i', q)\nq[1] = 9\nreturn y + 0",
    "x, y = np.broadcast_arrays(v, w[:, None])\nv[1] = 9\nreturn x * y",
    "return np.lib.stride_tricks.sliding_window_view(t, (2, 2), axis=(1, 2))",
    "b = q.strides\nreturn np.lib.stride_tricks.as_strided(q, (2, 2, 2, 2), (2 * b[0], 2 * b[1], *b)).max(axis=(2, 3))",
)
ELEMENTS = (
    "y = np.zeros_like(f)\nfor a, b in np.ndindex(*f.shape):\n    y[a, b] = f[a, b] * a\nreturn y",
    "y = 0.0\nfor (a, b), x in np.ndenumerate(f):\n    y += x * a - b\nreturn y",
    "y = 0.0\nfor a, x in enumerate(f.T.flat):\n    y += x * a\nreturn y",
    "return list(np.ndindex(2, 2)), f.flat[[1, 5]], len(f.flat)",
    "return np.vectorize(lambda a, b: a if a > b else b)(v, w[:, None])",
    "return np.vectorize(lambda a: (math.sin(a), a > 0))(s)",
    "return np.vectorize(lambda a, p: a ** p, excluded=['p'], otypes=[np.float32])(i, p=n)",
    "return np.vectorize(lambda a, b: a @ b, signature='(m,n),(n)->(m)')(t, f[:2])",
    "return np.vectorize(lambda a: 0 if a < 0 else a)(v)",
    "return np.apply_along_axis(lambda x: np.outer(x, x), 1, f)",
    "return np.apply_over_axes(np.max, t, (0, -1))",
    "return np.piecewise(v, [v < 0, v > 1], [lambda x, c: x * c, lambda x, c: np.sin(x), 7.0], 2)",
    "y = v\nfor a in range(n):\n    y = np.roll(y, a) + 1\nreturn y",
    "return np.roll(f, n, axis=1), np.roll(f, (1, n), (0, 1)), np.roll(v, k[0])",
    "return np.packbits(u, axis=1), np.unpackbits(u, axis=0, count=11), np.packbits(i > 0, bitorder='little')",
    "return np.isin(i, np.arange(-40, 3)), np.isin(v, w), np.select([i > 2, i < 0], [s, 1.0], -1)",
    "return np.r_['0,2', v, w], np.r_[v[:2], 0:3, [1, 2]], np.c_[[1, 2], [3, 4]], np.array(range(n))",
    "return np.ravel_multi_index((k, k), (5, 6), order='F'), np.unravel_index(k, (2, 3), order='F')",
    "return np.geomspace(v ** 2 + 1, w ** 2 + 9, 3, axis=1), np.logspace(0, 2, 3, base=v ** 2 + 1)",
    "return np.insert(v, slice(1, 3), 5), np.take(v, [7, -8], mode='wrap'), np.unwrap(i, period=4)",
    "return np.histogram2d(v, w, bins=[2, [-9, 0, 9]]), np.histogramdd(f.T, 2, density=True)[0], np.bincount([3])",
    "return np.average(t, axis=(2, 0), weights=t[0].T[:, :2]), np.cov(f, dtype=np.float32), np.convolve(v, 2)",
    "return np.asfortranarray(v[0]), np.fromiter((x * n for x in v), float), np.indices(()), np.tril(v)",
)
BODIES = (*WRITES, *VIEWS, *LATER, *ELEMENTS)


@pytest.mark.parametrize("body", BODIES)
def test_as_numpy(body: str) -> None:
    check(body, "numpy")


@pytest.mark.parametrize("body", (*WRITES[::2], *VIEWS[::4], *LATER[::2], *ELEMENTS[::3]))
def test_on_xla_as_numpy(body: str) -> None:
    check(body, "cpu")


ERRORS = {
    "np.copyto(i, f)": TypeError,
    "np.putmask(i, i > 0, f)": TypeError,
    "np.place(f, v > 0, 1)": ValueError,
    "np.fill_diagonal(t, 1)": ValueError,
    "np.put(v, [22], 1)": IndexError,
    "np.broadcast_to(f, f.shape)[0] = 1": ValueError,
    "np.imag(v)[0] = 1": ValueError,
    "v.imag[0] = 1": ValueError,
    "return np.array([1, 2], copy=False)": ValueError,
    "return np.pad(v, 1, 'nosuch')": ValueError,
    "return np.pad(v, 1, 'edge', constant_values=1)": ValueError,
    "return np.quantile(v, 0.5, method='nosuch')": ValueError,
    "return np.percentile(v, 101)": ValueError,
    "return np.histogram(v, [1, 0])": ValueError,
    "return np.searchsorted(f, 1)": ValueError,
    "return np.vsplit(v, 2)": ValueError,
    "return np.rot90(f, axes=(0, 2))": ValueError,
    "return np.gradient(v[:1])": ValueError,
    "return np.select([v], [w])": TypeError,
    "return np.concatenate([v, w], dtype=int)": TypeError,
    "return np.lib.stride_tricks.sliding_window_view(v, 9)": ValueError,
}


@pytest.mark.parametrize("body", ERRORS)
def test_errors_are_numpys(body: str) -> None:
    function, names = function_of(body)
    for run in (function, untraced.accelerate(function, target="numpy")):
        with pytest.raises(ERRORS[body]):
            run(*(np.copy(ARRAYS[a]) for a in names))


def test_what_memory_decides() -> None:
    strides, names = function_of("return np.lib.stride_tricks.as_strided(f, (2, 2), f.strides)")
    turned = np.asfortranarray(ARRAYS["f"])
    np.testing.assert_array_equal(untraced.accelerate(strides)(turned), strides(turned))
    for order in ("K", "A"):
        ravel, _ = function_of(f"return f.ravel(order='{order}')")
        np.testing.assert_array_equal(untraced.accelerate(ravel)(turned), ravel(turned))
    outside, names = function_of("return np.lib.stride_tricks.as_strided(v, (9, 9), (8, 8))")
    with pytest.raises(UnsupportedError, match="outside the array"):
        untraced.accelerate(outside)(*(ARRAYS[a] for a in names))


def test_loops_over_elements_stay_loops() -> None:
    function, _ = function_of("y = 0.0\nfor (a, b), x in np.ndenumerate(f):\n    y += x * (a + b)\nreturn y")
    big = RNG.normal(size=(300, 400))
    wanted = np.sum(big * np.add.outer(np.arange(300), np.arange(400)))
    np.testing.assert_allclose(untraced.accelerate(function, target="cpu")(big), wanted, rtol=1e-9)
    assert "for " in untraced.accelerate(function).inspect(big).stages["read"]


def test_a_row_that_a_loop_reads_is_copied_rather_than_the_array() -> None:
    def rows(x):
        a = np.sin(x)
        first = a[0].copy()
        for i in range(1, 4):
            a[i] = a[i - 1] * first + a[i]
        for i in range(4):
            a[i] = np.cos(a[i - 1]) * first
        return a, first

    compiled, x = untraced.accelerate(rows, target="numpy"), ARRAYS["q"]
    source = compiled.inspect(x).source
    assert "a[0].copy()" in source and "a = a.copy()" not in source, source
    for got, want in zip(compiled(x), rows(x), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-14)
