"""SciPy's filters without delay, resampling, responses and rules of quadrature: its values, derivatives to order 2."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.integrate as integrate
import scipy.signal as signal

from untraced import UnsupportedError, accelerate, grad, vjp
from untraced.runtime.transforms.testing import check_grads

RNG = np.random.default_rng(4)
X, W = RNG.standard_normal((18, 2)), RNG.standard_normal((6, 7))
V, TAPS = X[:, 0].copy(), np.array([0.4, 0.3, -0.2])
BACK = np.array([1.2, 0.3, 0.1])
B, A = signal.butter(2, 0.3)

ROWS: list[tuple[str, Callable[..., Any], tuple[Any, ...]]] = [
    ("lfilter_zi", lambda b, a: signal.lfilter_zi(b, a), (TAPS, BACK)),
    ("filtfilt", lambda x: signal.filtfilt(B, A, x), (V,)),
    ("filtfilt-even", lambda x: signal.filtfilt(B, A, x, axis=0, padtype="even", padlen=5), (X,)),
    ("filtfilt-taps", lambda b, x: signal.filtfilt(b, [1.0, -0.3], x, padtype="constant"), (TAPS, V)),
    ("sosfilt-zi", lambda x, z: signal.sosfilt(signal.butter(3, 0.2, output="sos"), x, zi=z)[1], (V, W[:2, :2])),
    ("sosfiltfilt", lambda x: signal.sosfiltfilt(signal.butter(3, 0.2, output="sos"), x, axis=0), (X,)),
    ("savgol", lambda x: signal.savgol_filter(x, 7, 3), (V,)),
    ("savgol-slope", lambda x: signal.savgol_filter(x, 5, 2, deriv=1, delta=0.3, axis=0), (X,)),
    ("savgol-nearest", lambda x: signal.savgol_filter(x, 5, 2, deriv=2, mode="nearest"), (W,)),
    ("medfilt", lambda x: signal.medfilt(x, 5), (V,)),
    ("medfilt2d", lambda x: signal.medfilt2d(x, 3), (W,)),
    ("wiener", lambda x: signal.wiener(x, 5), (V,)),
    ("wiener-noise", lambda x, n: signal.wiener(x, (3, 3), n), (W, np.float64(0.4))),
    ("upfirdn", lambda h, x: signal.upfirdn(h, x, 3, 2), (TAPS, V)),
    ("resample_poly", lambda x: signal.resample_poly(x, 3, 2), (V,)),
    ("resample_poly-axis", lambda x: signal.resample_poly(x, 4, 6, axis=1), (W,)),
    ("resample_poly-window", lambda x: signal.resample_poly(x, 3, 2, window=[0.1, 0.5, 0.1]), (V,)),
    ("freqz", lambda b, a: np.abs(signal.freqz(b, a, worN=16)[1]), (TAPS, BACK)),
    ("freqz-places", lambda b: np.abs(signal.freqz(b, worN=np.linspace(0, 50, 9), fs=100.0)[1]), (TAPS,)),
    ("romb", lambda y: integrate.romb(y[:17], 0.3, axis=0), (X,)),
    ("fixed_quad", lambda a, b: integrate.fixed_quad(lambda x, k: np.exp(-a * k * x), 0, b, (1.5,), 6)[0], (0.7, 0.4)),
]


@pytest.mark.parametrize("f, args", [pytest.param(f, args, id=name) for name, f, args in ROWS])
def test_values_and_derivatives(f: Callable[..., Any], args: tuple[Any, ...]) -> None:
    found, want = vjp(f, *args)[0], f(*args)
    assert np.shape(found) == np.shape(want) and found.dtype == want.dtype
    np.testing.assert_allclose(found, want, rtol=1e-9, atol=1e-11)  # other algorithms for the same things
    check_grads(f, args, order=1)


@pytest.mark.slow
@pytest.mark.parametrize("f, args", [pytest.param(f, args, id=name) for name, f, args in ROWS])
def test_second_derivatives(f: Callable[..., Any], args: tuple[Any, ...]) -> None:
    check_grads(f, args, order=2)


def test_compiled() -> None:
    gradient = grad(lambda x: np.sum(signal.filtfilt(B, A, signal.savgol_filter(x, 5, 2)) ** 3))
    np.testing.assert_allclose(accelerate(gradient)(V), gradient(V), rtol=1e-9, atol=1e-12)


def test_integrals_of_integrals() -> None:
    def volume(a: float, b: float) -> float:
        return integrate.dblquad(lambda y, x: np.exp(-a * x * y) * np.cos(y), 0, b, lambda x: a * x, lambda x: 1 + x)[0]

    check_grads(volume, (0.7, 0.4), order=1, modes="rev")


def test_what_decides_about_sizes_must_be_known() -> None:
    sections = signal.butter(4, 0.3, output="sos")
    np.testing.assert_allclose(  # how many samples go in front is asked of the sections where nobody says it
        grad(lambda x: np.sum(signal.sosfiltfilt(sections, x, padlen=9)))(V)[0],
        (np.sum(signal.sosfiltfilt(sections, V + 0.5 * np.eye(18)[0], padlen=9))
         - np.sum(signal.sosfiltfilt(sections, V - 0.5 * np.eye(18)[0], padlen=9))),
        rtol=1e-9,
    )  # fmt: skip
    with pytest.raises(UnsupportedError, match="depends on the data"):
        grad(lambda x: np.sum(signal.sosfiltfilt(sections, x)))(V)
    with pytest.raises(UnsupportedError, match="even length"):
        grad(lambda x: np.sum(signal.savgol_filter(x, 4, 2)))(V)


def test_programs_do_not_depend_on_what_else_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    """The weights are SciPy's, which is found among the modules: those are not read."""
    slope = grad(lambda x: np.sum(signal.resample_poly(x, 3, 2)) + integrate.fixed_quad(lambda t: t * x[0], 0, 1)[0])
    want = slope(V)

    def refuse(*args: object) -> None:
        raise AssertionError("translated again")

    monkeypatch.setattr("untraced.runtime.calls.entries.translate", refuse)
    monkeypatch.setitem(sys.modules, "untraced_no_module", types.ModuleType("untraced_no_module"))
    np.testing.assert_array_equal(slope(V), want)
