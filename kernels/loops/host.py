"""CUDA's dialect of C++ for the host, with NumPy's definitions where C differs.

Integer division by zero gives 0 and does not trap, floor division and remainder follow the divisor's sign, complex
numbers are pairs. The source needs no header of the C++ library, which would take longer to read than the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...translator.errors import NOWHERE
from ...translator.ir import Const, DType
from ...translator.ops.core import Elementwise
from ...translator.patterns import pattern
from ...translator.powers import WHOLE, product, whole
from ...translator.records import dataclass
from ..source.cipher import CUDA as CUDA_CIPHER
from ..source.complex_numbers import ARITHMETIC, FORMS
from ..source.dialects import CUDA, MIXED, Cuda, call_expression, is_half
from ..source.names import Names
from ..source.values import Call, Number, Value

_INTEGERS = {
    "floor_divide": "floor_divide({0}, {1})",
    "remainder": "remainder_of({0}, {1})",
    "fmod": "truncated_remainder({0}, {1})",
    "quotient": "quotient({0}, {1})",
    "power": "integer_power({0}, {1})",
}
_FLOATS = {
    "floor_divide": "floor_divide({0}, {1})",
    "remainder": "remainder_of({0}, {1})",
    "float_power": "pow{f}({0}, {1})",
}
_POWERS: dict[float, str] = {n: product("{0}", n, "({0} * {1})".format) for n in WHOLE}
_FACTORS_OF_COMPLEX = 4  # `complex_power` loops for more
_SQUARE = "fused({0}, {0})"
_IN_ARRAYS: dict[str, str | None] = {"multiply": "fused({0}, {1})", "square": _SQUARE, _POWERS[2]: _SQUARE}
"""Products of complex numbers in arrays, which NumPy's vectors fuse: what overflows is infinite there and NaN here."""
_ROOT = "sqrt{f}({0})"
_ROOT_OF_NUMBER = "({0} == -{2} ? {2} : sqrt{f}({0}) + 0)"  # {2} is infinity; pow of -0.0 is 0.0
_FLOAT_POWERS: dict[float, str] = {0.5: _ROOT, **{-n: f"(1 / {_POWERS[n]})" for n in WHOLE}}


HOST = replace(CUDA, wraps=True)


@dataclass(frozen=True, slots=True)
class Scalar:
    """One number: an expression that may be read any number of times, and what it is where that is known."""

    text: str
    dtype: DType
    constant: Const | None = None

    def as_type(self, dtype: DType) -> str:
        """The expression in another dtype. A constant adapts as NumPy's and Python's numbers do."""
        if self.constant is not None:
            return HOST.literal(np.asarray(self.constant.value).astype(dtype)[()], dtype)
        return HOST.convert(self.text, self.dtype, dtype)


def constant(atom: Const, dtype: DType | None = None) -> Scalar:
    """A constant without axes, as a literal."""
    dtype = atom.aval.dtype if dtype is None else dtype
    value = np.asarray(atom.value).astype(dtype)[()]
    return Scalar(HOST.literal(value, dtype), dtype, atom)


def expression(
    op: Elementwise,
    args: Sequence[Scalar],
    dtypes: Sequence[DType],
    result: DType,
    dialect: Cuda = HOST,
    numbers: bool = False,
) -> str | None:
    """An elementwise operation on scalars, in the loop's dtypes; None where it has to be decomposed. `numbers`: they
    are no elements of arrays, of which NumPy takes some powers and products by other functions.
    """
    template = _template(op, args, dtypes)
    if template == _ROOT and (numbers or op.name == "float_power"):
        template = _ROOT_OF_NUMBER
    if dtypes[-1].kind == "c" and not numbers:
        template = _IN_ARRAYS.get((template or "") if op.name == "power" else op.name) or template
    if template is not None and not dialect.wraps and dtypes[-1].kind == "i" and template in _POWERS.values():
        template = _INTEGERS[op.name]
    if template is not None:
        texts = [a.as_type(d) for a, d in zip(args, dtypes, strict=True)]
        if template == _ROOT_OF_NUMBER:
            texts.append(HOST.literal(np.asarray(np.inf, dtypes[0])[()], dtypes[0]))
        f = "f" if dtypes[0] == np.float32 else ""
        return HOST.call(template, texts, f)
    kind = "f" if dtypes[-1].kind == "V" else dtypes[-1].kind
    if kind not in op.kernel_kinds or not op.cuda or any(d.kind == "c" for d in dtypes):
        return None
    call = Call(op, tuple(dtypes))
    values = tuple(_value(a, d) for a, d in zip(args, dtypes, strict=True))
    return call_expression(dialect, Value("", result, call, values, False, 0, NOWHERE), call)


def _value(a: Scalar, dtype: DType) -> Value:
    if a.constant is None:
        return Value(a.text, a.dtype, Call(None, ()), (), False, 0, NOWHERE)  # type: ignore[arg-type]
    number = np.asarray(a.constant.value).astype(dtype)[()]
    return Value("", dtype, Number(number), (), False, 0, NOWHERE)


def is_arithmetic(exponent: Any, dtype: DType) -> bool:
    """Whether a power is a few products, or a root."""
    return not is_half(dtype) and _power(exponent, dtype.kind) is not None


def _power(exponent: Any, kind: str) -> str | None:
    factors = whole(exponent)
    if factors is not None:
        return _POWERS[factors] if kind != "c" or factors <= _FACTORS_OF_COMPLEX else None
    return _FLOAT_POWERS.get(float(exponent)) if kind == "f" and not (np.shape(exponent) or np.imag(exponent)) else None


def _template(op: Elementwise, args: Sequence[Scalar], dtypes: Sequence[DType]) -> str | None:
    """The C++ expression of an operation that differs on the host."""
    name, kind = op.name, dtypes[-1].kind
    if name in ("power", "float_power") and args[1].constant is not None and kind in "iufc" and not is_half(dtypes[-1]):
        found = _power(args[1].constant.value, kind)
        if found is not None:
            return found
    if kind == "c":
        return FORMS.get(name)
    if name in MIXED and {d.kind for d in dtypes} == {"i", "u"}:
        return f"(order({{0}}, {{1}}) {MIXED[name]} 0)"
    if kind in "iu":
        return _INTEGERS.get(name)
    return _FLOATS.get(name) if kind == "f" and not is_half(dtypes[-1]) else None


_UNARY = "acos acosh asin asinh atan atanh cbrt ceil cos cosh erf erfc exp exp2 expm1 fabs floor lgamma log log10 log1p"
_UNARY += " log2 rint sin sinh sqrt tan tanh trunc"
_BINARY = "atan2 copysign fmod hypot pow"
_CALLS = frozenset(f"{name}{f}" for name in f"{_UNARY} {_BINARY}".split() for f in ("", "f"))

WORDS = frozenset(
    """
    absolute alignas alignof and and_eq argument answered asm auto bitand bitor bits bool break case catch char class
    compl complex_t conjugate const const_cast constexpr continue convert decltype default delete do double
    dynamic_cast else enum explicit export extern failed false float floor_divide for frame friend fused goto if inline
    int integer_power joined larger linux long memory modulus mutable namespace new noexcept not not_eq nullptr of_parts
    operator or or_eq order pair pow powf private protected public quotient register reinterpret_cast remainder_of
    result return run short signbit signed sizeof smaller static static_assert static_cast struct switch template this
    thread_local
    threefry2x32 threefry_bits32
    Pcg64 Twister around below bitgen bounded generate inverted keep number_of polar source source_of word words
    throw true truncated_remainder try typedef typeid typename union unix unsigned using virtual void volatile wchar_t
    while xor xor_eq
    """.split()  # noqa: SIM905
) | _CALLS

_MACROS = pattern("NULL$|U?INT|SIZE|PTRDIFF|SIG_|WCHAR|WINT|XLA|random_")


class HostNames(Names):
    """Names that C++ and its headers do not use."""

    def __init__(self) -> None:
        super().__init__(reserved=WORDS)

    def fresh(self, hint: str) -> str:
        return super().fresh(f"{hint}_" if _MACROS.match(hint) else hint)


def _declared() -> str:
    lines = []
    for name in _UNARY.split():
        lines.append(f"double {name}(double); float {name}f(float);")
    for name in _BINARY.split():
        lines.append(f"double {name}(double, double); float {name}f(float, float);")
    for name in ("exp", "log", "sqrt", "sin", "cos", "tanh"):
        lines.append(f"_Complex double c{name}(_Complex double); _Complex float c{name}f(_Complex float);")
    return "\n".join(lines)


def _complex_calls() -> str:
    return "\n".join(
        f"static inline complex_t<double> complex_{n}(complex_t<double> x) {{ return pair(c{n}(joined(x))); }}\n"
        f"static inline complex_t<float> complex_{n}(complex_t<float> x) {{ return pair(c{n}f(joined(x))); }}"
        for n in ("exp", "log", "sqrt", "sin", "cos", "tanh")
    )


FUNCTION = {
    "truncated_remainder": """template <class T> static inline T truncated_remainder(T x, T y) {
    return y == 0 || (T(-1) < 0 && y == T(-1)) ? 0 : x % y;
}""",
    "floor_divide": """template <class T> static inline T floor_divide(T x, T y) {
    if (y == 0) return 0;
    if (T(-1) < 0 && y == T(-1)) return (T)(0 - (unsigned long long)x);
    T q = x / y;
    return q * y != x && (x < 0) != (y < 0) ? q - 1 : q;
}
static inline double floor_divide(double x, double y) {
    if (y == 0) return x / y;
    double m = fmod(x, y), q = (x - m) / y;
    if (m != 0 && (y < 0) != (m < 0)) q = q - 1;
    if (q == 0) return copysign(0.0, x / y);
    double f = floor(q);
    return q - f > 0.5 ? f + 1 : f;
}
static inline float floor_divide(float x, float y) {
    if (y == 0) return x / y;
    float m = fmodf(x, y), q = (x - m) / y;
    if (m != 0 && (y < 0) != (m < 0)) q = q - 1;
    if (q == 0) return copysignf(0.0f, x / y);
    float f = floorf(q);
    return q - f > 0.5f ? f + 1 : f;
}""",
    "remainder_of": """template <class T> static inline T remainder_of(T x, T y) {
    T m = truncated_remainder(x, y);
    return m != 0 && (m < 0) != (y < 0) ? m + y : m;
}
static inline double remainder_of(double x, double y) {
    double m = fmod(x, y);
    return m == 0 ? copysign(0.0, y) : (y < 0) != (m < 0) ? m + y : m;
}
static inline float remainder_of(float x, float y) {
    float m = fmodf(x, y);
    return m == 0 ? copysignf(0.0f, y) : (y < 0) != (m < 0) ? m + y : m;
}""",
    "quotient": """template <class T> static inline T quotient(T x, T y) {
    return y == 0 ? 0 : T(-1) < 0 && y == T(-1) ? (T)(0 - (unsigned long long)x) : x / y;
}""",
    "integer_power": """template <class T> static inline T integer_power(T x, T y) {
    T z = 1;
    for (; y > 0; y >>= 1, x *= x)
        if (y & 1) z *= x;
    return z;
}""",
    "order": """static inline int order(long long x, unsigned long long y) {
    return x < 0 || (unsigned long long)x < y ? -1 : (unsigned long long)x > y;
}
static inline int order(unsigned long long x, long long y) { return -order(y, x); }
static inline int order(long long x, long long y) { return x < y ? -1 : x > y; }""",
    "larger": """template <class T> static inline T larger(T x, T y) { return x > y || x != x ? x : y; }""",
    "smaller": """template <class T> static inline T smaller(T x, T y) { return x < y || x != x ? x : y; }""",
    "failed": """static inline long long failed(long long index, int number) {
    return (long long)((unsigned long long)index << 16 | (unsigned)number);
}""",
    **CUDA_CIPHER,
}
"""What NumPy defines and C does not. Integers: C++ traps on a divisor of 0, and on the least integer by -1. Floor
division and remainder are as Python defines them."""
FUNCTIONS = "".join(f"{text}\n" for text in FUNCTION.values())


PRELUDE = f"""#include "xla/ffi/api/c_api.h"
extern "C" {{
{_declared()}
}}
#define signbit __builtin_signbit
template <class To, class From> static inline To bits(From from) {{
    To to;
    __builtin_memcpy(&to, &from, sizeof to);
    return to;
}}
static inline float __int_as_float(int x) {{ return bits<float>(x); }}
static inline int __float_as_int(float x) {{ return bits<int>(x); }}
static inline double __longlong_as_double(long long x) {{ return bits<double>(x); }}
static inline long long __double_as_longlong(double x) {{ return bits<long long>(x); }}

{FUNCTIONS}"""

COMPLEX = f"""
{ARITHMETIC}
static inline double fused(double x, double y, double z) {{ return __builtin_fma(x, y, z); }}
static inline float fused(float x, float y, float z) {{ return __builtin_fmaf(x, y, z); }}
template <class T> static inline complex_t<T> fused(complex_t<T> x, complex_t<T> y) {{
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
    return {{fused(x.re, y.re, -(x.im * y.im)), fused(x.re, y.im, x.im * y.re)}};
#else
    return x * y;
#endif
}}
static inline complex_t<double> pair(_Complex double x) {{ return bits<complex_t<double>>(x); }}
static inline complex_t<float> pair(_Complex float x) {{ return bits<complex_t<float>>(x); }}
static inline _Complex double joined(complex_t<double> x) {{ return bits<_Complex double>(x); }}
static inline _Complex float joined(complex_t<float> x) {{ return bits<_Complex float>(x); }}
{_complex_calls()}
"""
