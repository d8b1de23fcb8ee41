"""vmap of functions written in NumPy: the printed source, run by CPython, against a Python loop and against JAX."""

import textwrap
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from untraced.translator.batch.vmap import vmap
from untraced.translator.ir import Function
from untraced.translator.passes.simplify import simplify
from untraced.translator.printing.printer import executable, print_function
from untraced.translator.reading.reader import read
from untraced.translator.reading.text.signature import abstract
from untraced.translator.same import difference
from untraced.translator.verify import verify

RNG = np.random.default_rng(0)
X, W, Y = RNG.normal(size=(5, 4)), RNG.normal(size=(2, 4)), np.abs(RNG.normal(size=5)) + 0.1
TURNS, PLACES = np.array([3, 0, 1, 4, 2]), np.array([3, 0, 1, -1, 2])


def element(x: Any, axis: int | None, k: int) -> Any:
    return x if axis is None else np.take(x, k, axis=axis)


def lanes_of(args: Sequence[Any], in_axes: Sequence[int | None]) -> int:
    return next(int(np.shape(a)[axis]) for a, axis in zip(args, in_axes, strict=True) if axis is not None)


def batch(f: Callable[..., Any], args: Sequence[Any], in_axes: Sequence[int | None], out_axis: int = 0) -> Function:
    """The batched program of a function whose arguments are single leaves."""
    size = lanes_of(args, in_axes)
    one = tuple(element(a, axis, 0) for a, axis in zip(args, in_axes, strict=True))
    function = read(f, abstract(f, one, {})).function
    g = simplify(vmap(function, in_axes, [out_axis] * function.out.leaf_count, size))
    verify(g)
    return g


def leaves(x: Any) -> tuple[Any, ...]:
    return x if isinstance(x, tuple) else (x,)


def predict(w, b, x):
    return np.tanh(w @ x + b)


def softmax(x):
    e = np.exp(x - np.max(x))
    return e / np.sum(e)


def layer_norm(x, gain):
    centred = x - np.mean(x)
    return centred / np.sqrt(np.var(x) + 1e-5) * gain


def recurrence(x, n):
    y = x
    for i in range(n):
        y = np.sin(y) * x + i
    return y


def stores(x, i):
    y = x.copy()
    y[1:] = x[:-1]
    y[i] = 7.0
    return y, x[i] * 2


def written(x, i):
    x[i] += 1.0
    return np.sum(x)


def choice(x):
    if x[0] > 0:
        y = x * 2
    else:
        y = x - 1.0
    return y


def doubling(x):
    n = 0
    while x < 10.0:
        x = x * 2
        n += 1
    return x, n


def early(x):
    if x > 1.0:
        return np.sqrt(x)
    return -x


def collatz(n):
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


def first_above(x, limit):
    found = -1
    for i in range(4):
        if x[i] > limit:
            found = i
            break
    return found


def gram(x, w):
    return np.outer(x, x) @ w.T, np.einsum("i,ji->j", x, w)


CASES: list[tuple[Callable[..., Any], tuple[Any, ...], list[int | None]]] = [
    (predict, (W, np.ones(2), X), [None, None, 0]),
    (predict, (RNG.normal(size=(5, 2, 4)), np.ones(2), X), [0, None, 0]),
    (predict, (W, np.ones((2, 5)), X[0]), [None, 1, None]),
    (softmax, (X,), [0]),
    (softmax, (X,), [1]),
    (layer_norm, (X, np.ones(4)), [0, None]),
    (recurrence, (X, 3), [0, None]),
    (recurrence, (X, TURNS), [0, 0]),
    (stores, (X, 2), [0, None]),
    (stores, (X, PLACES), [0, 0]),
    (stores, (X[0], PLACES), [None, 0]),
    (choice, (X,), [0]),
    (doubling, (Y,), [0]),
    (early, (Y * 2,), [0]),
    (collatz, (np.array([1, 7, 6, 27]),), [0]),
    (first_above, (X, 0.5), [0, None]),
    (first_above, (X[0], Y), [None, 0]),
    (gram, (X, W), [0, None]),
]


@pytest.mark.parametrize(("f", "args", "in_axes"), CASES)
def test_against_a_loop(f: Callable[..., Any], args: tuple[Any, ...], in_axes: list[int | None]) -> None:
    size = lanes_of(args, in_axes)
    with np.errstate(all="ignore"):
        want = [leaves(f(*(element(a, axis, k) for a, axis in zip(args, in_axes, strict=True)))) for k in range(size)]
        got = leaves(executable(batch(f, args, in_axes))(*args))
    for k, x in enumerate(got):
        np.testing.assert_allclose(x, np.stack([w[k] for w in want]), rtol=1e-12)
        assert x.dtype == np.asarray(want[0][k]).dtype


@pytest.mark.parametrize(("f", "args", "in_axes"), CASES)
def test_the_printed_source_reads_back(
    f: Callable[..., Any], args: tuple[Any, ...], in_axes: list[int | None]
) -> None:
    """L2 and L3: a batched program is a program like any other."""
    g = batch(f, args, in_axes)
    printed = executable(g)
    again = read(printed, abstract(printed, args, {})).function
    assert difference(g, again) is None
    assert print_function(again) == print_function(g)


@pytest.mark.parametrize("out_axis", [0, 1, -1])
def test_against_jax(out_axis: int) -> None:
    jax = pytest.importorskip("jax")
    with jax.enable_x64(True):
        want = jax.vmap(lambda w, b, x: jax.numpy.tanh(w @ x + b), (None, 0, 1), out_axis)(W, X[:, :2], X.T)
    got = executable(batch(predict, (W, X[:, :2], X.T), [None, 0, 1], out_axis))(W, X[:, :2], X.T)
    np.testing.assert_allclose(got, want, rtol=1e-12)


def test_an_argument_written_in_place() -> None:
    g = batch(written, (X, PLACES), [0, 0])
    mine, theirs = X.copy(), X.copy()
    got = executable(g)(mine, PLACES)
    want = [written(row, i) for row, i in zip(theirs, PLACES, strict=True)]
    np.testing.assert_allclose(got, want)
    np.testing.assert_array_equal(mine, theirs)


SOURCES = [
    (
        *CASES[0],
        """
        def predict_batched(w, b, x):
            return np.tanh(x @ w.T + b)
        """,
    ),
    (
        *CASES[3],
        """
        def softmax_batched(x):
            e = np.exp(x - np.max(x, axis=1, keepdims=True))
            return e / np.sum(e, axis=1, keepdims=True)
        """,
    ),
    (
        *CASES[6],
        """
        def recurrence_batched(x, n):
            y = x
            for i in range(n):
                y = np.sin(y) * x + i
            return y
        """,
    ),
]


@pytest.mark.parametrize(("f", "args", "in_axes", "source"), SOURCES)
def test_the_source_a_person_would_write(
    f: Callable[..., Any], args: tuple[Any, ...], in_axes: list[int | None], source: str
) -> None:
    assert print_function(batch(f, args, in_axes)).strip() == textwrap.dedent(source).strip()


def test_stores_stay_stores() -> None:
    source = print_function(batch(stores, (X, 2), [0, None]))
    assert "[:, 1:] = x[:, :-1]\n" in source
    assert "[:, i] = 7.0\n" in source


def test_nested() -> None:
    """All pairs of rows: the outer map over x, the inner over y."""

    def distance(x, y):
        return np.sum((x - y) ** 2)

    function = read(distance, abstract(distance, (X[0], X[0]), {})).function
    g = simplify(vmap(vmap(function, [None, 0], [0], 3), [0, None], [0], 5))
    np.testing.assert_allclose(executable(g)(X, X[:3]), ((X[:, None] - X[:3]) ** 2).sum(-1), rtol=1e-12)


CUBE = RNG.normal(size=(2, 3, 5))
TURNED: list[tuple[Callable[..., Any], tuple[Any, ...], list[int | None], int, str]] = [
    (lambda x: np.sin(x) * 2, (X.T,), [1], 1, "np.sin(x) * 2"),
    (lambda x: x / np.sum(x), (X.T,), [1], 1, "x / np.sum(x, axis=0)"),
    (lambda x: x - np.mean(x, axis=0), (CUBE,), [2], 2, "x - np.mean(x, axis=0, keepdims=True)"),
    (lambda x: x - np.mean(x, axis=1, keepdims=True), (CUBE,), [2], 2, "x - np.mean(x, axis=1, keepdims=True)"),
    (lambda x: np.sum(x, axis=1), (CUBE,), [2], 1, "np.sum(x, axis=1)"),
    (lambda x: np.max(x, axis=0), (CUBE,), [-1], 0, "np.max(x, axis=0).T"),
    (lambda x: x + np.arange(4.0), (X.T,), [1], -1, "x + np.arange(4, dtype=np.float64)[:, None]"),
    (lambda x, y: x * y, (CUBE, CUBE[:, 0]), [1, None], 1, "x * y[:, None]"),
    (lambda x, y: x * y, (CUBE, CUBE[:, 0]), [0, 0], 2, "(x * y[:, None]).transpose(1, 2, 0)"),
    (lambda x: np.argmax(x), (X.T,), [1], 0, "np.argmax(x, axis=0)"),
    (lambda x: np.cumsum(np.sort(x)), (X.T,), [1], 1, "np.cumsum(np.sort(x, axis=0), axis=0)"),
    (lambda x: x[1:] - x[:-1], (X.T,), [1], 1, "x[1:] - x[:-1]"),
    (lambda x, i: x[i, ::-1] + x[0, 0], (CUBE, 1), [2, None], 1, "x[i, ::-1] + x[0, 0]"),
    (lambda x: np.concatenate([x, 2 * x]), (X.T,), [1], 1, "np.concatenate([x, 2 * x])"),
    (lambda x: x[:, None] * np.squeeze(x[None] > 0, 0)[:, None], (X.T,), [1], 2, ""),
    (lambda w, x: np.tanh(w @ x), (W, X.T), [None, 1], 1, "np.tanh(w @ x)"),
    (lambda x: (x > 0).astype(np.float32), (X.T,), [1], 1, "(x > 0).astype(np.float32)"),
    (lambda x: np.reshape(np.exp(x), (2, 2)), (X.T,), [1], 0, "np.exp(x.T).reshape(5, 2, 2)"),
    (lambda x: x * x[0] + np.sum(np.reshape(x, (2, 2)).T @ x[:2]), (X.T,), [1], 1, ""),
    (recurrence, (X.T, 3), [1, None], 1, ""),
    (lambda x, i: stores(x, i)[0], (X.T, PLACES), [1, 0], 1, ""),
    (lambda y: np.stack(doubling(y)), (Y,), [0], -1, ""),
]


@pytest.mark.parametrize(("f", "args", "in_axes", "out_axis", "source"), TURNED)
def test_arrays_are_computed_with_as_they_lie(
    f: Callable[..., Any], args: tuple[Any, ...], in_axes: list[int | None], out_axis: int, source: str
) -> None:
    g = batch(f, args, in_axes, out_axis)
    printed = executable(g)
    size = lanes_of(args, in_axes)
    lanes = [f(*(element(a, axis, k) for a, axis in zip(args, in_axes, strict=True))) for k in range(size)]
    want = np.stack(lanes, out_axis)
    got = printed(*args)
    np.testing.assert_allclose(got, want, rtol=1e-12)
    assert got.dtype == want.dtype
    assert difference(g, read(printed, abstract(printed, args, {})).function) is None
    if source:
        assert print_function(g).strip().splitlines()[-1].strip() == f"return {source}"
