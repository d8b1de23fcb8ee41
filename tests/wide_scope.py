"""What the statements of random NumPy programs are made of: variables, and elementwise work on them."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from textwrap import dedent
from typing import Any

import ml_dtypes
import numpy as np


def each(text: str) -> tuple[str, ...]:
    """The expressions of a text, which semicolons divide."""
    return tuple(" ".join(part.split()) for part in text.split(";"))


def blocks(text: str) -> tuple[str, ...]:
    """The pieces of a program in a text, which empty lines divide."""
    return tuple(dedent(text).strip().split("\n\n"))


SMOOTH = each("""
    sin; cos; tanh; arctan; arcsinh; cbrt; exp2; expm1; sinc; tan; deg2rad
""")
GUARDED = each("""
    np.exp(-np.abs({0})); np.sqrt(np.abs({0})); np.log1p(np.abs({0})); np.log(np.abs({0}) + 0.5);
    np.arcsin(0.9 * np.tanh({0})); np.arctanh(0.5 * np.tanh({0})); np.arccosh(1.5 + np.abs({0}));
    np.log2(2 + np.abs({0})); np.sinh(np.tanh({0})); np.cosh(np.tanh({0})); np.log10(np.abs({0}) + 1); np.log({0});
    np.sqrt({0}); 1 / (1 + np.exp(-{0})); np.reciprocal({0}); np.angle({0}); np.where({0} > 0, {0}, np.expm1({0}))
""")
EXACT1 = each("""
    -{0}; +{0}; np.abs({0}); np.sign({0}); np.floor({0}); np.ceil({0}); np.trunc({0}); np.rint({0});
    np.square({0}); np.isnan({0}); np.isfinite({0}); np.isinf({0}); np.signbit({0}); np.logical_not({0}); ~{0};
    {0}.real; {0}.imag; np.conj({0}); np.nan_to_num({0}); np.round({0}, 1); {0} ** 2; {0} ** 3;
    np.bitwise_count({0}); {0} % 3; {0} // 2; 2 - {0}; 1 / {0}; {0} * 0.5; {0} > 0; {0} == 1; {0}.astype(bool);
    {0} << 1; {0} >> 1; {0} | 5; {0} & 6; np.positive({0}); np.fabs({0}); 3 // {0}; 7 % {0}; -{0} // 3; 1.5 - {0};
    np.spacing({0}); np.nextafter({0}, 1); np.isposinf({0}); np.ldexp({0}, 2); {0} ** -1; 2 ** {0}; np.fix({0});
    {0}.copy(); np.modf({0})[0]; np.frexp({0})[1]; {0} ** 0.5; True ^ {0}; {0} * 1j
""")
BINARY = each("""
    {0} + {1}; {0} - {1}; {0} * {1}; {0} + {1}; {0} - {1}; {0} * {1}; {0} / {1}; {0} // {1}; {0} % {1};
    np.maximum({0}, {1}); np.minimum({0}, {1}); np.fmax({0}, {1}); np.fmin({0}, {1}); np.hypot({0}, {1});
    np.arctan2({0}, {1}); np.logaddexp({0}, {1}); np.copysign({0}, {1}); np.fmod({0}, {1});
    np.abs({0}) ** np.tanh({1}); {0} < {1}; {0} >= {1}; {0} == {1}; {0} != {1}; {0} & {1}; {0} | {1}; {0} ^ {1};
    np.logical_and({0}, {1}); np.logical_xor({0}, {1}); np.gcd({0}, {1}); np.lcm({0}, {1}); np.heaviside({0}, {1});
    {0} << (np.abs({1}) % 9); {0} >> (np.abs({1}) % 70); np.where({0} > {1}, {0}, {1}); np.where({0}, {1}, 0);
    np.float_power(np.abs({0}), 1.5) * {1}; {0} ** np.abs({1}); np.divmod({0}, {1})[1]; np.divmod({0}, {1})[0];
    np.clip({0}, -1, 1) * {1}; np.remainder({0}, {1}); np.logaddexp2({0}, {1}); ({0} - {1}) * ({0} + {1});
    {0} / (1 + np.abs({1})); np.floor_divide({0}, {1}); {0} ** {1}; np.ldexp({0}, {1} % 5); np.nextafter({0}, {1});
    np.isclose({0}, {1}); np.where({0} < {1}, np.nan, {0})
""")
REDUCE = each("""
    sum; sum; prod; max; min; mean; any; all; var; std; argmax; argmin; ptp; nanmax; nansum; count_nonzero;
    linalg.norm; logaddexp.reduce; median; nanmin; nanmean; nanargmax; bitwise_xor.reduce; maximum.reduce;
    logical_or.reduce; nanvar; average; nanprod; hypot.reduce; bitwise_and.reduce; linalg.vector_norm
""")
CASTS = each("""
    np.float16; np.float32; np.float64; np.int8; np.int16; np.int32; np.int64; np.uint8; np.uint16; np.uint32;
    np.uint64; bool; np.complex64; np.complex128; float; int
""")
DEPTH = 3
LARGEST_PRODUCT = 4_000_000  # of the operands' sizes


class Scope:
    """The variables that a statement may use, as NumPy has computed them so far."""

    def __init__(self, r: Random, known: dict[str, Any], number: int) -> None:
        self.r = r
        self.known = known
        self.new = f"t{number + 1}"

    def pick(self, *options: Any) -> Any:
        return self.r.choice(options)

    def chance(self, share: float) -> bool:
        return self.r.random() < share

    def names(self, wanted: Callable[[Any], bool]) -> list[str]:
        return [n for n, v in self.known.items() if wanted(v)]

    def name(self, wanted: Callable[[Any], bool] = lambda v: True) -> str | None:
        """A variable, rather a late one."""
        found = self.names(wanted)
        return (self.r.choice(found[-4:]) if self.chance(0.6) else self.r.choice(found)) if found else None

    def array(self, least: int = 1, kinds: str = "") -> str | None:
        return self.name(
            lambda v: np.ndim(v) >= least and isinstance(v, np.ndarray) and (not kinds or kind(v) in kinds)
        )

    def partner(self, x: str, kinds: str = "") -> str:
        """What broadcasts with `x`, or a number."""
        shape = np.shape(self.known.get(x, 0.0))

        def fits(v: Any) -> bool:
            try:
                return np.size(np.broadcast_shapes(np.shape(v), shape)) < 6 and (not kinds or kind(v) in kinds)
            except ValueError:
                return False

        if self.chance(0.15):
            return str(
                self.pick("0.5", "-1.5", "2", "3", "np.float32(0.25)", "-1", "1e-3", "True", "np.int8(3)", "np.pi")
            )
        return self.name(fits) or "2"

    def axis(self, x: str) -> int:
        n = np.ndim(self.known[x])
        return self.r.randint(-n, n - 1) if n else 0

    def axes(self, x: str) -> str:
        n = np.ndim(self.known[x])
        if n < 2 or self.chance(0.6):
            return str(self.axis(x)) if n else "None"
        return self.pick("None", str(tuple(sorted(self.r.sample(range(n), self.r.randint(1, n))))))

    def expression(self, x: str, depth: int = DEPTH) -> str:
        """Elementwise work on `x` and what broadcasts with it."""
        if depth == 0 or self.chance(0.2):
            return x
        inner = self.expression(x, depth - 1)
        if self.chance(0.5):
            other = self.partner(x)
            if self.chance(0.3) and isinstance(self.known.get(other), np.ndarray | np.generic):
                other = f"({self.expression(other, 1)})"
            pair = (inner, other) if self.chance(0.7) else (other, inner)
            return f"({self.pick(*BINARY)})".format(*pair)
        if self.chance(0.3):
            return f"np.{self.pick(*SMOOTH)}({inner})"
        if self.chance(0.35):
            return str(self.pick(*GUARDED)).format(inner)
        if self.chance(0.12):
            return f"np.asarray({inner}).astype({self.pick(*CASTS)})"
        return f"({self.pick(*EXACT1)})".format(inner)

    def into(self, text: str) -> str:
        """The assignment: to a new name more often than to one that there is."""
        temporary = self.names(lambda v: True)
        old = [n for n in temporary if n.startswith("t")]
        return f"{self.r.choice(old) if old and self.chance(0.1) else self.new} = {text}"


def kind(v: Any) -> str:
    dtype = np.asarray(v).dtype
    return "f" if dtype == ml_dtypes.bfloat16 else dtype.kind


def is_bfloat(v: Any) -> bool:
    return bool(np.asarray(v).dtype == ml_dtypes.bfloat16)


def shape_of(s: Scope, x: str) -> tuple[int, ...]:
    return tuple(np.shape(s.known[x]))
