"""What rewrites ask about numbers: the one value of an array, Python's form of it, what is exact in a dtype."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import ops
from ..ir import Atom, Const, DType, const, is_filled
from .calls import Definitions, made_by

LONGEST = 64  # elements of a constant that are looked at


def uniform(atom: Atom, definitions: Definitions) -> Const | None:
    """The one value that all elements have: of a constant filled with it, if it is a short one, or of `np.full`."""
    if isinstance(atom, Const):
        if atom.aval.shape == ():
            return atom
        filled = atom.aval.size <= LONGEST and is_filled(atom.value)
        return const(atom.value.flat[0]) if filled else None
    made = made_by(atom, ops.FULL, definitions)
    if made is None or not isinstance(made.args[0], Const):
        return None
    return const(np.asarray(made.args[0].value).astype(atom.aval.dtype)[()])


def python_number(c: Const, loop: DType) -> Const | None:
    """The constant as a Python number, which prints better; None where that has another value or no such type.

    In a loop of its own dtype the shortest decimal will do: `0.1` for `np.float32(0.1)`.
    """
    dtype = c.aval.dtype
    if c.aval.weak or dtype.kind not in "iufc" or dtype.char in "gG":
        return None
    return const(shortest(c.value) if loop == dtype and dtype.kind == "f" else c.value.item())


def shortest(x: Any) -> float:
    """The Python float of fewest digits that rounds to the NumPy float `x`, whatever `np.set_printoptions` says."""
    return float(np.format_float_scientific(x)) if np.isfinite(x) else float(x)


def number_of(atom: Atom) -> float | None:
    if isinstance(atom, Const) and atom.aval.shape == () and atom.aval.dtype.kind in "iuf":
        return float(atom.value)
    return None


def is_power_of_two(x: float) -> bool:
    return math.isfinite(x) and math.frexp(abs(x))[0] == 0.5


def is_normal(x: float, dtype: DType) -> bool:
    info = np.finfo(dtype)
    return float(info.tiny) <= abs(x) <= float(info.max)


def is_exact(source: DType, target: DType) -> bool:
    """Whether every value of `source` survives a cast to `target` and back."""
    if source == target or not np.can_cast(source, target, "safe"):
        return source == target
    if source.kind in "iu" and target.kind in "fc":
        part = np.zeros((), target).real.dtype
        return source.itemsize * 8 <= np.finfo(part).nmant + 1
    return True


def strong(c: Const, dtype: DType) -> Const:
    return const(np.asarray(c.value).astype(dtype)[()])
