"""Float32 values that leave a kernel in half precision alone: faster functions will do for them.

    y = np.tanh(x * x + 0.5)                        of x in bfloat16: computed in float32, as NumPy promotes it
    return (np.exp(-y) + y).astype(x.dtype)         and rounded to bfloat16 at the end

Every value here is loose: all its uses are roundings to half precision, or arithmetic that is loose itself. Its
quotients, roots, exponentials and hyperbolic tangents may be off by some units of float32, 2^-20 of themselves, where
NumPy's are off by one or so; of an exponential it is its argument that is rounded once more. A unit of bfloat16 is
2^-8, of float16 2^-11. Where a sum takes away what such a value has in common with another (`conditioning`: exp(x) - 1
of small x), it is computed as exactly as float32 can.

In kernels without reductions `a * b + c` is rounded once where c is a number or what a function gives: nothing that may
be `a * b` rounded, so that what is 0 stays 0. What decides (comparisons, roundings to integers) is never computed from
a loose value, nor is what the kernel gives in float32.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from ...translator.records import dataclass
from ..source.values import Call, Convert, Fold, Lowered, Number, Value
from .conditioning import ill_conditioned

if TYPE_CHECKING:
    from collections.abc import Mapping, Set

FUNCTIONS = frozenset(("cos", "exp", "log", "sin", "sqrt", "tanh"))
INEXACT = FUNCTIONS | {"divide"}  # what has a faster form
SMOOTH = FUNCTIONS.union(
    ("absolute", "add", "divide", "fmax", "fmin", "maximum", "minimum", "multiply", "negative", "positive"),
    ("square", "subtract", "where"),
)
"""Operations whose results are off by about as much as their arguments, as they are for rounded arguments anyway."""
_HALVES = ("float16", "bfloat16")


def loose_values(lowered: Lowered) -> Set[Value]:
    """The values of which nobody sees more than half precision, and whose errors stay as small as they are."""
    exact = {o.value for o in lowered.outputs}
    if lowered.place is not None:
        exact.update(lowered.place.args)
    found: set[Value] = set()
    for v in reversed(lowered.values):
        if v.dtype == np.float32 and v not in exact:
            found.add(v)
        if not _is_loose_user(v, found):
            exact.update(v.args)
    if any(isinstance(v.source, Call) and v.source.op.name in INEXACT for v in found):
        found -= ill_conditioned(lowered, SMOOTH, least_values(lowered))
    return found


@dataclass(frozen=True, slots=True)
class Contracted:
    """x * y + z, or x * y - z, or z - x * y: `signs` are those of the product and of z."""

    x: Value
    y: Value
    z: Value
    signs: tuple[str, str]


def contracted(lowered: Lowered, loose: Set[Value]) -> tuple[dict[Value, Contracted], Set[Value]]:
    """The sums that are rounded once, and the products that nothing else needs."""
    if lowered.axes:  # a product may be made in another walk along the row than the sum
        return {}, frozenset()
    uses = Counter(a for v in lowered.values for a in v.args)
    sums: dict[Value, Contracted] = {}
    absorbed: set[Value] = set()
    for v in lowered.values:
        if v not in loose or not isinstance(v.source, Call) or v.source.op.name not in ("add", "subtract"):
            continue
        x, y = v.args
        minus = "-" if v.source.op.name == "subtract" else ""
        for product, z, signs in ((x, y, ("", minus)), (y, x, (minus, ""))):
            is_product = isinstance(product.source, Call) and product.source.op.name == "multiply"
            if is_product and product in loose and uses[product] == 1 and _is_apart(z):
                sums[v] = Contracted(product.args[0], product.args[1], z, signs)
                absorbed.add(product)
                break
    return sums, absorbed


def normal_roots(lowered: Lowered, loose: Set[Value]) -> Set[Value]:
    """The loose roots of what is never below the normal numbers, as in `np.sqrt(y * y + 1)`: they need no scaling."""
    least = least_values(lowered)
    is_root = (v for v in loose if isinstance(v.source, Call) and v.source.op.name == "sqrt")
    return {v for v in is_root if least[v.args[0]] >= 2.0**-100}


def least_values(lowered: Lowered) -> dict[Value, float]:
    """What each value is never below, where it is a number; -inf where nothing is known."""
    least: dict[Value, float] = {}
    for v in lowered.values:
        least[v] = _least(v, least)
    return least


def _least(v: Value, least: Mapping[Value, float]) -> float:
    if isinstance(v.source, Number):
        return float(v.source.value) if v.dtype == np.float32 else -np.inf
    if not isinstance(v.source, Call) or v.dtype != np.float32:
        return -np.inf
    name, of = v.source.op.name, [least[a] for a in v.args]
    if name in ("absolute", "exp", "sqrt", "square") or (name == "multiply" and len({*map(_narrow, v.args)}) == 1):
        return 0.0
    if name == "maximum":
        return max(of)
    return sum(of) if name == "add" and min(of) >= 0 else -np.inf


def _narrow(v: Value) -> Value:
    """The value in half precision that this one is, in float32; else itself."""
    widened = isinstance(v.source, Convert) and v.dtype == np.float32 and v.args[0].dtype.name in _HALVES
    return v.args[0] if widened else v


def _is_apart(z: Value) -> bool:
    """Whether it is a number, or what a function gives."""
    if isinstance(z.source, Call):
        return z.source.op.name in FUNCTIONS
    return isinstance(z.source, Number)


def _is_loose_user(v: Value, loose: Set[Value]) -> bool:
    """Whether a value asks for no more of its arguments than half precision holds."""
    match v.source:
        case Convert():
            return v.dtype.name in _HALVES
        case Fold(op=op):
            return v in loose and op.name in ("sum", "max", "min")
        case Call(op=op):
            return v in loose and op.name in SMOOTH
    return False
