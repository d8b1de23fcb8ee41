"""`untraced.numpy` with the arguments of jax.numpy: NumPy arrays, Arrays, compiled, batched, against JAX."""

from __future__ import annotations

import warnings
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

import untraced
import untraced.numpy as unp
from untraced import ShapeDtypeStruct, accelerate, eval_shape, grad, lax, vmap

X = np.array([[3.0, 1.0, 2.0], [0.0, 5.0, 4.0]])
V = np.array([3.0, 0.0, 2.0, 0.0, 1.0])
K = np.array([0, 2, 5, -7])
COUNTS = np.array([1, 2, 0, 1, 1])

CALLS: list[tuple[Any, tuple[Any, ...]]] = [
    (lambda m, x: m.sum(x, axis=1, where=None) + m.std(x, where=None), (X,)),
    (lambda m, x: x.sum(axis=1, where=None) + m.max(x, where=None), (X,)),
    (lambda m, x: [m.sum(x, axis=[0, 1]), m.max(x, [0]), m.var(x, axis=[1]), m.any(x > 1, axis=[0])], (X,)),
    (lambda m, x: m.dot(x, x.T, precision="highest") + m.inner(x, x) + m.vdot(x, x, precision=None), (X,)),
    (lambda m, x: m.matmul(x, x.T, precision=None) + m.einsum("ij,kj", x, x, precision="float32"), (X,)),
    (lambda m, x: m.tensordot(x, x, 2, precision=None), (X,)),
    (lambda m, v: m.convolve(v, v, precision=None), (V,)),
    (lambda m, v: m.correlate(v, v, "same", precision=None), (V,)),
    (lambda m, x: m.nonzero(x > 1, size=5, fill_value=(9, -1)), (X,)),
    (lambda m, x: m.nonzero(x, size=2), (X,)),
    (lambda m, v: m.flatnonzero(v, size=4), (V,)),
    (lambda m, x: m.argwhere(x < 4, size=7), (X,)),
    (lambda m, v: m.where(v > 0, size=4, fill_value=-1), (V,)),
    (lambda m, v: m.compress(v > 0, v, size=4), (V,)),
    (lambda m, x: m.compress(x[0] > 1, x, axis=1, size=3, fill_value=8), (X,)),
    (lambda m, v: m.extract(v > 1, v, size=1), (V,)),
    (lambda m, v: m.unique(v, size=6), (V,)),
    (lambda m, v: m.unique(v, return_index=True, return_inverse=True, return_counts=True, size=3), (V,)),
    (lambda m, v: m.unique(v / v, size=4, fill_value=7.0, return_counts=True), (V,)),
    (lambda m, v: m.union1d(v, m.array([9.0, 1.0]), size=6), (V,)),
    (lambda m, v: m.setdiff1d(v, m.array([0.0, 2.0]), size=4), (V,)),
    (lambda m, x: m.unique(m.floor(x / 2), size=2, axis=0, return_index=True, return_counts=True), (X[[0, 1, 0, 1]],)),
    (lambda m, x: m.unique(m.floor(x / 2), size=4, axis=1, fill_value=-1.0, return_inverse=True), (X,)),
    (lambda m, v: m.intersect1d(v, m.array([2.0, 9.0, 3.0, 2.0]), size=4, return_indices=True), (V,)),
    (lambda m, v: m.intersect1d(v, m.array([7.0]), size=2) + m.intersect1d(v, v + 1, size=2, fill_value=-1.0), (V,)),
    (lambda m, v: (m.setxor1d(v, m.array([2.0, 9.0]), size=2), m.setxor1d(v, v + 1, size=7, fill_value=5.0)), (V,)),
    (lambda m, v: (*m.unique_all(v, size=3), *m.unique_counts(v, size=5), *m.unique_inverse(v, size=4)), (V,)),
    (lambda m, v: m.unique_values(v, size=5, fill_value=8.0), (V,)),
    (lambda m, k: m.bincount(k, length=4), (K,)),
    (lambda m, k: m.bincount(k, weights=1.5 * k, length=2), (K,)),
    (lambda m, v, n: m.repeat(v, n, total_repeat_length=7), (V, COUNTS)),
    (lambda m, x, n: m.repeat(x, n, axis=0, total_repeat_length=2), (X, COUNTS[:2])),
    (lambda m, v, k: m.take(v, k, mode="fill", fill_value=-1.0) + m.take(v, k, mode="clip"), (V, K)),
    (lambda m, v, k: m.take(v, k, mode="fill"), (V, K)),
    (lambda m, x, k: m.take_along_axis(x, k[None, :2], 1, mode="clip"), (X, K)),
    (lambda m, x, k: m.take_along_axis(x, m.stack([k, k]), 1, mode="fill", fill_value=9.0), (X, K)),
    (lambda m, v, k: m.take_along_axis(v, k - 1, 0, mode="clip", fill_value=9.0), (V, K)),
    (lambda m, v, k: m.take(v, k, mode="clip", fill_value=9.0) + m.take(v, k, mode="wrap"), (V, K)),
    (lambda m, v: (m.sort(v, descending=True), m.argsort(v, descending=True), m.argsort(v, stable=True)), (V,)),
    (lambda m, x: m.argsort(x, axis=None, descending=True), (X,)),
    (lambda m, v: m.searchsorted(m.sort(v), 1.5, method="sort"), (V,)),
    (lambda m, x: m.fill_diagonal(x, 7.0, inplace=False), (X,)),
    (lambda m, v, k: m.put(v, k[:2], 9.0, inplace=False), (V, K)),
    (lambda m, v: m.polyval(v, v, unroll=8), (V,)),
    (lambda m, v: m.clip(v, 1.5) + m.clip(v, max=2) + m.clip(v, None, v[0] + 1) + m.clip(v, min=1, max=2), (V,)),
    (lambda m, v, k: m.fmax(x1=v, x2=2) + m.fmin(x1=v, x2=2) + m.trunc(x=v / 2) + m.gcd(x1=4, x2=6), (V, K)),
    (lambda m, x: m.place(x, x > 2, m.array([7.0, 8.0]), inplace=False), (X,)),
    (lambda m, x, k: m.put_along_axis(x, k[None, :2] % 3, 7.0, 1, inplace=False), (X, K)),
    (lambda m, x, k: m.put_along_axis(x, k[None, :3], 7.0, 1, inplace=False, mode="clip"), (X, K)),
    (lambda m, x: m.mask_indices(3, m.triu, size=4)[0] + m.sum(x), (X,)),
    (lambda m, v, k: (m.isin(k, v, method="sort"), m.digitize(v, m.array([1.0, 2.0]), method="scan")), (V, K)),
    (lambda m, k: (m.sum(m.abs(k), promote_integers=False), m.prod(k, promote_integers=False)), (K.astype("i1"),)),
    (lambda m, v: m.interp(v * 2 - 1, m.array([1.0, 2, 3]), v[:3], "extrapolate", "extrapolate"), (V,)),
    (lambda m, v: m.interp(v * 2 - 1, m.array([1.0, 2, 3]), v[:3], "extrapolate") + m.vecdot(v, v), (V,)),
    (lambda m, x: m.linalg.cholesky(x @ x.T + m.eye(2), symmetrize_input=True), (X,)),
    (lambda m, x: m.linalg.eigvalsh(x[:, :2], symmetrize_input=True) + m.linalg.eigh(x[:, :2], None, True)[0], (X,)),
    (lambda m, x: m.linalg.slogdet(x @ x.T, method="qr"), (X,)),
    (lambda m, x: m.linalg.multi_dot([x, x.T, x], precision="highest"), (X,)),
    (lambda m, x: m.linalg.lstsq(x.T, x[0] ** 2 + 1, numpy_resid=True)[0], (X,)),
    (lambda m, v: m.polymul(v, v + 1, trim_leading_zeros=False), (V,)),
    (lambda m, v: m.delete(v, m.array([1, -1]), assume_unique_indices=True), (V,)),
    (lambda m, x: m.delete(x, m.array([1]), axis=1, assume_unique_indices=True), (X,)),
    (lambda m, v: m.pad(v, 2, lambda line, width, axis, options: line.at[:2].set(-1.0)), (V,)),
    (lambda m, x: m.vectorize(lambda a, n=2: a[0] * m.array([a[1], n]), signature="(n)->(n)")(x[:, :2]), (X,)),
    (lambda m, x: m.vectorize(m.dot, signature="(n,k),(k)->(n)")(x[:, None], x[0]), (X,)),
]


def same(got: Any, want: Any) -> None:
    found, wanted = jax.tree.leaves(got), jax.tree.leaves(want)
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted, strict=True):
        assert np.shape(a) == np.shape(b)
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-12)


@pytest.mark.parametrize(("call", "args"), CALLS)
def test_jax_numpys_arguments(call: Any, args: tuple[Any, ...]) -> None:
    with jax.enable_x64(True), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # 0 / 0
        want = call(jnp, *map(jnp.asarray, args))
        if call is not CALLS[1][0]:  # NumPy's own methods know no where=None
            same(call(unp, *args), want)
        arrays = call(unp, *map(unp.asarray, args))
        assert all(isinstance(a, untraced.Array) for a in jax.tree.leaves(arrays))
        same(arrays, want)
        same(accelerate(lambda *xs: call(unp, *xs), target="numpy")(*args), want)
        batched = vmap(lambda *xs: call(unp, *xs))(*(np.stack([a + 1, a]) for a in args))
        same(jax.tree.map(lambda a: a[1], batched), want)


def test_derivatives_go_through_places_of_a_known_number() -> None:
    def f(v: Any) -> Any:
        (places,) = unp.nonzero(v > 0, size=4, fill_value=0)
        return unp.sum(unp.unique(v, size=3) ** 2) + unp.sum(v[places] ** 3)

    def theirs(v: Any) -> Any:
        (places,) = jnp.nonzero(v > 0, size=4, fill_value=0)
        return jnp.sum(jnp.unique(v, size=3) ** 2) + jnp.sum(v[places] ** 3)

    v = np.array([3.0, -1.0, 2.0, -4.0, 1.0])
    with jax.enable_x64(True):
        same(grad(f)(v), jax.grad(theirs)(jnp.asarray(v)))


def test_wrong_arguments() -> None:
    with pytest.raises(ValueError, match="both or neither"):
        unp.where(V > 0, V)
    with pytest.raises(ValueError, match="without elements"):
        unp.unique(X[:, :0], size=2)
    with pytest.raises(ValueError, match="extrapolate"):
        unp.interp(V, V, V, left="continue")
    with pytest.raises(ValueError, match="mode must be"):
        unp.put_along_axis(V, K, 0.0, 0, mode="fill")
    with pytest.raises(ValueError, match="method must be"):
        unp.linalg.slogdet(X, method="svd")
    with pytest.raises(TypeError, match="promote_integers"):
        accelerate(lambda x: np.sum(x, promote_integers=False))(K)
    with pytest.raises(IndexError):
        unp.take(V, K)
    for name in ("take", "take_along_axis"):
        with pytest.raises(ValueError, match="mode"):
            getattr(unp, name)(V, K, 0, mode="nonsense", fill_value=7.0)
    with pytest.raises(TypeError, match="nonsense"):
        unp.dot(V, V, nonsense=1)
    assert unp.argwhere(np.asarray(3.0), size=1).shape == (1, 0)
    with pytest.raises(TypeError, match="takes no keyword arguments"):
        accelerate(lambda x: np.add.at(x, 0, 1.0, mode="clip"))(V)


def test_ufuncs_have_methods() -> None:
    ones, places = np.ones(3), np.array([0, 0, 2])

    def f(x: Any, k: Any) -> Any:
        changed = unp.add.at(x, k, 2.0, inplace=False)
        return changed, unp.maximum.reduce(x), unp.add.accumulate(x), unp.multiply.outer(x, x)

    for made in (f(ones, places), accelerate(f)(ones, places), f(unp.ones(3), unp.array(places))):
        expected = [5.0, 1.0, 3.0], 1.0, [1.0, 2.0, 3.0], np.ones((3, 3))
        for x, y in zip(made, expected, strict=True):
            np.testing.assert_array_equal(x, y)
    np.testing.assert_array_equal(ones, np.ones(3))
    unp.add.at(ones, places, 1.0)
    assert ones.tolist() == [3.0, 1.0, 2.0] and unp.add.nin == 2


def test_kinds_of_numbers() -> None:
    x = np.ones(3, ml_dtypes.bfloat16)
    assert unp.bfloat16 is ml_dtypes.bfloat16 and untraced.dtypes.canonicalize_dtype("f8") == np.float64
    for kinds in (unp, untraced.dtypes):
        assert kinds.issubdtype(x.dtype, np.floating) and not kinds.issubdtype(x.dtype, np.integer)
        assert kinds.issubdtype(np.float32, np.inexact) and float(kinds.finfo(unp.bfloat16).eps) == 0.0078125
    made = unp.array([[untraced.device_put(1.0), 2], (3, 4.0)], dtype=unp.bfloat16)
    assert made.dtype == ml_dtypes.bfloat16 and np.asarray(made).tolist() == [[1, 2], [3, 4]]
    half = accelerate(lambda x: x / 2 if unp.issubdtype(x.dtype, unp.floating) else x)
    assert half(x)[0] == 0.5 and half(np.array([3]))[0] == 3
    assert untraced.dtypes.issubdtype(untraced.random.key(0).dtype, untraced.dtypes.prng_key)
    assert not isinstance(x, untraced.core.Tracer) and isinstance(x, untraced.typing.ArrayLike)
    with pytest.raises(TypeError, match="nothing is traced"):
        untraced.core.Tracer()


def test_conditions_longer_than_the_axis() -> None:
    """np.extract and np.compress take what goes on with false elements, and refuse true ones."""
    long, x = np.array([True, False, True, False, False]), np.arange(3.0)
    for f in (lambda c, x: np.extract(c, x), lambda c, x: np.compress(c, x)):
        for condition in (long, long[:2], np.array([0, 2, 0, 0])):
            np.testing.assert_array_equal(accelerate(f)(condition, x), f(condition, x))
        with pytest.raises(IndexError):
            accelerate(f)(~long, x)


def test_arrays_in_the_shape_of_what_only_describes_one() -> None:
    """A ShapeDtypeStruct: from outside, and made by eval_shape where the function is read."""
    like = ShapeDtypeStruct((2, 3), np.float32)

    def f(x: Any) -> Any:
        inner = eval_shape(lambda x: x[None], x)
        made = [unp.zeros_like(like), unp.ones_like(like, dtype=np.int32), unp.full_like(like, 2)]
        return [*made, lax.full_like(like, 3), unp.ones_like(inner) + x, unp.empty_like(like, shape=(4,)) * 0]

    x = np.arange(3.0)
    for run in (f, accelerate(f), lambda x: [a[1] for a in vmap(f)(np.stack([x, x]))]):
        made = run(x)
        assert [a.shape for a in made] == [(2, 3)] * 4 + [(1, 3), (4,)]
        assert [a.dtype.name for a in made] == ["float32", "int32", "float32", "float32", "float64", "float32"]
        assert [float(np.asarray(a).flat[0]) for a in made] == [0.0, 1.0, 2.0, 3.0, 1.0, 0.0]


def test_roots_in_a_known_number() -> None:
    p = np.array([0.0, 1.0, -3.0, 2.0, 0.0])
    np.testing.assert_allclose(unp.roots(p, strip_zeros=False), [2.0, 1.0, 0.0, np.nan])
    np.testing.assert_allclose(unp.roots(p), [2.0, 1.0, 0.0])


def test_products_by_the_method() -> None:
    for x in (unp.asarray(X), unp.sin(X)):
        for run in (lambda f: f, accelerate):
            np.testing.assert_allclose(run(lambda x: x.dot(x.T, precision="highest"))(x), np.dot(x, x.T))
            single = run(lambda x: x.dot(x.T, preferred_element_type=np.float32))(x)
            assert single.dtype == np.float32
