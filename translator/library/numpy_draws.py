"""Draws of np.random whose place and width the run decides, of standard ones, as NumPy computes and checks them."""

from __future__ import annotations

from typing import Any

import numpy as np


def stretched(scale: Any, base: Any) -> Any:
    if np.any(scale < 0):
        raise ValueError("scale < 0")
    return scale * base


def moved(loc: Any, scale: Any, base: Any) -> Any:
    return loc + stretched(scale, base)


def between(low: Any, high: Any, base: Any) -> Any:
    if np.any(high < low):
        raise ValueError("high - low < 0")
    return low + (high - low) * base


def between_any(low: Any, high: Any, base: Any) -> Any:
    return low + (high - low) * base


def exponentiated(mean: Any, sigma: Any, base: Any) -> Any:
    if np.any(sigma < 0):
        raise ValueError("sigma < 0")
    return np.exp(mean + sigma * base)
