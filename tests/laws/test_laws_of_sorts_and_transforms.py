"""The three laws for sorts, searches and Fourier transforms, their derivatives and batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from laws_helpers import check_against_numpy, check_l1, check_l2_l3_in_two_steps, read_program

from untraced.translator.batch.vmap import vmap
from untraced.translator.derive.reverse import vjp
from untraced.translator.passes.simplify import simplify

RNG = np.random.default_rng(5)
X = RNG.normal(size=(4, 6))
Z = X + 1j * RNG.normal(size=X.shape)
V = RNG.normal(size=7)


def sorted_rows(x: Any) -> Any:
    return np.sort(x) * 2.0 - np.sort(x, axis=0)


def ranks(x: Any) -> Any:
    order = np.argsort(x, axis=0)
    return np.argsort(order, kind="stable"), x.argsort(axis=None), np.partition(x, (1, -2), axis=0), x.argpartition(1)


def sorted_in_place(x: Any) -> Any:
    x.sort()
    x[1:3].sort(axis=0)
    return np.sum(x)


def middle(x: Any) -> Any:
    return np.median(x, axis=0) + np.percentile(x, 30.0, axis=0)


def looked_up(x: Any, y: Any) -> Any:
    return np.searchsorted(np.sort(x), y), np.interp(y, np.sort(x), x)


def spectrum(x: Any) -> Any:
    return np.abs(np.fft.rfft(x)) ** 2, np.fft.fft(x, axis=0, norm="ortho")


def smoothed(x: Any) -> Any:
    return np.fft.irfft(np.fft.rfft(x, n=8)[:, :4], n=6) + np.fft.irfft(np.fft.rfft(x))


def planes(z: Any) -> Any:
    return np.fft.ifft2(np.fft.fftn(z) * 2.0), np.fft.fft2(z, axes=(1, 0)), np.fft.irfft2(z, s=(4, 5))


def shifted(z: Any) -> Any:
    return np.fft.fftshift(np.fft.fft(z)) * np.fft.fftfreq(6)


CASES: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (sorted_rows, (X,)),
    (ranks, (X,)),
    (sorted_in_place, (X,)),
    (middle, (X,)),
    (looked_up, (V, X)),
    (spectrum, (X,)),
    (smoothed, (X,)),
    (planes, (Z,)),
    (shifted, (Z,)),
]


@pytest.mark.parametrize(("fun", "args"), CASES, ids=lambda c: getattr(c, "__name__", ""))
def test_laws(fun: Callable[..., Any], args: tuple[Any, ...]) -> None:
    function, leaves = read_program(fun, args)
    check_against_numpy(fun, function, args)
    check_l1(function, args, leaves)
    check_l2_l3_in_two_steps(function, args)


def energy_of_smallest(x: Any) -> Any:
    return np.sum(np.sort(x, axis=0)[:2] ** 2)


def energy_of_spectrum(x: Any) -> Any:
    return np.sum(np.abs(np.fft.rfft2(x)) ** 2)


def energy_of_signal(x: Any) -> Any:
    return np.sum(np.fft.irfft(x * (1.0 + 0.5j), n=9) ** 2)


@pytest.mark.parametrize("fun", [energy_of_smallest, energy_of_spectrum, energy_of_signal])
def test_laws_of_derivatives_and_batches(fun: Callable[..., Any]) -> None:
    function, leaves = read_program(fun, (X,))
    derivative = simplify(vjp(function, [0]))
    args = (X, np.float64(0.7))
    check_l1(derivative, args, args)
    check_l2_l3_in_two_steps(derivative, args)
    batch = simplify(vmap(function, [0], [0], 3))
    stack = (np.stack([X, -X, X * X]),)
    check_l1(batch, stack, stack)
    check_l2_l3_in_two_steps(batch, stack)
