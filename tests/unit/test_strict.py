"""np.seterr and np.errstate around compiled functions, and what debugs NaNs and infinities."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import untraced
from untraced import accelerate, device_put, grad
from untraced.runtime.calls import strict


def log_sum(x: Any) -> Any:
    return np.sum(np.log(x))


BAD, GOOD = np.array([-1.0, 2.0]), np.array([1.0, 2.0])


@pytest.fixture
def debugging() -> Iterator[None]:
    yield
    untraced.config.update("jax_debug_nans", False)
    untraced.config.update("jax_debug_infs", False)


@pytest.mark.parametrize("calls_before", [0, 1, 3])
def test_errstate_raises_as_in_numpy(calls_before: int) -> None:
    f = accelerate(log_sum)
    with np.errstate(all="ignore"):
        for _ in range(calls_before):
            assert np.isnan(f(BAD))
    with np.errstate(invalid="raise"), pytest.warns(UserWarning, match="np.errstate asks for more than warnings"):
        with pytest.raises(FloatingPointError, match="invalid value encountered in log"):
            f(BAD)
        assert f(GOOD) == log_sum(GOOD)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(f(BAD))  # compiled: nothing is said


def test_seterr_stays_until_it_is_set_anew() -> None:
    f = accelerate(lambda x: 1.0 / x)
    before = np.seterr(divide="ignore")
    try:
        assert f(np.zeros(2)).tolist() == [np.inf] * 2
        assert not strict.is_asked()
        np.seterr(divide="call")
        seen: list[str] = []
        np.seterrcall(lambda what, flag: seen.append(what))
        with pytest.warns(UserWarning, match="runs as it is"):
            f(np.zeros(2))
        assert seen == ["divide by zero"]
    finally:
        np.seterr(**before)
        np.seterrcall(None)
    assert not strict.is_asked()


def test_arrays_on_a_device_are_the_device_s() -> None:
    with np.errstate(all="raise"):
        assert np.isnan(float(accelerate(log_sum)(device_put(BAD))))


@pytest.mark.usefixtures("debugging")
def test_plain_derivatives_and_pmap_are_debugged() -> None:
    with np.errstate(invalid="raise"), pytest.raises(FloatingPointError, match="invalid"):
        untraced.pmap(lambda x: np.sqrt(x))(-np.ones(1))
    untraced.config.jax_debug_nans = True
    for fun in (untraced.pmap(lambda x: np.sqrt(x)), grad(lambda x: np.sum(np.sqrt(x)))):
        with pytest.raises(FloatingPointError, match="invalid"):
            fun(-np.ones(1))


@pytest.mark.usefixtures("debugging")
@pytest.mark.parametrize("on_device", [False, True])
def test_debugging_nans_and_infinities(on_device: bool) -> None:
    f, g = accelerate(log_sum), accelerate(grad(lambda x: np.sum(np.sqrt(x))))
    kind = device_put if on_device else np.array
    with np.errstate(all="ignore"):
        for _ in range(3):
            assert np.isnan(float(f(kind(BAD))))
            assert np.isinf(np.asarray(g(kind(0 * GOOD)))).all()
    untraced.config.update("jax_debug_nans", True)
    assert untraced.config.jax_debug_nans and not untraced.config.jax_debug_infs
    with pytest.raises(FloatingPointError, match="invalid value encountered in log"):
        f(kind(BAD))
    with np.errstate(divide="ignore"):
        g(kind(0 * GOOD))
    untraced.config.jax_debug_infs = True
    with pytest.raises(FloatingPointError, match="divide by zero"):
        g(kind(0 * GOOD))
    assert type(f(kind(GOOD))) is type(accelerate(log_sum)(kind(GOOD)))
    untraced.config.jax_debug_nans = untraced.config.jax_debug_infs = False
    with np.errstate(all="ignore"):
        assert np.isnan(float(f(kind(BAD))))
