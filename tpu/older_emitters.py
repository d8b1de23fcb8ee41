"""When to use XLA's older kernel emitters: for nested branches, for columns beside rows, and for small arrays.

    w[int(k)] = s
    w = w * c + d           and so on, 20 times

A kernel asks for each element whether it is of the stored part or not, and computes what is behind the array in that
branch, where the next such question stands. XLA's emitters of kernels simplify a program branch by branch, and each
twice within the one around it: 2 ** 20 steps, for which XLA stops for minutes. Its older emitters write LLVM's code at
once. On branches they are faster at run time too: eight turns of `u / 2 + (np.roll(u, 1) + np.roll(u, -1)) / 4` take 11
ms for 18, the gradient 17 for 55.

    w.T * x + w             on 1,000 x 1,000 numbers: 20 ms by the newer ones, 2 by the older

    grad(deriche)           on 8 x 10 numbers: 0.23 s of compiling for 0.46, a call takes as long

Kernels over small arrays run in the time of starting them, whoever writes them, and the older emitters write them in
half to two thirds of the time. LLVM then gets a program in few pieces, each of which costs it some milliseconds.

Elsewhere the newer ones are better: the older call functions such as exp for single elements.
"""

from __future__ import annotations

import math
import re

from .apart import BRANCHES, DEEPEST, MARK

LARGE = 1 << 16  # elements: columns of fewer stay in the cache
SMALL = 1 << 12  # elements, up to which `rounding` leaves LLVM no products to fuse: the emitters give the same bits

_STATEMENT = re.compile(r"^\s*(%\w+)(?::\d+)? = \"?(?:stablehlo\.)?(\w+)")
_NAME = re.compile(r"%\w+")
_TURN = re.compile(r"dims = \[[\d, ]*?(\d+)\] .*-> tensor<((?:\d+x)*)")
_SHAPE = re.compile(r"tensor<((?:\d+x)+)")
_LIBRARY = re.compile(
    r"stablehlo\.(?:exponential|log|tanh|power|logistic|cbrt|sine|cosine|tan|atan2|rsqrt|remainder)|chlo\.|complex<"
)
_FUNCTION = re.compile(r"stablehlo\.(?:exponential|log|tanh|power|logistic|cbrt)")
_ARITHMETIC = frozenset(("add", "subtract", "multiply", "divide", "maximum", "minimum", "select", "compare"))
_APART = frozenset(("dot_general", "convolution", "custom_call", "sort", "fft", "while", "case", "if", "scatter"))
"""Made by kernels of their own, or by none."""


def suits_older_emitters(text: str) -> bool:
    """Whether kernels of a program (its StableHLO) are written better, and in time, by the older emitters."""
    return nests(text) or ("stablehlo.transpose" in text and not _FUNCTION.search(text) and _crosses(text))


def is_small(text: str) -> bool:
    """Whether all arrays of a program (its StableHLO) are small, so that what compiling takes is all that emitters
    change: none of the functions of which each has its own versions, with other last digits and other overflows, and no
    complex products, which the older do not round as NumPy.
    """
    return not _LIBRARY.search(text) and all(_elements(sizes) <= SMALL for sizes in set(_SHAPE.findall(text)))


def _crosses(text: str) -> bool:
    """Whether arithmetic reads the columns of a large array where it reads rows of others."""
    turned: set[str] = set()
    for line in text.splitlines():
        found = _STATEMENT.match(line)
        if found is None:
            continue
        name, op = found.groups()
        if op == "transpose":
            moves = _TURN.search(line)
            if moves is not None and int(moves[1]) != moves[2].count("x") - 1 and _elements(moves[2]) >= LARGE:
                turned.add(name)
        elif op in _ARITHMETIC and not turned.isdisjoint(_NAME.findall(line, found.end())):
            return True
    return False


def _elements(sizes: str) -> int:
    return math.prod(int(n) for n in sizes.split("x") if n)


def nests(text: str) -> bool:
    """Whether a program (its StableHLO) may have more branches within each other than the DEEPEST."""
    deep: dict[str, int] = {}
    for line in text.splitlines():
        found = _STATEMENT.match(line)
        if found is None:
            continue
        name, op = found.groups()
        behind = max((deep.get(a, 0) for a in _NAME.findall(line, found.end())), default=0) + (op in BRANCHES)
        if op in _APART or name.endswith(MARK) or not behind:
            continue
        if behind > DEEPEST:
            return True
        deep[name] = behind
    return False
