"""How deeply the branches of a kernel would lie within each other: where arrays are put together from parts.

    w[int(k)] = s
    w = w * c + d           and so on, 20 times

A kernel asks for each element whether it is of the stored part or not, and computes what is behind the array in that
branch, where the next such question stands. XLA's emitters of kernels simplify a program branch by branch, and each
twice within the one around it: 2 ** 20 steps, for which XLA stops for minutes. Its older emitters write LLVM's code at
once. On branches they are faster at run time too: eight turns of `u / 2 + (np.roll(u, 1) + np.roll(u, -1)) / 4` take 11
ms for 18, the gradient 17 for 55. Elsewhere they are not: they call functions such as tanh for single elements.
"""

from __future__ import annotations

import re

MOST = 4

_STATEMENT = re.compile(r"^\s*(%\w+)(?::\d+)? = \"?(?:stablehlo\.)?(\w+)")
_NAME = re.compile(r"%\w+")
_BRANCHING = frozenset(("concatenate", "pad", "dynamic_update_slice"))
_APART = frozenset(("dot_general", "convolution", "custom_call", "sort", "fft", "while", "case", "if", "scatter"))
"""Made by kernels of their own, or by none."""


def nests(text: str) -> bool:
    """Whether a program (its StableHLO) may have more than the MOST branches within each other."""
    deep: dict[str, int] = {}
    for line in text.splitlines():
        found = _STATEMENT.match(line)
        if found is None:
            continue
        name, op = found.groups()
        behind = max((deep.get(a, 0) for a in _NAME.findall(line, found.end())), default=0) + (op in _BRANCHING)
        if op in _APART or not behind:
            continue
        if behind > MOST:
            return True
        deep[name] = behind
    return False
