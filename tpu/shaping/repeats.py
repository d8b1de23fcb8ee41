"""Guarding against arithmetic that XLA's fusion repeats by copying a value into each of its consumers.

    a = x * y + z
    b = a * a[::-1]          two copies of a's arithmetic
    return a, b              and a third one for a itself

Where that would be most of a program, XLA is told to fuse a value only where that leaves no second copy. A
finite-volume solver then has 494 operations for 2,287, and a call takes 44 ms for 141; of 500 and 1,000 lines of
whole-array statements XLA makes a program in half and in a quarter of the time. Programs that repeat little are left
alone: to make a cheap value again is sooner done than to read it from memory. So is it where arrays have a few elements
only, as in blocks of lanes: to begin one more kernel costs as much as hundreds of operations on them. There only the
time that XLA takes counts. And so are those for the `older_emitters`: told to make no copies, XLA puts nine turns of
`u * np.roll(u, 1) - np.roll(u, -1)` into one kernel, which takes minutes to compile.
"""

from __future__ import annotations

import functools
import math
import operator
from collections import Counter

from ...translator.patterns import pattern

LEAST = 150  # operations: XLA compiles so many in less than 0.1 s
FEW, LEAST_OF_FEW = 64, 1000  # elements, and operations on no more than so many: 0.5 s
TIMES = 2.5  # as many operations as there are: XLA shies away from some of the copies that are counted here

_STATEMENT = pattern(r"^\s*(%\w+)(?::\d+)? = \"?(?:stablehlo\.)?(\w+)")
_NAME = pattern(r"%\w+")
_SHAPE = pattern(r"tensor<((?:\d+x)+)\w+(?:<\w+>)?>$")
_MOVES = frozenset(("broadcast_in_dim", "slice", "reshape", "transpose", "reverse", "convert"))
_COSTLY = frozenset(
    ("divide", "tanh", "exponential", "exponential_minus_one", "log", "log_plus_one", "sqrt", "rsqrt", "power")
)
"""Functions that XLA takes for too dear to repeat."""
_ARITHMETIC = frozenset(
    (
        *("add", "subtract", "multiply", "maximum", "minimum", "negate", "abs", "select", "compare", "clamp", "sine"),
        *("cosine", "and", "or", "xor", "not", "floor", "ceil", "sign", "is_finite", "remainder"),
        *("complex", "real", "imag"),
    )
)


def repeats(text: str) -> bool:
    """Whether a program (its StableHLO) becomes several times as long where values go into all of their consumers."""
    lines = text.splitlines()
    operands = [_NAME.findall(line.partition(" = ")[2] or line) for line in lines]
    uses = Counter(name for names in operands for name in set(names))
    behind: dict[str, int] = {}  # the operations that a kernel repeats with a value, a bit each
    there = made = large = made_large = 0  # `large`: the bits of operations on more than a FEW elements
    for line, names in zip(lines, operands, strict=True):
        found = _STATEMENT.match(line)
        name, op = found.groups() if found else ("", "")
        computes = op in _ARITHMETIC or op in _COSTLY
        elements = _elements(line)
        if not (computes or op in _MOVES) or elements is None:  # numbers are computed once
            copies = [behind.get(a, 0) for a in set(names)]
        else:
            taken = functools.reduce(operator.or_, (behind.get(a, 0) for a in names), computes << there)
            large |= (computes and elements > FEW) << there
            there += computes
            copies = [taken] if op in _COSTLY and uses[name] > 1 else []
            behind[name] = 0 if copies else taken
        made += sum(c.bit_count() for c in copies)
        made_large += sum((c & large).bit_count() for c in copies)
    return _is_most(made, there, LEAST_OF_FEW) or _is_most(made_large, large.bit_count(), LEAST)


def _is_most(made: int, there: int, least: int) -> bool:
    return made - there > least and made > TIMES * there


def _elements(line: str) -> int | None:
    """The number of elements of a statement's result."""
    found = _SHAPE.search(line)
    return math.prod(map(int, found[1].rstrip("x").split("x"))) if found else None
