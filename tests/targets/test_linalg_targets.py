"""Linear algebra compiled for CPUs by XLA, for TPUs, and run by the executor for GPUs; against NumPy."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from linalg_programs import CASES, H, S, Z, assert_same, program_of

from untraced import accelerate, grad
from untraced.kernels.launching.backend import Backend
from untraced.kernels.launching.executor import GpuExecutor
from untraced.tpu.emit.program import emit
from untraced.translator.errors import UnsupportedError
from untraced.translator.passes.fuse import fuse
from untraced.translator.verdict import is_indefinite

L = np.linalg


def by_factor(a: Any, b: Any) -> Any:
    c = L.cholesky(a)
    return L.solve(np.swapaxes(c, -1, -2), L.solve(c, b))


OF_ONE = {
    "solve": lambda a: L.solve(a, a[0]),
    "inv": lambda a: L.inv(a),
    "det": lambda a: L.det(a),
    "slogdet": lambda a: L.slogdet(a),
    "qr": lambda a: L.qr(a),
    "qr of a tall matrix": lambda a: L.qr(a[:, :2], mode="complete"),
    "svd": lambda a: L.svd(a),
    "svd of a tall matrix": lambda a: L.svd(a[:, :2]),
    "cholesky": lambda a: L.cholesky(a),
    "indefinite": lambda a: (is_indefinite(a), is_indefinite(-a)),
    "solve by a factor": lambda a: by_factor(a, a[0]),
    "solve by factors of two": lambda a: L.solve(L.qr(np.stack((a, a + 1)))[1], a),
    "eigh": lambda a: L.eigh(a),
    "eigvalsh": lambda a: L.eigvalsh(a),
    "pinv": lambda a: L.pinv(a),
    "rank": lambda a: L.matrix_rank(a),
}


@pytest.mark.parametrize("name", CASES)
def test_cpu_gives_numpys_results(name: str) -> None:
    fun, args = CASES[name]
    with np.errstate(all="ignore"):
        assert_same(accelerate(target="cpu")(fun)(*args), fun(*args))


@pytest.mark.parametrize("char", "fdFD")
@pytest.mark.parametrize("name", OF_ONE)
def test_dtypes(name: str, char: str) -> None:
    fun, a = OF_ONE[name], (H if char in "FD" else S).astype(char)
    assert_same(accelerate(target="cpu")(fun)(a), fun(a), 5e-4 if char in "fF" else 1e-9)


@pytest.mark.parametrize("name", ["det", "slogdet", "inv", "qr", "cholesky", "indefinite", "eigh", "eigvalsh", "svd"])
def test_matrices_without_elements(name: str) -> None:
    fun = OF_ONE[name]
    for a in (np.zeros((0, 0)), np.zeros((0, 3, 3))):
        assert_same(accelerate(target="cpu")(fun)(a), fun(a))


def test_full_factors_of_nothing() -> None:
    for fun in (lambda a: L.qr(a, mode="complete"), lambda a: L.svd(a)):
        a = np.zeros((3, 0))
        assert_same(accelerate(target="cpu")(fun)(a), fun(a))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [1, 2, 3, 5, 6, 7])
def test_determinants_of_many_matrices(n: int, dtype: Any) -> None:
    """Small ones are eliminated side by side, each with pivots of its own; integers show what rounding would hide."""
    a = np.random.default_rng(n).integers(-3, 4, (200, n, n)).astype(dtype)
    a[0], a[1, :, 0], a[2] = 0.0, 0.0, np.eye(n)[::-1]
    f = accelerate(target="cpu")(lambda a: L.det(a))
    assert ("lapack" in str(f.inspect(a, compile=False).stablehlo)) == (n > 6)
    scale = np.prod(np.linalg.norm(a, axis=-1), axis=-1, keepdims=True)[..., 0] + 1
    assert np.max(np.abs(f(a) - np.round(L.det(a.astype(np.float64)))) / scale) < 30 * np.finfo(dtype).eps
    large = 1e100 * np.random.default_rng(0).normal(size=(4, n, n))
    assert_same(f(large), L.det(large), 1e-12)
    large[:, 0, 0] = np.inf
    assert not np.any(np.isfinite(f(large)))


@pytest.mark.parametrize("shape", [(3, 3), (2, 3, 3), (2, 8, 8)])
def test_a_pivot_of_zero_beside_an_infinite_one(shape: tuple[int, ...]) -> None:
    a = np.zeros(shape)
    a[...] = np.diag([np.inf, 0.0, *[2.0] * (shape[-1] - 2)])
    for fun in (lambda a: L.det(a), lambda a: L.slogdet(a)):
        assert_same(accelerate(target="cpu")(fun)(a), fun(a))


def branch(a: Any, c: Any) -> Any:
    if c > 0:
        return np.linalg.solve(a, np.ones(4))
    return np.zeros(4)


def repeat(a: Any, n: Any) -> Any:
    x = np.ones(4)
    for _ in range(n):
        x = x + np.linalg.solve(a, np.ones(4))
    return x


SINGULAR = np.ones((4, 4))


@pytest.mark.parametrize(
    ("fun", "a", "message"),
    [
        (lambda a: L.inv(a), SINGULAR, "Singular matrix"),
        (lambda a: L.solve(a, a[0]), np.stack([S, SINGULAR]), "Singular matrix"),
        (lambda a: L.cholesky(a), -S, "Matrix is not positive definite"),
        (lambda a: L.svd(a), S * np.nan, "SVD did not converge"),
        (lambda a: L.pinv(a), S * np.nan, "SVD did not converge"),
        (lambda a: branch(a, 1.0), SINGULAR, "Singular matrix"),
        (lambda a: repeat(a, 3), SINGULAR, "Singular matrix"),
    ],
)
def test_failures_name_the_line(fun: Any, a: Any, message: str) -> None:
    with pytest.raises(L.LinAlgError, match=rf"{message}\n  --> .*test_linalg_targets.py:\d+:"):
        accelerate(target="cpu")(fun)(a)


SIGNED = {
    "eigh": lambda a: L.eigh(a + a.conj().T),
    "eigh of the upper part": lambda a: L.eigh(a, "U")[1],
    "eig": lambda a: L.eig(a.astype(np.complex64)),
    "svd": lambda a: (*L.svd(a), L.svd(a, compute_uv=False)),
    "svd of a tall matrix": lambda a: (*L.svd(a[:, :3]), *L.svd(a[:, :3], full_matrices=False)),
    "many": lambda a: L.svd(np.stack([a, a.T]))[2],
}


def in_turns(a):
    total = np.zeros_like(a)
    for _ in range(3):
        total = total + L.svd(a + total)[0]
    return total


@pytest.mark.parametrize("name", [*SIGNED, "in turns"])
@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
def test_signs_in_single_precision_are_numpys(name: str, dtype: Any) -> None:
    fun = SIGNED.get(name, in_turns)
    fast = accelerate(fun, target="cpu")
    for seed in range(5):
        rng = np.random.default_rng(seed)
        a = (rng.standard_normal((10, 10)) + 1j * rng.standard_normal((10, 10))).astype(dtype)
        for found, expected in zip(fast(a), fun(a), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)
    if name != "in turns":
        with pytest.raises(L.LinAlgError):
            fast(np.full((10, 10), np.nan, dtype))


def test_only_what_runs_fails() -> None:
    np.testing.assert_array_equal(accelerate(target="cpu")(branch)(SINGULAR, -1.0), np.zeros(4))
    np.testing.assert_array_equal(accelerate(target="cpu")(repeat)(SINGULAR, 0), np.ones(4))
    unchecked = accelerate(target="cpu", checks=False)(lambda a: L.solve(a, a[0]))
    assert not np.isfinite(unchecked(np.zeros((2, 2)))).all()


def test_a_factorisation_is_made_once() -> None:
    def parts(a: Any) -> Any:
        u, s, vh = np.linalg.svd(a)
        return u, s, vh, np.linalg.slogdet(a)[1], np.linalg.solve(a, a[0]), np.linalg.inv(a)

    text = emit(program_of(parts, (S,))[0]).text
    assert text.count("@lapack_dgesdd_ffi") == 1
    assert text.count("@lapack_dgetrf_ffi") == 1


def test_a_factor_is_not_factored_again() -> None:
    text = emit(program_of(by_factor, (S, S[0]))[0]).text
    assert text.count("@lapack_dtrsm_ffi") == 2 and "getrf" not in text and "solve" not in text
    with pytest.raises(L.LinAlgError, match="Singular"):
        accelerate(target="cpu")(lambda a: np.tanh(L.solve(L.qr(a)[1], a)))(np.ones((4, 4)) * np.arange(4))


@pytest.mark.parametrize("first", ["jax", "untraced"])
def test_beside_jax(first: str) -> None:
    ours = "import numpy as np, untraced as u\nprint(u.accelerate(target='cpu')(lambda a: np.linalg.inv(a))(np.eye(2)))"
    theirs = "import jax.numpy as jnp; print(jnp.linalg.qr(jnp.eye(2))[0], jnp.linalg.inv(jnp.eye(2)))"
    pytest.importorskip("jax")
    code = f"{theirs}\n{ours}" if first == "jax" else f"{ours}\n{theirs}\n{ours}"
    # `python -c` has no source to read: the lambda stands in a file
    done = subprocess.run([sys.executable, "-c", _through_a_file(code)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def _through_a_file(code: str) -> str:
    return (
        "import tempfile, runpy, os\n"
        "path = os.path.join(tempfile.mkdtemp(), 'program.py')\n"
        f"open(path, 'w').write({code!r})\n"
        "runpy.run_path(path)\n"
    )


def test_eigenvalues_of_real_matrices_have_the_type_that_the_data_give() -> None:
    """Found by NumPy, between compiled regions; in a derivative, which is one program, they are complex."""
    for matrix in (S, S + S.T):
        assert_same(accelerate(target="cpu")(lambda a: L.eigvals(2.0 * a))(matrix), L.eigvals(2.0 * matrix))

    def total(a: Any) -> Any:
        return np.sum(np.abs(L.eigvals(a)))

    step = 1e-6 * np.random.default_rng(0).standard_normal(S.shape)
    slope = (total(S + step) - total(S - step)) / 2
    np.testing.assert_allclose(np.sum(grad(total)(S) * step), slope, rtol=1e-5)
    assert_same(accelerate(target="cpu")(lambda a: L.eigvals(a))(Z), L.eigvals(Z))


class Host(Backend):
    """NumPy for a device: no kernels, groups run operation by operation."""

    language = "none"

    def __init__(self) -> None:
        self.xp = self

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


@pytest.mark.parametrize("name", ["solve a vector", "qr", "svd", "eigh", "slogdet", "cholesky"])
def test_the_executor_for_gpus(name: str) -> None:
    fun, args = CASES[name]
    function, leaves = program_of(fun, args)
    got = GpuExecutor(fuse(function), Host())(leaves)
    for g, w in zip(got, fun(*args) if isinstance(fun(*args), tuple) else [fun(*args)], strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["solve", "det", "qr", "cholesky"])
def test_tpus_compile(name: str) -> None:
    pytest.importorskip("libtpu")
    from untraced.tpu.client.topology import compile_tpu

    function, _ = program_of(OF_ONE[name], (S.astype("f"),))
    assert compile_tpu(emit(function, target="tpu"), "v5e:2x2").hlo


def test_tpus_refuse_what_they_lack() -> None:
    function, _ = program_of(OF_ONE["eigh"], (S.astype("f"),))
    with pytest.raises(UnsupportedError, match="TPU"):
        emit(function, target="tpu")


def test_determinants_in_a_loop_beside_an_index_of_the_run() -> None:
    """The check of positions that only the emitter made stood outside the loop that made them: XLA refused it."""

    def largest(a: Any, k: Any) -> Any:
        best, at = a[k, k] - np.inf, -1
        for j in range(k):
            value = L.det(a + j * np.eye(a.shape[0]))
            if value > best:
                best, at = value, j
        return best, at

    a = np.random.default_rng(0).random((8, 8))
    found, expected = accelerate(largest, target="cpu")(a, 5), largest(a, 5)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    with pytest.raises(IndexError):
        accelerate(largest, target="cpu")(a, 9)
