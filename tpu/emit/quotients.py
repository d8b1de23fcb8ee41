"""Quotients on the CPU: what keeps XLA from rounding them twice, and what is faster where many are divided by one."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Callable, Iterable

import numpy as np

from ...translator.ir import Apply, Atom, Const, DType, Function, Fused, Var, walk
from ...translator.ops.core import ArgReduce, Elementwise, Index, Reduce
from .writer import F32, F64, Value, Writer

# Reciprocals of larger powers of two, and of smaller ones than the negative, may not be normal numbers.
_EXPONENTS = {F64: 1000, F32: 120}
_ELEMENTS_OF_A_DIVISOR = 16  # for fewer, the reciprocals and scales cost as much as the divisions that they save
_SMALLEST = 8192
_SMALLEST_OF_ROWS = 1 << 17
# How much else a kernel may do for each element. Divisions run beside other arithmetic: where there is much, they cost
# nothing. Those of float32 take half the time.
_LIGHT = {F64: 8, F32: 3}
_COSTS = {
    **dict.fromkeys(
        ("add", "subtract", "multiply", "negative", "absolute", "square", "maximum", "minimum", "where"), 1
    ),
    "divide": 3,
}


def is_kept_as_quotient(divisor: Atom, dtype: DType) -> bool:
    """Whether a quotient needs a barrier around its divisor, lest XLA multiply by the reciprocal of a constant, of what
    is broadcast, of a root or an exponential. That rounds twice: 3 * (1 / 10) is not 3 / 10. Powers of two it may have.
    The barrier is gone before the fusion.
    """
    if dtype.kind not in "fc":
        return False
    return isinstance(divisor, Var) or bool(np.any(np.abs(np.frexp(np.real(divisor.value))[0]) != 0.5))


def corrected_quotients(function: Function) -> frozenset[Var]:
    """The quotients that are faster by `quotient_by_few`: of large arrays, by divisors that divide many elements each,
    in kernels that do little else and sum nothing (what is read in parts may be summed: `passes/across`).
    """
    made = {s.targets[0]: s for s in walk(function.body) if isinstance(s, Apply)}
    found = [s for s in made.values() if _divides_many(s)]
    if not found or not _fuses_products():
        return frozenset()
    kernels = _Kernels(function, made)
    return frozenset(s.targets[0] for s in found if kernels.is_light(s))


def _divides_many(s: Apply) -> bool:
    if s.op.name != "divide":
        return False
    out, divisor = s.targets[0].aval, s.args[1].aval
    if divisor.size * _ELEMENTS_OF_A_DIVISOR > out.size or out.size < _SMALLEST or out.dtype not in _EXPONENTS:
        return False
    # Divisions of float32 are fast: only rows gain, and of small arrays XLA would part the longer kernel among threads.
    if out.dtype == F32 and (divisor.shape[-1:] != (1,) or out.size < _SMALLEST_OF_ROWS):
        return False
    if isinstance(s.args[1], Const):
        most = 2.0 ** _EXPONENTS[out.dtype]
        return not divisor.shape and bool(1 / most < np.abs(s.args[1].value) < most)
    return True


class _Kernels:
    """What XLA may fuse: of what values are made, and what is made of them, through groups."""

    def __init__(self, function: Function, made: dict[Var, Apply]) -> None:
        self._made = made
        self._groups: dict[Var, Atom] = {}  # what is the same value under another name
        for s in walk(function.body):
            if isinstance(s, Fused):
                self._groups.update(zip(s.body.params, s.args, strict=True))
                self._groups.update(zip(s.targets, s.body.results, strict=True))
        self._readers: dict[Atom, list[Apply]] = defaultdict(list)
        for s in made.values():
            for a in s.args:
                self._readers[self._home(a)].append(s)

    def _home(self, x: Atom) -> Atom:
        while isinstance(x, Var) and x in self._groups:
            x = self._groups[x]
        return x

    def is_light(self, quotient: Apply) -> bool:
        before, behind = (
            self._around(quotient, self._makers),
            self._around(quotient, lambda s: self._readers[s.targets[0]]),
        )
        if any(isinstance(s.op, Reduce | ArgReduce | Index) for s in behind):
            return False
        others = [s for s in before + behind if isinstance(s.op, Elementwise)]
        most = _LIGHT[quotient.targets[0].aval.dtype]
        return sum(_COSTS.get(s.op.name, most + 1) for s in others) <= most

    def _makers(self, s: Apply) -> list[Apply]:
        """What makes the operands that are as large as the result, in its kernel."""
        whole = (self._home(a) for a in s.args if a.aval.size == s.targets[0].aval.size)
        made = (self._made[h] for h in whole if isinstance(h, Var) and h in self._made)
        return [s for s in made if not self._is_kept(s)]

    def _is_kept(self, s: Apply) -> bool:
        """Whether it lies in memory: a function, too dear to be computed twice, that is summed as well, as the
        exponentials of a softmax are.
        """
        if not isinstance(s.op, Elementwise) or s.op.name in _COSTS:
            return False
        return any(isinstance(r.op, Reduce) for r in self._readers[s.targets[0]])

    def _around(self, s: Apply, near: Callable[[Apply], Iterable[Apply]]) -> list[Apply]:
        """What is `near` a statement, and near elementwise operations that are; no more than is seen to be too much."""
        found: dict[Var, Apply] = {}
        open_ = [s]
        while open_ and len(found) <= max(_LIGHT.values()):
            for other in near(open_.pop()):
                if other.targets[0] not in found:
                    found[other.targets[0]] = other
                    if isinstance(other.op, Elementwise):
                        open_.append(other)
        return list(found.values())


def quotient_by_few(w: Writer, x: Value, divisor: Value | np.generic) -> Value:
    """x / divisor, where `divisor` has few elements: a product with the reciprocal, and what it lacks of the quotient.

    With r = 1/d, q = x*r and the error q*d - x, which a fused multiply-add gives exactly, q - (q*d - x)*r is the
    quotient as division rounds it. (P. Markstein, Computation of elementary functions on the IBM RISC System/6000
    processor, IBM J. Res. Dev. 34 (1990), for q within one unit of the last place; just below 1 it may be off by one
    and a half, and of 8e8 quotients there and elsewhere none differed.) LLVM fuses both products: each has one use.
    What lacks of a quotient of the smallest normal numbers is subnormal, and counts for 0: its last bit may be another.

    The scale bears the sign of the divisor, so that a zero keeps its own. Where something is infinite or 0 / 0, the
    correction is NaN and the product has the right value. Barriers keep XLA from joining the factors.
    """
    if isinstance(divisor, Value):
        factors = (w.op("optimization_barrier", v) for v in _factors(w, divisor))
        r, d, scale = (w.broadcast(v, x.shape) for v in factors)
    else:  # all of it behind the barrier: what is spread behind one, XLA would still know
        size = np.abs(divisor)
        r, d, scale = (w.op("optimization_barrier", w.splat(v, x)) for v in (1 / size, size, np.sign(divisor)))
    q = w.multiply(x, r)
    p = w.subtract(q, w.multiply(w.subtract(w.multiply(q, d), x), r))
    return w.multiply(w.select(w.compare("EQ", p, p), p, q), scale)


def _factors(w: Writer, divisor: Value) -> tuple[Value, Value, Value]:
    """1/d, d and s, where divisor = d/s, d is not negative and has a normal reciprocal, and s is a power of two."""
    most = _EXPONENTS[divisor.dtype]
    size = w.op("abs", divisor)
    down, up, one = (w.splat(2.0**k, divisor) for k in (-most // 2, most // 2, 0))
    far, near = w.compare("GT", size, w.splat(2.0**most, size)), w.compare("LT", size, w.splat(2.0**-most, size))
    scale = w.select(far, down, w.select(near, up, one))
    d = w.multiply(size, scale)
    bits = w.op("bitcast_convert", divisor, dtype=np.dtype(f"i{divisor.dtype.itemsize}"))
    return w.divide(one, d), d, w.select(w.compare("LT", bits, w.splat(0, bits)), w.op("negate", scale), scale)


@functools.cache
def _fuses_products() -> bool:
    """Whether this processor multiplies and adds with one rounding."""
    vectors = np.show_config(mode="dicts")["SIMD Extensions"]
    return not {"FMA3", "X86_V3", "NEON_VFPV4"}.isdisjoint([*vectors["baseline"], *vectors.get("found", ())])
