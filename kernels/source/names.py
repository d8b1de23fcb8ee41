"""Names in kernels: unique ones, and those that no kernel may have."""

from __future__ import annotations

import keyword
from dataclasses import field

from ...translator.records import dataclass
from . import complex_numbers


@dataclass(slots=True)
class Names:
    """Deterministic, unique names that are keywords of neither Python nor C."""

    taken: set[str] = field(default_factory=set)
    reserved: frozenset[str] = field(default_factory=lambda: RESERVED)
    numbers: dict[str, int] = field(default_factory=dict)  # the last one behind each base

    def restart(self, taken: set[str]) -> None:
        """Give names again as they were given when so many were taken."""
        self.taken, self.numbers = set(taken), {}

    def fresh(self, hint: str) -> str:
        base = "".join(c if c.isalnum() or c == "_" else "_" for c in hint) or "t"
        base = base if base.isascii() and not base[0].isdigit() else "t"
        n = self.numbers.get(base, 0)
        name = f"{base}_{n}" if n else base
        while name in self.taken or name in self.reserved or keyword.iskeyword(name):
            n += 1
            name = f"{base}_{n}"
        self.numbers[base] = n
        self.taken.add(name)
        return name


RESERVED: frozenset[str] = frozenset(
    """
    BLOCK Divisor EACH Earlier Exponentials First Largest Pack Product ROWS Rescaled SIDE Smallest Spread Sum
    THREADS Together abs acos acosh across against_top asin asinh asm atan atan2 atanh auto before begin beyond
    bfloat_t blockDim blockIdx bool break case cbrt ceil char chunk chunk_length chunks class column column_mask
    columns const copysign cos cosh default delete distances divisor do double down earlier else end enum erf erfc exp
    exp2 exp_against expm1 extern extreme_one extremes fabs false first first_column first_row float float32
    float64 floor fmax fmin fmod fold for gamma goto gridDim half half_t higher holds hypot i if index inline
    inside int isinf isnan j0 j1 jn k known lane ldexp lgamma libdevice log log10 log1p log2 long mask max memory
    middle min n nearer new next off operator partial piece plane planes position positions pow print private
    public quotient range rank register remainder return rint round row row_mask row_threads rows rsqrt short
    signbit signed sin sinh sizeof slot sqrt start static step stop struct switch tan tanh template tgamma this
    thread threadIdx threefry2x32 threefry_bits32 throw tile tl together triton triton_helpers true trunc typedef
    union unsigned using value virtual void volatile warp while whole whole_quotient widen wrapping_add
    wrapping_multiply wrapping_negative wrapping_subtract y0 y1 yn WrappingProduct WrappingSum
    """.split()  # noqa: SIM905
).union(complex_numbers.WORDS)
