"""Numbers as a person writes them: `1 / 6` for 0.16666666666666666, `2 * np.pi`, `5 ** 0.5`.

Each expression is that very number: the reader, which computes with known numbers on the spot, finds it again.
"""

from __future__ import annotations

import ast
import math
import re
from functools import lru_cache

import numpy as np

LONG = 12  # digits: a number of fewer is written as it is
SHORT = 5  # digits of the numbers in an expression
SMALLEST, LARGEST = 1e-5, 1e6  # beyond, numbers are written with exponents
DIVISORS = np.arange(2, 1001)


def expression(value: float) -> ast.expr | None:
    """An expression of short numbers for a number of many digits; None where there is none."""
    text = spelled(abs(value)) if value else None
    if text is None:
        return None
    return ast.parse(text if value > 0 else f"-{text}", mode="eval").body


@lru_cache(maxsize=4096)
def spelled(value: float) -> str | None:
    digits = re.sub(r"e.*|\D", "", repr(value)).strip("0")
    if len(digits) < LONG or not SMALLEST < value < LARGEST or _is_rounded(value):
        return None
    return _quotient(value) or _part_of_pi(value) or _root(value)


def _is_rounded(value: float) -> bool:
    """Whether it is a short number but for rounding errors, 0.30000000000000004: these should show."""
    return abs(float(f"{value:.{LONG - 1}g}") - value) <= 16 * math.ulp(value)


def _short(x: float) -> str | None:
    """`x` in few digits; None where it takes an exponent."""
    text = f"{x:.{SHORT}g}"
    return None if "e" in text or text == "0" else text


def _quotient(value: float) -> str | None:
    """The shortest; of these the one with the least divisor."""
    above = value * DIVISORS
    with np.errstate(all="ignore"):
        digits = above / 10.0 ** (np.floor(np.log10(above)) - SHORT + 1)
    found = []
    for divisor in DIVISORS[np.abs(digits - np.round(digits)) < 1e-6].tolist():
        text = _short(value * divisor)
        if text is not None and float(text) / divisor == value:
            found.append(f"{text} / {divisor}")
    return min(found, key=len, default=None)


def _part_of_pi(value: float) -> str | None:
    for divisor in (1, 2, 3, 4, 6, 8, 180):
        times = _short(value * divisor / math.pi)
        if times is not None and "." not in times and float(times) * math.pi / divisor == value:
            product = "np.pi" if times == "1" else f"{times} * np.pi"
            return product if divisor == 1 else f"{product} / {divisor}"
    return None


def _root(value: float) -> str | None:
    square, inverse = _short(value**2), _short(value**-2)
    if square is not None and float(square) ** 0.5 == value:
        return f"{square} ** 0.5"
    if inverse is not None and 1 / float(inverse) ** 0.5 == value:
        return f"1 / {inverse} ** 0.5"
    return None
