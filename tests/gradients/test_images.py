"""scipy.ndimage under derivatives and in batches: SciPy's values in every mode at the edges, and slopes to order 2."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.ndimage as ndimage

from untraced import UnsupportedError, grad, vmap
from untraced.testing import check_grads

RNG = np.random.default_rng(0)
X, PLACES = RNG.standard_normal((4, 5)), RNG.uniform(-7.0, 11.0, (2, 40))
SMALL, ODD = RNG.standard_normal((3, 2)), RNG.standard_normal((3, 3))
MATRIX = np.array([[0.9, 0.3], [-0.2, 1.1]])
MODES = ("reflect", "grid-mirror", "constant", "grid-constant", "nearest", "mirror", "grid-wrap", "wrap")


@pytest.mark.parametrize("mode", MODES)
def test_values_are_scipys(mode: str) -> None:
    edges = {"mode": mode, "cval": 0.3}

    def every(x):
        return [
            ndimage.convolve(x, SMALL, **edges),
            ndimage.convolve(x, ODD, **edges, origin=(1, -1)),
            ndimage.correlate(x, SMALL, **edges),
            ndimage.maximum_filter(x, 3, **edges),
            ndimage.minimum_filter(x, (2, 3), **edges),
            ndimage.median_filter(x, (2, 3), **edges),
            *(ndimage.map_coordinates(x, PLACES, order=order, **edges) for order in (0, 1)),
            *(ndimage.shift(x, (1.3, -2.2), order=order, **edges) for order in (0, 1)),
            *(ndimage.affine_transform(x, MATRIX, (0.3, -1.2), order=order, **edges) for order in (0, 1)),
        ]

    for (got,), want in zip(vmap(every)(X[None]), every(X), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("mode", MODES)
def test_derivatives_of_interpolation(mode: str) -> None:
    def f(x, places):
        return ndimage.map_coordinates(x, places, order=1, mode=mode, cval=0.2)

    check_grads(f, (X, np.array([[1.2, 2.3, -1.4, 7.3], [3.3, 1.4, 0.6, 2.7]])), order=2)


def test_derivatives_of_neighbourhoods() -> None:
    def f(x, w):
        extremes = ndimage.maximum_filter(x, 2) - ndimage.median_filter(x, 3)
        return ndimage.convolve(x, w) * ndimage.correlate(x, w, mode="wrap") * extremes

    def moved(x, by, matrix):
        return ndimage.affine_transform(ndimage.shift(x, by, order=1), matrix, (0.23, 0.37), order=1)

    check_grads(f, (X, ODD), order=2)
    check_grads(moved, (X, np.array([0.3, -0.4]), MATRIX), order=1)


def test_splines_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="map_coordinates with these options"):
        grad(lambda x: np.sum(ndimage.map_coordinates(x, PLACES)))(X)
