"""scipy.signal's spectra, analytic signals and sections under derivatives and in batches: SciPy's values; slopes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.signal as signal

from untraced import UnsupportedError, grad, jvp, tree
from untraced.testing import check_grads

X = np.random.default_rng(5).standard_normal((2, 33))
PROGRAMS: list[Callable[[Any], Any]] = [
    lambda x: signal.welch(x, fs=3.0, nperseg=9, noverlap=2, nfft=12, scaling="spectrum", detrend="linear"),
    lambda x: signal.welch(x.T, axis=0, nperseg=8, return_onesided=False),
    lambda x: signal.welch(x, window=np.hanning(8), detrend=False),
    lambda x: signal.csd(x[0], x[1][:20] ** 2, nperseg=8),
    lambda x: signal.coherence(x[0], x[1], nperseg=8),
    lambda x: signal.periodogram(x, window="hamming", nfft=40),
    lambda x: signal.spectrogram(x, nperseg=16),
    lambda x: signal.stft(x, nperseg=9, noverlap=3),
    lambda x: signal.stft(x, nperseg=8, boundary=None, padded=False, scaling="psd", fs=2.0),
    lambda x: signal.stft(x * 1j + x**2, nperseg=8, return_onesided=False),
    lambda x: signal.istft(signal.stft(x, nperseg=8, noverlap=6)[2] ** 2, nperseg=8, noverlap=6),
    lambda x: np.abs(signal.hilbert(x.T, axis=0)) + np.real(signal.hilbert(x[0], N=33))[:, None],
    lambda x: [signal.resample(x, n, axis=1) ** 2 for n in (20, 21, 33, 40, 41)],
    lambda x: [signal.resample(x[:, :32] * (1 + 2j), n, axis=1) ** 2 for n in (16, 32, 41, 64)],
    lambda x: signal.oaconvolve(x[0], x[1, :5]) + signal.sosfilt(signal.butter(4, 0.3, output="sos"), x[0])[0],
]


@pytest.mark.parametrize("f", PROGRAMS)
def test_values_and_derivatives(f: Callable[[Any], Any]) -> None:
    for got, want in zip(tree.leaves(jvp(f, (X,), (X,))[0]), tree.leaves(f(X)), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-12)
    check_grads(f, (X,), order=2)


def test_medians_of_pieces_are_refused() -> None:
    with pytest.raises(UnsupportedError, match=r"scipy.signal.csd with these options"):
        grad(lambda x: np.sum(signal.welch(x, nperseg=8, average="median")[1]))(X)
