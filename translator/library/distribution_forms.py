"""What a distribution of scipy.stats is in standard form, and what such forms are made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..records import dataclass

LOG_ROOT_TWO_PI = 0.9189385332046727
_NEAR = 0.02  # where the series of log1p(u) / u serves: what is left out is 1e-17


Form = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Family:
    """One distribution: functions of the standardised value and the shape parameters.

    low, high   the ends of the support, where it has any; pdf is 0 and logpdf -inf outside.
    open        whether the ends themselves are outside, as SciPy has it.
    inside    a value that is in it, put in place of those that are not, so that nothing singular is computed for them.
    valid     whether the shape parameters are: where not, everything is NaN.
    """

    shapes: tuple[str, ...]
    logpdf: Form
    cdf: Form | None = None
    sf: Form | None = None
    logcdf: Form | None = None
    logsf: Form | None = None
    low: Form | None = None
    high: Form | None = None
    inside: Form | None = None
    valid: Form | None = None
    discrete: bool = False
    open: bool = False


def positive(*shapes: Any) -> Any:
    found = shapes[0] > 0
    for s in shapes[1:]:
        found = found & (s > 0)
    return found


def zero(*shapes: Any) -> Any:
    return 0.0


def one(*shapes: Any) -> Any:
    return 1.0


def half(*shapes: Any) -> Any:
    return 0.5


def not_negative(mu: Any) -> Any:
    return mu >= 0


def minus_one(*shapes: Any) -> Any:
    return -1.0


def minus_half_turn(*shapes: Any) -> Any:
    return -np.pi


def half_turn(*shapes: Any) -> Any:
    return np.pi


def normal(z: Any) -> Any:
    return -0.5 * z * z - LOG_ROOT_TWO_PI


def log1p_ratio(u: Any) -> Any:
    """log1p(u) / u, smooth at 0."""
    near = np.absolute(u) < _NEAR
    v, far = np.where(near, u, 0.0), np.where(near, 1.0, u)
    series = np.zeros_like(v)
    for k in (10, 9, 8, 7, 6, 5, 4, 3, 2, 1):
        series = 1.0 / k - v * series
    return np.where(near, series, np.log1p(far) / far)


ON_THE_RIGHT: dict[str, Any] = {"low": zero, "inside": one}
UNIT: dict[str, Any] = {"low": zero, "high": one, "inside": half}
