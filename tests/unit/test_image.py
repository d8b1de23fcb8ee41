"""untraced.image, and scipy's fft, ndimage, integrate and linalg as namespaces, beside JAX's and SciPy's own."""

from __future__ import annotations

from typing import Any

import jax
import jax.image
import jax.scipy.ndimage
import numpy as np
import pytest
import scipy
from drawn import Drawn

import untraced
from untraced import accelerate, grad, image, vmap

R = Drawn(5)
X = R.normal(size=(5, 7)).astype(np.float32)


@pytest.mark.parametrize("method", ["nearest", "linear", "cubic", "lanczos3", "lanczos5", "bilinear"])
@pytest.mark.parametrize("shape", [(5, 7), (9, 4), (2, 15)])
def test_resized_as_jax_does(method: str, shape: tuple[int, int]) -> None:
    for antialias in (True, False):
        want = jax.image.resize(X, shape, method, antialias)
        got = image.resize(X, shape, method, antialias)
        assert got.dtype == X.dtype
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)  # JAX's weights are float32


def test_resizing_is_compiled_batched_and_derived() -> None:
    def f(x: Any) -> Any:
        return image.resize(x, (3, 10), "cubic")

    np.testing.assert_allclose(accelerate(f)(X), f(X), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(vmap(f)(np.stack([X, -X]))[1], -f(X), rtol=1e-6, atol=1e-6)
    want = jax.grad(lambda x: jax.image.resize(x, (3, 10), "cubic").sum())(X)
    np.testing.assert_allclose(grad(lambda x: np.sum(f(x)))(X), want, rtol=1e-5, atol=1e-6)
    whole = image.resize(np.arange(6).reshape(2, 3), (4, 3), image.ResizeMethod.LINEAR)
    assert whole.dtype == np.float64
    with pytest.raises(ValueError, match="one number for each"):
        image.resize(X, (3,), "linear")
    with pytest.raises(ValueError, match="unknown resize method"):
        image.resize(X, (3, 3), "sharp")


def test_scaled_and_moved() -> None:
    scale, move = np.array([1.7, 0.6], np.float32), np.array([0.4, 1.3], np.float32)
    for method in ("linear", "cubic", "lanczos3"):
        want = jax.image.scale_and_translate(X, (8, 5), (0, 1), scale, move, method)
        got = image.scale_and_translate(X, (8, 5), (0, 1), scale, move, method)
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match="method of resize"):
        image.scale_and_translate(X, (8, 5), (0, 1), scale, move, "nearest")


@pytest.mark.parametrize("mode", ["constant", "nearest", "wrap", "mirror", "reflect"])
@pytest.mark.parametrize("order", [0, 1])
def test_between_elements(mode: str, order: int) -> None:
    places = [R.uniform(-3, 8, (4, 3)), R.uniform(-3, 9, (4, 3))]
    f = untraced.scipy.ndimage.map_coordinates
    want = jax.scipy.ndimage.map_coordinates(X, places, order, mode, 0.5)
    np.testing.assert_allclose(f(X, places, order, mode, 0.5), want, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(accelerate(lambda x: f(x, places, order, mode, 0.5))(X), want, rtol=1e-4, atol=1e-5)


def test_what_map_coordinates_refuses() -> None:
    f = untraced.scipy.ndimage.map_coordinates
    with pytest.raises(NotImplementedError, match="order 0 and 1"):
        f(X, [np.zeros(2), np.zeros(2)], 3)
    with pytest.raises(ValueError, match="one array for each of the 2 axes"):
        f(X, [np.zeros(2)], 1)


def test_namespaces_have_scipys_functions() -> None:
    a = R.normal(size=(4, 4))
    x = R.normal(size=9)
    np.testing.assert_allclose(untraced.scipy.fft.dct(x), scipy.fft.dct(x))
    np.testing.assert_allclose(untraced.scipy.fft.idctn(a, norm="ortho"), scipy.fft.idctn(a, norm="ortho"))
    np.testing.assert_allclose(untraced.scipy.integrate.trapezoid(x, dx=0.5), scipy.integrate.trapezoid(x, dx=0.5))
    ours = untraced.scipy.linalg
    np.testing.assert_allclose(ours.lu_solve(ours.lu_factor(a), x[:4]), np.linalg.solve(a, x[:4]))
    u, p = accelerate(ours.polar)(a)
    np.testing.assert_allclose(u @ p, a)
    np.testing.assert_allclose(ours.sqrtm(a @ a.T) @ ours.sqrtm(a @ a.T), a @ a.T, atol=1e-10)
