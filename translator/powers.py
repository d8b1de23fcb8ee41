"""Powers by a known number as a few products, roots and quotients.

    x ** 5                      a = x * x, a * a * x
    x ** -1.5                   1 / (x * sqrt(x))

A function that computes powers takes 10 to 50 times as long as three products, NumPy's the most where some x are
negative. NumPy takes the same ways for 2, 0.5 and -1. Each product may be off by half a unit in the last place of it:
16 factors by 7 units together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")

FACTORS = 16
WHOLE = tuple(range(1, FACTORS + 1))


def whole(exponent: Any) -> int | None:
    """The number of factors of a power that is a few products; None for others, arrays of exponents among them."""
    if np.shape(exponent) or np.imag(exponent) or np.real(exponent) not in WHOLE:
        return None
    return int(np.real(exponent))


def product(x: T, factors: int, multiply: Callable[[T, T], T]) -> T:
    """x times itself, by squaring."""
    power = x
    for digit in bin(factors)[3:]:
        power = multiply(power, power)
        if digit == "1":
            power = multiply(power, x)
    return power
