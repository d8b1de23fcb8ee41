"""SciPy's functions where their options, dtypes or values are out of the ordinary: its own answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.linalg
import scipy.ndimage
import scipy.signal
import scipy.special
import scipy.stats

from untraced import accelerate

R = np.random.default_rng(0)
IMAGE, WHOLE, TAPS = R.random((14, 15)), R.integers(0, 50, (11, 12)), R.integers(0, 5, (9, 9))
HOLED = IMAGE.copy()
HOLED[0, 0] = np.nan
CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "a NaN among many taps": (lambda x, w: scipy.signal.convolve2d(x, w), (HOLED, np.ones((9, 9)))),
    "correlated": (lambda x, w: scipy.signal.correlate2d(x, w, "same"), (HOLED, np.ones((9, 8)))),
    "whole numbers": (lambda x, w: scipy.signal.convolve(x, w), (WHOLE, TAPS)),
    "whole numbers by Fourier": (lambda x, w: scipy.signal.convolve(x, w, method="fft"), (WHOLE, TAPS)),
    "a blurred image of whole numbers": (lambda x: scipy.ndimage.gaussian_filter(x, 1.5), (WHOLE,)),
    "of bytes": (lambda x: scipy.ndimage.uniform_filter1d(x, 3), (WHOLE.astype(np.uint8),)),
    "of single precision": (lambda x: scipy.ndimage.gaussian_filter(x, 1.5), (IMAGE.astype(np.float32),)),
    "LU of zeros": (lambda a: scipy.linalg.lu(a), (np.zeros((2, 2)),)),
    "LU with a column of zeros": (lambda a: scipy.linalg.lu(a), (np.c_[np.zeros(4), R.random((4, 3))],)),
    "one sample": (lambda y: scipy.integrate.cumulative_trapezoid(y, initial=0), (np.arange(1.0),)),
    "a negative number": (lambda x: scipy.stats.hmean(x, axis=1), (np.array([[-1.0, 2.0], [1.0, 2.0]]),)),
    "log beta": (
        lambda a, b: scipy.special.betaln(a, b),
        (np.array([1, np.inf, np.inf, np.nan, -3.5, 1e300]), np.array([np.inf, 3, np.inf, 1.0, 20.0, 2.0])),
    ),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("target", ["cpu", "numpy"])
@pytest.mark.parametrize("name", CASES)
def test_as_scipy(name: str, target: str) -> None:
    function, args = CASES[name]
    want, found = function(*args), accelerate(function, target=target)(*args)
    for x, y in zip(want, found, strict=True) if isinstance(want, tuple) else [(want, found)]:
        assert np.asarray(y).dtype == np.asarray(x).dtype
        np.testing.assert_allclose(y, x, rtol=1e-5 if np.asarray(x).dtype == np.float32 else 1e-11, atol=1e-12)
