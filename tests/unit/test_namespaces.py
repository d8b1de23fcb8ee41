"""flatten_util and the namespaces of SciPy: untraced.scipy.linalg, untraced.scipy.stats and its distributions."""

from __future__ import annotations

import functools
import importlib
import tempfile
from typing import Any

import jax.flatten_util as jax_flatten_util
import jax.scipy.interpolate
import ml_dtypes as ml_dtypes  # NumPy knows bfloat16 by name
import numpy as np
import pytest
import scipy.cluster.vq
import scipy.fft
import scipy.linalg
import scipy.stats
from drawn import Drawn

import untraced
from untraced import accelerate, flatten_util, grad, tree_util, vmap

R = Drawn(3)


def test_a_tree_as_one_vector() -> None:
    tree = {"a": np.arange(6.0).reshape(2, 3), "b": [np.float32(2.0), np.arange(2)]}
    flat, unravel = flatten_util.ravel_pytree(tree)
    np.testing.assert_array_equal(flat, jax_flatten_util.ravel_pytree(tree)[0])
    back = unravel(flat)
    assert tree_util.tree_structure(back) == tree_util.tree_structure(tree)
    assert [x.dtype for x in tree_util.tree_leaves(back)] == [np.float64, np.float32, np.int64]
    with pytest.raises(ValueError, match="expected an array of shape"):
        unravel(flat[1:])

    def loss(p: Any) -> Any:
        v, back = flatten_util.ravel_pytree(p)
        return np.sum(v**2) + np.sum(back(v)["a"] ** 3)

    p = {"a": np.arange(6.0).reshape(2, 3), "b": np.ones(2)}
    for g in (grad(loss), accelerate(grad(loss))):
        np.testing.assert_allclose(g(p)["a"], 2 * p["a"] + 3 * p["a"] ** 2)


@pytest.mark.parametrize("name", ["lax", "nn", "random", "tree", "scipy"])
def test_what_a_namespace_lacks_is_told_by_the_name_that_users_know(name: str) -> None:
    with pytest.raises(AttributeError, match=f"^module 'untraced.{name}' has no attribute 'absent'$"):
        _ = getattr(untraced, name).absent


@pytest.mark.parametrize("name", ["lax", "nn", "random", "tree", "tree_util", "scipy.special", "lax.linalg", "image"])
def test_a_namespace_lists_what_it_offers(name: str) -> None:
    module = importlib.import_module(f"untraced.{name}")
    listed = {found for found in dir(module) if not found.startswith("_")}
    within = {"nn": {"initializers"}}.get(name, set())
    assert listed == {*module.__all__, *within} and not listed & {"Any", "np", "annotations"}
    assert all(hasattr(module, found) for found in listed)


def test_distributions_by_the_names_of_scipy() -> None:
    norm = importlib.import_module("untraced.scipy.stats.norm")
    assert norm is untraced.scipy.stats.norm
    x = R.normal(size=5)
    for name, args in (("norm", (0.5, 2.0)), ("gamma", (1.5,)), ("t", (3.0,)), ("poisson", (2.0,))):
        ours, theirs = getattr(untraced.scipy.stats, name), getattr(scipy.stats, name)
        density = "logpmf" if name == "poisson" else "logpdf"
        for method in (density, "cdf", "sf"):
            z = np.floor(np.abs(x)) if name == "poisson" else x
            np.testing.assert_allclose(getattr(ours, method)(z, *args), getattr(theirs, method)(z, *args), rtol=1e-12)
    got = accelerate(grad(lambda m: np.sum(norm.logpdf(x, m, 2.0))))(0.5)
    np.testing.assert_allclose(got, np.sum(x - 0.5) / 4.0)
    with pytest.raises(AttributeError, match="no attribute 'pmf'"):
        _ = norm.pmf
    a = np.eye(3) + 0.1
    np.testing.assert_allclose(
        untraced.scipy.linalg.cho_solve(untraced.scipy.linalg.cho_factor(a), x[:3]), np.linalg.solve(a, x[:3])
    )


@pytest.mark.parametrize(
    ("x", "mean", "cov", "of_scipy", "of_jax"),
    [
        ((1,), (1,), (1, 1), (), ()),
        ((1, 2), (2,), (2, 2), (), (1,)),
        ((3, 1), (1,), (1, 1), (3,), (3,)),
        ((4, 1, 2), (2,), (2, 2), (4,), (4, 1)),
        ((1,), (), (), (), (1,)),
        ((), (), (), (), ()),
    ],
)
def test_densities_of_vectors_have_the_shapes_of_the_namespace(
    x: Any, mean: Any, cov: Any, of_scipy: Any, of_jax: Any
) -> None:
    given = np.full(x, 0.5), np.zeros(mean), np.eye(cov[0]) if cov else 1.0
    expected = scipy.stats.multivariate_normal.logpdf(*given)
    for ours in (accelerate(lambda *a: scipy.stats.multivariate_normal.logpdf(*a))(*given),):
        assert np.shape(ours) == np.shape(expected) == of_scipy
        np.testing.assert_allclose(ours, expected)
    density = untraced.scipy.stats.multivariate_normal.logpdf
    for ours in (density(*given), accelerate(density)(*given)):
        assert np.shape(ours) == of_jax
        np.testing.assert_allclose(np.squeeze(ours), expected)


def test_other_names_are_scipys_own() -> None:
    """They are differentiated and batched as SciPy's functions are."""
    from untraced.scipy import linalg, special

    np.testing.assert_array_equal(linalg.hilbert(3), scipy.linalg.hilbert(3))
    np.testing.assert_allclose(vmap(lambda x: linalg.hilbert(3) @ x)(np.eye(3)), scipy.linalg.hilbert(3))
    np.testing.assert_allclose(grad(lambda x: special.fresnel(x)[0])(0.7), np.sin(np.pi * 0.49 / 2))
    np.testing.assert_allclose(special.bessel_jn(1.5, v=2), scipy.special.jv(np.arange(3), 1.5))
    assert untraced.scipy.stats.gaussian_kde is scipy.stats.gaussian_kde
    with pytest.raises(AttributeError, match="^module 'untraced.scipy.linalg' has no attribute 'absent'$"):
        _ = linalg.absent


def test_what_the_sources_do_not_cover_is_scipys_own() -> None:
    k, a = np.arange(4), np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 2.0], [3.0, 2.0, 1.0]])
    ours = untraced.scipy
    assert ours.signal.convolve(k, k).tolist() == [0, 0, 1, 4, 10, 12, 9]
    assert accelerate(lambda k: ours.signal.convolve(k, k))(k).dtype == np.int64
    assert isinstance(ours.signal.convolve(untraced.numpy.asarray(k), k), untraced.Array)
    np.testing.assert_allclose(ours.linalg.sqrtm(a), scipy.linalg.sqrtm(a))
    np.testing.assert_allclose(ours.fft.dctn(a, s=[2], axes=[0]), scipy.fft.dctn(a, s=[2], axes=[0]))
    assert ours.signal.stft(np.ones(8), nperseg=4)[2].shape == (3, 5)
    np.testing.assert_allclose(ours.stats.poisson.entropy(5.0), scipy.stats.poisson.entropy(5.0))
    assert ours.stats.bernoulli.ppf(0.9, 0.3) == 1.0 and not hasattr(ours.stats.norm, "absent")
    assert untraced.numpy.float_ is untraced.numpy.float64


def test_half_precision_stays_half() -> None:
    half = np.ones((1, 2, 5, 5)).astype("bfloat16")
    for got in (
        untraced.lax.conv_general_dilated(half, half[:, :, :3, :3], (1, 1), "VALID"),
        untraced.lax.dot(half[0, 0], np.ones((5, 2), np.int16)),
        untraced.numpy.linalg.norm(half[0], axis=(1, 2)),
        grad(lambda k: untraced.lax.conv_general_dilated(half, k, (1, 1), "VALID").sum())(half[:, :, :3, :3]),
    ):
        assert got.dtype == half.dtype
    with tempfile.TemporaryFile() as file:
        np.save(file, half)
        file.seek(0)
        assert untraced.numpy.load(file).dtype == half.dtype


def test_options_that_a_partial_holds_are_known() -> None:
    image, kernel = np.ones((2, 1, 1, 5, 5)), np.ones((3, 1, 3, 3))
    same = functools.partial(untraced.lax.conv_general_dilated, window_strides=(1, 1), padding="SAME")
    assert vmap(same, (0, None))(image, kernel).shape == (2, 1, 3, 5, 5)
    assert untraced.eval_shape(same, image[0], kernel).shape == (1, 3, 5, 5)
    assert vmap(functools.partial(untraced.lax.reduce_precision, exponent_bits=5, mantissa_bits=2))(kernel).shape
    rows = R.normal(size=(2, 5))
    np.testing.assert_allclose(vmap(functools.partial(np.quantile, q=0.3))(rows), np.quantile(rows, 0.3, axis=1))


def test_interpolation_on_a_grid_and_code_books() -> None:
    from untraced.scipy.cluster.vq import vq
    from untraced.scipy.interpolate import RegularGridInterpolator

    grid, values = (np.arange(3.0), np.array([0.0, 0.5, 2.0])), R.normal(size=(3, 3, 2))
    points = np.array([[0.5, 1.2], [1.9, 1.9], [3.0, 1.0]])  # the last lies outside
    theirs = jax.scipy.interpolate.RegularGridInterpolator
    for options in ({}, {"method": "nearest"}, {"fill_value": None}):
        for at in (points, points[0], tuple(points.T)):
            got, want = (made(grid, values, **options)(at) for made in (RegularGridInterpolator, theirs))
            assert got.shape == want.shape
            np.testing.assert_allclose(got, want, rtol=2e-6)  # JAX's is float32
    slope = grad(lambda x: np.sum(RegularGridInterpolator(grid, values)(x)))(points[0])
    np.testing.assert_allclose(slope, jax.grad(lambda x: theirs(grid, values)(x).sum())(points[0]), rtol=1e-5)
    codes, distances = accelerate(vq)(points, points[:2] + 0.1)
    want_codes, want_distances = scipy.cluster.vq.vq(points, points[:2] + 0.1)
    np.testing.assert_array_equal(codes, want_codes)
    np.testing.assert_allclose(distances, want_distances)


@pytest.mark.parametrize("method", ["average", "min", "max", "dense", "ordinal"])
def test_ranks_and_modes_in_batches(method: str) -> None:
    x = np.round(2 * R.normal(size=(4, 9)))
    ranks, rank = scipy.stats.rankdata(x, method, axis=1), untraced.scipy.stats.rankdata
    np.testing.assert_array_equal(vmap(lambda r: rank(r, method))(x), ranks)
    np.testing.assert_array_equal(vmap(lambda r: rank(r, method, axis=1))(x[:, None]), ranks[:, None])
    x[1, 3:6] = np.nan
    if method == "average":
        np.testing.assert_array_equal(vmap(lambda r: rank(r))(x), scipy.stats.rankdata(x, axis=1))
    else:
        with pytest.raises(ValueError, match="ranks among NaN"):
            vmap(lambda r: rank(r, method))(x)
    for got, want in zip(vmap(lambda r: untraced.scipy.stats.mode(r))(x), scipy.stats.mode(x, axis=1), strict=True):
        np.testing.assert_array_equal(got, want)
