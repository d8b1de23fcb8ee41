"""When to use XLA's older kernel emitters: for nested branches, for columns beside rows, and for small arrays.

    w[int(k)] = s
    w = w * c + d           and so on, 20 times

A kernel asks for each element whether it is of the stored part or not, and computes what is behind the array in that
branch, where the next such question stands. XLA's emitters of kernels simplify a program branch by branch, and each
twice within the one around it: 2 ** 20 steps, for which XLA stops for minutes. Its older emitters write LLVM's code at
once. On branches they are faster at run time too: eight turns of `u / 2 + (np.roll(u, 1) + np.roll(u, -1)) / 4` take 11
ms for 18, the gradient 17 for 55.

    w.T * x + w             on 1,000 x 1,000 numbers: 20 ms by the newer ones, 2 by the older

On small arrays calls take as long by either, and the older ones make a kernel in 14 ms for 24. But with them XLA drops
barriers first thing, before it simplifies (exp(x) * exp(y) became exp(x + y)), and it rounds complex products otherwise
than NumPy: programs with either are left to the newer ones. So are large arrays, as the older ones call functions such
as exp for single elements.
"""

from __future__ import annotations

import math

from ...translator.patterns import pattern
from .apart import BRANCHES, DEEPEST, MARK

LARGE = 1 << 16  # elements: columns of fewer stay in the cache
SMALL = 1 << 11  # elements: kernels of no more take as long by either

_STATEMENT = pattern(r"^\s*(%\w+)(?::\d+)? = \"?(?:stablehlo\.)?(\w+)")
_NAME = pattern(r"%\w+")
_TURN = pattern(r"dims = \[[\d, ]*?(\d+)\] .*-> tensor<((?:\d+x)*)")
_SIZES = pattern(r"tensor<((?:\d+x)+)")
_FUNCTION = pattern(r"stablehlo\.(?:exponential|log|tanh|power|logistic|cbrt)")
_ARITHMETIC = frozenset(("add", "subtract", "multiply", "divide", "maximum", "minimum", "select", "compare"))
_APART = frozenset(("dot_general", "convolution", "custom_call", "sort", "fft", "while", "case", "if", "scatter"))
"""Made by kernels of their own, or by none."""


def suits_older_emitters(text: str) -> bool:
    """Whether kernels of a program (its StableHLO) are written better, and in time, by the older emitters."""
    return nests(text) or ("stablehlo.transpose" in text and not _FUNCTION.search(text) and _crosses(text))


def made_sooner(text: str) -> bool:
    """Whether the older emitters make a program (its StableHLO) in less time, and the same one."""
    if "stablehlo.optimization_barrier" in text or "complex<" in text:
        return False
    return all(_elements(sizes) <= SMALL for sizes in set(_SIZES.findall(text)))


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
