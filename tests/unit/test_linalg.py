"""Linear algebra: types, batching, SciPy's names, what is refused, how it prints."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg
from linalg_programs import A, S, Z, assert_same, program_of

from untraced import accelerate, vmap
from untraced.translator.errors import DTypeError, ShapeError
from untraced.translator.printing.printer import print_function
from untraced.translator.tree import flatten

RNG = np.random.default_rng(1)
A3, B4, T3 = RNG.normal(size=(3, 4, 4)), RNG.normal(size=(3, 2, 4, 4)), RNG.normal(size=(3, 5, 2))
S3 = A3 @ A3.mT + 4 * np.eye(4)
V3, M3 = RNG.normal(size=(3, 4)), RNG.normal(size=(3, 4, 2))

BATCHES: dict[str, tuple[Any, tuple[Any, ...], tuple[Any, ...]]] = {
    "solve": (lambda a, b: np.linalg.solve(a, b), (0, 0), (A3, V3)),
    "solve, matrices": (lambda a, b: np.linalg.solve(a, b), (0, None), (A3, V3[0])),
    "solve, vectors": (lambda a, b: np.linalg.solve(a, b), (None, 0), (A3[0], V3)),
    "solve, right sides": (lambda a, b: np.linalg.solve(a, b), (None, 0), (A3[0], M3)),
    "solve for matrices": (lambda a, b: np.linalg.solve(a, b), (0, None), (A3, M3[0])),
    "solve for a batch": (lambda a, b: np.linalg.solve(a, b), (0, None), (A3, B4[0])),
    "solve for batches": (lambda a, b: np.linalg.solve(a, b), (0, 0), (A3, B4)),
    "inv": (lambda a: np.linalg.inv(a), (0,), (A3,)),
    "determinants": (lambda a: (np.linalg.det(a), np.linalg.slogdet(a)[1]), (0,), (A3,)),
    "qr": (lambda a: np.linalg.qr(a), (0,), (T3,)),
    "svd": (lambda a: np.linalg.svd(a), (0,), (T3,)),
    "eigh": (lambda a: np.linalg.eigh(a), (0,), (S3,)),
    "cholesky": (lambda a: np.linalg.cholesky(a), (0,), (S3,)),
    "pinv": (lambda a, r: np.linalg.pinv(a, r), (0, 0), (T3, np.array([1e-15, 0.5, 0.9]))),
    "lstsq": (lambda a, b: np.linalg.lstsq(a, b)[0], (0, None), (T3, RNG.normal(size=5))),
    "rank": (lambda a: np.linalg.matrix_rank(a), (0,), (T3,)),
}


@pytest.mark.parametrize("target", ["numpy", "cpu"])
@pytest.mark.parametrize("name", BATCHES)
def test_vmap_is_a_loop(name: str, target: str) -> None:
    fun, axes, args = BATCHES[name]
    rows = [flatten(fun(*(x if k is None else x[i] for x, k in zip(args, axes, strict=True))))[0] for i in range(3)]
    batched = vmap(fun, in_axes=axes)
    got = flatten((batched if target == "numpy" else accelerate(target=target)(batched))(*args))[0]
    assert_same(tuple(got), tuple(np.stack(column) for column in zip(*rows, strict=True)))


@pytest.mark.parametrize("target", ["numpy", "cpu"])
def test_lanes_that_do_not_run_do_not_fail(target: str) -> None:
    def f(a: Any, c: Any) -> Any:
        x = np.zeros(2)
        if c > 0:
            x = np.linalg.solve(a, np.ones(2))
        return x

    a = np.stack([2 * np.eye(2), np.zeros((2, 2))])
    batched = accelerate(target=target)(vmap(f))
    np.testing.assert_array_equal(batched(a, np.array([1.0, -1.0])), [[0.5, 0.5], [0.0, 0.0]])
    with pytest.raises(np.linalg.LinAlgError):
        batched(a, np.array([1.0, 1.0]))


@pytest.mark.parametrize("a", [S, S + 1j * (A - A.T)], ids=["real", "complex"])
@pytest.mark.parametrize(
    "fun",
    [
        lambda a: scipy.linalg.solve_triangular(a, np.ones(4), lower=True),
        lambda a: scipy.linalg.solve_triangular(a, np.ones(4), trans="T", unit_diagonal=True),
        lambda a: scipy.linalg.cho_solve(scipy.linalg.cho_factor(a), np.ones(4)),
        lambda a: scipy.linalg.cho_solve((scipy.linalg.cholesky(a, lower=True), True), np.ones((4, 3))),
        lambda a: scipy.linalg.cholesky(a),
        lambda a: scipy.linalg.inv(a),
        lambda a: scipy.linalg.det(a),
    ],
)
def test_scipys_names(fun: Any, a: Any) -> None:
    np.testing.assert_allclose(accelerate(target="cpu")(fun)(a), fun(a), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(
    ("fun", "error", "message"),
    [
        (lambda a: np.linalg.det(a.astype(np.float16)), DTypeError, "float16 is unsupported"),
        (lambda a: np.linalg.det(a[0]), ShapeError, "at least two axes"),
        (lambda a: np.linalg.inv(a[:2]), ShapeError, "must be equal"),
        (lambda a: np.linalg.solve(a, np.ones(3)), ShapeError, "right side"),
    ],
)
def test_what_has_no_meaning_is_refused(fun: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        program_of(fun, (S,))


def printed(fun: Any, *args: Any) -> str:
    return print_function(program_of(fun, args)[0])


def test_prints_as_a_person_writes() -> None:
    assert "np.linalg.solve(a, b)" in printed(lambda a, b: np.linalg.solve(a, b), A, A[0])
    assert 'np.linalg.qr(a, mode="complete").Q' in printed(
        lambda a: np.linalg.qr(a, "complete")[0], A[:, :2]
    ).replace("'", '"')
    assert "np.linalg.eigvalsh(a)" in printed(lambda a: np.linalg.eigh(a)[0], A)
    assert "np.linalg.eigh(a).eigenvectors" in printed(lambda a: np.linalg.eigh(a)[1], Z)
    vectors = vmap(lambda a, b: np.linalg.solve(a, b), in_axes=(None, 0))
    assert "np.linalg.solve(a, b.T).T" in vectors.inspect(A3[0], V3).source


def test_steps_that_may_fail_stay_in_their_loop() -> None:
    def repeat(a: Any, n: Any) -> Any:
        x = np.ones(2)
        for _ in range(n):
            x = x + np.linalg.solve(a, np.ones(2))
        return x

    for target in ("numpy", "cpu"):
        np.testing.assert_array_equal(accelerate(target=target)(repeat)(np.zeros((2, 2)), 0), np.ones(2))


@pytest.mark.parametrize("shape", [(9, 4), (4, 4), (3, 7), (7, 3), (2, 1), (6, 0)])
@pytest.mark.parametrize("columns", [(), (2,)])
@pytest.mark.parametrize("kind", [float, np.float32, complex, int])
def test_least_squares_of_tall_and_wide_systems(shape: Any, columns: Any, kind: Any) -> None:
    """Tall ones are solved through R, which has the singular values of the matrix."""
    rng = np.random.default_rng(3)
    a, b = (rng.normal(size=shape) * 5).astype(kind), rng.normal(size=(shape[0], *columns))
    near = {"rtol": 1e-4, "atol": 1e-6} if kind is np.float32 else {"rtol": 1e-9, "atol": 1e-12}  # of their dtype
    for rcond in (None, -1, 0.3):
        found = accelerate(lambda a, b, rcond=rcond: np.linalg.lstsq(a, b, rcond), target="numpy")(a, b)
        for ours, theirs in zip(found, np.linalg.lstsq(a, b, rcond), strict=True):
            assert np.asarray(ours).dtype == np.asarray(theirs).dtype and np.shape(ours) == np.shape(theirs)
            np.testing.assert_allclose(ours, theirs, **near)
