"""Axes of few elements that kernels take apart (`passes/components`), stores of every so many (`interleaved`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from host_cuda import HostCuda
from translating import translated

from untraced import grad
from untraced.kernels.launching.executor import GpuExecutor, driver_of, kernels_of

pytest.importorskip("triton")

LANGUAGES = ("cuda", "triton")


def forces(p: Any, mass: Any) -> Any:
    d = p[:, None, :] - p[None]
    r2 = np.sum(d * d, axis=-1) + 1e-3
    return np.sum(d * (mass / (r2 * np.sqrt(r2)))[..., None], axis=1)


def energy(p: Any, mass: Any) -> Any:
    d = p[:, None, :] - p
    r = np.sqrt(np.sum(d**2, axis=2, keepdims=True) + 0.1)
    return np.sum(mass[:, None] * mass / r[..., 0])


def nearest(x: Any, c: Any) -> Any:
    d = ((x[:, None] - c) ** 2).sum(-1)
    return d.argmin(1), d.min(1)


def soft_assignment(x: Any, c: Any) -> Any:
    d = -0.5 * np.sum(((x[:, None] - c) / (1 + c * c)) ** 2, axis=2)
    top = d.max(axis=1, keepdims=True)
    return np.sum(top[:, 0] + np.log(np.sum(np.exp(d - top), axis=1)))


def inside_boxes(x: Any, c: Any) -> Any:
    inside = np.all(np.abs(x[:, None] - c) < 0.8, axis=2)
    far = np.any(x[:, None] > c + 1, axis=2)
    return inside.sum(1), far.any(1), np.max(np.abs(x[:, None] - c), axis=-1).min(axis=1)


def along_the_first_axis(x: Any, c: Any) -> Any:
    d = x.T[:, :, None] - c.T[:, None]
    return np.sum(np.exp(-np.sum(d * d, axis=0)), axis=1), np.prod(d, axis=0).sum(axis=1)


def over_both(x: Any, c: Any) -> Any:
    d = (x[:, None] - c) * 0.5
    lengths = np.sum(d * d, axis=2)
    return np.sum(d * lengths[:, :, None], axis=(1, 2)), np.sum(d / (1 + lengths[..., None]), axis=0)


def of_integers(x: Any, c: Any) -> Any:
    k, m = np.floor(x * 8).astype(np.int32), np.floor(c * 8).astype(np.int32)
    d = np.sum(np.abs(k[:, None] - m), axis=2)
    return d.min(1), np.sum(k[:, None] == m, axis=2).max(axis=1)


def walk(p: Any, mass: Any) -> Any:
    v = np.zeros_like(p)
    for _ in range(3):
        v = v + 0.01 * forces(p, mass)
        p = p + 0.01 * v
    return p, v


def needed_whole(x: Any, c: Any) -> Any:
    d = x[:, None] - c
    return d, np.sum(np.exp(-np.sum(d * d, axis=2)), axis=1)


def made(*shape: int, dtype: str = "f8") -> Any:
    return np.random.default_rng(shape).standard_normal(shape).astype(dtype)


P, MASS = made(70, 3), np.abs(made(70))
X, C = made(130, 5), made(9, 5)
SINGLE = (made(40, 2, dtype="f4"), made(7, 2, dtype="f4"))
PROGRAMS: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (forces, (P, MASS)),
    (energy, (P, MASS)),
    (grad(energy), (P, MASS)),
    (grad(soft_assignment, (0, 1)), (X, C)),
    *((f, (X, C)) for f in (nearest, soft_assignment, inside_boxes, along_the_first_axis, over_both, of_integers)),
    (soft_assignment, SINGLE),
    (nearest, (X[:0], C)),
    (over_both, (X[:1], C)),
    (walk, (P, MASS)),
    (needed_whole, (X, C)),
]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(("function", "args"), PROGRAMS, ids=[f.__name__ for f, _ in PROGRAMS])
def test_as_numpy(function: Any, args: tuple[Any, ...], language: str, backends: dict[str, Any]) -> None:
    found = GpuExecutor(translated(function, args, language), backends[language])(list(args))
    wanted = function(*args)
    rtol = 1e-4 if args[0].dtype.itemsize == 4 else 1e-11
    for got, want in zip(found, wanted if isinstance(wanted, tuple) else (wanted,), strict=True):
        assert (np.asarray(got).dtype, np.shape(got)) == (np.asarray(want).dtype, np.shape(want))
        np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("function", [forces, nearest])
def test_pairs_do_not_go_through_memory(function: Any, language: str) -> None:
    args = (P, MASS) if function is forces else (X, C)
    results = function(*args)
    results = results if isinstance(results, tuple) else (results,)
    (kernel,) = kernels_of(translated(function, args, language), language)
    assert kernel.bytes_moved == sum(a.nbytes for a in (*args, *results))


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_gradient_makes_the_pairs_again(language: str) -> None:
    """What its two reductions need of each other are the assignments alone: no array of all components."""
    x, c = made(1000, 5), made(9, 5)
    function = translated(grad(soft_assignment, (0, 1)), (x, c), language)
    sizes = [t.aval.size for s in function.body.statements for t in s.targets]
    assert max(sizes) == 1000 * 9


def test_a_sum_of_negative_zeros_is_zero(backends: dict[str, Any]) -> None:
    def function(x: Any, c: Any) -> Any:
        return np.sum(x[:, None] * c, axis=2)

    x, c = np.full((40, 3), -0.0), np.ones((40, 3))
    (found,) = GpuExecutor(translated(function, (x, c), "cuda"), backends["cuda"])([x, c])
    np.testing.assert_array_equal(np.signbit(found), np.signbit(function(x, c)))


def test_an_array_that_is_there_is_read_as_it_lies() -> None:
    """The rows of `x` lie in one piece."""
    x = made(500, 3)
    text = translated(lambda x: x / np.sqrt(np.sum(x * x, axis=1, keepdims=True)), (x,), "cuda")
    (kernel,) = kernels_of(text, "cuda")
    assert kernel.kind == "row"


def smoothed(x: Any, c: Any) -> Any:
    k = np.exp(-np.sum((x[:, None] - c) ** 2, axis=2))
    return k @ c[:, 0], x[:, 1] @ k, np.sqrt(np.abs(x[:, 2])) @ x[:, 3]


def weights_by_axes(x: Any, c: Any) -> Any:
    t = np.sin(x[:, :, None, None] * c.T[None])
    return np.einsum("abcd,d->abc", t[:, :, 0, :][:, :, None] + 1, c[:, 1]), np.tensordot(np.cos(x), c[0], 1)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("function", [smoothed, weights_by_axes])
def test_products_with_vectors(function: Any, language: str, backends: dict[str, Any]) -> None:
    found = GpuExecutor(translated(function, (X, C), language), backends[language])([X, C])
    for got, want in zip(found, function(X, C), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-11)


def test_a_matrix_that_a_vector_weighs_is_not_stored() -> None:
    def function(x: Any, y: Any) -> Any:
        return np.exp(-np.abs(x[:, None] - y)) @ y

    x, y = made(130), made(40)
    (kernel,) = kernels_of(translated(function, (x, y), "cuda"), "cuda")
    assert kernel.kind == "row" and kernel.bytes_moved == 2 * x.nbytes + y.nbytes


def rotations(x: Any, c: Any) -> Any:
    s, t, u = np.sin(x[:, 0]), np.cos(x[:, 0]), x[:, 1] * x[:, 2]
    rows = [np.stack([t, -s, u], axis=-1), np.stack([s * u, t + 1, u * 2], -1), np.stack([s - t, t * t, s * s], -1)]
    return np.stack(rows, axis=-2), np.stack([np.stack([s, t]), np.stack([u, u * s])]), np.stack([rows[0], rows[0]])


@pytest.mark.parametrize("language", LANGUAGES)
def test_rows_that_are_stacked(language: str, backends: dict[str, Any]) -> None:
    function = translated(rotations, (X, C), language)
    found = GpuExecutor(function, backends[language])([X, C])
    for got, want in zip(found, rotations(X, C), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-13, atol=1e-13)


def test_a_matrix_for_each_element_is_written_once() -> None:
    def function(v: Any) -> Any:
        x, y, z = v.T
        return np.stack([np.stack([x * y, y * z], -1), np.stack([z * x, x + y + z], -1)], -2)

    v = made(100, 3)
    (kernel,) = kernels_of(translated(function, (v,), "cuda"), "cuda")
    assert kernel.bytes_moved == 7 * 100 * 8
    assert "concatenate" not in driver_of(translated(function, (v,), "cuda"), "cuda").text


# ---- elements beside each other ------------------------------------------------------------------


def evens_and_odds(x: Any, y: Any) -> Any:
    z = np.zeros((4, 12))
    z[:, ::2] = x * y
    z[:, 1::2] = x - y
    return z * 2


def of_three(x: Any, y: Any) -> Any:
    z = np.ones((12, 6))
    z[2::3] = x
    z[::3] = y
    z[1::3] = x + y
    z[2::3] = x * 2
    return z


def with_gaps(x: Any, y: Any) -> Any:
    z = np.ones((12, 6))
    z[2::3] = x
    z[::3] = y
    u = z.copy()
    z[1::3] = x + y
    return z, u


def filled_with_a_number(x: Any, y: Any) -> Any:
    z = np.empty((4, 12))
    z[:, ::2] = 3
    z[:, 1::2] = x + y
    return z


def read_between(x: Any, y: Any) -> Any:
    z = np.zeros((4, 12))
    z[:, ::2] = x
    total = z.sum()
    z[:, 1::2] = y
    return z, total


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    "function", [evens_and_odds, of_three, with_gaps, filled_with_a_number, read_between], ids=lambda f: f.__name__
)
def test_interleaved_stores(function: Any, language: str, backends: dict[str, Any]) -> None:
    args = (made(4, 6), made(4, 6) + 1)
    found = GpuExecutor(translated(function, args, language), backends[language])(list(args))
    wanted = function(*args)
    for got, want in zip(found, wanted if isinstance(wanted, tuple) else (wanted,), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-13)


def rotated(x: Any, c: Any, s: Any) -> Any:
    y = np.empty_like(x)
    even, odd = x[:, ::2], x[:, 1::2]
    y[:, ::2] = even * c - odd * s
    y[:, 1::2] = even * s + odd * c
    return y


def half_rotated(x: Any, c: Any, s: Any) -> Any:
    n = x.shape[1] // 2
    return np.sum((x * c + np.concatenate([-x[:, n:], x[:, :n]], axis=1) * s) ** 2)


@pytest.mark.parametrize("language", LANGUAGES)
def test_rotary_embeddings_are_one_kernel(language: str) -> None:
    x, c = made(50, 64), made(50, 32)
    function = translated(rotated, (x, c, c), language)
    (kernel,) = kernels_of(function, language)
    assert kernel.bytes_moved == 3 * x.nbytes and "[...] =" not in driver_of(function, language).text
    (kernel,) = kernels_of(translated(grad(half_rotated), (x, x, x), language), language)
    assert kernel.bytes_moved == 4 * x.nbytes


def test_no_access_is_wrong() -> None:
    """Races, places outside of arrays, and shared memory that nobody has written."""
    for function, args in ((forces, (P, MASS)), (nearest, (X, C)), (rotated, (X[:, :4], C[:1, :2], C[:1, :2]))):
        GpuExecutor(translated(function, args, "cuda"), HostCuda(checked=True))(list(args))
